//! Alternatives and escapes in the text of a pattern.

use crate::pattern::PatternResult;

/// Maximum number of alternatives of one pattern after `{a,b}{c,d}` is expanded.
const MOST_ALTERNATIVES: usize = 512;
/// Stand-ins for escaped braces and spaces while a pattern is split.
const OPEN: &str = "\u{F0000}";
const CLOSE: &str = "\u{F0001}";
pub(super) const SPACE: &str = "\u{F0002}";

pub(super) fn split_outside_braces(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(&text[from..]);
    }
    parts
}

/// Expands `{a,b}`. Braces do not nest; write two patterns instead.
pub(super) fn alternatives(text: &str) -> PatternResult<Vec<String>> {
    if text.find('[').is_some_and(|open| text[open + 1..].contains(']')) {
        return Err("`[…]` is not supported; write `{a,b}`");
    }
    let text = text.replace("\\{", OPEN).replace("\\}", CLOSE);
    let mut all = vec![String::new()];
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inner, after)) = after.split_once('}') else {
            return Err("the `}` is missing");
        };
        if inner.contains('{') {
            return Err("nested braces are not supported");
        }
        if before.contains('}') {
            return Err("the `{` is missing");
        }
        let choices: Vec<&str> = inner.split(',').collect();
        if all.len() * choices.len() > MOST_ALTERNATIVES {
            return Err("too many alternatives");
        }
        all = all
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{before}{choice}")))
            .collect();
        rest = after;
    }
    if rest.contains('}') {
        return Err("the `{` is missing");
    }
    for one in &mut all {
        one.push_str(rest);
        *one = one.replace(OPEN, "{").replace(CLOSE, "}").replace(SPACE, " ");
    }
    Ok(all)
}
