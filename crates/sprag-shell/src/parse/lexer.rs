//! Reads words, operators and heredocs at a position of the text. It finds the end of a word but does not
//! interpret its content.

use super::ast::{Heredoc, Span};
use super::heredoc::{self, HeredocEnd};
use super::scan::{self, Nesting};
use super::{ParseFault, lookahead};

/// Maximum length of a subscript before `=`, in bytes.
const MAX_SUBSCRIPT: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Semicolon,
    /// `;;`, `;&` or `;;&`.
    ArmEnd,
    Background,
    And,
    Or,
    Pipe,
    Newline,
    Open,
    Close,
    End,
    /// A word or a redirection.
    Other,
}

struct PendingHeredoc {
    delimiter: Vec<u8>,
    index: usize,
}

pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) heredocs: Vec<Heredoc>,
    pending: Vec<PendingHeredoc>,
    /// The number of enclosing process substitutions.
    substitutions: usize,
}

/// Heredocs that wait for a line break outside a process substitution.
pub(super) struct OuterHeredocs(Vec<PendingHeredoc>);

/// The treatment of leading tabs in a heredoc.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeredocTabs {
    Kept,
    Removed,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer {
            text,
            bytes: text.as_bytes(),
            at: 0,
            heredocs: Vec::new(),
            pending: Vec::new(),
            substitutions: 0,
        }
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Returns the next position outside a line continuation.
    pub(super) fn after(&self, at: usize) -> usize {
        let mut next = at + 1;
        while self.byte(next) == b'\\' && self.byte(next + 1) == b'\n' {
            next += 2;
        }
        next
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.byte(self.at + 1) == b'\n' => self.at += 2,
                b'#' => self.at = self.line_end(self.at),
                _ => return,
            }
        }
    }

    /// Skips blanks and line breaks, and the bodies of heredocs after a line break.
    pub(super) fn skip_newlines(&mut self) {
        self.skip_blanks();
        while self.byte(self.at) == b'\n' {
            self.at += 1;
            self.read_heredocs();
            self.skip_blanks();
        }
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
    }

    /// Returns the operator at the current position and the position after it.
    pub(super) fn operator(&self) -> (Operator, usize) {
        let at = self.at;
        let second = self.after(at);
        match self.byte(at) {
            b';' => match self.byte(second) {
                b';' => {
                    let third = self.after(second);
                    (Operator::ArmEnd, if self.byte(third) == b'&' { third + 1 } else { second + 1 })
                }
                b'&' => (Operator::ArmEnd, second + 1),
                _ => (Operator::Semicolon, at + 1),
            },
            b'&' => match self.byte(second) {
                b'&' => (Operator::And, second + 1),
                b'>' => (Operator::Other, at),
                _ => (Operator::Background, at + 1),
            },
            b'|' => match self.byte(second) {
                b'|' => (Operator::Or, second + 1),
                b'&' => (Operator::Pipe, second + 1),
                _ => (Operator::Pipe, at + 1),
            },
            b'\n' => (Operator::Newline, at + 1),
            b'(' => (Operator::Open, at + 1),
            b')' => (Operator::Close, at + 1),
            _ if at >= self.bytes.len() => (Operator::End, at),
            _ => (Operator::Other, at),
        }
    }

    /// Returns the position after the unquoted word `expected`, if it stands here.
    pub(super) fn end_of_keyword(&self, expected: &str) -> Option<usize> {
        let mut at = self.at;
        let mut end = at;
        for byte in expected.bytes() {
            if self.byte(at) != byte {
                return None;
            }
            end = at + 1;
            at = self.after(at);
        }
        (at >= self.bytes.len() || is_break(self.byte(at))).then_some(end)
    }

    pub(super) fn is_word_end(&self) -> bool {
        self.at >= self.bytes.len() || is_break(self.byte(self.at))
    }

    /// Reports whether `<(` or `>(` stands here.
    pub(super) fn is_process(&self) -> bool {
        matches!(self.byte(self.at), b'<' | b'>') && self.byte(self.at + 1) == b'('
    }

    /// Takes the word at the current position.
    pub(super) fn word(&mut self) -> Result<Span, ParseFault> {
        let start = self.at;
        self.at = self.word_end(start, Groups::Patterns)?;
        self.taken(start)
    }

    /// Takes the regular expression after `=~`, in which parentheses and `|` are plain characters.
    pub(super) fn regex(&mut self) -> Result<Span, ParseFault> {
        let start = self.at;
        self.at = self.word_end(start, Groups::Regex)?;
        self.taken(start)
    }

    fn taken(&self, start: usize) -> Result<Span, ParseFault> {
        if self.at == start { Err(ParseFault::Syntax) } else { Ok(Span::new(start, self.at)) }
    }

    /// Returns the position after the word that continues at `at`.
    pub(super) fn word_end(&self, at: usize, groups: Groups) -> Result<usize, ParseFault> {
        let mut at = at;
        while let Some(&byte) = self.bytes.get(at) {
            if is_literal(byte) {
                at += 1;
                continue;
            }
            let next = self.byte(at + 1);
            let end = match byte {
                b'<' | b'>' if next == b'(' => scan::end_of(self.text, at + 2, Nesting::Parens),
                b'(' if groups == Groups::Regex => scan::end_of(self.text, at + 1, Nesting::Math),
                b'|' if groups == Groups::Regex => Some(at + 1),
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => Some((at + 2).min(self.bytes.len())),
                b'\'' => scan::end_of_single(self.text, at + 1),
                b'"' => self.end_of_quotes(at + 1),
                b'`' => scan::end_of(self.text, at + 1, Nesting::Ticks),
                b'$' => match next {
                    b'\'' => scan::end_of_ansi(self.text, at + 2),
                    b'(' if lookahead::is_arithmetic(self.bytes, at + 2) => {
                        scan::end_of(self.text, at + 2, Nesting::Math)
                    }
                    b'(' => scan::end_of(self.text, at + 2, Nesting::Parens),
                    b'{' => scan::end_of(self.text, at + 2, Nesting::Braces),
                    b'[' => scan::end_of(self.text, at + 2, Nesting::Brackets),
                    _ => Some(at + 1),
                },
                b'?' | b'*' | b'+' | b'@' | b'!' if next == b'(' => {
                    scan::end_of(self.text, at + 2, Nesting::Math)
                }
                _ => Some(at + 1),
            };
            at = end.ok_or(ParseFault::Syntax)?;
        }
        Ok(at)
    }

    /// Returns the position after double quotes; most of them contain nothing nested.
    fn end_of_quotes(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'$' | b'`'))?;
        if rest[length] == b'"' {
            return Some(at + length + 1);
        }
        scan::end_of(self.text, at + length, Nesting::Quotes)
    }

    /// Reads the head of an assignment, if one stands here.
    pub(super) fn assignment(&self) -> Option<AssignmentHead> {
        let start = self.at;
        if !matches!(self.byte(start), b'a'..=b'z' | b'A'..=b'Z' | b'_') {
            return None;
        }
        let name = self.bytes[start..].iter().take_while(|byte| is_name(**byte)).count();
        let mut at = start + name;
        let mut index = None;
        if self.byte(at) == b'[' {
            let end = self.end_of_subscript(at)?;
            index = Some(Span::new(at + 1, end - 1));
            at = end;
        }
        let is_append = self.byte(at) == b'+' && self.byte(at + 1) == b'=';
        if is_append {
            at += 1;
        }
        let name = Span::new(start, start + name);
        (self.byte(at) == b'=').then_some(AssignmentHead { name, index, is_append, value: at + 1 })
    }

    /// Returns the position after the subscript whose bracket stands at `at`. The search is bounded, because
    /// it would be repeated for an unclosed bracket.
    pub(super) fn end_of_subscript(&self, at: usize) -> Option<usize> {
        let bound = self.bytes.len().min(at + MAX_SUBSCRIPT);
        scan::end_of_bytes(&self.bytes[..bound], at + 1, Nesting::Brackets)
    }

    /// Takes the delimiter of a heredoc; the body follows the next line break.
    pub(super) fn take_delimiter(&mut self, tabs: HeredocTabs) -> Result<usize, ParseFault> {
        let word = self.word()?.of(self.text).as_bytes();
        if heredoc::has_dollar_quotes(word) {
            return Err(ParseFault::Syntax);
        }
        let (delimiter, is_literal) = heredoc::unquoted(word);
        let index = self.heredocs.len();
        let has_tabs_removed = tabs == HeredocTabs::Removed;
        self.heredocs.push(Heredoc { body: Span::default(), has_tabs_removed, is_literal });
        self.pending.push(PendingHeredoc { delimiter, index });
        Ok(index)
    }

    fn read_heredocs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let heredoc = &mut self.heredocs[pending.index];
            let end = heredoc::find_end(
                self.bytes,
                self.at,
                &HeredocEnd {
                    delimiter: &pending.delimiter,
                    has_tabs_removed: heredoc.has_tabs_removed,
                    is_literal: heredoc.is_literal,
                    may_close: self.substitutions > 0,
                },
            );
            heredoc.body = Span::new(self.at, end.body);
            self.at = end.next;
        }
    }

    /// Enters a process substitution, whose line breaks do not end the heredocs around it.
    pub(super) fn enter_substitution(&mut self) -> OuterHeredocs {
        self.substitutions += 1;
        OuterHeredocs(std::mem::take(&mut self.pending))
    }

    pub(super) fn leave_substitution(&mut self, outer: OuterHeredocs) {
        self.substitutions -= 1;
        let inner = std::mem::replace(&mut self.pending, outer.0);
        self.pending.extend(inner);
    }

    /// Ends the text; a heredoc without an end has no body left.
    pub(super) fn finish(mut self) -> Vec<Heredoc> {
        self.at = self.bytes.len();
        self.read_heredocs();
        self.heredocs
    }
}

/// The parentheses that belong to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// `@( )` and the like.
    Patterns,
    Regex,
}

/// The head of an assignment: `name=`, `name+=`, `name[index]=`.
pub(super) struct AssignmentHead {
    pub(super) name: Span,
    pub(super) index: Option<Span>,
    pub(super) is_append: bool,
    /// The position of the value.
    pub(super) value: usize,
}

/// Reports whether a character ends an unquoted word.
pub(super) fn is_break(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Reports whether a character is plain, which is the most common case.
fn is_literal(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b'=' | b':' | b',')
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
