//! Finds the ends of quotes, substitutions and heredocs. The parser and the expansion both use it, so they
//! see the same parts. It has its own stack, so no input makes it recurse.

use super::heredoc::{self, HeredocEnd};
use super::lookahead::{is_arithmetic_within, takes_pattern};

/// The construct in which a scan starts, directly after its opening characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// `$( )`, `<( )`, `( )`.
    Parens,
    /// `${ }`.
    Braces,
    /// `${ }` within double quotes, where shells disagree about apostrophes.
    QuotedBraces,
    /// `$[ ]`.
    Brackets,
    /// One parenthesis of `(( ))`, where `<<` shifts.
    Math,
    /// `" "`.
    Quotes,
    /// Backticks.
    Ticks,
}

struct PendingHeredoc {
    delimiter: Vec<u8>,
    has_tabs_removed: bool,
    is_literal: bool,
}

#[derive(Clone, Copy)]
struct ScanFrame {
    inside: Nesting,
    /// Whether it is part of a word of the outer frame, after which no keyword can stand.
    is_word: bool,
    /// The number of open compound commands.
    keywords: usize,
    /// The number of open `case` commands, whose patterns end with a parenthesis.
    cases: usize,
    in_test: bool,
    /// Whether a parameter expansion takes a pattern, in which quotes count.
    has_pattern: bool,
    at_command: bool,
    /// Whether the next word may be the name of a function or coprocess.
    naming: bool,
}

/// Returns the position after the end of the construct that starts at `at`.
pub(crate) fn end_of(text: &str, at: usize, inside: Nesting) -> Option<usize> {
    end_of_bytes(text.as_bytes(), at, inside)
}

pub(super) fn end_of_bytes(text: &[u8], at: usize, inside: Nesting) -> Option<usize> {
    NestingScan::new(text, at, inside).run()
}

/// Returns the position after a single-quoted text that starts at `at`.
pub(crate) fn end_of_single(text: &str, at: usize) -> Option<usize> {
    text.get(at..)?.find('\'').map(|length| at + length + 1)
}

/// Returns the position after a `$'…'` text that starts at `at`.
pub(crate) fn end_of_ansi(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

struct NestingScan<'t> {
    text: &'t [u8],
    at: usize,
    stack: Vec<ScanFrame>,
    heredocs: Vec<PendingHeredoc>,
    /// The number of bytes that may still be read ahead.
    left: usize,
}

impl<'t> NestingScan<'t> {
    fn new(text: &'t [u8], at: usize, inside: Nesting) -> NestingScan<'t> {
        let left = 4 * text.len();
        let mut scan = NestingScan { text, at, stack: Vec::with_capacity(4), heredocs: Vec::new(), left };
        scan.push(inside);
        scan
    }

    fn has_pattern(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.has_pattern)
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, inside: Nesting) {
        let has_pattern = inside == Nesting::QuotedBraces && takes_pattern(&self.text[self.at..]);
        self.stack.push(ScanFrame {
            inside,
            is_word: false,
            keywords: 0,
            cases: 0,
            in_test: false,
            has_pattern,
            at_command: true,
            naming: false,
        });
    }

    fn push_in_word(&mut self, inside: Nesting) {
        self.push(inside);
        if let Some(frame) = self.stack.last_mut() {
            frame.is_word = true;
        }
    }

    /// Runs to the end of the first frame; returns `None` at the end of the text.
    fn run(&mut self) -> Option<usize> {
        while self.at < self.text.len() {
            let frame = *self.stack.last()?;
            let byte = self.text[self.at];
            match frame.inside {
                Nesting::Quotes => self.quotes(byte),
                Nesting::Ticks => self.ticks(byte),
                Nesting::Braces | Nesting::QuotedBraces => self.bracketed(byte, b'{', b'}', frame.inside),
                Nesting::Brackets => self.bracketed(byte, b'[', b']', Nesting::Brackets),
                Nesting::Math => self.bracketed(byte, b'(', b')', Nesting::Math),
                Nesting::Parens => self.code(byte),
            }
            if self.stack.is_empty() {
                return Some(self.at);
            }
        }
        None
    }

    fn pop(&mut self) {
        let is_word = self.stack.pop().is_none_or(|frame| frame.is_word);
        // After `f()` and `( … )` a keyword may stand.
        if let Some(outer) = self.stack.last_mut() {
            outer.at_command = !is_word;
        }
        self.at += 1;
    }

    fn dollar(&mut self) {
        match self.peek(1) {
            b'(' => {
                self.at += 2;
                let math = is_arithmetic_within(self.text, self.at, &mut self.left);
                self.push_in_word(if math { Nesting::Math } else { Nesting::Parens });
            }
            b'{' => {
                self.at += 2;
                let outer = self.stack.last().map(|frame| frame.inside);
                let is_quoted = matches!(outer, Some(Nesting::Quotes | Nesting::QuotedBraces));
                self.push_in_word(if is_quoted { Nesting::QuotedBraces } else { Nesting::Braces });
            }
            b'[' => {
                self.at += 2;
                self.push_in_word(Nesting::Brackets);
            }
            _ => self.at += 1,
        }
    }

    fn quotes(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'"' => self.pop(),
            b'$' => self.dollar(),
            b'`' => {
                self.at += 1;
                self.push(Nesting::Ticks);
            }
            _ => self.at += 1,
        }
    }

    fn ticks(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'`' => self.pop(),
            _ => self.at += 1,
        }
    }

    fn bracketed(&mut self, byte: u8, open: u8, close: u8, inside: Nesting) {
        match byte {
            b'\\' => self.at += 2,
            _ if byte == close => self.pop(),
            b'\'' if inside == Nesting::QuotedBraces && !self.has_pattern() => self.apostrophe(),
            b'\'' => self.single(),
            b'"' => {
                self.at += 1;
                self.push(Nesting::Quotes);
            }
            b'$' => self.dollar(),
            b'`' => {
                self.at += 1;
                self.push(Nesting::Ticks);
            }
            // A plain `{` in `${x:-{}` is text.
            _ if byte == open && !matches!(inside, Nesting::Braces | Nesting::QuotedBraces) => {
                self.at += 1;
                self.push(inside);
            }
            _ => self.at += 1,
        }
    }

    /// Skips an apostrophe that bash reads as a quote and other shells read as a plain character. If the
    /// readings lead to different ends, there is no end.
    fn apostrophe(&mut self) {
        let rest = &self.text[self.at + 1..];
        let next = rest.iter().position(|byte| matches!(byte, b'\'' | b'}' | b'"' | b'\\' | b'$' | b'`'));
        match next {
            Some(length) if rest[length] == b'\'' => self.at += length + 2,
            _ => self.at = self.text.len(),
        }
    }

    fn single(&mut self) {
        self.at += 1;
        while self.at < self.text.len() && self.text[self.at] != b'\'' {
            self.at += 1;
        }
        self.at += 1;
    }

    fn code(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => self.at += 1,
            b'\n' => {
                self.at += 1;
                self.expect_command();
                self.skip_heredocs();
            }
            b'#' => {
                while self.at < self.text.len() && self.text[self.at] != b'\n' {
                    self.at += 1;
                }
            }
            b'(' => {
                self.at += 1;
                let math = is_arithmetic_within(self.text, self.at, &mut self.left);
                self.push(if math { Nesting::Math } else { Nesting::Parens });
            }
            b')' => self.close_paren(),
            b';' | b'&' | b'|' => self.operator(byte),
            b'<' | b'>' => self.angle(byte),
            _ => self.word(),
        }
    }

    fn expect_command(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.at_command = true;
        }
    }

    fn expect_argument(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.at_command = false;
        }
    }

    fn close_paren(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.cases > 0 {
            // The end of a case pattern.
            frame.at_command = true;
            self.at += 1;
        } else {
            self.pop();
        }
    }

    fn operator(&mut self, byte: u8) {
        self.at += 1;
        if self.peek(0) == byte {
            self.at += 1;
        }
        if self.stack.last().is_some_and(|frame| frame.in_test) && byte != b';' {
            return;
        }
        // `&>` is a redirection; the word after it is not a command.
        if byte == b'&' && self.peek(0) == b'>' {
            return;
        }
        self.expect_command();
    }

    fn angle(&mut self, byte: u8) {
        if self.peek(1) == b'(' {
            self.at += 2;
            self.push_in_word(Nesting::Parens);
            return;
        }
        if byte == b'<' && self.peek(1) == b'<' && self.peek(2) != b'<' {
            self.at += 2;
            self.heredoc();
            return;
        }
        self.at += 1;
        while matches!(self.peek(0), b'<' | b'>' | b'&' | b'|') {
            self.at += 1;
        }
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        if self.peek(0) == b'<' || self.peek(0) == b'>' {
            return;
        }
        let at_command = self.stack.last().is_some_and(|frame| frame.at_command);
        if !matches!(self.peek(0), b'\n' | b';' | b'(' | b')' | b'#' | 0) {
            self.word();
        }
        // After a leading redirection the command is still to come.
        if at_command { self.expect_command() } else { self.expect_argument() }
    }

    fn heredoc(&mut self) {
        let has_tabs_removed = self.peek(0) == b'-';
        if has_tabs_removed {
            self.at += 1;
        }
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let start = self.at;
        let mut quote = 0;
        while self.at < self.text.len() {
            let byte = self.text[self.at];
            match byte {
                _ if quote != 0 && byte == quote => quote = 0,
                b'\\' if quote != b'\'' => self.at += 1,
                b'\'' | b'"' if quote == 0 => quote = byte,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' if quote == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        let (delimiter, is_literal) = heredoc::unquoted(&self.text[start..self.at]);
        self.heredocs.push(PendingHeredoc { delimiter, has_tabs_removed, is_literal });
    }

    fn skip_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let end = HeredocEnd {
                delimiter: &heredoc.delimiter,
                has_tabs_removed: heredoc.has_tabs_removed,
                is_literal: heredoc.is_literal,
                may_close: true,
            };
            self.at = heredoc::find_end(self.text, self.at, &end).next;
        }
    }

    /// Reads one unquoted, quoted or mixed word of code.
    fn word(&mut self) {
        let start = self.at;
        let depth = self.stack.len();
        let mut plain = true;
        while self.at < self.text.len() {
            let byte = self.text[self.at];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => {
                    self.at += 2;
                    plain = false;
                }
                b'\'' => {
                    self.single();
                    plain = false;
                }
                b'$' if self.peek(1) == b'\'' => {
                    plain = false;
                    self.at += 2;
                    while self.at < self.text.len() && self.text[self.at] != b'\'' {
                        self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
                    }
                    self.at += 1;
                }
                b'"' => {
                    self.at += 1;
                    plain = false;
                    self.push_in_word(Nesting::Quotes);
                }
                b'`' => {
                    self.at += 1;
                    plain = false;
                    self.push_in_word(Nesting::Ticks);
                }
                b'$' => {
                    plain = false;
                    self.dollar();
                }
                _ => self.at += 1,
            }
            if self.stack.len() > depth {
                // The rest of the word is read after the inner part.
                if let Some(frame) = self.stack.get_mut(depth - 1) {
                    frame.at_command = false;
                }
                return;
            }
        }
        self.at = self.at.min(self.text.len());
        let text = &self.text[start..self.at];
        if self.stack.last_mut().is_some_and(|frame| std::mem::take(&mut frame.naming)) {
            let blanks = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let body = matches!(self.text.get(self.at + blanks), Some(b'{' | b'('));
            if body {
                self.expect_command();
                return;
            }
        }
        if !(plain && self.keyword(text)) {
            // After an assignment the command is still to come. For keywords this makes no difference,
            // because none may follow it.
            self.expect_argument();
        }
    }

    /// Counts a reserved word; returns true if a command follows it.
    fn keyword(&mut self, word: &[u8]) -> bool {
        let Some(frame) = self.stack.last_mut() else { return false };
        if frame.in_test {
            frame.in_test = word != b"]]";
            return false;
        }
        if !frame.at_command {
            return matches!(word, b"in" | b"do") && frame.keywords > 0;
        }
        match word {
            b"if" | b"while" | b"until" | b"{" | b"for" | b"select" | b"case" | b"coproc" | b"function" => {
                frame.keywords += 1;
                frame.naming = matches!(word, b"function" | b"coproc");
                if word == b"case" {
                    frame.cases += 1;
                }
                !matches!(word, b"for" | b"select" | b"case" | b"function")
            }
            b"fi" | b"done" | b"esac" | b"}" => {
                frame.keywords = frame.keywords.saturating_sub(1);
                if word == b"esac" {
                    frame.cases = frame.cases.saturating_sub(1);
                }
                true
            }
            b"then" | b"do" | b"else" | b"elif" | b"!" | b"time" => true,
            b"[[" => {
                frame.in_test = true;
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_found_behind_quotes_patterns_comments_and_heredocs() {
        for (text, rest) in [
            ("a b) x", " x"),
            ("echo ')' \")\" \\)) x", " x"),
            ("case y in a) b;; (c) d;; esac) x", " x"),
            ("a # it's )\n b) x", " x"),
            ("cat <<'E'\nit's (\nE\n) x", " x"),
            ("cat <<E\n )\nE\n) x", " x"),
            ("a \"$(b ')')\" `c`) x", " x"),
        ] {
            let end = end_of(text, 0, Nesting::Parens).unwrap();
            assert_eq!(&text[end..], rest, "{text}");
        }
        assert_eq!(end_of("x:-'}' \"}\" ${y}} z", 0, Nesting::Braces), Some(16));
        assert_eq!(end_of("a b", 0, Nesting::Parens), None);
    }
}
