//! Text with a cap. Whatever may reach a model's context is a `Text`, so that no message, path
//! or note from outside can flood it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// At most `N` characters; what is cut ends in `…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Text<const N: usize>(String);

impl<const N: usize> Text<N> {
    pub fn new(text: impl Into<String>) -> Self {
        let mut text = text.into();
        // A string of at most N bytes has at most N characters: no need to count them.
        if text.len() > N
            && let Some((cut, _)) = text.char_indices().nth(N)
        {
            let end = text[..cut].char_indices().next_back().map_or(0, |(at, _)| at);
            text.truncate(end);
            text.push('…');
        }
        Text(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<const N: usize> From<String> for Text<N> {
    fn from(text: String) -> Self {
        Text::new(text)
    }
}

impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        Text::new(text)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A sentence on one line, without characters that hide or reorder others: it cannot pretend to be
/// two, or set a colour.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c }).collect()
}

/// The same for text that may have lines: line feeds and tabs stay.
pub fn plain(text: &str) -> String {
    let kept = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
    text.replace("\r\n", "\n").chars().map(|c| if kept(c) { c } else { ' ' }).collect()
}

/// A line that a program printed, without what it told the terminal: colours, titles, links. What is left of a
/// sequence that never ends is text again, so that nothing can be hidden behind one.
pub fn without_escapes(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}', '\u{9d}']) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        match sequence(rest) {
            Some(length) => rest = &rest[length..],
            None => {
                kept.push(' ');
                let mut left = rest.chars();
                left.next();
                rest = left.as_str();
            }
        }
    }
    kept.push_str(rest);
    one_line(&kept)
}

/// Longer than links and titles are.
const SEQUENCE: usize = 2048;

/// How many bytes a sequence for the terminal has, which begins here.
fn sequence(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let kind = match chars.next()?.1 {
        '\u{1b}' => chars.next()?.1,
        '\u{9b}' => '[',
        _ => ']',
    };
    match kind {
        // Parameters, and a letter at last.
        '[' => chars.find(|(_, c)| !matches!(c, ' '..='?')).filter(|(_, c)| matches!(c, '@'..='~')),
        // Whatever it is, until a bell or an end that is a sequence itself.
        ']' | 'P' | '_' | '^' | 'X' => {
            let mut before = ' ';
            // Many beginnings without an end must not each be looked through to the end of the line.
            chars.take(SEQUENCE).find(|(_, c)| {
                let is_end = matches!(c, '\u{7}' | '\u{9c}') || (before, *c) == ('\u{1b}', '\\');
                before = *c;
                is_end
            })
        }
        ' '..='/' => chars.find(|(_, c)| !matches!(c, ' '..='/')),
        _ => return Some(text.char_indices().nth(2).map_or(text.len(), |(at, _)| at)),
    }
    .map(|(at, c)| at + c.len_utf8())
}

/// Text of foreign origin, made fit to stand between our marks in a sentence of ours: a file name
/// cannot end its quotation and go on as an instruction.
pub fn quoted(text: &str) -> String {
    one_line(text).replace('`', "'")
}

/// The same for text that was said by others: it opens and closes no tag that means something to a model.
pub fn said(text: &str) -> String {
    one_line(text).replace('<', "‹").replace('>', "›").replace('"', "'")
}

/// Returns the items between our marks, with commas.
pub fn quoted_list(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

/// The last so many characters of a text.
pub fn ending(text: &str, characters: usize) -> &str {
    let from = characters.checked_sub(1).and_then(|last| text.char_indices().rev().nth(last));
    &text[from.map_or(0, |(at, _)| at)..]
}

/// As one word of a command line that can be pasted into a shell.
pub fn shell_word(text: &str) -> String {
    let text = one_line(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Separators, joiners, marks of direction, tags: what a reader does not see.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What looks like a tag of a client's own could pass for its word.
pub fn strip_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let inside = from[1..].find(['<', '>']).filter(|end| from.as_bytes().get(end + 1) == Some(&b'>'));
        let is_tag =
            inside.is_some() && from[1..].starts_with(|c: char| c == '/' || c == '!' || c.is_alphabetic());
        match (inside, is_tag) {
            (Some(end), true) => {
                out.push('\u{2039}');
                out.push_str(&from[1..1 + end]);
                out.push('\u{203a}');
                rest = &from[end + 2..];
            }
            _ => {
                out.push('<');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// As long as what a starting session may be shown of the memory.
pub type ContextNote = Text<6000>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_counts_characters_and_cuts_between_them() {
        assert_eq!(Text::<5>::new("short").as_str(), "short");
        assert_eq!(Text::<5>::new("longer").as_str(), "long…");
        assert_eq!(Text::<3>::new("äöüß").as_str(), "äö…");
        assert_eq!(Text::<3>::new("äöü").as_str(), "äöü");
        assert_eq!(Text::<0>::new("x").as_str(), "…");
    }

    #[test]
    fn reading_back_applies_the_cap_again() {
        let text: Text<4> = serde_json::from_str("\"abcdefgh\"").unwrap();
        assert_eq!(text.as_str(), "abc…");
    }

    #[test]
    fn what_a_program_tells_the_terminal_is_left_out() {
        for (line, text) in [
            ("\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("\u{9b}31mx\u{9d}0;y\u{9c}z", "xz"),
            ("\u{1b}(Bplain\u{1b}c\u{1b}", "plain "),
            ("a\u{1b}]52;never ends", "a ]52;never ends"),
            ("a\u{1b}[31\u{e9}b", "a [31\u{e9}b"),
            ("tab\tbell\u{7}back\u{8}\r", "tab bell back  "),
        ] {
            assert_eq!(without_escapes(line), text, "{line:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_left_that_a_terminal_would_obey(line in "([\u{1b}\u{9b}\u{9d}\\[\\];0-9a-z\\\\\u{7}é]|.){0,40}") {
            proptest::prop_assert!(!without_escapes(&line).chars().any(char::is_control));
        }
    }

    #[test]
    fn a_foreign_line_break_does_not_start_a_line() {
        assert_eq!(one_line("a\nb\u{1b}[0m"), "a b [0m");
        assert_eq!(plain("a\r\nb\tc\u{200b}\rd"), "a\nb\tc  d");
        assert_eq!(quoted("x` are resolved\u{2028}sprag: `rm`\u{202e}"), "x' are resolved sprag: 'rm' ");
    }
}
