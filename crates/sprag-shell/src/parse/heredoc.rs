//! Finds the end of a heredoc body. A wrong end would turn data into code, so this is the only
//! implementation.

/// The conditions for the end of a heredoc.
pub(super) struct HeredocEnd<'t> {
    pub(super) delimiter: &'t [u8],
    pub(super) has_tabs_removed: bool,
    /// Whether the delimiter is quoted; then a backslash at the end of a line is data.
    pub(super) is_literal: bool,
    /// Whether a line that starts with the delimiter and closes a parenthesis ends the heredoc too, as in a
    /// substitution.
    pub(super) may_close: bool,
}

/// The end of a heredoc body, and the position where the text continues.
pub(super) struct HeredocPlaces {
    pub(super) body: usize,
    pub(super) next: usize,
}

/// Finds the end of the heredoc whose body starts at `at`. Without a delimiter line it is the end of the
/// text.
pub(super) fn find_end(text: &[u8], at: usize, end: &HeredocEnd<'_>) -> HeredocPlaces {
    let mut at = at.min(text.len());
    let mut joined = Vec::new();
    while at < text.len() {
        let body = at;
        joined.clear();
        let mut line = &text[at..line_end(text, at)];
        let mut next = at + line.len() + 1;
        // The shell joins lines before it compares them with the delimiter.
        while !end.is_literal && is_continued(line) && next <= text.len() {
            joined.extend_from_slice(&line[..line.len() - 1]);
            line = &text[next..line_end(text, next)];
            next += line.len() + 1;
        }
        if !joined.is_empty() || next > at + line.len() + 1 {
            joined.extend_from_slice(line);
            line = &joined;
        }
        if end.has_tabs_removed {
            line = &line[line.iter().take_while(|byte| **byte == b'\t').count()..];
        }
        at = next.min(text.len());
        if line == end.delimiter {
            return HeredocPlaces { body, next: at };
        }
        // The parenthesis after the last line of a substitution is already cut off.
        let is_last = next > text.len();
        if let Some(rest) = line.strip_prefix(end.delimiter)
            && (is_last || (end.may_close && rest.contains(&b')')))
        {
            return HeredocPlaces { body, next: (next - 1 - rest.len()).min(text.len()) };
        }
    }
    HeredocPlaces { body: text.len(), next: text.len() }
}

fn line_end(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - at)
}

fn is_continued(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Reports whether a backslash in double quotes escapes this byte.
fn is_escaped_in_quotes(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| b"$`\"\\\n".contains(byte))
}

/// Reports whether a delimiter contains `$'..'` or `$".."`, which shells read differently.
pub(super) fn has_dollar_quotes(word: &[u8]) -> bool {
    word.windows(2).any(|pair| matches!(pair, b"$'" | b"$\""))
}

/// Returns a delimiter without its quotes, and whether it had any.
pub(super) fn unquoted(word: &[u8]) -> (Vec<u8>, bool) {
    let mut plain = Vec::with_capacity(word.len());
    let mut quote = 0;
    let mut at = 0;
    while let Some(&byte) = word.get(at) {
        match byte {
            _ if quote != 0 && byte == quote => quote = 0,
            b'\\' if quote == 0 || (quote == b'"' && is_escaped_in_quotes(word.get(at + 1))) => {
                at += 1;
                plain.extend(word.get(at).filter(|byte| **byte != b'\n'));
            }
            b'\'' | b'"' if quote == 0 => quote = byte,
            _ => plain.push(byte),
        }
        at += 1;
    }
    let is_quoted = word.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
    (plain, is_quoted)
}
