//! Expands a raw word of the text to the words that a program receives: quotes, braces, `~`, variables and
//! substitutions. It also walks the substitutions, because they run.

mod arithmetic;
mod braces;
pub(crate) mod escapes;
mod parameters;
pub(crate) mod unknown;

use super::eval::{Evaluator, StdinText, TEXT};
use super::expand::escapes::EscapeDialect;
use super::expand::unknown::{HOLE, MANY, NUMBER, SECRET};
use super::parse::lookahead;
use super::parse::scan::{self, Nesting};
use super::{Carrier, DoubtKind};

/// Maximum number of words that one word may become, for example by `$@`.
const WORDS: usize = 4096;

/// The quoting around the current text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    Bare,
    /// Double quotes.
    Double,
    /// The body of a heredoc, where quotes are plain characters.
    Document,
}

/// The words that an expansion builds.
pub(crate) struct WordFields {
    done: Vec<String>,
    word: String,
    /// Whether there is a word even if it is empty.
    begun: bool,
    /// Whether a part of the word was quoted or literal, so that a hole belongs to one word.
    solid: bool,
    splits: bool,
    /// `IFS`, if this text set it.
    separators: Option<String>,
    pub(super) globs: bool,
}

impl WordFields {
    fn new() -> WordFields {
        WordFields {
            done: Vec::new(),
            word: String::new(),
            begun: false,
            solid: false,
            splits: false,
            separators: None,
            globs: false,
        }
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.word.push_str(text);
        self.begun = true;
        self.solid = true;
    }

    /// Adds the value of an expansion.
    pub(super) fn value(&mut self, text: &str, quoting: Quoting) {
        if quoting != Quoting::Bare || !self.splits {
            self.word.extend(text.chars().map(|c| if c == MANY { HOLE } else { c }));
            self.begun = true;
            self.solid = true;
            return;
        }
        let mut rest = text;
        let separators = self.separators.clone();
        let separates = |c: char| match &separators {
            Some(separators) => separators.contains(c),
            None => matches!(c, ' ' | '\t' | '\n'),
        };
        while let Some(at) = rest.find(separates) {
            self.piece(&rest[..at]);
            self.finish();
            rest = rest[at..].trim_start_matches(separates);
        }
        self.piece(rest);
    }

    fn piece(&mut self, text: &str) {
        if !text.is_empty() {
            self.word.push_str(text);
            self.begun = true;
            // A secret is one word, like a number.
            self.solid |= text.contains(|c| !unknown::is_hole(c) || matches!(c, NUMBER | SECRET));
        }
    }

    /// Adds several words at once: `"$@"`.
    pub(super) fn words(&mut self, words: &[String], quoting: Quoting) {
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                if self.splits {
                    self.finish();
                } else {
                    self.word.push(' ');
                }
            }
            if word.contains(MANY) && self.splits && self.word.is_empty() {
                self.word.push(MANY);
                self.begun = true;
            } else {
                self.value(word, quoting);
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.word.len() > TEXT || self.done.len() > WORDS
    }

    fn finish(&mut self) {
        if !self.begun {
            return;
        }
        let mut word = std::mem::take(&mut self.word);
        if !self.solid && !word.is_empty() {
            // Only unquoted unknown text: any number of words.
            word = MANY.to_string();
        }
        self.done.push(word);
        self.begun = false;
        self.solid = false;
    }
}

impl Evaluator {
    /// Returns the words that one raw word expands to.
    pub(super) fn fields(&mut self, raw: &str) -> Vec<String> {
        self.fields_and_globs(raw).0
    }

    /// Returns the words, and whether one of them has a glob.
    pub(super) fn fields_and_globs(&mut self, raw: &str) -> (Vec<String>, bool) {
        self.count(raw.len() / 64);
        if is_plain(raw) {
            return (vec![raw.to_owned()], false);
        }
        if !self.step() {
            return (vec![MANY.to_string()], false);
        }
        let mut fields = WordFields::new();
        fields.splits = true;
        fields.separators = self
            .state
            .variables
            .get("IFS")
            .and_then(|variable| variable.values.first())
            .filter(|value| unknown::is_known(value))
            .cloned();
        if raw.contains('{') && (raw.contains(',') || raw.contains("..")) {
            match braces::expand(raw) {
                Some(_) if self.is_thrifty() => {
                    self.reach(raw);
                    return (vec![MANY.to_string()], false);
                }
                Some(words) => {
                    for word in words {
                        if !self.step() {
                            break;
                        }
                        self.pieces(&word, Quoting::Bare, &mut fields);
                        fields.finish();
                    }
                }
                None => {
                    self.doubt(DoubtKind::Limit, "braces of more than 256 words");
                    return (vec![MANY.to_string()], false);
                }
            }
        } else {
            self.pieces(raw, Quoting::Bare, &mut fields);
            fields.finish();
        }
        (fields.done, fields.globs)
    }

    /// Expands a word that is not split: an assignment, a redirection target, a here string.
    pub(super) fn single(&mut self, raw: &str) -> String {
        if is_plain(raw) {
            return raw.to_owned();
        }
        self.in_one(raw, Quoting::Bare)
    }

    pub(super) fn document(&mut self, raw: &str) -> String {
        if !raw.contains(['$', '`', '\\']) {
            return raw.to_owned();
        }
        self.in_one(raw, Quoting::Document)
    }

    /// Walks the substitutions of a text whose value does not matter: arithmetic, patterns.
    pub(super) fn reach(&mut self, raw: &str) {
        if raw.contains(['$', '`', '<', '>']) {
            self.in_one(raw, Quoting::Bare);
        }
    }

    pub(super) fn in_one(&mut self, raw: &str, quoting: Quoting) -> String {
        self.count(raw.len() / 64);
        let mut fields = WordFields::new();
        if self.step() {
            self.pieces(raw, quoting, &mut fields);
        } else {
            fields.value(HOLE.encode_utf8(&mut [0; 4]), Quoting::Double);
        }
        fields.word
    }

    pub(super) fn pieces(&mut self, raw: &str, quoting: Quoting, fields: &mut WordFields) {
        if self.level >= 60 {
            self.doubt(DoubtKind::Limit, "expansions nested too deep");
            fields.value(HOLE.encode_utf8(&mut [0; 4]), quoting);
            return;
        }
        self.level += 1;
        self.pieces_here(raw, quoting, fields);
        self.level -= 1;
    }

    fn pieces_here(&mut self, raw: &str, quoting: Quoting, fields: &mut WordFields) {
        let bytes = raw.as_bytes();
        let mut at = 0;
        let mut plain = 0;
        while at < bytes.len() {
            let special = match bytes[at] {
                b'\\' | b'$' | b'`' => true,
                b'\'' | b'"' => quoting == Quoting::Bare,
                b'<' | b'>' => quoting == Quoting::Bare && bytes.get(at + 1) == Some(&b'('),
                b'~' => quoting == Quoting::Bare && starts_home(raw, at, fields),
                b'*' | b'?' | b'[' => {
                    fields.globs |= quoting == Quoting::Bare;
                    false
                }
                // The first byte of the private marks.
                0xEE => raw[at..].starts_with(unknown::is_hole),
                _ => false,
            };
            if !special {
                at += 1;
                continue;
            }
            if plain < at {
                fields.literal(&raw[plain..at]);
            }
            at = self.special(raw, at, quoting, fields).min(bytes.len());
            while !raw.is_char_boundary(at) {
                at += 1;
            }
            plain = at;
        }
        if plain < bytes.len() {
            fields.literal(&raw[plain..]);
        }
    }

    /// Expands the construct at `at`; returns the position after it.
    fn special(&mut self, raw: &str, at: usize, quoting: Quoting, fields: &mut WordFields) -> usize {
        let bytes = raw.as_bytes();
        // Scanning each nested part to its end is work, so it counts.
        self.count((raw.len() - at) / 64);
        if !self.step() || fields.is_too_long() {
            self.doubt(DoubtKind::Limit, "a word of more than 64 KiB");
            fields.value(HOLE.encode_utf8(&mut [0; 4]), quoting);
            return raw.len();
        }
        match bytes[at] {
            b'\\' => return backslash(raw, at, quoting, fields),
            b'\'' => {
                let end = scan::end_of_single(raw, at + 1).unwrap_or(raw.len() + 1);
                fields.literal(&raw[at + 1..(end - 1).min(raw.len())]);
                return end;
            }
            b'"' => {
                let end = scan::end_of(raw, at + 1, Nesting::Quotes).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 1..(end - 1).min(raw.len())];
                // `"$@"` without arguments gives no word; other quotes are a word even if empty.
                if !matches!(inner, "$@" | "${@}") && !inner.ends_with("[@]}") {
                    fields.literal("");
                }
                self.pieces(inner, Quoting::Double, fields);
                return end;
            }
            b'`' => {
                let end = scan::end_of(raw, at + 1, Nesting::Ticks).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 1..(end - 1).min(raw.len())];
                let value = self.substitution(&unescape_ticks(inner, quoting));
                fields.value(&value, quoting);
                return end;
            }
            b'<' | b'>' => {
                let end = scan::end_of(raw, at + 2, Nesting::Parens).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 2..(end - 1).min(raw.len())];
                let path = if bytes[at] == b'<' {
                    let output = self.substituted(inner);
                    self.pipe_path(output)
                } else {
                    self.input_unknown(|walk| walk.inner_text(inner, Carrier::Substitution));
                    self.pipe_path(HOLE.to_string())
                };
                fields.literal(&path);
                return end;
            }
            b'~' => {
                let home = self.state.home.clone();
                fields.literal(&home);
                return at + 1;
            }
            b'$' => {}
            _ => {
                let mark = raw[at..].chars().next().unwrap_or(HOLE);
                fields.value(mark.encode_utf8(&mut [0; 4]), quoting);
                return at + mark.len_utf8();
            }
        }
        match bytes.get(at + 1) {
            Some(b'\'') if quoting == Quoting::Bare => {
                let end = scan::end_of_ansi(raw, at + 2).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 2..(end - 1).min(raw.len())];
                let text = escapes::decode(inner, EscapeDialect::Ansi).0;
                if text.contains('\0') {
                    self.doubt(DoubtKind::OddChar, raw);
                }
                fields.literal(&unknown::without_marks(text.split('\0').next().unwrap_or_default()));
                end
            }
            Some(b'"') if quoting == Quoting::Bare => at + 1,
            Some(b'(') if lookahead::is_arithmetic(bytes, at + 2) => {
                let end = scan::end_of(raw, at + 2, Nesting::Math).unwrap_or(raw.len() + 1);
                let inner = raw.get(at + 3..(end - 1).saturating_sub(1)).unwrap_or_default();
                self.arithmetic(inner, quoting, fields);
                end
            }
            Some(b'(') => {
                let end = scan::end_of(raw, at + 2, Nesting::Parens).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 2..(end - 1).min(raw.len())];
                let value = self.substitution(inner);
                fields.value(&value, quoting);
                end
            }
            Some(b'[') => {
                let end = scan::end_of(raw, at + 2, Nesting::Brackets).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 2..(end - 1).min(raw.len())];
                self.arithmetic(inner, quoting, fields);
                end
            }
            Some(b'{') => {
                let nesting = if quoting == Quoting::Bare { Nesting::Braces } else { Nesting::QuotedBraces };
                let end = scan::end_of(raw, at + 2, nesting).unwrap_or(raw.len() + 1);
                let inner = &raw[at + 2..(end - 1).min(raw.len())];
                self.parameter(inner, quoting, fields);
                end
            }
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let rest = &raw[at + 1..];
                let length =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                self.parameter(&rest[..length], quoting, fields);
                at + 1 + length
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(byte) => {
                self.parameter(&raw[at + 1..at + 2], quoting, fields);
                at + 2
            }
            _ => {
                fields.literal("$");
                at + 1
            }
        }
    }

    fn arithmetic(&mut self, inner: &str, quoting: Quoting, fields: &mut WordFields) {
        self.computed(inner);
        let number = inner.trim();
        // Only a plain number is computed.
        if !number.is_empty() && number.len() < 18 && number.bytes().all(|byte| byte.is_ascii_digit()) {
            fields.value(number, quoting);
        } else {
            // A number is always one word.
            fields.value(NUMBER.encode_utf8(&mut [0; 4]), Quoting::Double);
        }
    }

    /// Returns the value of `$(text)`.
    fn substitution(&mut self, text: &str) -> String {
        let mut value = self.substituted(text);
        value.truncate(value.trim_end_matches('\n').len());
        value
    }

    /// Returns the output of `text` in a subshell, or a hole unless it is certain.
    fn substituted(&mut self, text: &str) -> String {
        let input = self.input.clone();
        let output = self.captured(|walk| walk.inner_text(text, Carrier::Substitution));
        self.input = input;
        if output.vague { HOLE.to_string() } else { output.text }
    }

    pub(super) fn input_unknown(&mut self, inner: impl FnOnce(&mut Evaluator)) {
        let input = std::mem::replace(&mut self.input, StdinText::Text(HOLE.to_string()));
        inner(self);
        self.input = input;
    }

    /// Returns a path such as `/dev/fd/63` for the output of a process.
    pub(super) fn pipe_path(&mut self, text: String) -> String {
        let path = format!("/dev/fd/{}", 63 + self.files.len());
        self.files.insert(path.clone(), text);
        path
    }
}

/// Reports whether nothing in a word is special to the shell.
fn is_plain(raw: &str) -> bool {
    !raw.bytes().any(|byte| {
        matches!(
            byte,
            b'\\' | b'$' | b'`' | b'\'' | b'"' | b'~' | b'{' | b'*' | b'?' | b'[' | b'<' | b'>' | 0xEE
        )
    })
}

/// Reports whether `~` or `~/` stands at the start of a word, or after `=` or `:` as in `--dir=~/x`. The home
/// of another user stays unexpanded.
fn starts_home(raw: &str, at: usize, fields: &WordFields) -> bool {
    let first = at == 0 && !fields.begun || raw[..at].ends_with(['=', ':']);
    first && (raw.len() == at + 1 || raw[at + 1..].starts_with(['/', ':']))
}

fn backslash(raw: &str, at: usize, quoting: Quoting, fields: &mut WordFields) -> usize {
    let Some(next) = raw[at + 1..].chars().next() else {
        fields.literal("\\");
        return at + 1;
    };
    let end = at + 1 + next.len_utf8();
    let escapes = match quoting {
        Quoting::Bare => true,
        Quoting::Double => matches!(next, '$' | '`' | '"' | '\\' | '\n'),
        Quoting::Document => matches!(next, '$' | '`' | '\\' | '\n'),
    };
    if !escapes {
        fields.literal(&raw[at..end]);
    } else if next != '\n' {
        fields.literal(&raw[at + 1..end]);
    }
    end
}

/// Removes the escapes inside backticks: a backslash escapes `$`, a backtick and itself, and in double quotes
/// also `"`.
fn unescape_ticks(inner: &str, quoting: Quoting) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let protects = c == '\\'
            && chars.peek().is_some_and(|next| {
                matches!(next, '$' | '`' | '\\') || *next == '"' && quoting == Quoting::Double
            });
        if protects {
            out.extend(chars.next());
        } else {
            out.push(c);
        }
    }
    out
}
