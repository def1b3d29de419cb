//! Reads history from git: blame of lines, commits and their changes. Queries use object names, so that the
//! caller's git settings do not matter. Sprag rejects answers that are late or cut.

use std::collections::HashSet;
use std::time::Duration;

use super::{GitQuery, ProcessOutput, ask, borrowed, disarmed, is_object_name};
use crate::git::quoted_path;
use crate::sys::locations::Locations;

/// Maximum bytes of one answer.
const CAP: usize = 32 * 1024 * 1024;
/// Maximum names in one request: more would not fit into a pipe, in or out.
const AT_ONCE: usize = 500;

/// The origin of a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// All zeros if the line is not committed.
    pub commit: String,
    /// The path of the file in that commit.
    pub path: String,
    /// The line number in that commit, from 0.
    pub line: usize,
}

/// The version of a file that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileVersion<'a> {
    Worktree,
    Commit(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    pub name: String,
    pub tree: String,
    pub parents: Vec<String>,
    /// Author and author date, which copies of a commit keep.
    pub authored: String,
}

/// Returns the origin of each line of a file. `None` if git failed.
pub fn blame(places: &Locations, at: FileVersion<'_>, path: &str, deadline: Duration) -> Option<Vec<Blamed>> {
    // With a list of ignored commits git guesses the origin.
    let settings = ["-c", "blame.ignoreRevsFile=", "-c", "core.quotePath=false", "--no-replace-objects"];
    let mut args: Vec<&str> = settings.to_vec();
    args.extend(["blame", "--incremental", "--no-textconv"]);
    let disarmed = match at {
        Worktree => disarmed(places)?,
        FileVersion::Commit(name) => {
            args.push(Some(name).filter(|name| is_object_name(name))?);
            Vec::new()
        }
    };
    args.extend(["--", path]);
    let env = borrowed(&disarmed);
    let question = GitQuery { args: &args, env: &env, stdin: b"", deadline, cap: CAP };
    read_blame(&ask(places.worktree.as_ref()?, &question).filter(is_whole)?.stdout)
}
use FileVersion::Worktree;

fn is_whole(ran: &ProcessOutput) -> bool {
    ran.succeeded() && ran.stdout.len() < CAP
}

/// Parses entries of `name line-there line-here count`, lines about the commit, and the name of the file.
fn read_blame(text: &[u8]) -> Option<Vec<Blamed>> {
    let mut lines: Vec<Option<Blamed>> = Vec::new();
    let mut entry: Option<(String, usize, usize, usize)> = None;
    for line in text.split(|&byte| byte == b'\n') {
        let Some((name, there, here, count)) = entry.clone() else {
            entry = head(line);
            continue;
        };
        let Some(path) = line.strip_prefix(b"filename ") else { continue };
        let path = match quoted_path::unquote(path) {
            Some((path, _)) => String::from_utf8(path).ok()?,
            None => String::from_utf8(path.to_vec()).ok()?,
        };
        if lines.len() < here + count {
            lines.resize(here + count, None);
        }
        for on in 0..count {
            lines[here + on] = Some(Blamed { commit: name.clone(), path: path.clone(), line: there + on });
        }
        entry = None;
    }
    lines.into_iter().collect()
}

fn head(line: &[u8]) -> Option<(String, usize, usize, usize)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let name = words.next().filter(|name| is_object_name(name))?;
    let mut number = || words.next()?.parse::<usize>().ok().filter(|&number| number <= MOST_LINES);
    let (there, here, count) = (number()?, number()?, number()?);
    Some((name.to_owned(), there.checked_sub(1)?, here.checked_sub(1)?, count))
}

/// Far more lines than any file that Sprag reads.
const MOST_LINES: usize = 4_000_000;

/// Returns the content of a file in a commit. `None` if it is missing, too large or not a file.
pub fn text(places: &Locations, commit: &str, path: &str, deadline: Duration) -> Option<Vec<u8>> {
    let name = format!("{}:{path}", Some(commit).filter(|name| is_object_name(name))?);
    let args = ["--no-replace-objects", "cat-file", "blob", &name];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    Some(ask(places.worktree.as_ref()?, &question).filter(is_whole)?.stdout)
}

/// Returns the time of a commit in seconds, by its committer.
pub fn commit_seconds(places: &Locations, commit: &str, deadline: Duration) -> Option<i64> {
    let name = Some(commit).filter(|name| is_object_name(name))?;
    let args = ["--no-replace-objects", "log", "-1", "--format=%ct", name];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
    String::from_utf8(ran.stdout).ok()?.trim().parse().ok()
}

/// Returns the given commits that still exist.
pub fn existing(places: &Locations, names: &[&str], deadline: Duration) -> Option<Vec<String>> {
    let args = ["--no-replace-objects", "cat-file", "--batch-check=%(objectname) %(objecttype)"];
    let mut found = Vec::new();
    for names in names.chunks(AT_ONCE) {
        let names: Vec<&str> = names.iter().copied().filter(|name| is_object_name(name)).collect();
        let stdin = names.iter().map(|name| format!("{name}\n")).collect::<String>();
        if stdin.is_empty() {
            continue;
        }
        let question = GitQuery { args: &args, env: &[], stdin: stdin.as_bytes(), deadline, cap: CAP };
        let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        found.extend(said.lines().filter_map(|line| line.strip_suffix(" commit")).map(str::to_owned));
    }
    Some(found)
}

/// The commits that a list of names selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionWalk {
    /// Only the named commits.
    Named,
    /// The named commits and their ancestors that are not in `HEAD`, newest first.
    NotInHead,
    /// The named commits and their ancestors that are in no branch or tag.
    NotInAny,
    /// All commits of branches and tags, newest first. Needs no names.
    Everything,
}

/// Returns information about at most `most` commits. All of them must exist.
pub fn commits(
    places: &Locations,
    names: &[&str],
    walk: RevisionWalk,
    most: usize,
    deadline: Duration,
) -> Option<Vec<CommitInfo>> {
    let most = format!("--max-count={most}");
    let mut args = vec!["--no-replace-objects", "log", "--stdin", "-s", "--no-show-signature", "--no-color"];
    args.extend(["--topo-order", "--format=%H%x00%T%x00%P%x00%ae %at"]);
    let (option, not) = match walk {
        RevisionWalk::Named => ("--no-walk=unsorted", ""),
        RevisionWalk::NotInHead => (most.as_str(), "^HEAD\n"),
        RevisionWalk::NotInAny => (most.as_str(), "--not\n--all\nHEAD\n"),
        RevisionWalk::Everything => (most.as_str(), "--all\nHEAD\n"),
    };
    args.push(option);
    let mut found: Vec<CommitInfo> = Vec::new();
    let none: &[&str] = &[""];
    let names = if walk == RevisionWalk::Everything { none } else { names };
    for names in names.chunks(if walk == RevisionWalk::Named { AT_ONCE } else { usize::MAX }) {
        let names: Vec<&str> =
            names.iter().copied().filter(|name| is_object_name(name)).take(AT_ONCE).collect();
        if names.is_empty() && walk != RevisionWalk::Everything {
            continue;
        }
        let stdin = names.iter().map(|name| format!("{name}\n")).collect::<String>() + not;
        let question = GitQuery { args: &args, env: &[], stdin: stdin.as_bytes(), deadline, cap: CAP };
        let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
        found.extend(String::from_utf8_lossy(&ran.stdout).lines().filter_map(commit));
    }
    Some(found)
}

fn commit(line: &str) -> Option<CommitInfo> {
    let mut parts = line.splitn(4, '\0');
    let mut next = || parts.next();
    let (name, tree, parents, authored) = (next()?, next()?, next()?, next()?);
    let parents = parents.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    is_object_name(name).then(|| CommitInfo {
        name: name.to_owned(),
        tree: tree.to_owned(),
        parents,
        authored: authored.to_owned(),
    })
}

/// Returns the full message of a commit.
pub fn message(places: &Locations, commit: &str, deadline: Duration) -> Option<String> {
    let name = Some(commit).filter(|name| is_object_name(name))?;
    let args = ["--no-replace-objects", "cat-file", "commit", name];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    text.split_once("\n\n").map(|(_, message)| message.to_owned())
}

/// Options that fix the format of diffs, independent of settings.
const DIFF: [&str; 12] = [
    "-p",
    "-r",
    "--unified=0",
    "--inter-hunk-context=0",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];
const QUIET: [&str; 5] =
    ["--no-replace-objects", "-c", "core.quotePath=false", "-c", "diff.orderFile=/dev/null"];

/// Returns the diff of each of these commits, after its name. A merge has no diff.
pub fn changes(places: &Locations, names: &[&str], deadline: Duration) -> Option<Vec<u8>> {
    let mut args = QUIET.to_vec();
    args.extend(["diff-tree", "--stdin", "--root"]);
    args.extend(DIFF);
    let names = names.iter().copied().filter(|name| is_object_name(name)).take(AT_ONCE);
    let stdin = names.map(|name| format!("{name}\n")).collect::<String>();
    let question = GitQuery { args: &args, env: &[], stdin: stdin.as_bytes(), deadline, cap: CAP };
    Some(ask(places.worktree.as_ref()?, &question).filter(is_whole)?.stdout)
}

/// Returns the difference between two commits.
pub fn between(places: &Locations, from: &str, to: &str, deadline: Duration) -> Option<Vec<u8>> {
    let mut args = QUIET.to_vec();
    args.push("diff-tree");
    args.extend(DIFF);
    args.extend([from, to].iter().filter(|name| is_object_name(name)));
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    Some(ask(places.worktree.as_ref()?, &question).filter(is_whole)?.stdout)
}

/// Returns the uncommitted changes of tracked files.
pub fn uncommitted(places: &Locations, deadline: Duration) -> Option<Vec<u8>> {
    let mut args = QUIET.to_vec();
    args.push("diff");
    args.extend(DIFF.iter().filter(|option| **option != "-r"));
    args.extend(["HEAD", "--"]);
    let disarmed = disarmed(places)?;
    let env = borrowed(&disarmed);
    let question = GitQuery { args: &args, env: &env, stdin: b"", deadline, cap: CAP };
    Some(ask(places.worktree.as_ref()?, &question).filter(is_whole)?.stdout)
}

/// Returns the commits of `HEAD` since this one. `None` if they are too many or git failed.
pub fn since(places: &Locations, base: &str, deadline: Duration) -> Option<HashSet<String>> {
    let not = format!("^{}", Some(base).filter(|name| is_object_name(name))?);
    let most = format!("--max-count={SINCE}");
    let args = ["--no-replace-objects", "rev-list", &most, "HEAD", &not];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    let ran = ask(places.worktree.as_ref()?, &question).filter(is_whole)?;
    let names: HashSet<String> = String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect();
    (names.len() < SINCE).then_some(names)
}

/// Maximum number of commits since a base.
const SINCE: usize = 20_000;

/// Returns the newest common ancestor of two commits.
pub fn base(places: &Locations, a: &str, b: &str, deadline: Duration) -> Option<String> {
    let args = ["--no-replace-objects", "merge-base", a, b];
    if !is_object_name(a) || !is_object_name(b) {
        return None;
    }
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline, cap: CAP };
    super::object_name(ask(places.worktree.as_ref()?, &question).filter(ProcessOutput::succeeded)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blame_is_read_in_whatever_order_it_comes() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let text = format!(
            "{a} 5 2 1\nauthor filename x\nfilename old name\n{b} 1 1 1\nsummary {a} 1 1 1\nfilename \"new\\tname\"\n"
        );
        let lines = read_blame(text.as_bytes()).unwrap();
        let told: Vec<(&str, usize)> = lines.iter().map(|it| (it.path.as_str(), it.line)).collect();
        assert_eq!(told, [("new\tname", 0), ("old name", 4)]);
        assert_eq!(read_blame(format!("{a} 5 2 1\nfilename x\n").as_bytes()), None, "a line is missing");
        assert_eq!(read_blame(format!("{a} 5 2 99999999999\nfilename x\n").as_bytes()), Some(Vec::new()));
    }
}
