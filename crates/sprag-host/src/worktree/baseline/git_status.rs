//! Parses the long format of `git status -vv`: lists of names under headings, then diffs. Names follow a tab
//! and file lines follow a sign, so neither can look like a heading. Each hunk states its number of lines.

use std::collections::BTreeMap;

use sprag_base::unified_diff::Hunk;

use super::todo_marks::{self, MarkedLine};
use crate::git::quoted_path::unquote;

/// Differences between the worktree and an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitStatus {
    pub changed: BTreeMap<Vec<u8>, StatusChange>,
    pub untracked: Vec<Vec<u8>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusChange {
    /// Added and removed lines.
    pub lines: u64,
    pub marks: Vec<MarkedLine>,
}

/// Parses as much as possible; truncated text gives the complete part.
pub(crate) fn parse(text: &[u8]) -> GitStatus {
    let mut status = GitStatus::default();
    let mut lines = lines_of(text);
    let mut list = StatusList::Other;
    while let Some(line) = lines.next() {
        if let Some(entry) = line.strip_prefix(b"\t") {
            match list {
                StatusList::Untracked => status.untracked.extend(name(entry)),
                StatusList::Changed => {
                    if let Some(path) = labelled(entry) {
                        status.changed.entry(path).or_default();
                    }
                }
                StatusList::Other => {}
            }
        } else if line == SEPARATOR {
            // Diffs before the separator compare the index with HEAD, which is not needed here.
            diffs(&mut lines, &mut status);
        } else if let Some(heading) = Hunk::parse(line) {
            skip_hunk(&mut lines, heading);
        } else if !line.is_empty() {
            list = match line {
                b"Untracked files:" => StatusList::Untracked,
                b"Changes not staged for commit:" => StatusList::Changed,
                _ => StatusList::Other,
            };
        }
    }
    status
}

enum StatusList {
    Untracked,
    Changed,
    Other,
}

const SEPARATOR: &[u8] = b"--------------------------------------------------";
/// Width of a label; a name may start with a space.
const LABEL: usize = "typechange: ".len();

fn labelled(entry: &[u8]) -> Option<Vec<u8>> {
    let (label, path) = entry.split_at_checked(LABEL)?;
    label.contains(&b':').then(|| name(path))?
}

fn name(text: &[u8]) -> Option<Vec<u8>> {
    if !text.starts_with(b"\"") {
        return (!text.is_empty()).then(|| text.to_vec());
    }
    let (name, rest) = unquote(text)?;
    (rest.is_empty() && !name.is_empty()).then_some(name)
}

/// Parses the diffs from the index to the worktree, up to the end.
fn diffs<'a>(lines: &mut impl Iterator<Item = &'a [u8]>, status: &mut GitStatus) {
    let mut path = None;
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            path = both_names(names);
            if let Some(path) = &path {
                status.changed.entry(path.clone()).or_default();
            }
        } else if line.ends_with(b" 160000") {
            // A commit of another repository, whose lines do not count.
            path.take().map(|path| status.changed.remove(&path));
        } else if line.starts_with(b"diff ") || line.starts_with(b"* Unmerged path ") {
            path = None;
        } else if let Some(heading) = Hunk::parse(line) {
            match path.as_ref().and_then(|path| status.changed.get_mut(path)) {
                Some(change) => hunk(lines, heading, change),
                None => skip_hunk(lines, heading),
            }
        }
    }
}

/// Returns the name from `i/NAME w/NAME`. Without renames both names are equal, so spaces in them are
/// harmless.
fn both_names(text: &[u8]) -> Option<Vec<u8>> {
    if text.starts_with(b"\"") {
        let (name, _) = unquote(text)?;
        return name.strip_prefix(b"i/").map(<[u8]>::to_vec);
    }
    let length = text.len().checked_sub(b"i/ w/".len())? / 2;
    let rest = text.strip_prefix(b"i/")?;
    let (name, rest) = rest.split_at_checked(length)?;
    (!name.is_empty() && rest.strip_prefix(b" w/") == Some(name)).then(|| name.to_vec())
}

fn hunk<'a>(lines: &mut impl Iterator<Item = &'a [u8]>, heading: Hunk, change: &mut StatusChange) {
    let (mut old, mut new, mut at) = (heading.old_count, heading.new_count, heading.new_start);
    while old > 0 || new > 0 {
        let Some(line) = lines.next() else {
            return;
        };
        match line.split_first() {
            Some((b'+', text)) => {
                new = new.saturating_sub(1);
                change.lines += 1;
                change.marks.extend(todo_marks::spot(text, u32::try_from(at).ok()));
                at = at.saturating_add(1);
            }
            Some((b'-', _)) => {
                old = old.saturating_sub(1);
                change.lines += 1;
            }
            // The file has no newline at its end.
            Some((b'\\', _)) => {}
            // A context line, which may have lost its only character.
            _ => {
                (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                at = at.saturating_add(1);
            }
        }
    }
}

fn skip_hunk<'a>(lines: &mut impl Iterator<Item = &'a [u8]>, heading: Hunk) {
    hunk(lines, heading, &mut StatusChange::default());
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_in_a_file_passes_for_a_heading() {
        let dashes = String::from_utf8(SEPARATOR[1..].to_vec()).unwrap();
        let text = format!(
            "On branch main\nChanges to be committed:\n\tmodified:   a\n\nChanges not staged for commit:\n\
             \tmodified:   a b\n\tdeleted:     c\n\nUntracked files:\n\t\"x\\ny\"\n\tz w/z\n\n\
             Changes to be committed:\ndiff --git c/a i/a\n--- c/a\n+++ i/a\n@@ -1,2 +0,0 @@ f\n\
             -{dashes}\n-Untracked files:\n{sep}\nChanges not staged for commit:\ndiff --git i/a b w/a b\n\
             index 1..2 100644\n--- i/a b\t\n+++ w/a b\t\n@@ -1,2 +1,3 @@ f\n--- i/q\n-{dashes}\n+++ w/q\n\
             +diff --git i/e w/e\n+TODO: x\n\\ No newline at end of file\n\
             diff --git \"i/x\\ty\" \"w/x\\ty\"\nold mode 100644\nnew mode 100755\n\
             no changes added to commit\n",
            sep = str::from_utf8(SEPARATOR).unwrap(),
        );
        let status = parse(text.as_bytes());
        let counts: Vec<(String, u64)> = status
            .changed
            .iter()
            .map(|(path, change)| (String::from_utf8_lossy(path).into_owned(), change.lines))
            .collect();
        assert_eq!(counts, [(" c".into(), 0), ("a b".into(), 5), ("x\ty".into(), 0)]);
        assert_eq!(status.untracked, [b"x\ny".to_vec(), b"z w/z".to_vec()]);
        let mark = &status.changed[&b"a b"[..]].marks;
        assert_eq!((mark.len(), mark[0].line), (1, Some(3)));
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_tried(text: Vec<u8>, header in "@@ -[0-9,]{1,25} \\+[0-9,]{1,25} @@") {
            parse(&text);
            let mut hostile = [SEPARATOR, b"\ndiff --git i/a w/a\n", header.as_bytes(), b"\n"].concat();
            hostile.extend_from_slice(&text);
            parse(&hostile);
        }
    }
}
