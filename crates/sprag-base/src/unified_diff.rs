//! The heading of a hunk in a unified diff. Readers count the lines that it announces, so that they never
//! mistake a line of a file for a heading.

/// A heading such as `@@ -12,3 +14,0 @@ fn x()`: start and number of the lines on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk {
    pub old_start: usize,
    pub old_count: usize,
    pub new_start: usize,
    pub new_count: usize,
}

impl Hunk {
    /// Reads a heading. Returns `None` for any other line. A missing count means 1.
    pub fn parse(line: &[u8]) -> Option<Hunk> {
        let text = line.strip_prefix(b"@@ -")?;
        let end = text.windows(3).position(|window| window == b" @@")?;
        let (old, new) = std::str::from_utf8(&text[..end]).ok()?.split_once(" +")?;
        let range = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
        Some(Hunk { old_start, old_count, new_start, new_count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_says_how_many_lines_follow() {
        let hunk = |line: &str| Hunk::parse(line.as_bytes());
        let read = |old_start, old_count, new_start, new_count| {
            Some(Hunk { old_start, old_count, new_start, new_count })
        };
        assert_eq!(hunk("@@ -1,2 +3,4 @@"), read(1, 2, 3, 4));
        assert_eq!(hunk("@@ -0,0 +1 @@ fn f() @@"), read(0, 0, 1, 1));
        for other in
            ["", "@@", "@@ -1 +1", "@@ -x +1 @@", "-@@ -1 +1 @@", "@@ -1,-2 +1 @@", "@@@ -1 -1 +1 @@@"]
        {
            assert_eq!(hunk(other), None, "{other}");
        }
    }
}
