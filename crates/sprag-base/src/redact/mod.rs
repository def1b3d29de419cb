//! Removes secrets from text before Sprag stores it. Only certain shapes count: a hash, a UUID or a long word
//! stays, because a log with too many gaps is useless.

mod block;
mod file_name;
mod named;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;

use serde_json::Value;

use crate::text::Text;
pub use file_name::is_secret_name;

/// A value that went through [`value`] or [`text`]. The store accepts nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Returns the redacted start of a text. It redacts before it cuts, because half a secret cannot be
/// recognized, and reads only as much text as that needs.
pub fn short<const N: usize>(text: &str) -> Text<N> {
    let end = text.char_indices().nth(N + 4000).map_or(text.len(), |(at, _)| at);
    Text::new(self::text(&text[..end]).into_inner().into_owned())
}

/// Redacts every string of a JSON value.
pub fn value(mut value: Value) -> Redacted<Value> {
    redact_in(&mut value);
    Redacted(value)
}

pub fn text(text: &str) -> Redacted<Cow<'_, str>> {
    Redacted(clean(text))
}

fn redact_in(value: &mut Value) {
    match value {
        Value::String(string) => {
            if let Cow::Owned(clean) = clean(string) {
                *string = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_in),
        Value::Object(members) => members.values_mut().for_each(redact_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn clean(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let found = found_at(text, at);
        match found {
            Some((from, to, kind)) if from >= copied => {
                out.push_str(&text[copied..from]);
                out.push_str("[redacted:");
                out.push_str(kind);
                out.push(']');
                copied = to;
                at = to;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the kind of the first secret in a text, if there is one.
pub fn kind(text: &str) -> Option<&'static str> {
    (0..text.len()).find_map(|at| found_at(text, at)).map(|(_, _, kind)| kind)
}

/// Returns the secret that starts at `at`. Only the start of a word and some punctuation can start one.
fn found_at(text: &str, at: usize) -> SecretSpan {
    let bytes = text.as_bytes();
    let byte = bytes[at];
    match byte {
        b'-' => block::pem(text, at).or_else(|| named::flag(text, at)),
        b'<' => block::private(text, at).or_else(|| named::element(text, at)),
        b':' => {
            named::in_url(text, at).or_else(|| named::login(text, at)).or_else(|| named::assigned(text, at))
        }
        b'=' => named::assigned(text, at),
        b' ' => named::find_after_word(text, at),
        b'e' => token::jwt(text, at),
        b'A'..=b'Z' | b'a'..=b'z' if starts_word(bytes, at) => token::starting(text, at),
        _ => None,
    }
}

/// Start, end and kind of a secret.
type SecretSpan = Option<(usize, usize, &'static str)>;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Reports whether a word starts at `at`. A word starts after a byte that is not part of a word. It also
/// starts after an escape that ends with a letter or digit: `\n`, `\u0022`, `%20`, a terminal colour.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    if at == 0 || !is_word(bytes[at - 1]) {
        return true;
    }
    let before = |count: usize| at.checked_sub(count).map(|from| &bytes[from..at]);
    let is_hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let follows_escape = || before(2).is_some_and(|it| it[0] == b'\\' && b"ntr".contains(&it[1]));
    let follows_percent = || before(3).is_some_and(|it| it[0] == b'%' && is_hex(&it[1..]));
    let follows_unicode = || before(6).is_some_and(|it| it.starts_with(b"\\u") && is_hex(&it[2..]));
    let follows_colour = || {
        let digits =
            bytes[..at - 1].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        bytes[at - 1] == b'm' && bytes[..at - 1 - digits].ends_with(b"[")
    };
    follows_escape() || follows_percent() || follows_unicode() || follows_colour()
}

/// Maximum number of bytes read to decide whether something is a secret. A hostile text can have the start of
/// a secret everywhere.
const JUDGED: usize = 512;

/// Returns the end of the bytes from `at` for which `is_in` holds, after at most [`JUDGED`] bytes.
fn run_end(text: &str, at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = &text.as_bytes()[at..];
    at + rest.iter().take(JUDGED).take_while(|byte| is_in(**byte)).count()
}

/// Returns the same end without a limit, for bytes that are certainly a secret.
fn whole_run(text: &str, at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    at + text.as_bytes()[at..].iter().take_while(|byte| is_in(**byte)).count()
}

fn is_token(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// Returns the text before `at`, at most `FAR` bytes.
fn just_before(text: &str, at: usize) -> &str {
    const FAR: usize = 200;
    let from = at.saturating_sub(FAR);
    let from = (from..=at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    &text[from..at]
}

/// Words in values that only stand for a secret.
const PLACEHOLDERS: &[&str] = &["example", "changeme", "placeholder", "your", "xxxx", "****", "redacted"];

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '<', '{', '[', '%'])
        || PLACEHOLDERS.iter().any(|placeholder| lower.contains(placeholder))
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Reports whether a text starts with `start`, ignoring case.
fn starts_like(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}
