//! Finds the `impl` blocks of a type.

use std::ops::Range;

use crate::tidy::modules::{ModulePath, Modules, is_name};

/// Token ranges of the `impl` blocks of a type in its file.
pub(super) fn impl_blocks(
    modules: &Modules,
    file: usize,
    path: &ModulePath,
    name: &str,
) -> Vec<Range<usize>> {
    let tokens = &modules.sources[file].tokens;
    let body = &modules.modules[path].body;
    let mut found = Vec::new();
    let mut at = body.start;
    while at < body.end {
        match tokens[at].text.as_str() {
            "impl" => {
                let mut open = at;
                while open < body.end && tokens[open].text != "{" {
                    open = match tokens[open].text.as_str() {
                        "(" | "[" => modules.close_of(file, open).map_or(open + 1, |close| close + 1),
                        _ => open + 1,
                    };
                }
                let end = modules.close_of(file, open).map_or(body.end, |close| close + 1);
                let head: Vec<&str> = tokens[at..open].iter().map(|token| token.text.as_str()).collect();
                let subject = head.iter().rposition(|text| *text == "for").map_or(1, |at| at + 1);
                // Behind generic parameters of the `impl` itself.
                let mut subject = subject;
                if head.get(subject) == Some(&"<") {
                    let mut depth = 0;
                    for (index, text) in head.iter().enumerate().skip(subject) {
                        depth += i32::from(*text == "<") - i32::from(*text == ">");
                        if depth == 0 {
                            subject = index + 1;
                            break;
                        }
                    }
                }
                let subject = head.get(subject).copied().filter(|text| is_name(text));
                if subject == Some(name) {
                    let mut start = at;
                    while start >= 2 && tokens[start - 1].text == "]" {
                        let Some(open) = (body.start..start)
                            .rev()
                            .find(|open| modules.close_of(file, *open) == Some(start - 1))
                        else {
                            break;
                        };
                        if open == 0 || tokens[open - 1].text != "#" {
                            break;
                        }
                        start = open - 1;
                    }
                    found.push(start..end);
                }
                at = end;
            }
            "{" | "(" | "[" => at = modules.close_of(file, at).map_or(at + 1, |close| close + 1),
            _ => at += 1,
        }
    }
    found
}
