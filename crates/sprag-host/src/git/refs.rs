//! Merges without a checkout. Candidates are commits of trees. A reference moves only from its expected
//! value. No index and no file changes.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use sprag_base::time::Timestamp;

use super::{CAP, GitQuery, ask_of, is_object_name};
use crate::sys::env::Env;
use crate::sys::exec::{ProcessEnd, ProcessOutput};
use crate::sys::locations::Locations;

/// A merge in a large repository takes long.
const DEADLINE: Duration = Duration::from_secs(60);
/// Git does not flush the target of a reference to disk by default. Hooks of the repository must not run for
/// Sprag's references.
const SETTINGS: &[&str] =
    &["-c", "core.fsync=committed,loose-object,reference", "-c", "core.hooksPath=/dev/null"];
/// The old value for a reference that must not exist.
const NONE: &str = "";

/// An error with the text that git printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitError(pub String);

/// A complete description of a merge: the same recipe gives the same commit.
#[derive(Clone, Copy, Debug)]
pub struct MergeRecipe<'a> {
    pub onto: &'a str,
    pub head: &'a str,
    pub message: &'a str,
    pub name: &'a str,
    pub mail: &'a str,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeAttempt {
    Clean {
        commit: String,
        tree: String,
    },
    /// Paths with a conflict.
    Conflict {
        paths: Vec<String>,
    },
}

/// Merges two commits into a commit without a reference.
pub fn merge(dir: &Path, recipe: &MergeRecipe<'_>) -> Result<MergeAttempt, GitError> {
    let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", recipe.onto, recipe.head];
    let ran = act(dir, &args, &[])?;
    match ran.ending {
        ProcessEnd::Code(0 | 1) => {}
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => return Err(refused(&ran)),
    }
    let mut parts = ran.stdout.split(|&byte| byte == 0).filter(|part| !part.is_empty());
    let tree = parts.next().map(|name| String::from_utf8_lossy(name).trim_end().to_owned());
    let tree = tree.filter(|tree| is_object_name(tree)).ok_or_else(|| refused(&ran))?;
    if ran.ending == ProcessEnd::Code(1) {
        let paths = parts.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        return Ok(MergeAttempt::Conflict { paths });
    }
    let commit = commit(dir, &tree, &[recipe.onto, recipe.head], recipe)?;
    Ok(MergeAttempt::Clean { commit, tree })
}

/// Creates a commit of a tree, with the author and time of the recipe.
pub fn commit(
    dir: &Path,
    tree: &str,
    parents: &[&str],
    recipe: &MergeRecipe<'_>,
) -> Result<String, GitError> {
    let mut args = vec!["commit-tree", tree, "-m", recipe.message];
    args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    let at = format!("{} +0000", recipe.at.millis() / 1000);
    let env = [
        ("GIT_AUTHOR_NAME", OsStr::new(recipe.name)),
        ("GIT_COMMITTER_NAME", OsStr::new(recipe.name)),
        ("GIT_AUTHOR_EMAIL", OsStr::new(recipe.mail)),
        ("GIT_COMMITTER_EMAIL", OsStr::new(recipe.mail)),
        ("GIT_AUTHOR_DATE", OsStr::new(&at)),
        ("GIT_COMMITTER_DATE", OsStr::new(&at)),
    ];
    named(act(dir, &args, &env)?)
}

/// Returns the commit of a name; `None` if the name does not exist.
pub fn resolve(dir: &Path, name: &str) -> Result<Option<String>, GitError> {
    match read(dir, name) {
        Some(commit) => Ok(Some(commit)),
        None => look_up(dir, &format!("{name}^{{commit}}")),
    }
}

/// Reads the commit of a reference from files. `None` if only git can resolve the name, or if its target may
/// not be a commit.
fn read(dir: &Path, name: &str) -> Option<String> {
    let places = Locations::find(dir, &Env::Real).ok()?;
    let commit = match name {
        "HEAD" => places.head(),
        _ if name.starts_with("refs/heads/") || name.starts_with("refs/sprag/") => places.reference(name),
        _ => None,
    };
    commit.filter(|commit| is_object_name(commit))
}

/// Returns the parents of a commit.
pub fn parents(dir: &Path, commit: &str) -> Result<Vec<String>, GitError> {
    let ran = act(dir, &["rev-list", "--max-count=1", "--parents", commit, "--"], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    Ok(text.split_ascii_whitespace().skip(1).map(str::to_owned).collect())
}

pub fn tree_of(dir: &Path, commit: &str) -> Result<Option<String>, GitError> {
    look_up(dir, &format!("{commit}^{{tree}}"))
}

/// Returns `HEAD` and its tree; `None` before the first commit.
pub fn head_of(dir: &Path) -> Result<Option<(String, String)>, GitError> {
    let ran = act(dir, &["rev-list", "--max-count=1", "--format=%H %T", "HEAD", "--"], &[])?;
    let text = String::from_utf8_lossy(&ran.stdout);
    match text.lines().nth(1).and_then(|line| line.split_once(' ')) {
        Some((head, tree)) if ran.succeeded() && is_object_name(head) && is_object_name(tree) => {
            Ok(Some((head.to_owned(), tree.to_owned())))
        }
        // Git reports a missing commit only as text, so ask again.
        _ if look_up(dir, "HEAD^{commit}")?.is_none() => Ok(None),
        _ => Err(refused(&ran)),
    }
}

fn look_up(dir: &Path, name: &str) -> Result<Option<String>, GitError> {
    let ran = act(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", name], &[])?;
    match ran.ending {
        ProcessEnd::Code(1) => Ok(None),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => named(ran).map(Some),
    }
}

/// Returns the time of a commit that `within` does not contain, and `None` if it does. With this time a
/// repeated merge gives the same commit.
pub fn new_since(dir: &Path, commit: &str, within: &str) -> Result<Option<Timestamp>, GitError> {
    let without = format!("^{within}");
    let args = ["rev-list", "--max-count=1", "--format=%ct", commit, without.as_str(), "--"];
    let ran = act(dir, &args, &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    // The line before it holds the name of the commit.
    let text = String::from_utf8_lossy(&ran.stdout);
    let Some(seconds) = text.lines().nth(1) else { return Ok(None) };
    let seconds = seconds.trim().parse::<i64>().map_err(|_| refused(&ran))?;
    Ok(Some(Timestamp::from_millis(seconds.saturating_mul(1000))))
}

/// Returns paths that one side changed since its common base with the other.
pub fn changed(dir: &Path, other: &str, side: &str) -> Result<Vec<String>, GitError> {
    let range = format!("{other}...{side}");
    let args = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", &range, "--"];
    paths(act(dir, &args, &[])?)
}

/// Returns the number of lines that one side added or removed since its common base with the other. A binary
/// file counts as the maximum.
pub fn changed_lines(dir: &Path, other: &str, side: &str) -> Result<u32, GitError> {
    let range = format!("{other}...{side}");
    let ran = act(dir, &["diff", "--numstat", "--no-renames", "--no-ext-diff", &range, "--"], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    let count = |word: &str| word.parse::<u32>().unwrap_or(u32::MAX);
    let counts = text.lines().flat_map(|line| line.split('\t').take(2).map(count));
    Ok(counts.fold(0, u32::saturating_add))
}

fn paths(ran: ProcessOutput) -> Result<Vec<String>, GitError> {
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let paths = ran.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Returns the commits of `HEAD` since another commit, newest first: short name and subject.
pub fn subjects(dir: &Path, since: &str, most: usize) -> Result<Vec<String>, GitError> {
    let (count, range) = (format!("--max-count={most}"), format!("{since}..HEAD"));
    let ran = act(dir, &["log", "--format=%h %s", &count, &range, "--"], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect())
}

/// Returns the paths that differ between two commits.
pub fn between(dir: &Path, one: &str, other: &str) -> Result<Vec<String>, GitError> {
    paths(act(dir, &["diff-tree", "-r", "--no-renames", "--name-only", "-z", one, other, "--"], &[])?)
}

/// Returns the newest common ancestor of two commits.
pub fn common(dir: &Path, one: &str, other: &str) -> Result<String, GitError> {
    named(act(dir, &["merge-base", one, other], &[])?)
}

/// Returns all best common ancestors of two commits. With several, the changes of a side depend on the chosen
/// one.
pub fn all_common(dir: &Path, one: &str, other: &str) -> Result<Vec<String>, GitError> {
    let ran = act(dir, &["merge-base", "--all", one, other], &[])?;
    Ok(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect())
}

/// Reports whether a commit has all of these commits in its history.
pub fn contains_all(dir: &Path, commits: &[&str], within: &str) -> Result<bool, GitError> {
    // True if no commit is reachable from them but not from `within`.
    let bounds = format!("^{within}");
    for some in commits.chunks(500) {
        let mut args = vec!["rev-list", "--max-count=1", bounds.as_str()];
        args.extend(some);
        let ran = act(dir, &args, &[])?;
        match ran.succeeded() {
            true if ran.stdout.is_empty() => {}
            true => return Ok(false),
            false => return Err(refused(&ran)),
        }
    }
    Ok(true)
}

/// Returns the commits of one history that the other lacks; `None` if there are too many.
pub fn missing(dir: &Path, of: &str, within: &str) -> Result<Option<Vec<String>>, GitError> {
    let without = format!("^{within}");
    let ran = act(dir, &["rev-list", of, without.as_str(), "--"], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    Ok((ran.stdout.len() < CAP).then(|| text.lines().map(str::to_owned).collect()))
}

/// Reports whether the history of `within` contains the commit.
pub fn contains(dir: &Path, commit: &str, within: &str) -> Result<bool, GitError> {
    let ran = act(dir, &["merge-base", "--is-ancestor", commit, within], &[])?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(true),
        ProcessEnd::Code(1) => Ok(false),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => Err(refused(&ran)),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefUpdate {
    Done,
    /// The reference does not have the expected value.
    Moved {
        now: Option<String>,
    },
}

/// Moves a reference from one commit to another. Without an old value the reference must not exist.
pub fn swap(dir: &Path, reference: &str, to: &str, from: Option<&str>) -> Result<RefUpdate, GitError> {
    let ran = act(dir, &["update-ref", "--no-deref", reference, to, from.unwrap_or(NONE)], &[])?;
    settled(dir, reference, from, &ran)
}

/// Sets a reference of Sprag to a commit, without a check of the old value.
pub fn pin(dir: &Path, reference: &str, to: &str) -> Result<(), GitError> {
    let ran = act(dir, &["update-ref", "--no-deref", reference, to], &[])?;
    if ran.succeeded() { Ok(()) } else { Err(refused(&ran)) }
}

/// Fast-forwards the checked-out branch and its files. Git refuses a commit that is not ahead, or one that
/// would overwrite a file.
pub fn fast_forward(checkout: &Path, to: &str) -> Result<(), GitError> {
    let ran = act(checkout, &["merge", "--ff-only", "--no-overwrite-ignore", "--quiet", to], &[])?;
    if ran.succeeded() { Ok(()) } else { Err(refused(&ran)) }
}

/// Returns the references below a prefix.
pub fn references(dir: &Path, prefix: &str) -> Result<Vec<(String, String)>, GitError> {
    let ran = act(dir, &["for-each-ref", "--format=%(refname) %(objectname)", prefix], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let pair = |line: &str| line.split_once(' ').map(|(name, at)| (name.to_owned(), at.to_owned()));
    Ok(text.lines().filter_map(pair).collect())
}

/// A reference to a commit, with the time of the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dated {
    pub name: String,
    pub at: String,
    pub date: Timestamp,
}

/// Returns the references to commits below a prefix, with their times.
pub fn dated(dir: &Path, prefix: &str) -> Result<Vec<Dated>, GitError> {
    let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
    let ran = act(dir, &["for-each-ref", format, prefix], &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let dated = |line: &str| {
        let mut parts = line.split(' ');
        let (name, at) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let date = Timestamp::from_millis(parts.next()?.parse::<i64>().ok()?.saturating_mul(1000));
        Some(Dated { name, at, date })
    };
    Ok(text.lines().filter_map(dated).collect())
}

/// Deletes a reference, if it has the expected value.
pub fn drop_reference(dir: &Path, reference: &str, from: &str) -> Result<RefUpdate, GitError> {
    let ran = act(dir, &["update-ref", "--no-deref", "-d", reference, from], &[])?;
    settled(dir, reference, Some(from), &ran)
}

/// Reports whether a reference was updated. Git reports a moved reference only as text, so Sprag reads the
/// reference.
fn settled(
    dir: &Path,
    reference: &str,
    from: Option<&str>,
    ran: &ProcessOutput,
) -> Result<RefUpdate, GitError> {
    if ran.succeeded() {
        return Ok(RefUpdate::Done);
    }
    let now = resolve(dir, reference)?;
    if now.as_deref() == from { Err(refused(ran)) } else { Ok(RefUpdate::Moved { now }) }
}

fn named(ran: ProcessOutput) -> Result<String, GitError> {
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    super::object_name(ran).ok_or_else(|| GitError("git returned no object name".to_owned()))
}

pub(crate) fn act(dir: &Path, args: &[&str], env: &[(&str, &OsStr)]) -> Result<ProcessOutput, GitError> {
    act_on(dir, args, env, &[])
}

/// Runs git on paths, which may be any bytes.
pub(crate) fn act_on(
    dir: &Path,
    args: &[&str],
    env: &[(&str, &OsStr)],
    paths: &[&OsStr],
) -> Result<ProcessOutput, GitError> {
    let args: Vec<&str> = SETTINGS.iter().chain(args).copied().collect();
    let question = GitQuery { args: &args, env, stdin: b"", deadline: DEADLINE, cap: CAP };
    ask_of(dir, &question, paths).ok_or_else(|| GitError("cannot start git".to_owned()))
}

pub(crate) fn refused(ran: &ProcessOutput) -> GitError {
    let said = String::from_utf8_lossy(&ran.stderr);
    GitError(match (&ran.ending, said.trim()) {
        (ProcessEnd::TimedOut, _) => format!("git did not end within {} s", DEADLINE.as_secs()),
        (ProcessEnd::Code(code), "") => format!("git failed with exit code {code}"),
        (ProcessEnd::Signal, "") => "git was killed by a signal".to_owned(),
        (ProcessEnd::Code(_) | ProcessEnd::Signal, said) => said.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::scratch::Scratch;

    fn recipe<'a>(onto: &'a str, head: &'a str) -> MergeRecipe<'a> {
        let at = Timestamp::from_millis(1_700_000_000_000);
        MergeRecipe { onto, head, message: "stage `a`", name: "Sprag", mail: "sprag@localhost", at }
    }

    #[test]
    fn a_candidate_made_again_is_the_same_commit() {
        let git = Scratch::new();
        let base = git.commit("a.txt", "one\n");
        let ours = git.commit("b.txt", "two\n");
        git.run(&["checkout", "-q", "-b", "stage", &base]);
        let theirs = git.commit("c.txt", "three\n");
        let first = merge(git.dir(), &recipe(&ours, &theirs)).unwrap();
        assert_eq!(first, merge(git.dir(), &recipe(&ours, &theirs)).unwrap());
        let MergeAttempt::Clean { commit, tree } = first else { panic!("they go together") };
        assert_eq!(tree_of(git.dir(), &commit).unwrap(), Some(tree));
        assert!(
            contains(git.dir(), &ours, &commit).unwrap() && contains(git.dir(), &theirs, &commit).unwrap()
        );
        assert!(!contains(git.dir(), &commit, &ours).unwrap());
        assert_eq!(git.run(&["status", "--porcelain"]), "", "no checkout is touched");
    }

    #[test]
    fn a_branch_that_has_two_commits_in_common_with_another_is_crossed() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let one = git.commit("b", "2");
        git.run(&["checkout", "-q", "-b", "side", &base]);
        let other = git.commit("c", "3");
        let count = |one: &str, other: &str| all_common(git.dir(), one, other).unwrap().len();
        assert_eq!(count(&one, &other), 1);
        let tree = tree_of(git.dir(), &one).unwrap().unwrap();
        let merged = |first: &str, second: &str| {
            git.run(&["commit-tree", "-p", first, "-p", second, "-m", "m", &tree]).trim().to_owned()
        };
        assert_eq!(count(&merged(&one, &other), &merged(&other, &one)), 2);
        assert_eq!(count(&merged(&one, &other), &one), 1);
    }

    #[test]
    fn no_attribute_of_a_repository_hides_how_much_was_changed() {
        let git = Scratch::new();
        let base = git.commit(".gitattributes", "big* -diff\n");
        let big = git.commit("big.c", &"line\n".repeat(700));
        assert_eq!(changed_lines(git.dir(), &base, &big), Ok(u32::MAX));
        let few = git.commit("few", "one\ntwo\n");
        assert_eq!(changed_lines(git.dir(), &big, &few), Ok(2));
    }

    #[test]
    fn a_conflict_names_its_paths_whatever_they_are_called() {
        let git = Scratch::new();
        let base = git.commit("odd \"name\"\n.txt", "one\n");
        let ours = git.commit("odd \"name\"\n.txt", "two\n");
        git.run(&["checkout", "-q", "-b", "stage", &base]);
        let theirs = git.commit("odd \"name\"\n.txt", "three\n");
        let merged = merge(git.dir(), &recipe(&ours, &theirs)).unwrap();
        assert_eq!(merged, MergeAttempt::Conflict { paths: vec!["odd \"name\"\n.txt".to_owned()] });
    }

    #[test]
    fn a_reference_moves_only_from_where_it_was_known_to_be() {
        let git = Scratch::new();
        let (first, second) = (git.commit("a", "1"), git.commit("a", "2"));
        let trunk = "refs/sprag/plan/trunk";
        assert_eq!(swap(git.dir(), trunk, &first, None), Ok(RefUpdate::Done));
        let moved = |now: &str| Ok(RefUpdate::Moved { now: Some(now.to_owned()) });
        assert_eq!(swap(git.dir(), trunk, &second, None), moved(&first));
        assert_eq!(swap(git.dir(), trunk, &first, Some(&second)), moved(&first));
        assert_eq!(swap(git.dir(), trunk, &second, Some(&first)), Ok(RefUpdate::Done));
        assert_eq!(drop_reference(git.dir(), trunk, &first), moved(&second));
        assert_eq!(drop_reference(git.dir(), trunk, &second), Ok(RefUpdate::Done));
        assert_eq!(resolve(git.dir(), trunk), Ok(None));
    }

    #[test]
    fn all_or_not_all_of_some_commits_are_in_a_history() {
        let git = Scratch::new();
        let (first, second) = (git.commit("a", "1"), git.commit("a", "2"));
        git.run(&["checkout", "-q", "-b", "side", &first]);
        let side = git.commit("b", "3");
        assert_eq!(contains_all(git.dir(), &[], &second), Ok(true));
        assert_eq!(contains_all(git.dir(), &[&first, &second], &second), Ok(true));
        assert_eq!(contains_all(git.dir(), &[&first, &side], &second), Ok(false));
        assert!(contains_all(git.dir(), &["0123456789012345678901234567890123456789"], &second).is_err());
    }

    #[test]
    fn what_is_new_is_dated_by_itself_and_not_by_what_it_brings_along() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let dated = |path: &str, second: &str| {
            git.commit(path, "x");
            let date = format!("user.date={second}");
            git.run(&["-c", &date, "commit", "-q", "--amend", "--no-edit", "--date", second]);
            git.run(&["rev-parse", "HEAD"])
        };
        let (_older, head) = (dated("b", "1900000000 +0000"), dated("c", "1800000000 +0000"));
        let at = git.run(&["show", "-s", "--format=%ct", &head]).parse::<i64>().unwrap();
        assert_eq!(new_since(git.dir(), &head, &base), Ok(Some(Timestamp::from_millis(at * 1000))));
        assert_eq!(new_since(git.dir(), &base, &head), Ok(None));
        assert_eq!(new_since(git.dir(), &head, &head), Ok(None));
        assert!(new_since(git.dir(), "no-such", &head).is_err());
        assert_eq!(
            head_of(git.dir()).unwrap(),
            Some((head.clone(), tree_of(git.dir(), &head).unwrap().unwrap()))
        );
    }

    #[test]
    fn what_a_side_merged_in_it_has_not_changed() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let trunk = git.commit("b", "2");
        git.run(&["checkout", "-q", "-b", "stage", &base]);
        let alone = git.commit("c", "3");
        assert_eq!(changed(git.dir(), &trunk, &alone).unwrap(), ["c"]);
        git.run(&["merge", "-q", "--no-edit", &trunk]);
        assert_eq!(changed(git.dir(), &trunk, "HEAD").unwrap(), ["c"]);
    }

    #[test]
    fn what_git_refuses_is_said_in_its_words() {
        let git = Scratch::new();
        let head = git.commit("a", "1");
        let said = merge(git.dir(), &recipe(&head, "no-such")).unwrap_err().0;
        assert!(said.contains("no-such"), "{said}");
        assert!(swap(git.dir(), "refs/sprag/..", &head, None).is_err());
    }
}
