//! Builds merge candidates, checks exactly the commit that would land, and moves the target to it.

use std::fs;
use std::path::Path;

use sprag_base::text::Text;
use sprag_host::git::refs::{self, GitError, MergeAttempt, MergeRecipe, RefUpdate};
use sprag_host::git::{protected_marks, worktree_guard, worktrees};
use sprag_host::sys::disk::Disk;
use sprag_plan::accept::candidate::{self, MergeCandidateFacts};
use sprag_plan::accept::{self, CheckKind};
use sprag_plan::ids::CommitId;
use sprag_plan::reconcile::observed::TargetBranch;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::sentences;
use sprag_plan::spec::StageSpec;
use sprag_plan::spec::values::RelPath;

use super::accept::CheckOwner;
use super::{Job, JobError};
use crate::jobs::protected_files::MergeSides;
use crate::jobs::stage_checks;
use crate::layout::RunLayout;
use crate::observe;

impl Job {
    pub(super) fn candidate(
        &self,
        number: u64,
        on: &CommitId,
        head: &CommitId,
    ) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        let (on, head) = (on.0.as_str(), head.0.as_str());
        let as_it_is = |commit: &str| {
            let tree = refs::tree_of(root, commit)?.unwrap_or_default();
            Ok::<_, GitError>(MergeAttempt::Clean { commit: commit.to_owned(), tree })
        };
        let made = match refs::new_since(root, head, on)? {
            None => as_it_is(on)?,
            // Commits on the target that already contain the trunk need no merge.
            Some(_) if self.spec.is_none() && refs::contains(root, on, head)? => as_it_is(head)?,
            // With several merge bases the change cannot be checked as one diff, so the agent has to merge.
            Some(_) if self.spec.is_some() && refs::all_common(root, on, head)?.len() > 1 => {
                MergeAttempt::Conflict { paths: Vec::new() }
            }
            Some(at) => {
                let message = match &self.spec {
                    Some(spec) => format!("Merge stage `{}`", spec.id.as_str()),
                    None => format!("Merge `{}`", self.ground.target_name()),
                };
                let recipe = MergeRecipe {
                    onto: on,
                    head,
                    message: &message,
                    name: "Sprag",
                    mail: "sprag@localhost",
                    at,
                };
                refs::merge(root, &recipe)?
            }
        };
        Ok(match made {
            MergeAttempt::Clean { commit, tree } => {
                // The reference protects the commit from garbage collection.
                let pin = format!("refs/sprag/{}/cand/{number}", self.ground.plan);
                refs::pin(root, &pin, &commit)?;
                EffectOutcome::Made { commit: CommitId(Text::new(commit)), tree: CommitId(Text::new(tree)) }
            }
            MergeAttempt::Conflict { paths } => {
                EffectOutcome::Conflicted { paths: paths.into_iter().take(100).map(Text::new).collect() }
            }
        })
    }

    /// Checks exactly the commit that would land, in a separate worktree.
    pub(super) fn gate(
        &self,
        number: u64,
        commit: &CommitId,
        tree: &CommitId,
        disk: &dyn Disk,
    ) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        // The content of commits that people put on the target is not checked here.
        if let (Some(head), Some(spec)) = (&self.head, &self.spec) {
            let facts = GitCandidate { job: self, spec, commit: commit.0.as_str(), head: head.0.as_str() };
            if let Err(refusal) = candidate::accept_candidate(spec, facts.head, &facts)? {
                let report = Text::new(sentences::candidate_refused(&refusal));
                return Ok(EffectOutcome::Red { report });
            }
        }
        let path = self.ground.run.join("gates").join(format!("{}-{number}", self.ground.plan));
        clear(root, &path)?;
        worktrees::add_at(root, &path, commit.0.as_str())?;
        let tree = tree.0.as_str();
        let whole = RelPath::root();
        let plan = CheckOwner { working_dir: &whole, sandbox: &self.sandbox, caches: &[] };
        let mut red = self.looking(&path, plan, tree, disk, |place| {
            stage_checks::commands(place, CheckKind::Gate, &self.gates)
        });
        for spec in &self.chain {
            red.extend(self.looking(&path, CheckOwner::from_spec(spec), tree, disk, |place| {
                stage_checks::all(place, &spec.checks)
            }));
        }
        red.extend(self.looking(&path, plan, tree, disk, stage_checks::changed));
        clear(root, &path)?;
        Ok(if red.is_empty() {
            EffectOutcome::Done
        } else {
            EffectOutcome::Red { report: accept::report(&red) }
        })
    }
}

/// Removes the worktree of a candidate, which holds no work. Deletes the folder directly if a check changed
/// its git link, because git would then refuse it.
pub(crate) fn clear(root: &Path, path: &Path) -> Result<(), GitError> {
    if path.exists() && worktree_guard::prove(root, path).is_err() {
        fs::remove_dir_all(path).map_err(|error| GitError(format!("`{}`: {error}", path.display())))?;
    }
    worktrees::remove(root, path)
}

/// A candidate of a stage, read from git.
struct GitCandidate<'a> {
    job: &'a Job,
    spec: &'a StageSpec,
    commit: &'a str,
    head: &'a str,
}

impl MergeCandidateFacts for GitCandidate<'_> {
    type Error = GitError;

    fn parents(&self) -> Result<Vec<String>, GitError> {
        refs::parents(&self.job.ground.root, self.commit)
    }

    fn brought(&self, on: &str) -> Result<Vec<String>, GitError> {
        refs::between(&self.job.ground.root, on, self.commit)
    }

    fn damage(&self, on: &str) -> Result<Option<String>, GitError> {
        let root = self.job.ground.root.as_path();
        let base = refs::common(root, on, self.head)?;
        let touched = protected_marks::touched_since(root, &base, self.head)?;
        let sides = MergeSides { tip: on, head: self.head, base: &base, touched: &touched };
        self.job.damaged(root, &sides, self.spec)
    }
}

/// Moves the target to the trunk if it is not checked out and no commit of it gets lost.
pub(crate) fn promote(ground: &RunLayout, known: &CommitId, to: &CommitId) -> Result<RefUpdate, GitError> {
    match observe::target(ground, known, to)? {
        TargetBranch::Behind(now) => {
            refs::swap(&ground.root, &ground.target, to.0.as_str(), Some(now.0.as_str()))
        }
        TargetBranch::CheckedOut(now) | TargetBranch::Ahead(now) | TargetBranch::Rewritten(now) => {
            Ok(RefUpdate::Moved { now: Some(now.0.to_string()) })
        }
        TargetBranch::Gone => Ok(RefUpdate::Moved { now: None }),
    }
}

/// Moves the trunk back to its recorded commit.
pub(crate) fn restore(ground: &RunLayout, to: &CommitId) -> Result<RefUpdate, GitError> {
    let now = refs::resolve(&ground.root, &ground.trunk())?;
    refs::swap(&ground.root, &ground.trunk(), to.0.as_str(), now.as_deref())
}
