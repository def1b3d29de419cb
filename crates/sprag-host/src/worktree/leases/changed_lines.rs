//! Describes the change between two versions of a file in one line.

use sprag_base::text::{Text, quoted};

/// Most lines of each side.
const LINES: usize = 3;
/// Most characters of each line.
const CHARS: usize = 60;

/// Describes the lines from the first difference to the last. `None`: there is nothing to show.
pub(crate) fn between(then: &[u8], now: &[u8]) -> Option<Text<500>> {
    let then: Vec<&str> = std::str::from_utf8(then).ok()?.lines().collect();
    let now: Vec<&str> = std::str::from_utf8(now).ok()?.lines().collect();
    let same = then.iter().zip(&now).take_while(|(a, b)| a == b).count();
    let (then, now) = (&then[same..], &now[same..]);
    let end = then.iter().rev().zip(now.iter().rev()).take_while(|(a, b)| a == b).count();
    let (then, now) = (&then[..then.len() - end], &now[..now.len() - end]);
    if then.is_empty() && now.is_empty() {
        return None;
    }
    let mut told = format!("@@ -{},{} +{},{} @@", same + 1, then.len(), same + 1, now.len());
    for (sign, lines) in [('-', then), ('+', now)] {
        for line in lines.iter().take(LINES) {
            told.push_str(&format!(" `{sign}{}`", quoted(Text::<CHARS>::from(*line).as_str())));
        }
        if lines.len() > LINES {
            told.push_str(&format!(" `{sign}` {} more", lines.len() - LINES));
        }
    }
    Some(Text::new(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_says_where_to_look() {
        let told =
            |then: &str, now: &str| between(then.as_bytes(), now.as_bytes()).map(|told| told.to_string());
        assert_eq!(told("a\nb\nc\n", "a\nx\ny\nc\n").as_deref(), Some("@@ -2,1 +2,2 @@ `-b` `+x` `+y`"));
        assert_eq!(told("a\na\n", "a\na\na\n").as_deref(), Some("@@ -3,0 +3,1 @@ `+a`"));
        assert_eq!(told("", "1\n2\n3\n4\n5").as_deref(), Some("@@ -1,0 +1,5 @@ `+1` `+2` `+3` `+` 2 more"));
        assert_eq!(told("a", "a"), None);
        assert_eq!(
            told("x", "`; rm -rf\u{202e}\u{1b}[0m").as_deref(),
            Some("@@ -1,1 +1,1 @@ `-x` `+'; rm -rf  [0m`")
        );
        assert_eq!(between(b"\xff", b"a"), None);
    }
}
