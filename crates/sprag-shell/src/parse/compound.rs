//! Compound commands: groups, branches, loops, `case`, `[[ ]]` and `(( ))`.

use super::ast::{CaseArm, CommandForm, List, Span, TestTerm};
use super::lexer::Operator;
use super::parser::{Parse, Parser};
use super::scan::{self, Nesting};
use super::{ParseFault, lookahead};

/// Words that start a compound command.
const COMPOUNDS: &[&str] = &["{", "if", "while", "until", "for", "select", "case", "[["];

impl Parser<'_> {
    pub(super) fn is_compound(&self) -> bool {
        self.lexer.operator().0 == Operator::Open || self.is_keyword(COMPOUNDS)
    }

    /// Reads a compound command, if one starts here.
    pub(super) fn compound(&mut self) -> Parse<Option<CommandForm>> {
        let at = self.lexer.at;
        if !self.is_compound() {
            return Ok(None);
        }
        self.budget.enter()?;
        let form = if self.lexer.byte(at) == b'(' {
            if let Some(inner) = self.arithmetic()? {
                CommandForm::Arithmetic(inner)
            } else {
                self.lexer.at = at + 1;
                let list = self.commands()?;
                self.expect_operator(Operator::Close)?;
                CommandForm::Subshell(list)
            }
        } else if self.takes_keyword("{") {
            let list = self.commands()?;
            self.expect_keyword("}")?;
            CommandForm::Group(list)
        } else if self.takes_keyword("if") {
            self.if_clause()?
        } else if self.takes_keyword("while") || self.takes_keyword("until") {
            let condition = self.commands()?;
            CommandForm::Loop { condition, body: self.do_group()? }
        } else if self.takes_keyword("for") || self.takes_keyword("select") {
            self.for_clause()?
        } else if self.takes_keyword("case") {
            self.case_clause()?
        } else {
            self.takes_keyword("[[");
            CommandForm::Test(self.test()?)
        };
        self.budget.leave();
        Ok(Some(form))
    }

    /// Takes `(( ))` and returns the text between.
    fn arithmetic(&mut self) -> Parse<Option<Span>> {
        let second = self.lexer.after(self.lexer.at);
        if !lookahead::is_arithmetic(self.lexer.text.as_bytes(), second) {
            return Ok(None);
        }
        let end = scan::end_of(self.lexer.text, second, Nesting::Math).ok_or(ParseFault::Syntax)?;
        self.lexer.at = end;
        Ok(Some(Span::new(second + 1, end.saturating_sub(2).max(second + 1))))
    }

    fn if_clause(&mut self) -> Parse<CommandForm> {
        let mut lists = Vec::new();
        loop {
            lists.push(self.commands()?);
            self.expect_keyword("then")?;
            lists.push(self.commands()?);
            if self.takes_keyword("elif") {
                continue;
            }
            if self.takes_keyword("else") {
                lists.push(self.commands()?);
            }
            self.expect_keyword("fi")?;
            return Ok(CommandForm::If(lists));
        }
    }

    /// Reads `do … done`.
    fn do_group(&mut self) -> Parse<List> {
        self.expect_keyword("do")?;
        let body = self.commands()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    /// Reads the body of `for`, which may be in braces.
    fn for_body(&mut self) -> Parse<List> {
        self.takes_operator(Operator::Semicolon);
        self.lexer.skip_newlines();
        if !self.takes_keyword("{") {
            return self.do_group();
        }
        let body = self.commands()?;
        self.expect_keyword("}")?;
        Ok(body)
    }

    fn for_clause(&mut self) -> Parse<CommandForm> {
        self.lexer.skip_blanks();
        if self.lexer.byte(self.lexer.at) == b'(' {
            let header = self.arithmetic()?.ok_or(ParseFault::Syntax)?;
            return Ok(CommandForm::ArithmeticFor { header, body: self.for_body()? });
        }
        let name = self.lexer.word()?;
        self.lexer.skip_newlines();
        if !self.takes_keyword("in") {
            return Ok(CommandForm::For { name, words: None, body: self.for_body()? });
        }
        let mut words = Vec::new();
        self.lexer.skip_blanks();
        while self.lexer.operator().0 == Operator::Other {
            words.push(self.lexer.word()?);
            self.lexer.skip_blanks();
        }
        if !matches!(self.lexer.operator().0, Operator::Semicolon | Operator::Newline) {
            return Err(ParseFault::Syntax);
        }
        Ok(CommandForm::For { name, words: Some(words), body: self.for_body()? })
    }

    fn case_clause(&mut self) -> Parse<CommandForm> {
        self.lexer.skip_blanks();
        let subject = self.lexer.word()?;
        self.lexer.skip_newlines();
        self.expect_keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.lexer.skip_newlines();
            if self.takes_keyword("esac") {
                return Ok(CommandForm::Case { subject, arms });
            }
            self.takes_operator(Operator::Open);
            let mut patterns = Vec::new();
            loop {
                self.lexer.skip_blanks();
                patterns.push(self.lexer.word()?);
                if !self.takes_operator(Operator::Pipe) {
                    break;
                }
            }
            self.expect_operator(Operator::Close)?;
            let body = self.list()?;
            arms.push(CaseArm { patterns, body });
            if !self.takes_operator(Operator::ArmEnd) {
                self.expect_keyword("esac")?;
                return Ok(CommandForm::Case { subject, arms });
            }
        }
    }

    /// Reads the conditions of `[[ ]]`, without the operators between them.
    fn test(&mut self) -> Parse<Vec<TestTerm>> {
        let mut terms = Vec::new();
        let mut depth = 0usize;
        loop {
            self.lexer.skip_newlines();
            loop {
                if self.takes_operator(Operator::Open) {
                    depth += 1;
                } else if !self.takes_keyword("!") {
                    break;
                }
                self.lexer.skip_newlines();
            }
            terms.push(self.test_term()?);
            self.lexer.skip_newlines();
            while self.takes_operator(Operator::Close) {
                depth = depth.checked_sub(1).ok_or(ParseFault::Syntax)?;
                self.lexer.skip_newlines();
            }
            if depth == 0 && self.takes_keyword("]]") {
                return Ok(terms);
            }
            if !self.takes_operator(Operator::And) {
                self.expect_operator(Operator::Or)?;
            }
        }
    }

    fn test_term(&mut self) -> Parse<TestTerm> {
        if self.lexer.end_of_keyword("]]").is_some() {
            return Err(ParseFault::Syntax);
        }
        let first = self.lexer.word()?;
        let text = first.of(self.lexer.text);
        self.lexer.skip_newlines();
        let is_operand = self.lexer.operator().0 == Operator::Other
            && self.lexer.end_of_keyword("]]").is_none()
            && (self.lexer.is_process() || !matches!(self.lexer.byte(self.lexer.at), b'<' | b'>'));
        if is_operand && is_unary(text) && !self.is_binary() {
            return Ok(TestTerm::Unary(first, self.lexer.word()?));
        }
        let start = self.lexer.at;
        if matches!(self.lexer.byte(start), b'<' | b'>') && !self.lexer.is_process() {
            self.lexer.at += 1;
        } else if is_operand && self.is_binary() {
            self.lexer.word()?;
        } else {
            return Ok(TestTerm::Word(first));
        }
        let operator = Span::new(start, self.lexer.at);
        self.lexer.skip_newlines();
        let right =
            if operator.of(self.lexer.text) == "=~" { self.lexer.regex()? } else { self.lexer.word()? };
        Ok(TestTerm::Binary(first, operator, right))
    }

    fn is_binary(&self) -> bool {
        const OPERATORS: &[&str] =
            &["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
        OPERATORS.iter().any(|operator| self.lexer.end_of_keyword(operator).is_some())
    }
}

/// Reports whether a word is a unary test such as `-f`; `[[ ]]` has no binary `-a` and `-o`.
fn is_unary(word: &str) -> bool {
    matches!(word.as_bytes(), [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}
