//! A recursive descent parser. Each nested form takes from the budget first, which bounds the stack. Nothing
//! is parsed twice, so the work is linear.

use std::rc::Rc;

use super::ParseFault;
use super::ast::{
    AndOr, AssignedValue, Assignment, CommandForm, CommandNode, Connector, Descriptor, List, ParsedText,
    Pipeline, ProcessDirection, Redirect, RedirectKind, RedirectTarget, Span, Terminator, WordNode,
};
use super::budget::ParseBudget;
use super::lexer::{AssignmentHead, Groups, HeredocTabs, Lexer, Operator, is_name};

pub(super) type Parse<T> = Result<T, ParseFault>;

/// Parses a text that is valid shell code and nests at most `levels` levels deep.
pub(super) fn parse(text: &str, levels: usize) -> Parse<ParsedText> {
    let mut parser = Parser { lexer: Lexer::new(text), budget: ParseBudget::new(levels) };
    let list = parser.list()?;
    if parser.lexer.operator().0 != Operator::End {
        return Err(ParseFault::Syntax);
    }
    Ok(ParsedText { text: text.into(), list, heredocs: parser.lexer.finish() })
}

/// Words that end a list of commands.
const LIST_ENDS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Reserved words that cannot start a command.
const MISPLACED: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}", "in", "]]"];

/// A number that is too large for a descriptor.
const NO_DESCRIPTOR: u32 = u32::MAX;

pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
    pub(super) budget: ParseBudget,
}

impl Parser<'_> {
    pub(super) fn takes_keyword(&mut self, word: &str) -> bool {
        let end = self.lexer.end_of_keyword(word);
        if let Some(end) = end {
            self.lexer.at = end;
        }
        end.is_some()
    }

    pub(super) fn is_keyword(&self, words: &[&str]) -> bool {
        matches!(self.lexer.byte(self.lexer.at), b'a'..=b'z' | b'{' | b'}' | b'[' | b']')
            && words.iter().any(|word| self.lexer.end_of_keyword(word).is_some())
    }

    pub(super) fn expect_keyword(&mut self, word: &str) -> Parse<()> {
        self.lexer.skip_blanks();
        if self.takes_keyword(word) { Ok(()) } else { Err(ParseFault::Syntax) }
    }

    pub(super) fn takes_operator(&mut self, expected: Operator) -> bool {
        self.lexer.skip_blanks();
        let (operator, end) = self.lexer.operator();
        if operator == expected {
            self.lexer.at = end;
        }
        operator == expected
    }

    pub(super) fn expect_operator(&mut self, expected: Operator) -> Parse<()> {
        if self.takes_operator(expected) { Ok(()) } else { Err(ParseFault::Syntax) }
    }

    /// Reads commands up to a word or operator that ends a list.
    pub(super) fn list(&mut self) -> Parse<List> {
        let mut items = Vec::new();
        loop {
            self.lexer.skip_newlines();
            let ends = match self.lexer.operator().0 {
                Operator::Close | Operator::ArmEnd | Operator::End => true,
                _ => self.is_keyword(LIST_ENDS),
            };
            if ends {
                return Ok(List { items });
            }
            let and_or = self.and_or()?;
            let (operator, end) = self.lexer.operator();
            let (terminator, is_last) = match operator {
                Operator::Semicolon => (Terminator::Sequence, false),
                Operator::Background => (Terminator::Background, false),
                Operator::Newline => {
                    items.push((and_or, Terminator::Sequence));
                    continue;
                }
                _ => (Terminator::Sequence, true),
            };
            items.push((and_or, terminator));
            if is_last {
                return Ok(List { items });
            }
            self.lexer.at = end;
        }
    }

    /// Reads a list that must not be empty.
    pub(super) fn commands(&mut self) -> Parse<List> {
        let list = self.list()?;
        if list.items.is_empty() { Err(ParseFault::Syntax) } else { Ok(list) }
    }

    fn and_or(&mut self) -> Parse<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let (operator, end) = self.lexer.operator();
            let connector = match operator {
                Operator::And => Connector::And,
                Operator::Or => Connector::Or,
                _ => return Ok(AndOr { first, rest }),
            };
            self.lexer.at = end;
            self.lexer.skip_newlines();
            rest.push((connector, self.pipeline()?));
        }
    }

    /// Reads a pipeline and stops at the operator after it.
    fn pipeline(&mut self) -> Parse<Pipeline> {
        let mut is_prefixed = false;
        loop {
            if self.takes_keyword("time") {
                for option in ["-p", "--"] {
                    self.lexer.skip_blanks();
                    self.takes_keyword(option);
                }
            } else if !self.takes_keyword("!") {
                break;
            }
            is_prefixed = true;
            self.lexer.skip_blanks();
        }
        let mut commands = Vec::new();
        if is_prefixed && !matches!(self.lexer.operator().0, Operator::Open | Operator::Other) {
            return Ok(Pipeline { commands });
        }
        commands.push(self.command()?);
        while self.takes_operator(Operator::Pipe) {
            self.lexer.skip_newlines();
            commands.push(self.command()?);
        }
        Ok(Pipeline { commands })
    }

    fn command(&mut self) -> Parse<CommandNode> {
        let start = self.lexer.at;
        if let Some(form) = self.compound()? {
            return self.redirected(start, form);
        }
        if self.is_keyword(MISPLACED) || self.lexer.end_of_keyword("!").is_some() {
            return Err(ParseFault::Syntax);
        }
        if self.takes_keyword("function") {
            self.lexer.skip_blanks();
            let name = self.lexer.word()?;
            if self.takes_operator(Operator::Open) {
                self.expect_operator(Operator::Close)?;
            }
            return self.function(start, name);
        }
        if self.takes_keyword("coproc") {
            return self.coproc(start);
        }
        self.simple()
    }

    /// Adds the redirections after a compound command.
    fn redirected(&mut self, start: usize, form: CommandForm) -> Parse<CommandNode> {
        let mut redirects = Vec::new();
        let mut end = self.lexer.at;
        self.lexer.skip_blanks();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
            end = self.lexer.at;
            self.lexer.skip_blanks();
        }
        Ok(CommandNode { form, redirects, span: Span::new(start, end) })
    }

    fn function(&mut self, start: usize, name: Span) -> Parse<CommandNode> {
        self.lexer.skip_newlines();
        let at = self.lexer.at;
        let form = self.compound()?.ok_or(ParseFault::Syntax)?;
        let body = Rc::new(self.redirected(at, form)?);
        let span = Span::new(start, body.span.end as usize);
        Ok(CommandNode { form: CommandForm::Function { name, body }, redirects: Vec::new(), span })
    }

    fn coproc(&mut self, start: usize) -> Parse<CommandNode> {
        self.budget.enter()?;
        self.lexer.skip_blanks();
        let at = self.lexer.at;
        if !self.is_compound() && !self.is_redirect() {
            self.lexer.word()?;
            self.lexer.skip_blanks();
            // Only a compound command can have a name in front of it.
            if !self.is_compound() {
                self.lexer.at = at;
            }
        }
        let body = Box::new(self.command()?);
        self.budget.leave();
        let span = Span::new(start, body.span.end as usize);
        Ok(CommandNode { form: CommandForm::Coproc(body), redirects: Vec::new(), span })
    }

    fn simple(&mut self) -> Parse<CommandNode> {
        self.budget.take_command()?;
        let start = self.lexer.at;
        let mut end = start;
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        let mut redirects = Vec::new();
        loop {
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                self.lexer.skip_blanks();
                continue;
            }
            if words.is_empty() && !assignments.is_empty() && self.lexer.end_of_keyword("!").is_some() {
                // Shells disagree about `x=1 ! command`.
                return Err(ParseFault::Syntax);
            }
            if self.lexer.is_process() {
                words.push(match self.process()? {
                    RedirectTarget::Process(direction, list) => WordNode::Process(direction, list),
                    RedirectTarget::Word(word) => WordNode::Plain(word),
                    RedirectTarget::Heredoc(_) => return Err(ParseFault::Syntax),
                });
            } else if self.lexer.operator().0 != Operator::Other {
                break;
            } else if let Some(head) = self.lexer.assignment() {
                let at = self.lexer.at;
                let assignment = self.assigned(head)?;
                if words.is_empty() {
                    assignments.push(assignment);
                } else {
                    let word = Span::new(at, self.lexer.at);
                    words.push(WordNode::Assignment(Box::new(assignment), word));
                }
            } else {
                words.push(WordNode::Plain(self.lexer.word()?));
            }
            end = self.lexer.at;
            self.lexer.skip_blanks();
        }
        if end == start && redirects.is_empty() {
            return Err(ParseFault::Syntax);
        }
        if self.lexer.byte(self.lexer.at) == b'(' {
            let ([WordNode::Plain(name)], [], []) = (&*words, &*assignments, &*redirects) else {
                return Err(ParseFault::Syntax);
            };
            let name = *name;
            self.lexer.at += 1;
            self.expect_operator(Operator::Close)?;
            return self.function(start, name);
        }
        let form = CommandForm::Simple { assignments, words };
        Ok(CommandNode { form, redirects, span: Span::new(start, end) })
    }

    fn assigned(&mut self, head: AssignmentHead) -> Parse<Assignment> {
        self.lexer.at = head.value;
        let value = if self.lexer.byte(head.value) == b'(' {
            self.lexer.at += 1;
            AssignedValue::Array(self.elements()?)
        } else {
            self.lexer.at = self.lexer.word_end(head.value, Groups::Patterns)?;
            AssignedValue::Scalar(Span::new(head.value, self.lexer.at))
        };
        Ok(Assignment { name: head.name, index: head.index, is_append: head.is_append, value })
    }

    /// Reads the elements of an array up to its parenthesis.
    fn elements(&mut self) -> Parse<Vec<(Option<Span>, Span)>> {
        let mut elements = Vec::new();
        loop {
            self.lexer.skip_newlines();
            if self.takes_operator(Operator::Close) {
                return if self.lexer.is_word_end() { Ok(elements) } else { Err(ParseFault::Syntax) };
            }
            let start = self.lexer.at;
            if self.lexer.byte(start) == b'['
                && let Some(end) = self.lexer.end_of_subscript(start)
                && self.lexer.byte(end) == b'='
            {
                self.lexer.at = self.lexer.word_end(end + 1, Groups::Patterns)?;
                elements.push((Some(Span::new(start + 1, end - 1)), Span::new(end + 1, self.lexer.at)));
            } else {
                elements.push((None, self.lexer.word()?));
            }
        }
    }

    /// Reads `<( )` or `>( )`; if the word continues after it, it stays raw text.
    fn process(&mut self) -> Parse<RedirectTarget> {
        let start = self.lexer.at;
        let direction = match self.lexer.byte(start) {
            b'<' => ProcessDirection::Read,
            _ => ProcessDirection::Write,
        };
        self.budget.enter()?;
        let outer = self.lexer.enter_substitution();
        self.lexer.at += 2;
        let list = self.list()?;
        self.expect_operator(Operator::Close)?;
        self.lexer.leave_substitution(outer);
        self.budget.leave();
        if self.lexer.is_word_end() && !self.lexer.is_process() {
            return Ok(RedirectTarget::Process(direction, list));
        }
        self.lexer.at = self.lexer.word_end(self.lexer.at, Groups::Patterns)?;
        Ok(RedirectTarget::Word(Span::new(start, self.lexer.at)))
    }

    fn is_redirect(&self) -> bool {
        self.redirect_head().is_some()
    }

    /// Returns the descriptor before a redirection and the position of the operator.
    fn redirect_head(&self) -> Option<(Descriptor, usize)> {
        let lexer = &self.lexer;
        let start = lexer.at;
        let (descriptor, at) = match lexer.byte(start) {
            b'<' | b'>' => (Descriptor::Default, start),
            b'&' if lexer.byte(lexer.after(start)) == b'>' => return Some((Descriptor::Default, start)),
            b'0'..=b'9' => {
                let digits =
                    lexer.text.as_bytes()[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = lexer.text[start..start + digits].parse().unwrap_or(NO_DESCRIPTOR);
                (Descriptor::Number(number), start + digits)
            }
            b'{' => {
                let rest = &lexer.text.as_bytes()[start + 1..];
                let length = rest.iter().take_while(|byte| is_name(**byte)).count();
                if length == 0 || rest.get(length) != Some(&b'}') {
                    return None;
                }
                let end = start + 1 + length;
                (Descriptor::Named(Span::new(start + 1, end)), end + 1)
            }
            _ => return None,
        };
        let is_operator = matches!(lexer.byte(at), b'<' | b'>') && lexer.byte(at + 1) != b'(';
        is_operator.then_some((descriptor, at))
    }

    fn redirect(&mut self) -> Parse<Option<Redirect>> {
        let Some((descriptor, at)) = self.redirect_head() else { return Ok(None) };
        if descriptor == Descriptor::Number(NO_DESCRIPTOR) {
            return Err(ParseFault::Syntax);
        }
        let second = self.lexer.after(at);
        let third = self.lexer.after(second);
        let bytes = (self.lexer.byte(at), self.lexer.byte(second), self.lexer.byte(third));
        let (kind, end) = match bytes {
            (b'<', b'<', b'<') => (RedirectKind::HereString, third + 1),
            (b'<', b'<', b'-') => (RedirectKind::Heredoc, third + 1),
            (b'<', b'<', _) => (RedirectKind::Heredoc, second + 1),
            (b'<', b'>', _) => (RedirectKind::ReadWrite, second + 1),
            (b'<', b'&', _) => (RedirectKind::DuplicateInput, second + 1),
            (b'<', _, _) => (RedirectKind::Read, at + 1),
            (b'>', b'>', _) => (RedirectKind::Append, second + 1),
            (b'>', b'|', _) => (RedirectKind::Clobber, second + 1),
            (b'>', b'&', _) => (RedirectKind::DuplicateOutput, second + 1),
            (b'>', _, _) => (RedirectKind::Write, at + 1),
            (_, _, b'>') => (RedirectKind::BothAppend, third + 1),
            _ => (RedirectKind::Both, second + 1),
        };
        self.lexer.at = end;
        self.lexer.skip_blanks();
        let target = if kind == RedirectKind::Heredoc {
            let tabs = if bytes.2 == b'-' { HeredocTabs::Removed } else { HeredocTabs::Kept };
            RedirectTarget::Heredoc(self.lexer.take_delimiter(tabs)?)
        } else if self.lexer.is_process() {
            self.process()?
        } else {
            RedirectTarget::Word(self.lexer.word()?)
        };
        Ok(Some(Redirect { descriptor, kind, target }))
    }
}
