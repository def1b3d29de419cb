//! Asking git. The only file that starts it; most questions are answered by looking (`places.rs`).

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::exec::{self, Ending, Ran, Run};

/// Long, because a verdict depends on the answer; a client waits for a stop much longer.
const DEADLINE: Duration = Duration::from_secs(5);
const CAP: usize = 4 * 1024 * 1024;

/// A client may itself run inside a git hook, whose variables name another repository.
pub const ELSEWHERE: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"];

/// Paths that differ from HEAD or are untracked, relative to the worktree. `None`: git could not say.
pub fn changed_paths(worktree: &Path) -> Option<Vec<String>> {
    let ran = git(worktree, &["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"])?;
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|entry| entry.len() > 3);
    Some(paths.map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned()).collect())
}

/// Paths that differ between a commit and HEAD.
pub fn paths_since(worktree: &Path, commit: &str) -> Option<Vec<String>> {
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let ran =
        git(worktree, &["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "HEAD", "--"])?;
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// What lines are compared with, to see which are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// What is staged, with HEAD.
    Index,
    /// Files as they are, with HEAD.
    Head,
    /// Files as they are, with nothing: before the first commit.
    Nothing,
}

pub struct Diff {
    pub text: Vec<u8>,
    /// Nothing was cut off.
    pub is_whole: bool,
}

/// A diff without context of what is below these paths, with slashes and prefixes as git is born
/// with them. What the repository says is no text is left out. `None`: git could not say.
pub fn added_lines(dir: &Path, against: Against, paths: &[String]) -> Option<Diff> {
    let mut args = vec![
        "-c",
        "core.quotePath=false",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
        "--find-renames",
        "--unified=0",
        "--inter-hunk-context=0",
        "--no-relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let tree;
    args.push(match against {
        Against::Index => "--cached",
        Against::Head => "HEAD",
        Against::Nothing => {
            tree = empty_tree(dir)?;
            &tree
        }
    });
    let ran = git_alone(dir, &below(args, paths))?;
    Some(Diff { is_whole: ran.stdout.len() < CAP, text: ran.stdout })
}

/// Staged files below these paths, relative to the repository.
pub fn staged_paths(dir: &Path, paths: &[String]) -> Option<Vec<String>> {
    let args = vec![
        "diff",
        "--cached",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--ignore-submodules=all",
    ];
    listed(git_alone(dir, &below(args, paths))?)
}

/// Files below these paths that git does not know and is not told to ignore, relative to `dir`.
pub fn untracked_paths(dir: &Path, paths: &[String]) -> Option<Vec<String>> {
    listed(git_alone(dir, &below(vec!["ls-files", "--others", "--exclude-standard", "-z"], paths))?)
}

/// Its name depends on how the repository hashes.
fn empty_tree(dir: &Path) -> Option<String> {
    let ran = git(dir, &["hash-object", "-t", "tree", "--stdin"])?;
    let name = String::from_utf8(ran.stdout).ok()?;
    let name = name.trim_end();
    name.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| name.to_owned()).filter(|name| !name.is_empty())
}

fn below<'a>(mut args: Vec<&'a str>, paths: &'a [String]) -> Vec<&'a str> {
    args.push("--");
    args.extend(paths.iter().map(String::as_str));
    args
}

fn listed(ran: Ran) -> Option<Vec<String>> {
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Asks git so that it starts no other program: to compare a file it would run the filters that the
/// repository's configuration names, so those are unset for the question.
fn git_alone(dir: &Path, args: &[&str]) -> Option<Ran> {
    let named = run(dir, &["config", "--null", "--name-only", "--get-regexp", r"^filter\."], &[])?;
    let filters = match named.ending {
        Ending::Code(0) => listed(named)?,
        // There are none.
        Ending::Code(1) => Vec::new(),
        Ending::Code(_) | Ending::Signal | Ending::TimedOut => return None,
    };
    if filters.is_empty() {
        return git(dir, args);
    }
    let count = filters.len().to_string();
    let names: Vec<(String, String)> = (0..filters.len())
        .map(|i| (format!("GIT_CONFIG_KEY_{i}"), format!("GIT_CONFIG_VALUE_{i}")))
        .collect();
    let mut env = vec![("GIT_CONFIG_COUNT", OsStr::new(&count))];
    for ((key, value), filter) in names.iter().zip(&filters) {
        let unset = if filter.ends_with(".required") { "false" } else { "" };
        env.push((key, OsStr::new(filter)));
        env.push((value, OsStr::new(unset)));
    }
    run(dir, args, &env).filter(Ran::succeeded)
}

/// Runs git in a repository of our own making, with an identity and settings of our own.
pub fn in_own_repository(dir: &Path, args: &[&str]) -> io::Result<Ran> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let who = OsStr::new("demo");
    let mail = OsStr::new("demo@localhost");
    let env = [
        ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null")),
        ("GIT_CONFIG_SYSTEM", OsStr::new("/dev/null")),
        ("GIT_AUTHOR_NAME", who),
        ("GIT_COMMITTER_NAME", who),
        ("GIT_AUTHOR_EMAIL", mail),
        ("GIT_COMMITTER_EMAIL", mail),
    ];
    let deadline = Duration::from_secs(20);
    exec::run(&Run {
        program: OsStr::new("git"),
        args: &args,
        dir,
        env: &env,
        unset: ELSEWHERE,
        stdin: b"",
        deadline,
        cap: CAP,
    })
}

fn git(worktree: &Path, args: &[&str]) -> Option<Ran> {
    run(worktree, args, &[]).filter(Ran::succeeded)
}

fn run(worktree: &Path, args: &[&str], more: &[(&str, &OsStr)]) -> Option<Ran> {
    // Asking must not write into the repository, nor start its monitor or fetch from its remote. What
    // its own configuration names as a filter, git runs as it does for everybody.
    let quiet = ["-c", "core.fsmonitor=false", "--no-optional-locks"];
    let args: Vec<&OsStr> = quiet.iter().chain(args).map(OsStr::new).collect();
    let mut env = vec![
        ("LC_ALL", OsStr::new("C")),
        ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
        ("GIT_NO_LAZY_FETCH", OsStr::new("1")),
    ];
    env.extend(more);
    let run = Run {
        program: OsStr::new("git"),
        args: &args,
        dir: worktree,
        env: &env,
        unset: ELSEWHERE,
        stdin: b"",
        deadline: DEADLINE,
        cap: CAP,
    };
    exec::run(&run).ok()
}
