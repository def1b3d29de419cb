//! Where quotes, substitutions and heredocs begin and end. The parser recurses on nesting and takes
//! exponential time on nested `case`, so its input is measured here first; words are cut into their
//! parts with the same scan. It keeps its own stack: no input makes it recurse.

/// What a scan starts inside of, just after the opening characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// `$( )`, `<( )`, `( )`.
    Parens,
    /// `${ }`.
    Braces,
    /// `$[ ]`.
    Brackets,
    /// One parenthesis of `(( ))`, where `<<` shifts.
    Math,
    /// `" "`.
    Quotes,
    /// Backticks.
    Ticks,
}

/// What the parser would have to recurse into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NestingShape {
    pub(super) depth: usize,
    pub(super) cases: usize,
    /// Everything that opens a level, closed or not.
    pub(super) opened: usize,
    /// Operators within one `[[ ]]`, which become a tree as deep as there are of them.
    pub(super) tests: usize,
    /// A number before `<` or `>` that is no file descriptor.
    pub(super) wide_descriptor: bool,
    /// Heredocs outside substitutions, which the parser hands on as text.
    pub(super) heredocs: usize,
    /// Characters that keep the parser from a wrong reading: a line break where it takes `( (` for
    /// `((` or `esac )` for one more pattern, a `(` before a pattern within `$( )`, where it only
    /// counts parentheses.
    pub(super) edits: Vec<(usize, char)>,
}

struct PendingHeredoc {
    end: Vec<u8>,
    tabs: bool,
}

#[derive(Clone, Copy)]
struct ScanFrame {
    inside: Option<Nesting>,
    /// Part of a word, which the parser does not look into.
    in_word: bool,
    /// A word of the outer frame, behind which no keyword can stand.
    is_word: bool,
    keywords: usize,
    cases: usize,
    tests: Option<usize>,
    at_command: bool,
    /// Where the next pattern of a case begins.
    pattern: Option<usize>,
    /// The next word may be the name of a function or coprocess.
    naming: bool,
}

impl ScanFrame {
    fn new(inside: Option<Nesting>, in_word: bool, is_word: bool) -> ScanFrame {
        ScanFrame {
            inside,
            in_word,
            is_word,
            keywords: 0,
            cases: 0,
            tests: None,
            at_command: true,
            pattern: None,
            naming: false,
        }
    }
}

/// The place just behind the end of what starts at `at`.
pub(crate) fn end_of(text: &str, at: usize, inside: Nesting) -> Option<usize> {
    NestingScan::new(text.as_bytes(), at, Some(inside)).run()
}

/// Whether the parenthesis at `at`, which follows another one, makes it `(( ))`. Text that goes on
/// for long is not looked through to its end: nothing is that long in practice, and it would cost
/// quadratic time.
pub(crate) fn is_arithmetic(text: &[u8], at: usize) -> bool {
    if text.get(at) != Some(&b'(') {
        return false;
    }
    let mut depth = 1;
    for (offset, byte) in text[at + 1..].iter().enumerate().take(512) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 2 + offset) == Some(&b')');
        }
    }
    false
}

pub(crate) fn shape(text: &str) -> NestingShape {
    let mut scan = NestingScan::new(text.as_bytes(), 0, None);
    scan.run();
    scan.shape
}

/// The place behind a single-quoted text that starts at `at`.
pub(crate) fn end_of_single(text: &str, at: usize) -> Option<usize> {
    text.get(at..)?.find('\'').map(|length| at + length + 1)
}

/// The place behind a `$'…'` text that starts at `at`.
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
    keywords: usize,
    heredocs: Vec<PendingHeredoc>,
    shape: NestingShape,
}

impl<'t> NestingScan<'t> {
    fn new(text: &'t [u8], at: usize, inside: Option<Nesting>) -> NestingScan<'t> {
        NestingScan {
            text,
            at,
            stack: vec![ScanFrame::new(inside, false, false)],
            keywords: 0,
            heredocs: Vec::new(),
            shape: NestingShape::default(),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, inside: Nesting) {
        let in_word = self.in_word();
        self.stack.push(ScanFrame::new(Some(inside), in_word, false));
        self.measure();
    }

    fn push_in_word(&mut self, inside: Nesting) {
        self.stack.push(ScanFrame::new(Some(inside), true, true));
        self.measure();
    }

    fn in_word(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.in_word)
    }

    fn measure(&mut self) {
        self.shape.opened += 1;
        self.shape.depth = self.shape.depth.max(self.stack.len() - 1 + self.keywords);
    }

    /// Runs to the end of the first frame, or to the end of the text: then there is no end.
    fn run(&mut self) -> Option<usize> {
        while self.at < self.text.len() {
            let frame = *self.stack.last()?;
            let byte = self.text[self.at];
            match frame.inside {
                Some(Nesting::Quotes) => self.quotes(byte),
                Some(Nesting::Ticks) => self.ticks(byte),
                Some(Nesting::Braces) => self.bracketed(byte, b'{', b'}', Nesting::Braces),
                Some(Nesting::Brackets) => self.bracketed(byte, b'[', b']', Nesting::Brackets),
                Some(Nesting::Math) => self.bracketed(byte, b'(', b')', Nesting::Math),
                None | Some(Nesting::Parens) => self.code(byte),
            }
            if self.stack.is_empty() {
                return Some(self.at);
            }
        }
        None
    }

    fn pop(&mut self) {
        let is_word = match self.stack.pop() {
            Some(frame) => {
                self.keywords -= frame.keywords;
                frame.is_word
            }
            None => true,
        };
        // Behind `f()` and `( … )` a keyword may stand.
        if let Some(outer) = self.stack.last_mut() {
            outer.at_command = !is_word;
        }
        self.at += 1;
    }

    fn dollar(&mut self) {
        match self.peek(1) {
            b'(' => {
                self.at += 2;
                let math = is_arithmetic(self.text, self.at);
                self.push_in_word(if math { Nesting::Math } else { Nesting::Parens });
            }
            b'{' => {
                self.at += 2;
                self.push_in_word(Nesting::Braces);
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
            _ if byte == open && inside != Nesting::Braces => {
                self.at += 1;
                self.push(inside);
            }
            _ => self.at += 1,
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
                self.set_command(true);
                self.skip_heredocs();
            }
            b'#' => {
                while self.at < self.text.len() && self.text[self.at] != b'\n' {
                    self.at += 1;
                }
            }
            b'(' => {
                self.at += 1;
                let math = is_arithmetic(self.text, self.at);
                if !math && !self.in_word() {
                    self.break_before(b'(');
                }
                self.push(if math { Nesting::Math } else { Nesting::Parens });
            }
            b')' => self.close_paren(),
            b';' | b'&' | b'|' => self.operator(byte),
            b'<' | b'>' => self.angle(byte),
            _ => self.word(),
        }
    }

    /// Asks for a line break here if the next character is `next`.
    fn break_before(&mut self, next: u8) {
        let blanks = self.text[self.at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if self.text.get(self.at + blanks) == Some(&next) {
            self.shape.edits.push((self.at, '\n'));
        }
    }

    fn set_command(&mut self, at_command: bool) {
        if let Some(frame) = self.stack.last_mut() {
            frame.at_command = at_command;
        }
    }

    fn close_paren(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.cases > 0 || frame.inside.is_none() {
            // The end of a case pattern, or one too many.
            frame.at_command = true;
            if let Some(pattern) = frame.pattern.take().filter(|_| frame.in_word) {
                let blanks =
                    self.text[pattern..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                self.shape.edits.push((pattern + blanks, '('));
            }
            self.at += 1;
        } else {
            self.pop();
        }
    }

    fn operator(&mut self, byte: u8) {
        self.at += 1;
        if byte == b';' && matches!(self.peek(0), b';' | b'&') {
            let end = self.at + if self.peek(1) == b'&' { 2 } else { 1 };
            if let Some(frame) = self.stack.last_mut() {
                frame.pattern = Some(end);
            }
        }
        if self.peek(0) == byte {
            self.at += 1;
            if let Some(frame) = self.stack.last_mut()
                && let Some(tests) = &mut frame.tests
                && byte != b';'
            {
                *tests += 1;
                self.shape.tests = self.shape.tests.max(*tests);
                return;
            }
        }
        // `&>` is a redirection, whose word is no command.
        if byte == b'&' && self.peek(0) == b'>' {
            return;
        }
        self.set_command(true);
    }

    fn angle(&mut self, byte: u8) {
        if self.peek(1) == b'(' {
            self.at += 2;
            let in_word = self.in_word();
            self.stack.push(ScanFrame::new(Some(Nesting::Parens), in_word, true));
            self.measure();
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
        // A leading redirection leaves the command still to come.
        self.set_command(at_command);
    }

    fn heredoc(&mut self) {
        let tabs = self.peek(0) == b'-';
        if tabs {
            self.at += 1;
        }
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let mut end = Vec::new();
        let mut quote = 0;
        while self.at < self.text.len() {
            let byte = self.text[self.at];
            match byte {
                _ if quote != 0 && byte == quote => quote = 0,
                b'\\' if quote != b'\'' => {
                    self.at += 1;
                    end.extend(self.text.get(self.at));
                }
                _ if quote != 0 => end.push(byte),
                b'\'' | b'"' => quote = byte,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                _ => end.push(byte),
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        if !self.in_word() {
            self.shape.heredocs += 1;
        }
        self.heredocs.push(PendingHeredoc { end, tabs });
    }

    fn skip_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            while self.at < self.text.len() {
                let rest = &self.text[self.at..];
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let mut line = &rest[..length];
                if heredoc.tabs {
                    line = &line[line.iter().take_while(|byte| **byte == b'\t').count()..];
                }
                // Inside `$( )` the end may be followed by the closing parenthesis.
                let closed = line == heredoc.end
                    || self.stack.len() > 1
                        && line
                            .strip_prefix(heredoc.end.as_slice())
                            .is_some_and(|rest| rest.starts_with(b")"));
                if closed && line != heredoc.end {
                    self.at += length - line.len() + heredoc.end.len();
                    break;
                }
                self.at = (self.at + length + 1).min(self.text.len());
                if closed {
                    break;
                }
            }
        }
    }

    /// One unquoted, quoted or mixed word of code.
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
                // The rest of the word is read when the inner part has ended.
                if let Some(frame) = self.stack.get_mut(depth - 1) {
                    frame.at_command = false;
                }
                return;
            }
        }
        self.at = self.at.min(self.text.len());
        let text = &self.text[start..self.at];
        if text.len() > 9 && text.iter().all(u8::is_ascii_digit) && matches!(self.peek(0), b'<' | b'>') {
            self.shape.wide_descriptor = true;
        }
        if self.stack.last_mut().is_some_and(|frame| std::mem::take(&mut frame.naming)) {
            let blanks = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let body = matches!(self.text.get(self.at + blanks), Some(b'{' | b'('));
            if body {
                self.set_command(true);
                return;
            }
        }
        if !(plain && self.keyword(text)) {
            // An assignment in front leaves the command still to come; for keywords that makes no
            // difference, because none may follow it.
            self.set_command(false);
        }
    }

    /// Counts a reserved word; true if a command follows it.
    fn keyword(&mut self, word: &[u8]) -> bool {
        let Some(frame) = self.stack.last_mut() else { return false };
        if frame.tests.is_some() {
            match word {
                b"]]" => frame.tests = None,
                b"!" => {
                    if let Some(tests) = &mut frame.tests {
                        *tests += 1;
                        self.shape.tests = self.shape.tests.max(*tests);
                    }
                }
                _ => {}
            }
            return false;
        }
        if !frame.at_command {
            if word == b"in" && frame.cases > 0 {
                frame.pattern = Some(self.at);
            }
            return matches!(word, b"in" | b"do") && frame.keywords > 0;
        }
        match word {
            b"if" | b"while" | b"until" | b"{" | b"for" | b"select" | b"case" | b"coproc" | b"function" => {
                frame.keywords += 1;
                self.keywords += 1;
                frame.naming = matches!(word, b"function" | b"coproc");
                if word == b"case" {
                    frame.cases += 1;
                    let cases = self.stack.iter().map(|frame| frame.cases).sum();
                    self.shape.cases = self.shape.cases.max(cases);
                }
                self.measure();
                !matches!(word, b"for" | b"select" | b"case" | b"function")
            }
            b"fi" | b"done" | b"esac" | b"}" => {
                if frame.keywords > 0 {
                    frame.keywords -= 1;
                    self.keywords -= 1;
                }
                if word == b"esac" {
                    frame.cases = frame.cases.saturating_sub(1);
                    if !frame.in_word {
                        self.break_before(b')');
                    }
                }
                true
            }
            b"then" | b"do" | b"else" | b"elif" | b"!" | b"time" => true,
            b"[[" => {
                frame.tests = Some(0);
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

    #[test]
    fn depth_is_what_a_parser_would_recurse_into() {
        assert_eq!(shape("a b; c").depth, 0);
        assert_eq!(shape("( ( a ) )").depth, 2);
        assert_eq!(shape("if a; then { b; }; fi; if c; then d; fi").depth, 2);
        assert_eq!(shape("echo if if if").depth, 0);
        assert!(shape(&"if x; echo fi; ".repeat(50)).depth >= 50);
        assert!(shape(&"(echo '))' ".repeat(50)).depth >= 50);
        assert!(shape(&"function f { ".repeat(50)).depth >= 50);
        assert!(shape(&"f() { ".repeat(50)).depth >= 50);
        assert!(shape(&"{ coproc a } }\n".repeat(50)).depth >= 50);
        assert!(shape(&"if cat <(a) fi\n".repeat(50)).depth >= 50);
        assert!(shape(&"case x in y) ".repeat(20)).cases >= 20);
        assert!(shape("echo 12345678901>x").wide_descriptor);
        assert_eq!(shape(&format!("[[ a {} ]]", "&& a ".repeat(70))).tests, 70);
        assert_eq!(shape("cat <<'E'\n((((\nE\n(x)").depth, 1);
    }
}
