//! Finds protected files that one side of a merge changed. The common base of both sides holds the original
//! content.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::CAP;
use super::refs::{GitError, act, act_on, refused};
use crate::sys::exec::ProcessEnd;

/// Marks on the first line of a file that agents must not change.
const MARKS: [&str; 2] = ["<!-- sprag:protected -->", "<!-- .loom-protected -->"];
/// Options that print file, line and mark, independent of the user's settings.
const SEARCH: [&str; 12] = [
    "--literal-pathspecs",
    "grep",
    "-z",
    "-n",
    "-o",
    "-a",
    "-F",
    "--full-name",
    "--no-color",
    "--no-column",
    "--no-heading",
    "--no-recurse-submodules",
];
/// Maximum paths and bytes of one query.
const AT_ONCE: usize = 200;
const BYTES: usize = 48 * 1024;

/// A file that one side changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The path as bytes, which may not be UTF-8.
    pub path: Vec<u8>,
    /// The object name before the change; `None` for a new file.
    pub before: Option<String>,
}

/// Returns all files that one side changed since its common base with the other.
pub fn touched(dir: &Path, other: &str, side: &str) -> Result<Vec<Touched>, GitError> {
    within(dir, &format!("{other}...{side}"))
}

/// Returns all files that one side changed since this base.
pub fn touched_since(dir: &Path, base: &str, side: &str) -> Result<Vec<Touched>, GitError> {
    within(dir, &format!("{base}..{side}"))
}

fn within(dir: &Path, range: &str) -> Result<Vec<Touched>, GitError> {
    let args = ["diff", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "-z", range, "--"];
    let ran = act(dir, &args, &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let mut found = Vec::new();
    let mut parts = ran.stdout.split(|&byte| byte == 0);
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let about = String::from_utf8_lossy(about).into_owned();
        let before = about.split(' ').nth(2).filter(|name| name.bytes().any(|byte| byte != b'0'));
        found.push(Touched { path: path.to_vec(), before: before.map(str::to_owned) });
    }
    Ok(found)
}

/// Returns the files that have a mark on their first line in a commit.
pub fn marked(dir: &Path, base: &str, all: &[Touched]) -> Result<Vec<Touched>, GitError> {
    let mut found = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |it: &&Touched| {
            bytes += it.path.len();
            bytes <= BYTES
        };
        let count = rest.iter().take_while(fits).count().clamp(1, AT_ONCE);
        let (now, later) = rest.split_at(count);
        found.extend(holding(dir, base, now)?);
        rest = later;
    }
    Ok(found)
}

/// Returns the marked files of one batch. Most files have no mark, so one `git grep` is fast.
fn holding(dir: &Path, base: &str, some: &[Touched]) -> Result<Vec<Touched>, GitError> {
    let mut args = SEARCH.to_vec();
    args.extend(MARKS.iter().flat_map(|mark| ["-e", mark]));
    args.extend([base, "--"]);
    let paths: Vec<&OsStr> = some.iter().map(|it| OsStr::from_bytes(&it.path)).collect();
    let ran = act_on(dir, &args, &[], &paths)?;
    match ran.ending {
        ProcessEnd::Code(1) => return Ok(Vec::new()),
        ProcessEnd::Code(0) => {}
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => return Err(refused(&ran)),
    }
    // The missing part of a cut answer may contain a protected file.
    if ran.stdout.len() >= CAP {
        return Err(GitError("the list of protected marks is too long".to_owned()));
    }
    let first = firsts(&ran.stdout, base);
    Ok(some.iter().filter(|it| first.contains(&it.path.as_slice())).cloned().collect())
}

/// Returns the paths with a mark on line 1. An entry is `commit:path`, line and mark, with a zero byte after
/// each of the first two.
fn firsts<'a>(mut said: &'a [u8], base: &str) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    let until = |said: &'a [u8], end: u8| {
        let at = memchr::memchr(end, said)?;
        Some((&said[..at], &said[at + 1..]))
    };
    while let Some((name, rest)) = until(said, 0) {
        let Some((line, rest)) = until(rest, 0) else { break };
        let path = name.strip_prefix(base.as_bytes()).and_then(|rest| rest.strip_prefix(b":"));
        found.extend(path.filter(|_| line == b"1"));
        said = until(rest, b'\n').map_or(&[][..], |(_, rest)| rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::scratch::Scratch;

    #[test]
    fn what_has_a_mark_on_its_first_line_is_found_with_what_it_was() {
        let git = Scratch::new();
        git.commit("rules.md", "<!-- sprag:protected -->\nkeep\n");
        git.commit("old.md", "x <!-- .loom-protected --> y\n");
        git.commit("talks.md", "about\n<!-- sprag:protected -->\n");
        let base = git.commit("plain.md", "one\n");
        let blob = git.run(&["rev-parse", "HEAD:rules.md"]);
        git.commit("rules.md", "mine\n");
        git.commit("old.md", "mine\n");
        git.commit("talks.md", "mine\n");
        git.commit("plain.md", "mine\n");
        let head = git.commit("new.md", "<!-- sprag:protected -->\n");
        let all = touched(git.dir(), &base, &head).unwrap();
        assert_eq!(all.len(), 5);
        let mut found = marked(git.dir(), &base, &all).unwrap();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let paths: Vec<&[u8]> = found.iter().map(|it| it.path.as_slice()).collect();
        assert_eq!(paths, [&b"old.md"[..], b"rules.md"]);
        assert_eq!(found[1].before.as_deref(), Some(blob.trim()));
    }

    #[test]
    fn a_name_is_bytes_and_may_be_no_text_or_two_lines() {
        let git = Scratch::new();
        let odd = [&b"in\xff.md"[..], b"two\nlines.md", b"'quoted' \".md"];
        let write = |text: &str| {
            for name in odd.iter() {
                std::fs::write(git.dir().join(OsStr::from_bytes(name)), text).unwrap();
            }
        };
        write("<!-- sprag:protected -->\n<!-- sprag:protected -->\n");
        let base = git.commit("b", "<!-- sprag:protected -->");
        write("mine\n");
        let head = git.commit("c", "x");
        let all = touched(git.dir(), &base, &head).unwrap();
        let mut found: Vec<Vec<u8>> =
            marked(git.dir(), &base, &all).unwrap().into_iter().map(|it| it.path).collect();
        found.sort();
        assert_eq!(found, [odd[2], odd[0], odd[1]]);
    }
}
