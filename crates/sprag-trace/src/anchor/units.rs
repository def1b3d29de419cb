//! Finds functions and types that still equal a recorded one. The hash ignores formatting and comments, so it
//! says nothing about lines with a comment.

use super::index::{Anchors, is_enough};

/// Returns an anchor for a unit with this hash. All records with the hash must name one writer, and one of
/// them must have written the whole unit.
pub fn anchor(anchors: &Anchors, hash: &str, lines: &[&[u8]]) -> Option<usize> {
    // A single line does not show whether it is inside a comment or text of several lines.
    let is_plain = |line: &&[u8]| {
        ["/*", "*/", "\"\"\"", "'''", "`", "r#\"", "=begin"].iter().all(|mark| !has(line, mark))
    };
    if !is_enough(lines) || !lines.iter().all(is_plain) {
        return None;
    }
    let same: Vec<_> = anchors.units.iter().filter(|it| it.hash.as_str() == hash).collect();
    let whole = same.iter().find(|it| it.is_whole)?;
    let is_one = same.iter().all(|it| anchors.writer_of(it.source) == anchors.writer_of(whole.source));
    anchors.all.iter().position(|it| it.source == whole.source).filter(|_| is_one)
}

/// Reports whether the hash of the unit covers the whole line.
pub fn is_code(line: &[u8]) -> bool {
    let is_blank = line.iter().all(u8::is_ascii_whitespace);
    !is_blank && !has(line, "//") && !has(line, "#")
}

fn has(line: &[u8], mark: &str) -> bool {
    line.windows(mark.len()).any(|part| part == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_comment_is_not_all_code() {
        assert!(is_code(b"let total = 3;\n"));
        for line in ["", "  \n", "total += 1; // why\n", "# why\n"] {
            assert!(!is_code(line.as_bytes()), "{line}");
        }
    }
}
