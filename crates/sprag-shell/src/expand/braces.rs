//! Brace expansion of one raw word, before all other expansions: `{a,b}`, `{1..3}`, also nested.

use crate::parse::scan::{self, Nesting};

/// Maximum number of words that one word may become.
const MOST: usize = 256;

/// Returns the words that `raw` expands to, or `None` if there are too many.
pub(crate) fn expand(raw: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    // Words that are not finished, and how much of each is.
    let mut open = vec![(raw.to_owned(), 0)];
    let mut work = 0;
    while let Some((word, from)) = open.pop() {
        work += 1;
        if done.len() + open.len() > MOST || work > 4 * MOST {
            return None;
        }
        let Some(group) = first_group(&word, from) else {
            done.push(word);
            continue;
        };
        let (head, tail) = (&word[..group.start], &word[group.end..]);
        for alternative in group.alternatives.iter().rev() {
            let mut next = String::with_capacity(word.len());
            next.push_str(head);
            next.push_str(alternative);
            next.push_str(tail);
            // Alternatives may contain groups; elements of a sequence do not.
            open.push((next, group.start));
            if open.len() > MOST {
                return None;
            }
        }
    }
    Some(done)
}

struct BraceGroup {
    start: usize,
    end: usize,
    alternatives: Vec<String>,
}

fn first_group(word: &str, from: usize) -> Option<BraceGroup> {
    let bytes = word.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                if let Some(group) = group(word, at) {
                    return Some(group);
                }
                at += 1;
            }
            _ => at = skip(word, at),
        }
    }
    None
}

/// Returns the position after the quoted or plain character at `at`.
fn skip(word: &str, at: usize) -> usize {
    let bytes = word.as_bytes();
    let end = match bytes[at] {
        b'\\' => Some(at + 2),
        b'\'' => scan::end_of_single(word, at + 1),
        b'"' => scan::end_of(word, at + 1, Nesting::Quotes),
        b'`' => scan::end_of(word, at + 1, Nesting::Ticks),
        b'$' => match bytes.get(at + 1) {
            Some(b'\'') => scan::end_of_ansi(word, at + 2),
            Some(b'{') => scan::end_of(word, at + 2, Nesting::Braces),
            Some(b'(') => scan::end_of(word, at + 2, Nesting::Parens),
            _ => Some(at + 1),
        },
        _ => Some(at + 1),
    };
    let mut end = end.unwrap_or(bytes.len()).min(bytes.len());
    while !word.is_char_boundary(end) {
        end += 1;
    }
    end
}

fn group(word: &str, start: usize) -> Option<BraceGroup> {
    let bytes = word.as_bytes();
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                depth += 1;
                at += 1;
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                at += 1;
            }
            b',' if depth == 1 => {
                commas.push(at);
                at += 1;
            }
            _ => at = skip(word, at),
        }
    }
    if at >= bytes.len() {
        return None;
    }
    let alternatives = if commas.is_empty() {
        sequence(&word[start + 1..at])?
    } else {
        let mut from = start + 1;
        let mut parts = Vec::with_capacity(commas.len() + 1);
        for comma in commas {
            parts.push(word[from..comma].to_owned());
            from = comma + 1;
        }
        parts.push(word[from..at].to_owned());
        parts
    };
    Some(BraceGroup { start, end: at + 1, alternatives })
}

fn sequence(inner: &str) -> Option<Vec<String>> {
    let mut parts = inner.split("..");
    let (first, last, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let letters = one(first).zip(one(last));
    let (from, to) = match letters {
        Some((a, b)) => (i64::from(u32::from(a)), i64::from(u32::from(b))),
        None => (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?),
    };
    // One more than the maximum is enough to detect too many.
    let count = (from.abs_diff(to) / step).min(MOST as u64) + 1;
    let padded = [first, last].iter().any(|n| n.trim_start_matches('-').starts_with('0') && n.len() > 1);
    let width = if padded { first.len().max(last.len()) } else { 0 };
    let mut values = Vec::new();
    for n in 0..count {
        let offset = i64::try_from(n.checked_mul(step)?).ok()?;
        let value = if from <= to { from.checked_add(offset)? } else { from.checked_sub(offset)? };
        values.push(match letters {
            Some(_) => u32::try_from(value).ok().and_then(char::from_u32)?.to_string(),
            None => format!("{value:0width$}"),
        });
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_these() {
        for (raw, words) in [
            ("a", "a"),
            ("{a,b}", "a b"),
            ("x{a,b}y{1..3}", "xay1 xay2 xay3 xby1 xby2 xby3"),
            ("{a,{b,c}d}", "a bd cd"),
            ("{a}", "{a}"),
            ("{}", "{}"),
            ("{,x}", " x"),
            ("'{a,b}'", "'{a,b}'"),
            ("\\{a,b}", "\\{a,b}"),
            ("${x:-{a,b}}", "${x:-{a,b}}"),
            ("{c..a}", "c b a"),
            ("{01..3}", "01 02 03"),
            ("{1..6..2}", "1 3 5"),
            ("{a,b", "{a,b"),
        ] {
            assert_eq!(expand(raw).unwrap().join(" "), words, "{raw}");
        }
        assert_eq!(expand("{1..300}"), None);
        assert_eq!(expand(&"{a,b}".repeat(12)), None);
        assert_eq!(expand("{1..99999999999999}"), None);
    }
}
