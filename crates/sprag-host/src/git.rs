//! Asking git. The only file that starts it; most questions are answered by looking (`places.rs`).

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::exec::{self, Ran, Run};

/// Long, because a verdict depends on the answer; a client waits for a stop much longer.
const DEADLINE: Duration = Duration::from_secs(5);
const CAP: usize = 4 * 1024 * 1024;

/// A client may itself run inside a git hook, whose variables name another repository.
const ELSEWHERE: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"];

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
    // Asking must not write into the repository, nor start its monitor or fetch from its remote. What
    // its own configuration names as a filter, git runs as it does for everybody.
    let quiet = ["-c", "core.fsmonitor=false", "--no-optional-locks"];
    let args: Vec<&OsStr> = quiet.iter().chain(args).map(OsStr::new).collect();
    let env = [
        ("LC_ALL", OsStr::new("C")),
        ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
        ("GIT_NO_LAZY_FETCH", OsStr::new("1")),
    ];
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
    exec::run(&run).ok().filter(Ran::succeeded)
}
