//! Moves the target branch to the merged work: only by fast-forward, and never while the user's checkout has
//! open changes. Sprag never aborts, stashes or resets anything for it.

use std::path::{Path, PathBuf};

use sprag_host::git::refs::{self, GitError, RefUpdate};
use sprag_host::git::worktrees;
use sprag_host::sys::locations;

/// The result of a landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandOutcome {
    Moved {
        from: String,
        to: String,
    },
    Already,
    /// Not now: the user's checkout has something in progress.
    Held {
        at: PathBuf,
        because: LandRefusal,
    },
    /// The target has commits that the trunk does not have.
    Apart,
    /// The branch does not exist, or nothing was merged.
    Missing {
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandRefusal {
    /// A merge, cherry-pick, revert or rebase is in progress.
    Merge,
    /// Git is running there, or was killed.
    IndexLock,
    Dirty,
}

/// Moves the target of a plan to its trunk.
pub fn land(root: &Path, trunk: &str, target: &str) -> Result<LandOutcome, GitError> {
    let (from, to, checkout) = match find_land_path(root, trunk, target)? {
        LandPath::Free { from, to, checkout } => (from, to, checkout),
        LandPath::None(landed) => return Ok(landed),
    };
    match checkout {
        None => match refs::swap(root, target, &to, Some(&from))? {
            RefUpdate::Done => Ok(LandOutcome::Moved { from, to }),
            RefUpdate::Moved { .. } => Ok(LandOutcome::Apart),
        },
        Some(at) => {
            refs::fast_forward(&at, &to)?;
            Ok(LandOutcome::Moved { from, to })
        }
    }
}

/// Returns what `land` would do, without moving anything.
pub fn would(root: &Path, trunk: &str, target: &str) -> Result<LandOutcome, GitError> {
    Ok(match find_land_path(root, trunk, target)? {
        LandPath::Free { from, to, .. } => LandOutcome::Moved { from, to },
        LandPath::None(landed) => landed,
    })
}

/// Whether and where a target can be moved.
enum LandPath {
    Free {
        from: String,
        to: String,
        /// The worktree where the target is checked out.
        checkout: Option<PathBuf>,
    },
    None(LandOutcome),
}

fn find_land_path(root: &Path, trunk: &str, target: &str) -> Result<LandPath, GitError> {
    let missing = |name: &str| Ok(LandPath::None(LandOutcome::Missing { name: name.to_owned() }));
    let Some(to) = refs::resolve(root, trunk)? else { return missing(trunk) };
    let Some(from) = refs::resolve(root, target)? else { return missing(target) };
    if refs::contains(root, &to, &from)? {
        return Ok(LandPath::None(LandOutcome::Already));
    }
    if !refs::contains(root, &from, &to)? {
        return Ok(LandPath::None(LandOutcome::Apart));
    }
    // An agent can check out any branch in its worktree; a stage's worktree never counts as the user's
    // checkout.
    let ours = root.join(".worktrees");
    let is_it =
        |it: &worktrees::WorktreeInfo| it.branch.as_deref() == Some(target) && !it.path.starts_with(&ours);
    let checkout = worktrees::list(root)?.into_iter().find(is_it).map(|checkout| checkout.path);
    let because = checkout.as_deref().map(held).transpose()?.flatten();
    Ok(match (because, checkout) {
        (Some(because), Some(at)) => LandPath::None(LandOutcome::Held { at, because }),
        (_, checkout) => LandPath::Free { from, to, checkout },
    })
}

/// Returns the reason why a checkout cannot be moved now.
fn held(at: &Path) -> Result<Option<LandRefusal>, GitError> {
    let dir =
        locations::git_dir(at).ok_or_else(|| GitError(format!("`{}` is not a worktree", at.display())))?;
    if dir.join("index.lock").exists() {
        return Ok(Some(LandRefusal::IndexLock));
    }
    let under_way = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
    if under_way.iter().any(|name| dir.join(name).exists()) {
        return Ok(Some(LandRefusal::Merge));
    }
    Ok((!worktrees::is_unchanged(at)?).then_some(LandRefusal::Dirty))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sprag_host::git::refs;
    use sprag_host::git::scratch::Scratch;

    use super::*;

    const TRUNK: &str = "refs/sprag/p/trunk";
    const TARGET: &str = "refs/heads/main";

    /// Creates a checked-out target and a trunk one commit ahead of it.
    fn ahead() -> (Scratch, String, String) {
        let git = Scratch::new();
        let from = git.commit("a", "1");
        git.run(&["branch", "-q", "-M", "main"]);
        git.run(&["checkout", "-q", "-b", "work"]);
        let to = git.commit("b", "2");
        git.run(&["update-ref", TRUNK, &to]);
        git.run(&["checkout", "-q", "main"]);
        (git, from, to)
    }

    #[test]
    fn files_that_git_ignores_are_the_users_and_stay() {
        let (git, _, _) = ahead();
        fs::write(git.dir().join(".git/info/exclude"), "b\n").unwrap();
        fs::write(git.dir().join("b"), "mine").unwrap();
        assert!(land(git.dir(), TRUNK, TARGET).is_err());
        assert_eq!(fs::read_to_string(git.dir().join("b")).unwrap(), "mine");
    }

    #[test]
    fn a_checkout_follows_by_fast_forward() {
        let (git, from, to) = ahead();
        fs::write(git.dir().join("untracked"), "mine").unwrap();
        assert_eq!(land(git.dir(), TRUNK, TARGET), Ok(LandOutcome::Moved { from, to }));
        assert_eq!(fs::read_to_string(git.dir().join("b")).unwrap(), "2");
        assert_eq!(land(git.dir(), TRUNK, TARGET), Ok(LandOutcome::Already));
        git.commit("c", "3");
        git.run(&["update-ref", TRUNK, "HEAD~1"]);
        assert_eq!(
            land(git.dir(), TRUNK, TARGET),
            Ok(LandOutcome::Already),
            "the target is never moved back"
        );
    }

    #[test]
    fn what_somebody_has_open_is_left_alone() {
        let (git, from, _) = ahead();
        let held = |because| Ok(LandOutcome::Held { at: git.dir().to_path_buf(), because });
        fs::write(git.dir().join("a"), "changed").unwrap();
        assert_eq!(land(git.dir(), TRUNK, TARGET), held(LandRefusal::Dirty));
        assert_eq!(fs::read_to_string(git.dir().join("a")).unwrap(), "changed");
        git.run(&["checkout", "-q", "--", "a"]);
        for (name, because) in [("MERGE_HEAD", LandRefusal::Merge), ("index.lock", LandRefusal::IndexLock)] {
            let path = git.dir().join(".git").join(name);
            fs::write(&path, format!("{from}\n")).unwrap();
            assert_eq!(land(git.dir(), TRUNK, TARGET), held(because));
            assert!(path.exists(), "the file is still there");
            fs::remove_file(path).unwrap();
        }
        assert_eq!(refs::resolve(git.dir(), TARGET).unwrap(), Some(from));
    }

    #[test]
    fn a_branch_that_nobody_has_open_is_moved_and_one_that_went_apart_is_not() {
        let (git, from, to) = ahead();
        git.run(&["checkout", "-q", "work"]);
        assert_eq!(land(git.dir(), TRUNK, TARGET), Ok(LandOutcome::Moved { from, to }));
        git.run(&["checkout", "-q", "--orphan", "other"]);
        git.commit("z", "9");
        git.run(&["branch", "-f", "main", "other"]);
        assert_eq!(land(git.dir(), TRUNK, TARGET), Ok(LandOutcome::Apart));
        let name = "refs/heads/none".to_owned();
        assert_eq!(land(git.dir(), TRUNK, "refs/heads/none"), Ok(LandOutcome::Missing { name }));
    }
}
