//! Worktrees of stages. Before Sprag removes a worktree, it commits everything in it, finished or not, and
//! stores the commit under its own reference.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;

use super::refs::{GitError, MergeRecipe, act, commit, refused, resolve, swap, tree_of};
use crate::sys::disk::{self, Disk};
use crate::sys::exec::{ProcessEnd, ProcessOutput};
use crate::sys::locations;

/// Git has no lock for its list of worktrees, so concurrent changes would conflict.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    // A panic while the lock was held left no partial state in memory.
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Git would obey the configuration of a nested repository to find out whether it changed. Git sees without
/// it that the repository is at another commit.
const INTO_NONE: &str = "--ignore-submodules=dirty";

/// Maximum bytes of the files about a worktree; each has one line.
const LINE: u64 = 4096;

/// Git's information about a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeInfo {
    pub path: PathBuf,
    pub head: Option<String>,
    /// The full name of a reference.
    pub branch: Option<String>,
    /// The reason of a lock, if the worktree is locked.
    pub locked: Option<String>,
    /// The directory is missing.
    pub is_prunable: bool,
}

/// Returns all worktrees, the user's first.
pub fn list(dir: &Path) -> Result<Vec<WorktreeInfo>, GitError> {
    // A worktree that is being created cannot be read.
    let _alone = alone();
    listed(dir)
}

fn listed(dir: &Path) -> Result<Vec<WorktreeInfo>, GitError> {
    put_pipes_aside(dir);
    let ran = done(act(dir, &["worktree", "list", "--porcelain", "-z"], &[])?)?;
    let mut all = Vec::new();
    let mut now: Option<WorktreeInfo> = None;
    for line in ran.stdout.split(|&byte| byte == 0) {
        let line = String::from_utf8_lossy(line);
        let (key, value) = line.split_once(' ').unwrap_or((&line, ""));
        match (key, &mut now) {
            ("worktree", _) => {
                now = Some(WorktreeInfo { path: PathBuf::from(value), ..WorktreeInfo::default() })
            }
            ("HEAD", Some(it)) => it.head = Some(value.to_owned()),
            ("branch", Some(it)) => it.branch = Some(value.to_owned()),
            ("locked", Some(it)) => it.locked = Some(value.to_owned()),
            ("prunable", Some(it)) => it.is_prunable = true,
            ("", _) => all.extend(now.take()),
            _ => {}
        }
    }
    Ok(all)
}

/// Renames pipes among git's files. Git reads a few files of every worktree to list them, and a pipe that an
/// agent made would block git forever. Without the file the worktree counts as lost.
fn put_pipes_aside(dir: &Path) {
    let Some(common) = locations::common_dir(dir) else { return };
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        for name in ["HEAD", "gitdir", "commondir", "locked"] {
            let path = entry.path().join(name);
            if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
                fs::rename(&path, path.with_extension("odd"))
                    .discard("a file that stays is met by the deadline of git");
            }
        }
    }
}

/// Creates a worktree on a separate branch. If the branch exists, the work of the earlier attempt continues.
pub fn add(dir: &Path, path: &Path, branch: &str, base: &str, why: &str) -> Result<Branch, GitError> {
    let _alone = alone();
    let at = text_of(path)?;
    let reference = format!("refs/heads/{branch}");
    let add = ["worktree", "add", "--quiet", "--lock", "--reason", why];
    let ran = act(dir, &[&add[..], &["--no-track", "-b", branch, at, base]].concat(), &[])?;
    if ran.succeeded() {
        return Ok(Branch::New);
    }
    // Git creates nothing if the branch exists.
    match resolve(dir, &reference)? {
        Some(_) => done(act(dir, &[&add[..], &[at, branch]].concat(), &[])?).map(|_| Branch::Old),
        None => Err(refused(&ran)),
    }
}

/// Whether the branch of a worktree is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    New,
    /// From an earlier attempt.
    Old,
}

/// Creates a worktree of one commit, without a branch.
pub fn add_at(dir: &Path, path: &Path, commit: &str) -> Result<(), GitError> {
    let _alone = alone();
    let args = ["worktree", "add", "--quiet", "--force", "--detach", text_of(path)?, commit];
    done(act(dir, &args, &[])?).map(|_| ())
}

/// Makes git ignore worktrees inside the user's checkout. Uses the exclude file of the clone, which is never
/// committed.
pub fn keep_out_of_sight(root: &Path, disk: &dyn Disk) -> std::io::Result<()> {
    leave_out(root, "/.worktrees/", disk)
}

/// Adds a pattern to the exclude file of this clone.
pub fn leave_out(root: &Path, pattern: &str, disk: &dyn Disk) -> std::io::Result<()> {
    let _alone = alone();
    let common = locations::common_dir(root).ok_or(std::io::ErrorKind::NotFound)?;
    let path = common.join("info/exclude");
    let before = match disk::read_small(&path, 1024 * 1024) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if before.lines().any(|line| line.trim_end() == pattern) {
        return Ok(());
    }
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    disk::make_parent(disk, &path)?;
    disk::replace(disk, &path, format!("{before}{gap}{pattern}\n").as_bytes())
}

/// Reports whether a worktree contains only committed files; an untracked file counts as a change.
pub fn is_clean(worktree: &Path) -> Result<bool, GitError> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", INTO_NONE];
    done(act(worktree, &args, &[])?).map(|ran| ran.stdout.is_empty())
}

/// Commits the changes below a directory of a worktree as Sprag, and nothing else. `None` if nothing changed
/// there.
pub fn commit_below(worktree: &Path, folder: &str, why: &str) -> Result<Option<String>, GitError> {
    done(act(worktree, &["add", "-A", "--", folder], &[])?)?;
    let staged = act(worktree, &["diff", "--cached", "--quiet", "--no-ext-diff", "--", folder], &[])?;
    if staged.succeeded() {
        return Ok(None);
    }
    let env = [
        ("GIT_AUTHOR_NAME", OsStr::new("Sprag")),
        ("GIT_COMMITTER_NAME", OsStr::new("Sprag")),
        ("GIT_AUTHOR_EMAIL", OsStr::new("sprag@localhost")),
        ("GIT_COMMITTER_EMAIL", OsStr::new("sprag@localhost")),
    ];
    done(act(worktree, &["commit", "--quiet", "--no-gpg-sign", "-m", why, "--only", "--", folder], &env)?)?;
    resolve(worktree, "HEAD")
}

/// Reports whether all tracked files are unchanged.
pub fn is_unchanged(worktree: &Path) -> Result<bool, GitError> {
    let args = ["status", "--porcelain", "-z", "--untracked-files=no", INTO_NONE];
    done(act(worktree, &args, &[])?).map(|ran| ran.stdout.is_empty())
}

/// Reports whether git ignores a path.
pub fn is_ignored(worktree: &Path, path: &str) -> Result<bool, GitError> {
    let ran = act(worktree, &["check-ignore", "--quiet", "--no-index", "--", path], &[])?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(true),
        ProcessEnd::Code(1) => Ok(false),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => Err(refused(&ran)),
    }
}

/// Stores everything in a worktree under a reference, and leaves the worktree unchanged. `None` if the last
/// commit already holds everything.
pub fn salvage(
    worktree: &Path,
    reference: &str,
    why: &str,
    at: Timestamp,
) -> Result<Option<String>, GitError> {
    let head = resolve(worktree, "HEAD")?;
    // The usual case, because merged work leaves nothing behind.
    if let Some(head) = &head
        && is_clean(worktree)?
        && is_named(worktree, head)?
    {
        return Ok(None);
    }
    // A copy of the index keeps the agent's staged changes untouched.
    let git_dir = locations::git_dir(worktree)
        .ok_or_else(|| GitError(format!("`{}` is not a worktree", worktree.display())))?;
    let index = git_dir.join("index.sprag-salvage");
    let _gone_after = Temporary(&index);
    fs::copy(git_dir.join("index"), &index).map(|_| ()).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(GitError(format!("cannot copy the index: {error}"))),
    })?;
    let env = [("GIT_INDEX_FILE", index.as_os_str())];
    done(act(worktree, &["add", "-A", "--", "."], &env)?)?;
    refuse_nested(worktree, head.as_deref(), &env)?;
    let written = done(act(worktree, &["write-tree"], &env)?)?;
    let tree = String::from_utf8_lossy(&written.stdout).trim_end().to_owned();
    let parents: Vec<&str> = head.as_deref().into_iter().collect();
    if let Some(head) = &head
        && tree_of(worktree, head)?.as_deref() == Some(tree.as_str())
    {
        if is_named(worktree, head)? {
            return Ok(None);
        }
        // The commit is on no branch, so the reference keeps it.
        let before = resolve(worktree, reference)?;
        swap(worktree, reference, head, before.as_deref())?;
        return Ok(Some(head.clone()));
    }
    let recipe = MergeRecipe { onto: "", head: "", message: why, name: "Sprag", mail: "sprag@localhost", at };
    let kept = commit(worktree, &tree, &parents, &recipe)?;
    let before = resolve(worktree, reference)?;
    swap(worktree, reference, &kept, before.as_deref())?;
    Ok(Some(kept))
}

/// Reports whether a reference contains the commit.
fn is_named(worktree: &Path, commit: &str) -> Result<bool, GitError> {
    let args = ["for-each-ref", "--count=1", "--contains", commit, "--format=%(refname)", "refs"];
    done(act(worktree, &args, &[])?).map(|ran| !ran.stdout.is_empty())
}

/// Reports whether a local branch, a tag or a remote branch of the last fetch contains the commit.
pub fn is_on_branch(dir: &Path, commit: &str) -> Result<bool, GitError> {
    Ok(!with(dir, commit)?.is_empty())
}

/// Reports whether such a reference other than a branch of a stage contains the commit.
pub fn is_on_other_branch(dir: &Path, commit: &str) -> Result<bool, GitError> {
    Ok(with(dir, commit)?.iter().any(|name| !name.starts_with("refs/heads/sprag/")))
}

fn with(dir: &Path, commit: &str) -> Result<Vec<String>, GitError> {
    let args = ["for-each-ref", "--contains", commit, "--format=%(refname)"];
    let ran = done(act(dir, &[&args[..], &["refs/heads", "refs/tags", "refs/remotes"]].concat(), &[])?)?;
    Ok(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect())
}

/// Refuses a new nested repository. Git would store only the name of its commit.
fn refuse_nested(worktree: &Path, head: Option<&str>, env: &[(&str, &OsStr)]) -> Result<(), GitError> {
    let Some(head) = head else { return Ok(()) };
    let args = ["diff-index", "--cached", "--no-renames", "--diff-filter=A", "-z", head];
    let ran = done(act(worktree, &args, env)?)?;
    let mut parts = ran.stdout.split(|&byte| byte == 0);
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        if about.split(|&byte| byte == b' ').nth(1) == Some(b"160000") {
            let path = String::from_utf8_lossy(path);
            return Err(GitError(format!("`{path}` is a nested repository; Sprag cannot save its files")));
        }
    }
    Ok(())
}

/// Makes room for a worktree. Git forgets a worktree whose directory was deleted. Sprag renames an unknown
/// directory and never deletes it.
pub fn make_room(dir: &Path, path: &Path) -> Result<(), GitError> {
    let _alone = alone();
    let known = known(dir, path);
    match (known, path.exists()) {
        (Some(known), false) => take_away(dir, path, Some(known)),
        (None, true) => put_aside(path),
        (Some(_), true) | (None, false) => Ok(()),
    }
}

/// Makes git forget a worktree and renames its directory, because the user may need its files.
pub fn set_aside(dir: &Path, path: &Path) -> Result<(), GitError> {
    let _alone = alone();
    let known = known(dir, path);
    if path.exists() {
        put_aside(path)?;
    }
    take_away(dir, path, known)
}

fn put_aside(path: &Path) -> Result<(), GitError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let free =
        (1..1000).map(|number| path.with_file_name(format!("{name}.aside-{number}"))).find(|it| !it.exists());
    let Some(free) = free else { return Err(GitError(format!("no free name for `{}`", path.display()))) };
    fs::rename(path, free).map_err(|error| GitError(format!("cannot move `{}`: {error}", path.display())))
}

/// Removes a worktree. The caller has salvaged its content.
pub fn remove(dir: &Path, path: &Path) -> Result<(), GitError> {
    let _alone = alone();
    take_away(dir, path, known(dir, path))
}

/// The state of a worktree in git's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorktreeRegistration {
    Locked,
    Open,
}

/// Reads git's files about a worktree without a git process. `None` if git does not know the worktree.
fn known(dir: &Path, path: &Path) -> Option<WorktreeRegistration> {
    put_pipes_aside(dir);
    let all = fs::read_dir(locations::common_dir(dir)?.join("worktrees")).ok()?;
    let entry = path.join(".git");
    let is_it = |known: &PathBuf| {
        let line = disk::read_small(&known.join("gitdir"), LINE).unwrap_or_default();
        locations::tidy(&known.join(line.trim_end())) == entry
    };
    let found = all.flatten().map(|known| known.path()).find(is_it)?;
    Some(if found.join("locked").exists() {
        WorktreeRegistration::Locked
    } else {
        WorktreeRegistration::Open
    })
}

/// Reports whether git knows a worktree at a path.
pub fn is_known(dir: &Path, path: &Path) -> bool {
    // A worktree that is being created cannot be read.
    let _alone = alone();
    known(dir, path).is_some()
}

fn take_away(dir: &Path, path: &Path, known: Option<WorktreeRegistration>) -> Result<(), GitError> {
    let at = text_of(path)?;
    let Some(known) = known else { return Ok(()) };
    // The second `--force` removes a locked worktree as well.
    if path.join(".git").exists() {
        return done(act(dir, &["worktree", "remove", "--force", "--force", at], &[])?).map(|_| ());
    }
    if known == WorktreeRegistration::Locked {
        done(act(dir, &["worktree", "unlock", at], &[])?)?;
    }
    done(act(dir, &["worktree", "prune"], &[])?).map(|_| ())
}

fn done(ran: ProcessOutput) -> Result<ProcessOutput, GitError> {
    if ran.succeeded() { Ok(ran) } else { Err(refused(&ran)) }
}

fn text_of(path: &Path) -> Result<&str, GitError> {
    let text: &OsStr = path.as_os_str();
    text.to_str().ok_or_else(|| GitError(format!("`{}` is not UTF-8", path.display())))
}

struct Temporary<'a>(&'a Path);

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        fs::remove_file(self.0).discard("a leftover temporary file is harmless");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::refs::contains;
    use crate::git::scratch::Scratch;

    fn at() -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }

    #[test]
    fn a_stage_gets_a_worktree_that_prune_leaves_alone() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        add(git.dir(), &path, "sprag/one", &base, "stage `one`").unwrap();
        let all = list(git.dir()).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].branch.as_deref(), Some("refs/heads/sprag/one"));
        assert_eq!(all[1].locked.as_deref(), Some("stage `one`"));
        assert_eq!(all[1].head.as_deref(), Some(base.as_str()));
        assert!(is_clean(&path).unwrap());
        fs::write(path.join("new"), "x").unwrap();
        assert!(!is_clean(&path).unwrap());
        assert_eq!(known(git.dir(), &path), Some(WorktreeRegistration::Locked));
        remove(git.dir(), &path).unwrap();
        assert!(!path.exists());
        assert!(!is_known(git.dir(), &path) && !is_known(git.dir(), git.dir()));
        add(git.dir(), &path, "sprag/one", &base, "again").unwrap();
        assert!(path.join("a").exists(), "the branch of the first attempt continues");
    }

    #[test]
    fn what_an_agent_left_is_kept_and_its_index_is_not_touched() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        add(git.dir(), &path, "sprag/one", &base, "stage").unwrap();
        let place = "refs/sprag/p/salvage/one/1";
        assert_eq!(salvage(&path, place, "nothing to keep", at()).unwrap(), None);
        fs::write(path.join("a"), "staged").unwrap();
        git.run_in(&path, &["add", "a"]);
        fs::write(path.join("a"), "changed after").unwrap();
        fs::write(path.join("new"), "untracked").unwrap();
        let status = git.run_in(&path, &["status", "--porcelain"]);
        let kept = salvage(&path, place, "stage `one` was left", at()).unwrap().unwrap();
        assert_eq!(git.run_in(&path, &["status", "--porcelain"]), status);
        assert_eq!(git.run(&["show", &format!("{kept}:a")]), "changed after");
        assert_eq!(git.run(&["show", &format!("{kept}:new")]), "untracked");
        assert!(contains(git.dir(), &base, &kept).unwrap());
        assert_eq!(resolve(git.dir(), place).unwrap(), Some(kept.clone()));
        assert_eq!(salvage(&path, place, "stage `one` was left", at()).unwrap(), Some(kept), "twice is once");
    }

    #[test]
    fn a_repository_within_is_not_taken_for_kept() {
        let git = Scratch::new();
        git.commit("a", "1");
        git.run(&["init", "-q", "inner"]);
        fs::write(git.dir().join("inner/x"), "work").unwrap();
        git.run_in(&git.dir().join("inner"), &["add", "-A"]);
        git.run_in(&git.dir().join("inner"), &["commit", "-q", "-m", "inner"]);
        let said = salvage(git.dir(), "refs/sprag/p/salvage/one/1", "left", at()).unwrap_err().0;
        assert_eq!(said, "`inner` is a nested repository; Sprag cannot save its files");
    }

    #[test]
    fn a_worktree_whose_folder_is_gone_can_be_taken_away() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        add(git.dir(), &path, "sprag/one", &base, "stage").unwrap();
        fs::remove_dir_all(&path).unwrap();
        remove(git.dir(), &path).unwrap();
        assert_eq!(list(git.dir()).unwrap().len(), 1);
        remove(git.dir(), &path).unwrap();
    }

    #[test]
    fn a_worktree_that_was_deleted_is_made_again_from_its_branch() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        add(git.dir(), &path, "sprag/one", &base, "stage").unwrap();
        fs::write(path.join("new"), "x").unwrap();
        git.run_in(&path, &["add", "-A"]);
        git.run_in(&path, &["commit", "-q", "-m", "work"]);
        make_room(git.dir(), &path).unwrap();
        assert!(path.join("new").exists(), "an existing worktree stays");
        fs::remove_dir_all(&path).unwrap();
        assert!(add(git.dir(), &path, "sprag/one", &base, "again").is_err(), "git keeps its name");
        make_room(git.dir(), &path).unwrap();
        add(git.dir(), &path, "sprag/one", &base, "again").unwrap();
        assert!(path.join("new").exists());
    }

    #[test]
    fn what_is_in_the_way_is_put_aside() {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("x"), "somebody's").unwrap();
        make_room(git.dir(), &path).unwrap();
        add(git.dir(), &path, "sprag/one", &base, "stage").unwrap();
        assert_eq!(fs::read_to_string(git.dir().join(".worktrees/one.aside-1/x")).unwrap(), "somebody's");
    }
}
