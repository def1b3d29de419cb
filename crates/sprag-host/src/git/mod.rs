//! Queries git. Only this directory starts git; `sys/locations.rs` answers most questions from files.

pub mod blobs;
pub mod history;
mod index;
pub mod name_search;
pub(crate) mod private;
pub mod protected_marks;
pub mod refs;
pub mod worktree_guard;
pub mod worktrees;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::sys::disk::read_small;
use crate::sys::exec::{self, ProcessEnd, ProcessOutput, ProcessSpec};
use crate::sys::locations::Locations;

pub(crate) mod quoted_path;
pub mod scratch;
mod versions;

pub use versions::{ChangeRange, FileVersions, tree, versions};

/// Long, because a verdict depends on the answer and a client waits much longer for a stop.
const DEADLINE: Duration = Duration::from_secs(5);
const CAP: usize = 4 * 1024 * 1024;

/// Variables to unset. A client may run inside a git hook, whose variables name another repository.
pub(crate) const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    // These change the meaning of a path or a diff.
    "GIT_LITERAL_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
    "GIT_ATTR_SOURCE",
];

/// Returns paths that differ from `HEAD` or are untracked, relative to the worktree. `None` if git failed.
pub fn changed_paths(worktree: &Path) -> Option<Vec<String>> {
    changed_by(worktree, &[])
}

/// Returns the changed paths as [`changed_paths`] does, but with another index file.
pub fn changed_paths_by(worktree: &Path, index: &Path) -> Option<Vec<String>> {
    changed_by(worktree, &[("GIT_INDEX_FILE", index.as_os_str())])
}

fn changed_by(worktree: &Path, env: &[(&str, &OsStr)]) -> Option<Vec<String>> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let ran = run(worktree, &args, env).filter(ProcessOutput::succeeded)?;
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|entry| entry.len() > 3);
    Some(paths.map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned()).collect())
}

/// Returns paths that differ between a commit and `HEAD`.
pub fn paths_since(worktree: &Path, commit: &str) -> Option<Vec<String>> {
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let ran =
        git(worktree, &["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "HEAD", "--"])?;
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// The two sides of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The index against `HEAD`.
    Index,
    /// The files against `HEAD`.
    Head,
    /// The files against an empty tree, before the first commit.
    Nothing,
}

pub struct GitDiff {
    pub text: Vec<u8>,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// Returns a diff without context of the files below these paths, with git's default prefixes. Leaves out
/// files that the repository marks as binary. `None` if git failed.
pub fn added_lines(dir: &Path, against: Against, paths: &[String]) -> Option<GitDiff> {
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
    Some(GitDiff { is_whole: ran.stdout.len() < CAP, text: ran.stdout })
}

/// Returns staged files below these paths, relative to the repository.
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

/// Returns untracked files below these paths that are not ignored, relative to `dir`.
pub fn untracked_paths(dir: &Path, paths: &[String]) -> Option<Vec<String>> {
    listed(git_alone(dir, &below(vec!["ls-files", "--others", "--exclude-standard", "-z"], paths))?)
}

/// Returns all files of the worktree that are tracked or not ignored.
pub fn all_paths(worktree: &Path) -> Option<Vec<String>> {
    listed(git(worktree, &["ls-files", "--cached", "--others", "--exclude-standard", "-z"])?)
}

/// Returns all tracked files of the worktree.
pub fn tracked_paths(worktree: &Path) -> Option<Vec<String>> {
    listed(git(worktree, &["ls-files", "--cached", "-z"])?)
}

/// Returns the tracked files that differ from `HEAD`.
pub fn changed_tracked_paths(worktree: &Path) -> Option<Vec<String>> {
    // Do not enter submodules, because anyone may have written their configuration.
    let args =
        ["diff", "HEAD", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "-z"];
    listed(git(worktree, &args)?)
}

/// Returns the name of the empty tree, which depends on the repository's hash function.
pub fn empty_tree(dir: &Path) -> Option<String> {
    let ran = git(dir, &["hash-object", "-t", "tree", "--stdin"])?;
    object_name(ran)
}

fn below<'a>(mut args: Vec<&'a str>, paths: &'a [String]) -> Vec<&'a str> {
    args.push("--");
    args.extend(paths.iter().map(String::as_str));
    args
}

fn listed(ran: ProcessOutput) -> Option<Vec<String>> {
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Runs git so that it starts no other program. Git would run the filters in the repository's configuration
/// to compare a file, so Sprag unsets them.
fn git_alone(dir: &Path, args: &[&str]) -> Option<ProcessOutput> {
    let named = run(dir, &["config", "--null", "--name-only", "--get-regexp", r"^filter\."], &[])?;
    let filters = match named.ending {
        ProcessEnd::Code(0) => listed(named)?,
        // No filter is configured.
        ProcessEnd::Code(1) => Vec::new(),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => return None,
    };
    let disarmed = disarming(filters);
    run(dir, args, &borrowed(&disarmed)).filter(ProcessOutput::succeeded)
}

/// Returns variables that set these settings to values that start no program.
fn disarming(names: Vec<String>) -> Vec<(String, String)> {
    if names.is_empty() {
        return Vec::new();
    }
    let mut env = vec![("GIT_CONFIG_COUNT".to_owned(), names.len().to_string())];
    for (i, name) in names.into_iter().enumerate() {
        let harmless = match name.rsplit('.').next() {
            Some("required") => "false",
            // An empty value is an error; `cat` returns its input unchanged.
            Some("textconv") => "cat",
            _ => "",
        };
        env.push((format!("GIT_CONFIG_KEY_{i}"), name));
        env.push((format!("GIT_CONFIG_VALUE_{i}"), harmless.to_owned()));
    }
    env
}

fn borrowed(env: &[(String, String)]) -> Vec<(&str, &OsStr)> {
    env.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect()
}

/// Disarms the filters and converters in the repository's own configuration. Filters of the user still run,
/// because without them files in external storage look changed. Few repositories have any; a file read shows
/// that without a git process.
fn disarmed(places: &Locations) -> Option<Vec<(String, String)>> {
    let (worktree, git_dir, common) =
        (places.worktree.as_ref()?, places.git_dir.as_ref()?, places.common.as_ref()?);
    let may_name_any = |file: &Path| match read_small(file, CONFIG_BYTES) {
        Ok(text) => {
            let text = text.to_ascii_lowercase();
            ["[filter", "textconv", "[include"].iter().any(|word| text.contains(word))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if !may_name_any(&common.join("config")) && !may_name_any(&git_dir.join("config.worktree")) {
        return Some(Vec::new());
    }
    let pattern = r"^(filter\..*|diff\..*\.textconv)$";
    let args = ["config", "--null", "--show-scope", "--name-only", "--get-regexp", pattern];
    let ran = run(worktree, &args, &[])?;
    match ran.ending {
        ProcessEnd::Code(0) => {}
        ProcessEnd::Code(1) => return Some(Vec::new()),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => return None,
    }
    let words = listed(ran)?;
    let own = words.chunks_exact(2).filter(|pair| pair[0] == "local" || pair[0] == "worktree");
    let mut names: Vec<String> = own.map(|pair| pair[1].clone()).collect();
    names.sort();
    names.dedup();
    Some(disarming(names))
}

/// Larger than any configuration that people write.
const CONFIG_BYTES: u64 = 1024 * 1024;

/// File names as bytes, like in git.
#[derive(Debug, PartialEq, Eq)]
pub struct PathNames {
    pub paths: Vec<Vec<u8>>,
    /// Whether the list is complete.
    pub is_whole: bool,
}

/// Returns paths that differ from `HEAD` or the index or are untracked, relative to the worktree. Needs one
/// git process.
pub fn dirty_paths(places: &Locations) -> Option<PathNames> {
    let args =
        ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];
    let disarmed = disarmed(places)?;
    let ran = run(places.worktree.as_ref()?, &args, &borrowed(&disarmed)).filter(ProcessOutput::succeeded)?;
    let end = memchr::memrchr(0, &ran.stdout).map_or(0, |at| at + 1);
    let entries = ran.stdout[..end].split(|&byte| byte == 0).filter(|entry| entry.len() > 3);
    let paths = entries.map(|entry| entry[3..].to_vec()).collect();
    Some(PathNames { paths, is_whole: ran.stdout.len() < CAP })
}

/// Returns the difference between the worktree and this index in git's long format: untracked names and the
/// diff. Needs one git process, and overrides settings that would change the format.
pub fn status_against(places: &Locations, index: &Path) -> Option<GitDiff> {
    let mut args = Vec::new();
    for setting in [
        "core.quotePath=false",
        "core.untrackedCache=false",
        "color.ui=false",
        "color.status=false",
        "color.diff=false",
        "column.ui=never",
        "column.status=never",
        "advice.statusHints=false",
        "advice.statusUoption=false",
        "status.displayCommentPrefix=false",
        "status.relativePaths=false",
        "status.showStash=false",
        "status.aheadBehind=false",
        "status.submoduleSummary=false",
        "diff.context=0",
        "diff.interHunkContext=0",
        "diff.ignoreSubmodules=all",
        "diff.submodule=short",
        "diff.orderFile=/dev/null",
        "diff.relative=false",
    ] {
        args.extend(["-c", setting]);
    }
    args.extend([
        "status",
        "--long",
        "-vv",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=all",
    ]);
    let disarmed = disarmed(places)?;
    let mut env = borrowed(&disarmed);
    env.push(("GIT_INDEX_FILE", index.as_os_str()));
    let ran = run(places.worktree.as_ref()?, &args, &env).filter(ProcessOutput::succeeded)?;
    Some(GitDiff { is_whole: ran.stdout.len() < CAP, text: ran.stdout })
}

/// Writes the worktree without Sprag's files as a tree into a separate object store. Changes this index, but
/// neither the index nor the objects of the repository.
pub fn write_tree(places: &Locations, index: &Path, objects: &Path) -> Option<String> {
    let worktree = places.worktree.as_ref()?;
    let until = Instant::now() + TREE_DEADLINE;
    let disarmed = disarmed(places)?;
    let alternates = alternates(places)?;
    let mut env = borrowed(&disarmed);
    env.push(("GIT_INDEX_FILE", index.as_os_str()));
    env.push(("GIT_OBJECT_DIRECTORY", objects.as_os_str()));
    env.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", &alternates));
    let ask = |args: &[&str]| {
        // Hooks must not see an index that is not the repository's. The index need not survive a power cut. A
        // shared index would be written next to the real one.
        let settings = [
            "core.hooksPath=/dev/null",
            "core.fsync=none",
            "core.splitIndex=false",
            "core.untrackedCache=false",
            "core.safecrlf=false",
            "advice.addEmbeddedRepo=false",
        ];
        let mut all: Vec<&str> = settings.into_iter().flat_map(|setting| ["-c", setting]).collect();
        all.extend(args);
        run_within(worktree, &all, &env, until.saturating_duration_since(Instant::now()))
    };
    // Exit code 1: git could not read some paths, for example a repository without a commit. They are left
    // out.
    let added = ask(&["add", "-A", "--ignore-errors", "--", ".", NOT_OURS])?;
    if !matches!(added.ending, ProcessEnd::Code(0 | 1)) {
        return None;
    }
    // Git skipped tracked files of `.sprag`; they are still in the index.
    ask(&["rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--", ".sprag"])
        .filter(ProcessOutput::succeeded)?;
    object_name(ask(&["write-tree"]).filter(ProcessOutput::succeeded)?)
}

const NOT_OURS: &str = ":(exclude,top).sprag";
/// Long, because git reads and writes large files.
const TREE_DEADLINE: Duration = Duration::from_secs(10);

/// Returns the object directory of the repository in the form of a list of alternates.
fn alternates(places: &Locations) -> Option<OsString> {
    let objects = places.common.as_ref()?.join("objects").into_os_string();
    let is_plain = !objects.as_encoded_bytes().iter().any(|byte| b":\"\\\n".contains(byte));
    Some(if is_plain { objects } else { quoted_path::quote(objects.as_encoded_bytes()).into() })
}

/// Returns the readable difference between two trees, without Sprag's files. The trees may be in Sprag's
/// store or in the repository. Runs no program of the repository, because trees need no filters.
pub fn tree_diff(places: &Locations, objects: &Path, from: &str, to: &str) -> Option<GitDiff> {
    if !is_object_name(from) || !is_object_name(to) {
        return None;
    }
    let args = [
        "-c",
        "core.quotePath=false",
        "-c",
        "diff.orderFile=/dev/null",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        "--find-renames",
        "--unified=3",
        "--no-relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        from,
        to,
        "--",
        ".",
        NOT_OURS,
    ];
    let alternates = alternates(places)?;
    let mut env = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates.as_os_str())];
    // Without Sprag's store both trees must be in the repository.
    if objects.is_dir() {
        env.push(("GIT_OBJECT_DIRECTORY", objects.as_os_str()));
    }
    let ran = run(places.worktree.as_ref()?, &args, &env).filter(ProcessOutput::succeeded)?;
    Some(GitDiff { is_whole: ran.stdout.len() < CAP, text: ran.stdout })
}

/// Returns the tree of `HEAD`.
pub fn head_tree(places: &Locations) -> Option<String> {
    object_name(git(places.worktree.as_ref()?, &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?)
}

fn object_name(ran: ProcessOutput) -> Option<String> {
    let name = String::from_utf8(ran.stdout).ok()?;
    let name = name.trim_end();
    is_object_name(name).then(|| name.to_owned())
}

/// Reports whether this is a full object name of either hash. A short name may become ambiguous.
pub fn is_object_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Runs git in a repository that Sprag created, with Sprag's identity and settings.
pub fn in_own_repository(dir: &Path, args: &[&str]) -> io::Result<ProcessOutput> {
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
    exec::run(&ProcessSpec {
        dir,
        env: &env,
        unset: ELSEWHERE,
        cap: CAP,
        ..ProcessSpec::new(OsStr::new("git"), &args, deadline)
    })
}

fn git(worktree: &Path, args: &[&str]) -> Option<ProcessOutput> {
    run(worktree, args, &[]).filter(ProcessOutput::succeeded)
}

fn run(worktree: &Path, args: &[&str], more: &[(&str, &OsStr)]) -> Option<ProcessOutput> {
    run_within(worktree, args, more, DEADLINE)
}

fn run_within(
    worktree: &Path,
    args: &[&str],
    more: &[(&str, &OsStr)],
    deadline: Duration,
) -> Option<ProcessOutput> {
    ask(worktree, &GitQuery { args, env: more, stdin: b"", deadline, cap: CAP })
}

/// A query to git with the limits of its answer.
struct GitQuery<'a> {
    args: &'a [&'a str],
    env: &'a [(&'a str, &'a OsStr)],
    /// Smaller than the buffer of a pipe.
    stdin: &'a [u8],
    deadline: Duration,
    cap: usize,
}

fn ask(worktree: &Path, question: &GitQuery<'_>) -> Option<ProcessOutput> {
    ask_of(worktree, question, &[])
}

/// Asks git about these paths, which are bytes.
fn ask_of(worktree: &Path, question: &GitQuery<'_>, paths: &[&OsStr]) -> Option<ProcessOutput> {
    // A query must not write into the repository, start its monitor or fetch from its remote. Git still runs
    // the configured filters.
    let quiet = ["-c", "core.fsmonitor=false", "--no-optional-locks"];
    let args = quiet.iter().chain(question.args).map(OsStr::new);
    let args: Vec<&OsStr> = args.chain(paths.iter().copied()).collect();
    let mut env = vec![
        ("LC_ALL", OsStr::new("C")),
        ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
        ("GIT_NO_LAZY_FETCH", OsStr::new("1")),
    ];
    env.extend(question.env);
    let run = ProcessSpec {
        dir: worktree,
        env: &env,
        unset: ELSEWHERE,
        stdin: question.stdin,
        cap: question.cap,
        ..ProcessSpec::new(OsStr::new("git"), &args, question.deadline)
    };
    exec::run(&run).ok()
}
