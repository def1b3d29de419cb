//! Text with a maximum length. All text that may reach a model is a `Text`, so that no message, path or note
//! can flood its context.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Text of at most `N` characters; cut text ends in `…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Text<const N: usize>(String);

impl<const N: usize> Text<N> {
    pub fn new(text: impl Into<String>) -> Self {
        let mut text = text.into();
        // A string of at most N bytes has at most N characters, so there is no need to count.
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

/// Replaces control and invisible characters with spaces, so that text cannot fake a second line, reorder
/// characters or set a colour.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c }).collect()
}

/// Replaces the same characters in text of several lines; line feeds and tabs stay.
pub fn plain(text: &str) -> String {
    let kept = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
    text.replace("\r\n", "\n").chars().map(|c| if kept(c) { c } else { ' ' }).collect()
}

/// Removes terminal sequences (colours, titles, links) from a line of program output. An unfinished sequence
/// stays as text, so that it cannot hide anything.
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

/// Maximum length of a terminal sequence; links and titles are shorter.
const SEQUENCE: usize = 2048;

/// Returns the length in bytes of the terminal sequence that starts here.
fn sequence(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let kind = match chars.next()?.1 {
        '\u{1b}' => chars.next()?.1,
        '\u{9b}' => '[',
        _ => ']',
    };
    match kind {
        // Parameters, then a final letter.
        '[' => chars.find(|(_, c)| !matches!(c, ' '..='?')).filter(|(_, c)| matches!(c, '@'..='~')),
        // Any content, up to a bell or a string terminator.
        ']' | 'P' | '_' | '^' | 'X' => {
            let mut before = ' ';
            // Without this limit many unfinished sequences would each read to the end of the line.
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

/// Prepares foreign text for use between backticks in a message: a file name cannot close the quotation and
/// continue as an instruction.
pub fn quoted(text: &str) -> String {
    one_line(text).replace('`', "'")
}

/// Prepares text that another person or program wrote: it cannot open or close a tag or a quotation that a
/// model would obey.
pub fn said(text: &str) -> String {
    one_line(text).replace('<', "‹").replace('>', "›").replace('"', "'")
}

/// Returns the items in backticks, separated by commas.
pub fn quoted_list(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the first foreign texts in backticks, and the number of the others.
pub fn first_quoted<'a>(items: impl ExactSizeIterator<Item = &'a str>, most: usize) -> String {
    let more = items.len().saturating_sub(most);
    let named = quoted_list(items.take(most).map(quoted));
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Returns the last `characters` characters of a text.
pub fn ending(text: &str, characters: usize) -> &str {
    let from = characters.checked_sub(1).and_then(|last| text.char_indices().rev().nth(last));
    &text[from.map_or(0, |(at, _)| at)..]
}

/// Quotes text as one word of a command line that can be pasted into a shell.
pub fn shell_word(text: &str) -> String {
    let text = one_line(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reports whether a character is invisible: separators, joiners, direction marks, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Replaces the brackets of tags with `‹` and `›`, because a model could take such a tag for one of its
/// client.
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

/// Text that Sprag may show to a session at its start.
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
