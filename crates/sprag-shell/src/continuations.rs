//! Line continuations. A shell removes a backslash with its line break before it reads anything, even between
//! `$` and `(` or inside a name. The parser keeps the text, so that positions stay valid. A text with such a
//! break inside a word is read a second time with its lines joined.

/// Returns the text with its lines joined, if a continuation stands inside a word.
pub(crate) fn join(text: &str) -> Option<String> {
    let breaks: Vec<usize> =
        text.match_indices("\\\n").map(|(at, _)| at).filter(|at| is_odd(text, *at)).collect();
    let is_inside =
        |at: &usize| text[..*at].chars().next_back().is_some_and(|before| !before.is_whitespace());
    if !breaks.iter().any(is_inside) {
        return None;
    }
    let mut joined = String::with_capacity(text.len());
    let mut start = 0;
    for at in breaks {
        joined.push_str(&text[start..at]);
        start = at + 2;
    }
    joined.push_str(&text[start..]);
    Some(joined)
}

/// Reports whether the backslash at this position is not escaped by another one.
fn is_odd(text: &str, at: usize) -> bool {
    text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
}
