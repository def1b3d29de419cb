//! Reads changes of commits and bytes of blobs from git. Uses full object names only, in bounded batches, and
//! rejects a cut answer.

use std::path::Path;
use std::time::Duration;

use super::{GitQuery, ProcessOutput, ask, is_object_name};
use crate::sys::locations::Locations;

/// Maximum bytes of one answer.
const CAP: usize = 64 * 1024 * 1024;
/// Maximum names in one request: more would not fit into a pipe.
const AT_ONCE: usize = 400;
const DEADLINE: Duration = Duration::from_secs(10);

/// A commit with the files that it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub name: String,
    pub parents: Vec<String>,
    pub files: Vec<ChangedBlob>,
}

/// One changed file. A side is `None` if the file does not exist there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedBlob {
    pub from: Option<Blob>,
    pub to: Option<Blob>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub path: String,
    pub name: String,
    /// Whether it is a symbolic link; its bytes are then the target.
    pub is_link: bool,
}

/// Returns the commits in `to` that are not in `from`, oldest first, and at most the `most` latest ones.
/// Leaves out merges. `None` if git failed.
pub fn commits(places: &Locations, from: Option<&str>, to: &str, most: usize) -> Option<Vec<Committed>> {
    if !is_object_name(to) || from.is_some_and(|from| !is_object_name(from)) {
        return None;
    }
    let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
    let count = format!("--max-count={most}");
    let more = [
        "--no-merges",
        "--no-mailmap",
        "--find-renames",
        "--ignore-submodules=all",
        count.as_str(),
        range.as_str(),
        "--",
    ];
    log(places, &more)
}

/// Asks for commits with their changed files, independent of the user's git settings.
fn log(places: &Locations, more: &[&str]) -> Option<Vec<Committed>> {
    const ALWAYS: &[&str] = &[
        "-c",
        "log.showRoot=true",
        "-c",
        "log.showSignature=false",
        "-c",
        "diff.orderFile=/dev/null",
        "--no-replace-objects",
        "log",
        "--no-notes",
        "--no-ext-diff",
        "--no-color",
        "--topo-order",
        "--reverse",
        "--format=%x01%H %P",
        "--raw",
        "--no-abbrev",
        "--no-relative",
        "-z",
    ];
    let args = [ALWAYS, more].concat();
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline: DEADLINE, cap: CAP };
    let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
    Some(read_commits(&ran.stdout))
}

/// Returns the paths that commits since then changed, with the author date of each commit. A cherry-pick or
/// rebase keeps that date. Leaves out merges.
pub fn authored(places: &Locations, since: i64, most: usize) -> Option<Vec<(i64, Vec<String>)>> {
    let count = format!("--max-count={most}");
    let since = format!("--since=@{since} +0000");
    let args = [
        "-c",
        "log.showRoot=true",
        "-c",
        "log.showSignature=false",
        "--no-replace-objects",
        "log",
        "--no-merges",
        "--no-notes",
        "--no-ext-diff",
        "--no-color",
        "--format=%x01%at",
        "--name-only",
        "--no-renames",
        "--no-relative",
        "-z",
        &count,
        &since,
    ];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline: DEADLINE, cap: CAP };
    let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
    let mut found: Vec<(i64, Vec<String>)> = Vec::new();
    for word in ran.stdout.split(|&byte| byte == 0) {
        let word = String::from_utf8_lossy(word.strip_prefix(b"\n").unwrap_or(word)).into_owned();
        match (word.strip_prefix('\x01'), found.last_mut()) {
            (Some(at), _) => found.push((at.trim().parse().ok()?, Vec::new())),
            (None, Some((_, paths))) if !word.is_empty() => paths.push(word),
            (None, _) => {}
        }
    }
    Some(found)
}

fn read_commits(bytes: &[u8]) -> Vec<Committed> {
    let mut commits: Vec<Committed> = Vec::new();
    let mut words = bytes.split(|&byte| byte == 0);
    while let Some(word) = words.next() {
        let word = word.strip_prefix(b"\n").unwrap_or(word);
        if let Some(head) = word.strip_prefix(b"\x01") {
            let text = String::from_utf8_lossy(head).into_owned();
            let mut names = text.split_whitespace().map(str::to_owned);
            let name = names.next().unwrap_or_default();
            commits.push(Committed { name, parents: names.collect(), files: Vec::new() });
        } else if let Some(entry) = word.strip_prefix(b":") {
            let Some(changed) = read_entry(entry, &mut words) else {
                return commits;
            };
            if let Some(commit) = commits.last_mut() {
                commit.files.push(changed);
            }
        }
    }
    commits
}

/// Parses `100644 100644 OLD NEW M`, followed by one path, or by two for a rename.
fn read_entry<'a>(entry: &[u8], words: &mut impl Iterator<Item = &'a [u8]>) -> Option<ChangedBlob> {
    let entry = std::str::from_utf8(entry).ok()?;
    let [mode_from, mode_to, from, to, status] = entry.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let path = String::from_utf8_lossy(words.next()?).into_owned();
    let target = if status.starts_with(['R', 'C']) {
        String::from_utf8_lossy(words.next()?).into_owned()
    } else {
        path.clone()
    };
    let blob = |path: String, mode: &str, name: &str| {
        // A submodule has no bytes in this repository.
        let is_file = mode.starts_with("100") || mode == "120000";
        is_file.then(|| Blob { path, name: name.to_owned(), is_link: mode == "120000" })
    };
    Some(ChangedBlob { from: blob(path, mode_from, from), to: blob(target, mode_to, to) })
}

/// Returns the bytes of these objects, in the same order. An object that is missing or not a blob is `None`.
pub fn blobs(worktree: &Path, names: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut found = Vec::with_capacity(names.len());
    let mut at = 0;
    while at < names.len() {
        let mut stdin = Vec::new();
        let mut count = 0;
        for name in &names[at..] {
            // A name with a line feed would count as two names.
            let name = if name.contains('\n') { "" } else { name.as_str() };
            if count == AT_ONCE || (count > 0 && stdin.len() + name.len() > 48 * 1024) {
                break;
            }
            stdin.extend_from_slice(name.as_bytes());
            stdin.push(b'\n');
            count += 1;
        }
        let args = ["--no-replace-objects", "cat-file", "--batch"];
        let question = GitQuery { args: &args, env: &[], stdin: &stdin, deadline: DEADLINE, cap: CAP };
        let ran = ask(worktree, &question).filter(is_whole)?;
        let read = read_blobs(&ran.stdout, count)?;
        found.extend(read);
        at += count;
    }
    Some(found)
}

fn read_blobs(mut bytes: &[u8], count: usize) -> Option<Vec<Option<Vec<u8>>>> {
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        let end = memchr::memchr(b'\n', bytes)?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes = &bytes[end + 1..];
        let words: Vec<&str> = head.rsplitn(3, ' ').collect();
        let size = match words[..] {
            [size, kind, name] if is_object_name(name) => size.parse::<usize>().ok().map(|size| (size, kind)),
            _ => None,
        };
        let Some((size, kind)) = size else {
            found.push(None);
            continue;
        };
        let content = bytes.get(..size)?;
        bytes = bytes.get(size + 1..)?;
        found.push((kind == "blob").then(|| content.to_vec()));
    }
    Some(found)
}

/// Returns all committed versions of a file, oldest first: commit, parents and blob.
pub fn versions(places: &Locations, path: &str, most: usize) -> Option<Vec<Committed>> {
    let count = format!("--max-count={most}");
    let more =
        ["--all", "--full-history", "--diff-merges=first-parent", "--no-renames", count.as_str(), "--", path];
    log(places, &more)
}

fn is_whole(ran: &ProcessOutput) -> bool {
    ran.succeeded() && ran.stdout.len() < CAP
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_commit_changed_is_read() {
        let (a, b, zero) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let text = format!(
            "\x01{a} \0\n:000000 100644 {zero} {a} A\0x\0\x01{b} {a}\0\n:100644 100644 {a} {b} R050\0x\0:y z\0\
             :100644 120000 {a} {b} T\0l\0:160000 160000 {a} {b} M\0sub\0"
        );
        let commits = read_commits(text.as_bytes());
        assert_eq!((commits.len(), commits[0].parents.len()), (2, 0));
        assert_eq!(commits[0].files[0].from, None);
        let files = &commits[1].files;
        assert_eq!(files[0].to.as_ref().map(|blob| blob.path.as_str()), Some(":y z"));
        assert!(files[1].to.as_ref().is_some_and(|blob| blob.is_link));
        assert_eq!((&files[2].from, &files[2].to), (&None, &None));
    }

    #[test]
    fn bytes_are_told_from_what_is_missing() {
        let name = "a".repeat(40);
        let text = format!("{name} blob 3\na\nb\nHEAD:x missing\n{name} tree 0\n\n");
        let found = read_blobs(text.as_bytes(), 3).unwrap();
        assert_eq!(found, [Some(b"a\nb".to_vec()), None, None]);
        assert_eq!(read_blobs(text.as_bytes(), 4), None);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_tried(bytes: Vec<u8>) {
            read_commits(&bytes);
            read_blobs(&bytes, 3);
        }
    }
}
