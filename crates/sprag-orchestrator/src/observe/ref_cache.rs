//! Caches the positions of trunk and target. References are read as files. Git is asked only about new
//! commits, because the relation of two commits never changes.

use std::fs;
use std::path::PathBuf;

use sprag_base::text::Text;
use sprag_host::git::{is_object_name, refs};
use sprag_host::sys::disk::read_small;
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_plan::ids::CommitId;
use sprag_plan::reconcile::observed::TargetBranch;

use crate::layout::RunLayout;
use crate::observe;

/// Maximum size of a `HEAD` file.
const SMALL: u64 = 4096;

pub(crate) struct RefCache {
    /// `None`: git is asked every time.
    places: Option<Locations>,
    last: Option<(TargetKey, TargetBranch)>,
    /// A commit that the trunk contains. The trunk only grows, so this stays true.
    within: Option<String>,
}

/// Everything that an answer about the target depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TargetKey {
    known: CommitId,
    trunk: CommitId,
    now: String,
    /// The `HEAD` files that point to the target, or that only git can read.
    at_it: Vec<PathBuf>,
}

impl RefCache {
    pub(crate) fn new(ground: &RunLayout) -> RefCache {
        RefCache { places: Locations::find(&ground.root, &Env::Real).ok(), last: None, within: None }
    }

    /// Returns the commit of the trunk; `None` if git fails now.
    pub(crate) fn trunk(&self, ground: &RunLayout) -> Option<CommitId> {
        let trunk = match self.read(&ground.trunk()) {
            Some(trunk) => Some(trunk),
            None => refs::resolve(&ground.root, &ground.trunk()).ok()?,
        };
        Some(CommitId(Text::new(trunk.unwrap_or_default())))
    }

    /// Returns the state of the target relative to the trunk, if known now. `known` is its last known commit.
    pub(crate) fn target(
        &mut self,
        ground: &RunLayout,
        known: &CommitId,
        trunk: &CommitId,
    ) -> Option<TargetBranch> {
        let Some((now, at_it)) = self.read(&ground.target).zip(self.at_it(&ground.target)) else {
            return observe::target(ground, known, trunk).ok();
        };
        let asked = TargetKey { known: known.clone(), trunk: trunk.clone(), now, at_it };
        if let Some((last, target)) = &self.last
            && asked == *last
        {
            return Some(target.clone());
        }
        let is_checked_out =
            || if asked.at_it.is_empty() { Ok(false) } else { observe::is_checked_out(ground) };
        let is_within = asked.now == known.0.as_str() && self.within.as_ref() == Some(&asked.now);
        let target = if is_within {
            observe::behind(&asked.now, is_checked_out)
        } else {
            observe::stands(ground, known, trunk, &asked.now, is_checked_out)
        };
        let target = target.ok()?;
        if let TargetBranch::Behind(now) | TargetBranch::CheckedOut(now) = &target {
            self.within = Some(now.0.to_string());
        }
        self.last = Some((asked, target.clone()));
        Some(target)
    }

    fn read(&self, name: &str) -> Option<String> {
        self.places.as_ref()?.reference(name).filter(|found| is_object_name(found))
    }

    fn at_it(&self, target: &str) -> Option<Vec<PathBuf>> {
        let common = self.places.as_ref()?.common.as_ref()?;
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let heads = linked.map(|entry| entry.path().join("HEAD")).chain([common.join("HEAD")]);
        let is_at_it = |path: &PathBuf| {
            let head = read_small(path, SMALL).unwrap_or_default();
            head.trim_end()
                .strip_prefix("ref: ")
                .is_some_and(|name| name == target || name.ends_with("/.invalid"))
        };
        let mut at_it: Vec<PathBuf> = heads.filter(is_at_it).collect();
        at_it.sort();
        Some(at_it)
    }
}

#[cfg(test)]
mod tests {
    use sprag_host::git::scratch::Scratch;

    use super::*;

    fn commit(name: &str) -> CommitId {
        CommitId(Text::new(name))
    }

    fn ground(git: &Scratch) -> RunLayout {
        RunLayout {
            root: git.dir().canonicalize().unwrap(),
            run: git.dir().join(".git/sprag/run"),
            plan: "p".to_owned(),
            target: "refs/heads/main".to_owned(),
            epoch: 1,
        }
    }

    /// The cache always gives the same answer as git.
    #[test]
    fn what_is_remembered_is_what_git_would_say() {
        let git = Scratch::new();
        let first = git.commit("a", "1");
        let ground = ground(&git);
        let mut glance = RefCache::new(&ground);
        let mut is = |known: &str, trunk: &str| {
            let (known, trunk) = (commit(known), commit(trunk));
            let asked = observe::target(&ground, &known, &trunk).ok();
            assert_eq!(glance.target(&ground, &known, &trunk), asked, "first call");
            assert_eq!(glance.target(&ground, &known, &trunk), asked, "from the cache");
            asked
        };
        assert_eq!(is(&first, &first), Some(TargetBranch::CheckedOut(commit(&first))));
        git.run(&["switch", "-q", "-c", "work"]);
        assert_eq!(is(&first, &first), Some(TargetBranch::Behind(commit(&first))), "no longer checked out");
        let second = git.commit("b", "2");
        assert_eq!(is(&first, &second), Some(TargetBranch::Behind(commit(&first))));
        let elsewhere = git.dir().with_extension("elsewhere");
        git.run(&["worktree", "add", "-q", elsewhere.to_str().unwrap(), "main"]);
        assert_eq!(
            is(&first, &second),
            Some(TargetBranch::CheckedOut(commit(&first))),
            "checked out in another worktree"
        );
        git.run(&["worktree", "remove", elsewhere.to_str().unwrap()]);
        assert_eq!(is(&first, &second), Some(TargetBranch::Behind(commit(&first))));
        git.run(&["branch", "-f", "main", "work"]);
        assert_eq!(is(&first, &first), Some(TargetBranch::Ahead(commit(&second))), "a commit was added");
        git.run(&["pack-refs", "--all"]);
        assert_eq!(
            is(&first, &second),
            Some(TargetBranch::Behind(commit(&second))),
            "packed references count too"
        );
        assert_eq!(is(&second, &second), Some(TargetBranch::Behind(commit(&second))));
        git.run(&["branch", "-f", "main", &first]);
        assert_eq!(is(&second, &second), Some(TargetBranch::Rewritten(commit(&first))));
        git.run(&["branch", "-D", "main"]);
        assert_eq!(is(&second, &second), Some(TargetBranch::Gone));
    }

    #[test]
    fn the_trunk_is_where_it_is_and_nowhere_when_it_is_gone() {
        let git = Scratch::new();
        let first = git.commit("a", "1");
        let ground = ground(&git);
        let glance = RefCache::new(&ground);
        assert_eq!(glance.trunk(&ground), Some(commit("")));
        git.run(&["update-ref", &ground.trunk(), &first]);
        assert_eq!(glance.trunk(&ground), Some(commit(&first)));
        git.run(&["pack-refs", "--all"]);
        assert_eq!(glance.trunk(&ground), Some(commit(&first)));
    }
}
