//! Lines that go on. A shell removes a backslash and the line break behind it before it reads anything, also
//! between `$` and `(` or within a name. The parser keeps the text, so that places stay true; a text with
//! such a break inside a word is read a second time with its lines joined.

/// Returns the text with its lines joined, if a line goes on without a blank in front of the backslash.
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

/// Reports whether no backslash escapes the one at this place.
fn is_odd(text: &str, at: usize) -> bool {
    text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
}
