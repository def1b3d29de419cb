//! Finds secrets and conflict markers in the lines that a commit adds.

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_base::unified_diff::Hunk;

use crate::facts::{StagedFault, StagedFinding};

/// Maximum number of findings. Later ones appear when these are fixed.
const FOUND: usize = 20;
/// Maximum bytes of a line that are searched. Longer lines are generated.
const LINE: usize = 16 * 1024;

/// A filter for the findings that count.
type LineFilter<'a> = &'a dyn Fn(&StagedFinding) -> bool;

/// Returns the findings in the added lines of a diff without context.
pub fn in_diff(diff: &[u8], minds: LineFilter<'_>) -> Vec<StagedFinding> {
    let mut file = StagedFile::new("", minds);
    let mut found = Vec::new();
    let (mut removed, mut added) = (0usize, 0usize);
    for line in diff.split(|&byte| byte == b'\n') {
        match line.first() {
            // Within a hunk every line is content.
            Some(b'-') if removed > 0 => removed -= 1,
            Some(b'+') if added > 0 => {
                added -= 1;
                file.line(&line[1..], &mut found);
            }
            Some(b'@') => {
                if let Some(hunk) = Hunk::parse(line) {
                    (removed, added) = (hunk.old_count, hunk.new_count);
                    file.number = u32::try_from(hunk.new_start).unwrap_or(u32::MAX);
                }
            }
            Some(b'+') => {
                if let Some(path) = line.strip_prefix(b"+++ ") {
                    file = StagedFile::new(&path_of(path), minds);
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the findings in a new file.
pub fn in_file(path: &str, text: &[u8], minds: LineFilter<'_>) -> Vec<StagedFinding> {
    let mut found = Vec::new();
    if is_binary(text) {
        return found;
    }
    let mut file = StagedFile { number: 1, ..StagedFile::new(path, minds) };
    for line in text.split(|&byte| byte == b'\n') {
        file.line(line, &mut found);
    }
    found
}

pub fn is_binary(text: &[u8]) -> bool {
    text.contains(&0)
}

/// A file while it is read.
struct StagedFile<'a> {
    path: Text<200>,
    /// Number of the next line.
    number: u32,
    conflict: MarkerState,
    minds: LineFilter<'a>,
}

/// The part of a conflict seen so far. A single marker may be a heading or a quotation.
enum MarkerState {
    None,
    Ours { line: u32 },
    Theirs { line: u32 },
}

impl StagedFile<'_> {
    fn new<'a>(path: &str, minds: LineFilter<'a>) -> StagedFile<'a> {
        StagedFile { path: Text::from(path), number: 0, conflict: MarkerState::None, minds }
    }

    fn line(&mut self, line: &[u8], found: &mut Vec<StagedFinding>) {
        let number = self.number;
        self.number = self.number.saturating_add(1);
        let (path, minds) = (&self.path, self.minds);
        let mut find = |line, fault| {
            let finding = StagedFinding { path: path.clone(), line, fault };
            if found.len() < FOUND && minds(&finding) {
                found.push(finding);
            }
        };
        self.conflict = match self.conflict {
            _ if line.starts_with(b"<<<<<<< ") => MarkerState::Ours { line: number },
            MarkerState::Ours { line: start } if line.starts_with(b"=======") => {
                MarkerState::Theirs { line: start }
            }
            MarkerState::Theirs { line: start } if line.starts_with(b">>>>>>> ") => {
                find(start, StagedFault::Markers);
                MarkerState::None
            }
            MarkerState::None => MarkerState::None,
            MarkerState::Ours { line } => MarkerState::Ours { line },
            MarkerState::Theirs { line } => MarkerState::Theirs { line },
        };
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
        // The kind `private` marks private notes; in other files it is an ordinary tag of a markup language.
        if let Some(kind) = redact::kind(&text).filter(|kind| *kind != "private") {
            find(number, StagedFault::Secret { kind: Text::from(kind) });
        }
    }
}

/// Returns the path from `b/path`, which git quotes if it has special characters.
fn path_of(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    let path = path.trim_end_matches('\t').trim_matches('"');
    path.strip_prefix("b/").unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(found: &[StagedFinding]) -> Vec<String> {
        let name = |fault: &StagedFault| match fault {
            StagedFault::Markers => "markers".to_owned(),
            StagedFault::Secret { kind } => kind.to_string(),
        };
        found.iter().map(|found| format!("{}:{} {}", found.path, found.line, name(&found.fault))).collect()
    }

    #[test]
    fn added_lines_are_looked_at_by_their_number() {
        let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-password=correcthorsebattery\n+one\n+DB_PASSWORD=correcthorsebattery\n@@ -9,0 +11 @@ fn f()\n+ghp_0123456789abcdefghij0123456789abcdef\ndiff --git a/a b/a b\n--- /dev/null\n+++ b/a b\t\n@@ -0,0 +1 @@\n+-----BEGIN RSA PRIVATE KEY-----\n\\ No newline at end of file\n";
        assert_eq!(told(&in_diff(diff, &|_| true)), ["x:2 secret", "x:11 github_token", "a b:1 private_key"]);
    }

    #[test]
    fn content_is_no_header() {
        let diff = b"+++ b/x\n@@ -1,2 +1,3 @@\n--- a/y\n-@@ -1 +1 @@\n+++ b/y\n+@@ -7 +7 @@\n+PASSWORD=correcthorsebattery\n";
        assert_eq!(told(&in_diff(diff, &|_| true)), ["x:3 secret"]);
    }

    #[test]
    fn a_conflict_is_all_three_marks_of_one_file() {
        let diff = b"+++ b/x\n@@ -1,0 +2 @@\n+<<<<<<< ours\n@@ -2,0 +4,3 @@\n+=======\n+three\n+>>>>>>> theirs\n+++ b/y\n@@ -0,0 +1 @@\n+=======\n+++ b/z\n@@ -0,0 +1 @@\n+>>>>>>> theirs\n";
        assert_eq!(told(&in_diff(diff, &|_| true)), ["x:2 markers"]);
        assert_eq!(told(&in_file("n", b"a\n<<<<<<< o\n=======\n>>>>>>> t\n", &|_| true)), ["n:2 markers"]);
        assert_eq!(told(&in_file("n", b"Heading\n=======\n", &|_| true)), [""; 0]);
        assert_eq!(told(&in_file("n", b"\0PASSWORD=correcthorsebattery\n", &|_| true)), [""; 0]);
    }

    #[test]
    fn what_nobody_minds_does_not_hide_the_rest() {
        let diff = format!(
            "+++ b/x\n@@ -0,0 +1,99 @@\n{}+++ b/y\n@@ -0,0 +1 @@\n+PASSWORD=correcthorsebattery\n",
            "+PASSWORD=correcthorsebattery\n".repeat(99)
        );
        assert_eq!(told(&in_diff(diff.as_bytes(), &|found| found.path.as_str() != "x")), ["y:1 secret"]);
        assert_eq!(in_diff(diff.as_bytes(), &|_| true).len(), FOUND);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), lines in "([-+@ ]{1,4}[0-9,]{0,3} ?|\n){0,40}") {
            in_diff(&bytes, &|_| true);
            in_diff(lines.as_bytes(), &|_| true);
            in_file("x", &bytes, &|_| true);
        }
    }
}
