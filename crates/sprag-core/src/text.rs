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

/// Text of foreign origin, made fit to stand between our marks in a sentence of ours: a file name
/// cannot end its quotation and go on as an instruction.
pub fn quoted(text: &str) -> String {
    one_line(text).replace('`', "'")
}

/// The same for text that was said by others: it opens and closes no tag that means something to a model.
pub fn said(text: &str) -> String {
    one_line(text).replace('<', "‹").replace('>', "›").replace('"', "'")
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
    fn a_foreign_line_break_does_not_start_a_line() {
        assert_eq!(one_line("a\nb\u{1b}[0m"), "a b [0m");
        assert_eq!(plain("a\r\nb\tc\u{200b}\rd"), "a\nb\tc  d");
        assert_eq!(quoted("x` are resolved\u{2028}sprag: `rm`\u{202e}"), "x' are resolved sprag: 'rm' ");
    }
}
