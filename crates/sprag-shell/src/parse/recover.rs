//! Splits a text that is not valid shell code, or nests too deep, into simple commands between operators. It
//! respects quotes, substitutions and heredocs. It finds too many commands rather than too few.

use super::ast::{
    AndOr, AssignedValue, Assignment, CommandForm, CommandNode, Descriptor, Heredoc, List, ParsedText,
    Pipeline, Redirect, RedirectKind, RedirectTarget, Span, Terminator, WordNode,
};
use super::budget::COMMANDS;
use super::heredoc::{self, HeredocEnd};
use super::lexer::{is_break, is_name};
use super::lookahead;
use super::scan::{self, Nesting};

/// Maximum number of scans of the text for missing ends.
const SCANS: usize = 4;

/// Words that only frame commands.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time", "coproc",
    "esac", "in",
];

/// Reads the text as one flat list; pipes stay pipes, so that data piped into a shell is visible.
pub(super) fn split(text: &str) -> ParsedText {
    let mut splitter = Splitter {
        text,
        at: 0,
        left: SCANS * text.len(),
        commands: 0,
        words: Vec::new(),
        redirects: Vec::new(),
        start: None,
        pipe: Vec::new(),
        list: List::default(),
        heredocs: Vec::new(),
        pending: Vec::new(),
    };
    splitter.run();
    ParsedText { text: text.into(), list: splitter.list, heredocs: splitter.heredocs }
}

struct PendingHeredoc {
    delimiter: Vec<u8>,
    index: usize,
}

struct Splitter<'t> {
    text: &'t str,
    at: usize,
    /// The number of bytes that may still be scanned for ends.
    left: usize,
    commands: usize,
    words: Vec<Span>,
    redirects: Vec<Redirect>,
    /// The start of the current command.
    start: Option<usize>,
    pipe: Vec<CommandNode>,
    list: List,
    heredocs: Vec<Heredoc>,
    pending: Vec<PendingHeredoc>,
}

impl Splitter<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while self.at < self.text.len() && self.commands < COMMANDS {
            let next = self.byte(self.at + 1);
            match self.byte(self.at) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if next == b'\n' => self.at += 2,
                b'#' => self.at = self.line_end(self.at),
                b'\n' => {
                    self.end_pipe();
                    self.at += 1;
                    self.read_heredocs();
                }
                b'|' if next != b'|' => {
                    self.end_command();
                    self.at += if next == b'&' { 2 } else { 1 };
                }
                b'&' if next == b'>' => {
                    self.at += 1;
                    self.redirect();
                }
                b';' | b'&' | b'|' | b'(' | b')' => {
                    self.end_pipe();
                    self.at += 1;
                }
                b'<' | b'>' if next == b'(' => {
                    self.end_command();
                    self.at += 2;
                }
                b'<' | b'>' => self.redirect(),
                _ => {
                    let word = self.word();
                    if !(self.words.is_empty() && KEYWORDS.contains(&word.of(self.text))) {
                        self.start.get_or_insert(word.start as usize);
                        self.words.push(word);
                    }
                }
            }
        }
        self.end_pipe();
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |length| at + length)
    }

    fn end_command(&mut self) {
        let Some(start) = self.start.take() else { return };
        let span = Span::new(start, self.at);
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        for word in self.words.drain(..) {
            match assignment(self.text, word).filter(|_| words.is_empty()) {
                Some(assignment) => assignments.push(assignment),
                None => words.push(WordNode::Plain(word)),
            }
        }
        let redirects = std::mem::take(&mut self.redirects);
        self.commands += 1;
        self.pipe.push(CommandNode { form: CommandForm::Simple { assignments, words }, redirects, span });
    }

    fn end_pipe(&mut self) {
        self.end_command();
        if self.pipe.is_empty() {
            return;
        }
        let first = Pipeline { commands: std::mem::take(&mut self.pipe) };
        self.list.items.push((AndOr { first, rest: Vec::new() }, Terminator::Sequence));
    }

    fn redirect(&mut self) {
        let at = self.at;
        self.start.get_or_insert(at);
        // A number in front of it is the descriptor, not a word.
        let mut descriptor = Descriptor::Default;
        if let Some(word) = self.words.last()
            && word.end as usize == at
            && word.of(self.text).bytes().all(|byte| byte.is_ascii_digit())
        {
            let number = word.of(self.text).parse().unwrap_or(u32::MAX);
            descriptor = Descriptor::Number(number);
            self.words.pop();
        }
        let operator = self.text[at..].bytes().take_while(|byte| b"<>&|".contains(byte)).count().min(3);
        let kind = match &self.text[at..at + operator] {
            "<<<" => Some(RedirectKind::HereString),
            "<<" => Some(RedirectKind::Heredoc),
            "<" => Some(RedirectKind::Read),
            ">" => Some(RedirectKind::Write),
            ">>" => Some(RedirectKind::Append),
            ">|" => Some(RedirectKind::Clobber),
            "<>" => Some(RedirectKind::ReadWrite),
            "<&" => Some(RedirectKind::DuplicateInput),
            ">&" => Some(RedirectKind::DuplicateOutput),
            _ => None,
        };
        self.at = at + operator;
        let has_tabs_removed = kind == Some(RedirectKind::Heredoc) && self.byte(self.at) == b'-';
        if has_tabs_removed {
            self.at += 1;
        }
        while matches!(self.byte(self.at), b' ' | b'\t') {
            self.at += 1;
        }
        let word = self.word();
        let Some(kind) = kind.filter(|_| word.len() > 0) else { return };
        let target = if kind == RedirectKind::Heredoc {
            let (delimiter, is_literal) = heredoc::unquoted(word.of(self.text).as_bytes());
            let index = self.heredocs.len();
            self.heredocs.push(Heredoc { body: Span::default(), has_tabs_removed, is_literal });
            self.pending.push(PendingHeredoc { delimiter, index });
            RedirectTarget::Heredoc(index)
        } else {
            RedirectTarget::Word(word)
        };
        self.redirects.push(Redirect { descriptor, kind, target });
    }

    fn read_heredocs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let heredoc = &mut self.heredocs[pending.index];
            let end = HeredocEnd {
                delimiter: &pending.delimiter,
                has_tabs_removed: heredoc.has_tabs_removed,
                is_literal: heredoc.is_literal,
                may_close: false,
            };
            let places = heredoc::find_end(self.text.as_bytes(), self.at, &end);
            heredoc.body = Span::new(self.at, places.body);
            self.at = places.next;
        }
    }

    /// Takes the word at the current position. An unclosed quote ends at the end of its line, so that later
    /// commands stay visible.
    fn word(&mut self) -> Span {
        let start = self.at;
        while self.at < self.text.len()
            && !matches!(self.byte(self.at), b'\r')
            && !is_break(self.byte(self.at))
        {
            let at = self.at;
            let next = self.byte(at + 1);
            let end = match self.byte(at) {
                b'\\' => Some(at + 2),
                b'\'' => self.measured(at + 1, scan::end_of_single),
                b'"' => self.measured(at + 1, |text, at| scan::end_of(text, at, Nesting::Quotes)),
                b'`' => self.measured(at + 1, |text, at| scan::end_of(text, at, Nesting::Ticks)),
                b'$' if next == b'\'' => self.measured(at + 2, scan::end_of_ansi),
                b'$' if next == b'{' => {
                    self.measured(at + 2, |text, at| scan::end_of(text, at, Nesting::Braces))
                }
                b'$' if next == b'(' => {
                    let is_math = lookahead::is_arithmetic(self.text.as_bytes(), at + 2);
                    let nesting = if is_math { Nesting::Math } else { Nesting::Parens };
                    self.measured(at + 2, |text, at| scan::end_of(text, at, nesting))
                }
                _ => Some(at + 1),
            };
            let mut end = end.unwrap_or_else(|| self.line_end(at)).min(self.text.len());
            while !self.text.is_char_boundary(end) {
                end += 1;
            }
            self.at = end;
        }
        Span::new(start, self.at)
    }

    /// Finds an end within limits, because each search for a missing end reads the whole rest of the text.
    /// Beyond the limits a quote is a plain character, which shows too many commands rather than too few.
    fn measured(&mut self, at: usize, end_of: impl Fn(&str, usize) -> Option<usize>) -> Option<usize> {
        let rest = self.text.len().saturating_sub(at);
        if self.left < rest {
            return Some(at);
        }
        let end = end_of(self.text, at);
        if end.is_none() {
            self.left -= rest;
        }
        end
    }
}

fn assignment(text: &str, word: Span) -> Option<Assignment> {
    let raw = word.of(text);
    let equals = raw.find('=')?;
    let (name, is_append) = match raw[..equals].strip_suffix('+') {
        Some(name) => (name, true),
        None => (&raw[..equals], false),
    };
    let start = word.start as usize;
    let is_valid = name.bytes().all(is_name) && name.starts_with(|c: char| !c.is_ascii_digit());
    is_valid.then(|| Assignment {
        name: Span::new(start, start + name.len()),
        index: None,
        is_append,
        value: AssignedValue::Scalar(Span::new(start + equals + 1, word.end as usize)),
    })
}
