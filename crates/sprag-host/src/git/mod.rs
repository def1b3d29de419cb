//! Asking git. The only file that starts it; most questions are answered by looking (`sys/locations.rs`).

pub mod blobs;
pub mod history;
mod index;
pub mod name_search;
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

/// Long, because a verdict depends on the answer; a client waits for a stop much longer.
const DEADLINE: Duration = Duration::from_secs(5);
const CAP: usize = 4 * 1024 * 1024;

/// A client may itself run inside a git hook, whose variables name another repository.
pub(crate) const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    // These change what a path or a diff means.
    "GIT_LITERAL_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
    "GIT_ATTR_SOURCE",
];

/// Paths that differ from HEAD or are untracked, relative to the worktree. `None`: git could not say.
pub fn changed_paths(worktree: &Path) -> Option<Vec<String>> {
    changed_by(worktree, &[])
}

/// The same by this index in place of the repository's own.
pub fn changed_paths_by(worktree: &Path, index: &Path) -> Option<Vec<String>> {
    changed_by(worktree, &[("GIT_INDEX_FILE", index.as_os_str())])
}

fn changed_by(worktree: &Path, env: &[(&str, &OsStr)]) -> Option<Vec<String>> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let ran = run(worktree, &args, env).filter(ProcessOutput::succeeded)?;
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

pub struct GitDiff {
    pub text: Vec<u8>,
    /// Nothing was cut off.
    pub is_whole: bool,
}

/// A diff without context of what is below these paths, with slashes and prefixes as git is born
/// with them. What the repository says is no text is left out. `None`: git could not say.
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

/// Every file of the worktree that git knows or is not told to ignore.
pub fn all_paths(worktree: &Path) -> Option<Vec<String>> {
    listed(git(worktree, &["ls-files", "--cached", "--others", "--exclude-standard", "-z"])?)
}

/// Every file of the worktree that git knows.
pub fn tracked_paths(worktree: &Path) -> Option<Vec<String>> {
    listed(git(worktree, &["ls-files", "--cached", "-z"])?)
}

/// Those of them that are not as they were committed.
pub fn changed_tracked_paths(worktree: &Path) -> Option<Vec<String>> {
    // Not into repositories within: those obey a configuration that may be anybody's.
    let args =
        ["diff", "HEAD", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "-z"];
    listed(git(worktree, &args)?)
}

/// Its name depends on how the repository hashes.
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

/// Asks git so that it starts no other program: to compare a file it would run the filters that the
/// repository's configuration names, so those are unset for the question.
fn git_alone(dir: &Path, args: &[&str]) -> Option<ProcessOutput> {
    let named = run(dir, &["config", "--null", "--name-only", "--get-regexp", r"^filter\."], &[])?;
    let filters = match named.ending {
        ProcessEnd::Code(0) => listed(named)?,
        // There are none.
        ProcessEnd::Code(1) => Vec::new(),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => return None,
    };
    let disarmed = disarming(filters);
    run(dir, args, &borrowed(&disarmed)).filter(ProcessOutput::succeeded)
}

/// Variables that set these settings to what starts no program.
fn disarming(names: Vec<String>) -> Vec<(String, String)> {
    if names.is_empty() {
        return Vec::new();
    }
    let mut env = vec![("GIT_CONFIG_COUNT".to_owned(), names.len().to_string())];
    for (i, name) in names.into_iter().enumerate() {
        let harmless = match name.rsplit('.').next() {
            Some("required") => "false",
            // An empty one is an error; this one gives back what it is given.
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

/// Disarms the filters and converters that the repository's own configuration names. Those of the
/// user are run as git runs them for everybody: without them, files kept elsewhere look changed.
/// Nearly no repository has any, and to see that takes no child.
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

/// More than any configuration that people write.
const CONFIG_BYTES: u64 = 1024 * 1024;

/// Names of files as git knows them: bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct PathNames {
    pub paths: Vec<Vec<u8>>,
    /// Nothing was cut off.
    pub is_whole: bool,
}

/// What differs from HEAD or the index, and what is untracked, relative to the worktree; by one child.
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

/// How the worktree differs from this index, in git's long format: untracked names and the diff from
/// the index to the files, by one child. Settings that would change the format are set back.
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

/// Writes the worktree, without our own files, as a tree into a store of objects of ours. This
/// index is changed for it; neither that of the repository nor its objects are.
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
        // No hook is told of an index that is not the repository's, none of it need survive a power
        // cut, and a shared index would be written beside the real one.
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
    // What git cannot read (1) is not part of what it can say: a repository without a commit, say.
    let added = ask(&["add", "-A", "--ignore-errors", "--", ".", NOT_OURS])?;
    if !matches!(added.ending, ProcessEnd::Code(0 | 1)) {
        return None;
    }
    // Those that are tracked were passed over, and are as they were last staged.
    ask(&["rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--", ".sprag"])
        .filter(ProcessOutput::succeeded)?;
    object_name(ask(&["write-tree"]).filter(ProcessOutput::succeeded)?)
}

const NOT_OURS: &str = ":(exclude,top).sprag";
/// Large files are read and written for it.
const TREE_DEADLINE: Duration = Duration::from_secs(10);

/// The repository's objects, as a list of places.
fn alternates(places: &Locations) -> Option<OsString> {
    let objects = places.common.as_ref()?.join("objects").into_os_string();
    let is_plain = !objects.as_encoded_bytes().iter().any(|byte| b":\"\\\n".contains(byte));
    Some(if is_plain { objects } else { quoted_path::quote(objects.as_encoded_bytes()).into() })
}

/// The difference between two trees, ours or the repository's, as people read it; without our own
/// files. No program of the repository is run: trees need no filters.
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
    // Without a store of ours both must be the repository's own.
    if objects.is_dir() {
        env.push(("GIT_OBJECT_DIRECTORY", objects.as_os_str()));
    }
    let ran = run(places.worktree.as_ref()?, &args, &env).filter(ProcessOutput::succeeded)?;
    Some(GitDiff { is_whole: ran.stdout.len() < CAP, text: ran.stdout })
}

/// The tree of the commit that is checked out.
pub fn head_tree(places: &Locations) -> Option<String> {
    object_name(git(places.worktree.as_ref()?, &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?)
}

fn object_name(ran: ProcessOutput) -> Option<String> {
    let name = String::from_utf8(ran.stdout).ok()?;
    let name = name.trim_end();
    is_object_name(name).then(|| name.to_owned())
}

/// The whole name, of either kind of hash: a short one may become ambiguous.
pub fn is_object_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Runs git in a repository of our own making, with an identity and settings of our own.
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

/// What git is asked, and how much of an answer is wanted.
struct GitQuery<'a> {
    args: &'a [&'a str],
    env: &'a [(&'a str, &'a OsStr)],
    /// Less than a pipe holds.
    stdin: &'a [u8],
    deadline: Duration,
    cap: usize,
}

fn ask(worktree: &Path, question: &GitQuery<'_>) -> Option<ProcessOutput> {
    ask_of(worktree, question, &[])
}

/// The same, and of these paths, as git knows them: by their bytes.
fn ask_of(worktree: &Path, question: &GitQuery<'_>, paths: &[&OsStr]) -> Option<ProcessOutput> {
    // Asking must not write into the repository, nor start its monitor or fetch from its remote. What
    // its own configuration names as a filter, git runs as it does for everybody.
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
        program: OsStr::new("git"),
        args: &args,
        dir: worktree,
        env: &env,
        unset: ELSEWHERE,
        stdin: question.stdin,
        deadline: question.deadline,
        cap: question.cap,
    };
    exec::run(&run).ok()
}
