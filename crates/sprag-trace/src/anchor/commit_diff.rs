//! Parses the diff of a commit, which git writes without context. Copies of a commit share a digest, wherever
//! they were applied.

use sprag_base::digest::Digest;
use sprag_base::unified_diff::Hunk;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// `None`: the file did not exist.
    pub old: Option<String>,
    pub new: Option<String>,
    pub hunks: Vec<CommitHunk>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitHunk {
    /// The first removed line, counted from 1. Without removed lines: the line before the change.
    pub old_start: usize,
    pub removed: Vec<Vec<u8>>,
    pub new_start: usize,
    pub added: Vec<Vec<u8>>,
}

/// The direction in which a change is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forth,
    /// Reversed, as the revert of the change.
    Back,
}

/// Parses a diff whose names start with `a/` and `b/`. Skips files whose names git quotes.
pub fn parse(diff: &[u8]) -> Vec<FileDiff> {
    parse_many(diff).into_iter().flat_map(|(_, files)| files).collect()
}

/// Parses diffs of several commits. A line with the commit id precedes each diff.
pub fn parse_many(diff: &[u8]) -> Vec<(String, Vec<FileDiff>)> {
    let mut all: Vec<(String, Vec<FileDiff>)> = vec![(String::new(), Vec::new())];
    let mut lines = diff.split(|&byte| byte == b'\n');
    'diff: while let Some(line) = lines.next() {
        let Some((_, files)) = all.last_mut() else { break };
        if line.starts_with(b"diff --git ") {
            files.push(FileDiff::default());
        } else if matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit) {
            all.push((String::from_utf8_lossy(line).into_owned(), Vec::new()));
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(name) = line.strip_prefix(b"--- ") {
            file.old = named(name, b"a/");
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            file.new = named(name, b"b/");
        } else if let Some(Hunk { old_start, old_count, new_start, new_count }) = Hunk::parse(line) {
            // Uses the counts of the hunk, so that no line of a file passes for a line of the diff.
            let mut hunk = CommitHunk { old_start, removed: Vec::new(), new_start, added: Vec::new() };
            while hunk.removed.len() < old_count || hunk.added.len() < new_count {
                match lines.next().and_then(<[u8]>::split_first) {
                    Some((b'-', text)) => hunk.removed.push(text.to_vec()),
                    Some((b'+', text)) => hunk.added.push(text.to_vec()),
                    Some((b'\\', _)) => {}
                    _ => break 'diff,
                }
            }
            file.hunks.push(hunk);
        }
    }
    for (_, files) in &mut all {
        files.retain(|file| file.old.is_some() || file.new.is_some());
    }
    all.retain(|(name, files)| !name.is_empty() || !files.is_empty());
    all
}

/// Returns a file name without prefix. Git puts a tab after names with blanks.
fn named(name: &[u8], prefix: &[u8]) -> Option<String> {
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    String::from_utf8(name.strip_prefix(prefix)?.to_vec()).ok()
}

/// Returns a digest that all copies of a change share, wherever they were applied. `None`: the diff changes
/// no line.
pub fn digest(files: &[FileDiff], direction: Direction) -> Option<Digest> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut files: Vec<&FileDiff> = files.iter().filter(|file| !file.hunks.is_empty()).collect();
    files.sort_by(|a, b| name(a).cmp(name(b)));
    for file in &files {
        let (gone, come): (&[u8], &[u8]) = match direction {
            Direction::Forth => (b"-", b"+"),
            Direction::Back => (b"+", b"-"),
        };
        parts.extend([b"file".as_slice(), name(file).as_bytes()]);
        for hunk in &file.hunks {
            parts.push(b"hunk");
            let removed = hunk.removed.iter().flat_map(|line| [gone, line]);
            let added = hunk.added.iter().flat_map(|line| [come, line]);
            match direction {
                Direction::Forth => parts.extend(removed.chain(added)),
                Direction::Back => parts.extend(added.chain(removed)),
            }
        }
    }
    (!files.is_empty()).then(|| Digest::hash_parts(parts))
}

fn name(file: &FileDiff) -> &str {
    file.new.as_deref().or(file.old.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &[u8] = b"diff --git a/x y b/x y
index 1..2 100644
--- a/x y\t
+++ b/x y\t
@@ -2,2 +2 @@ fn a()
-one
---- a/z
+two
@@ -9,0 +9,2 @@
++++ b/q
+four
\\ No newline at end of file
diff --git a/new b/new
new file mode 100644
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+five
";

    #[test]
    fn lines_are_what_the_counts_say() {
        let files = parse(DIFF);
        assert_eq!(files.len(), 2);
        assert_eq!((files[0].old.as_deref(), files[0].new.as_deref()), (Some("x y"), Some("x y")));
        assert_eq!(files[0].hunks[0].removed, [b"one".to_vec(), b"--- a/z".to_vec()]);
        assert_eq!(files[0].hunks[1].added, [b"+++ b/q".to_vec(), b"four".to_vec()]);
        assert_eq!((files[0].hunks[1].old_start, files[0].hunks[1].new_start), (9, 9));
        assert_eq!((files[1].old.as_deref(), files[1].new.as_deref()), (None, Some("new")));
    }

    #[test]
    fn a_copy_elsewhere_has_the_same_digest_and_a_revert_the_one_read_back() {
        let forth = |diff: &str| digest(&parse(diff.as_bytes()), Direction::Forth);
        let change = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2 +2,2 @@\n-one\n+two\n+three\n";
        let copy = change.replace("-2 +2,2", "-40 +41,2");
        let revert = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2,2 +2 @@\n-two\n-three\n+one\n";
        assert!(forth(change).is_some());
        assert_eq!(forth(change), forth(&copy));
        assert_ne!(forth(change), forth(revert));
        assert_eq!(forth(change), digest(&parse(revert.as_bytes()), Direction::Back));
    }

    #[test]
    fn a_diff_that_is_cut_off_ends_there() {
        for end in 0..DIFF.len() {
            parse(&DIFF[..end]);
        }
    }
}
