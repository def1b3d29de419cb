//! Finds the facts about work that its agent says is done, in its worktree. `sprag_plan::accept` decides.

use std::cell::OnceCell;
use std::path::Path;

use sprag_base::text::Text;
use sprag_check::Risk;
use sprag_host::git::refs::{self, GitError};
use sprag_host::git::{protected_marks, worktrees};
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::accept::CheckKind;
use sprag_plan::accept::reviewer::StageReviewer;
use sprag_plan::accept::work::{
    self, Acceptance, ChangedFiles, RequiredCommit, WorkClaim, WorkFacts, WorkRefusal,
};
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::run::effect::{CheckPhase, Effect, EffectOutcome};
use sprag_plan::sentences;
use sprag_plan::spec::values::RelPath;
use sprag_plan::spec::{CacheSpec, SandboxSettings, StageSpec};
use sprag_plan::stage::StageFailure;
use sprag_plan::stage::state::StageState;

use super::{Job, JobError, failed};
use crate::jobs::protected_files::{self, MergeSides, ProtectedException};
use crate::jobs::stage_checks::{self, CheckLocation};
use crate::sandbox::sandboxed_runner::{CommandOwner, SandboxedRunner};

/// The owner of check commands: their working directory, sandbox and caches.
#[derive(Clone, Copy)]
pub(crate) struct CheckOwner<'a> {
    pub working_dir: &'a RelPath,
    pub sandbox: &'a SandboxSettings,
    pub caches: &'a [CacheSpec],
}

impl CheckOwner<'_> {
    pub(super) fn from_spec(spec: &StageSpec) -> CheckOwner<'_> {
        CheckOwner { working_dir: &spec.working_dir, sandbox: &spec.sandbox, caches: &spec.caches }
    }
}

impl Job {
    pub(super) fn check(
        &self,
        stage: &StageId,
        of: CheckPhase,
        disk: &dyn Disk,
    ) -> Result<EffectOutcome, JobError> {
        let Some(spec) = &self.spec else {
            return Ok(failed(StageFailure::Setup, "the plan has no such stage"));
        };
        let worktree = self.ground.worktree(stage);
        let (head, tree) = refs::head_of(&worktree)?.unwrap_or_default();
        if of == CheckPhase::Before {
            let red = self.looking(&worktree, CheckOwner::from_spec(spec), &tree, disk, |place| {
                stage_checks::commands(place, CheckKind::AfterStage, &spec.before_stage)
            });
            return Ok(match red.first() {
                None => EffectOutcome::Done,
                Some(first) => {
                    failed(StageFailure::Setup, &format!("before the stage, `{}`: {}", first.of, first.why))
                }
            });
        }
        let base = self.base.as_ref().map(|base| base.0.to_string()).unwrap_or_default();
        let conflict = match &self.stage {
            Some(StageState::Conflicted(conflict)) => {
                Some(RequiredCommit::Conflict(conflict.against.clone()))
            }
            _ => None,
        };
        let required = conflict.into_iter().chain(self.owed.clone().map(RequiredCommit::Target)).collect();
        let claim = WorkClaim { spec, head: &head, base: &base, required };
        match work::accept_shape(
            &claim,
            &GitWork { job: self, spec, worktree: &worktree, head: &head, tip: OnceCell::new() },
        )? {
            Ok(()) => {}
            Err(WorkRefusal::Unclean | WorkRefusal::Empty) => return Ok(EffectOutcome::Unchanged),
            Err(refusal) => {
                let (trunk, target) = (self.ground.trunk(), self.ground.target_name());
                let report = sentences::work_refused(&refusal, &trunk, target);
                return Ok(EffectOutcome::Red { report: Text::new(report) });
            }
        }
        let red = self.looking(&worktree, CheckOwner::from_spec(spec), &tree, disk, |place| {
            stage_checks::verify(place, &spec.checks)
        });
        let decided = work::accept_checks(spec, &red, || self.risk(&worktree, &head))?;
        let (head, tree) = (CommitId(Text::new(head)), CommitId(Text::new(tree)));
        Ok(match decided {
            Acceptance::Refused { report } => EffectOutcome::Red { report },
            Acceptance::Accepted => EffectOutcome::Green { head, tree },
            Acceptance::NeedsReview { by: StageReviewer::Client(by) } => {
                EffectOutcome::Reviewable { head, tree, by }
            }
            Acceptance::NeedsReview { by: StageReviewer::Person } => {
                let why = sentences::no_other_reviewer(spec.agent.client.word());
                EffectOutcome::Unreviewed { head, tree, why: Text::new(why) }
            }
        })
    }

    fn risk(&self, worktree: &Path, head: &str) -> Result<Risk, GitError> {
        let trunk = self.ground.trunk();
        let paths = refs::changed(worktree, &trunk, head)?;
        let lines = refs::changed_lines(worktree, &trunk, head)?;
        Ok(Risk::assess(paths.iter().map(String::as_str), lines, 0))
    }

    /// Reports protected files whose content is neither that of the trunk nor that of the target commit to
    /// merge.
    pub(super) fn damaged(
        &self,
        dir: &Path,
        sides: &MergeSides<'_>,
        spec: &StageSpec,
    ) -> Result<Option<String>, GitError> {
        let theirs = self.owed.as_ref().map(|owed| owed.0.as_str());
        protected_files::damage(dir, sides, &ProtectedException { kind: spec.kind, theirs })
    }

    pub(super) fn looking<T>(
        &self,
        worktree: &Path,
        whose: CheckOwner<'_>,
        tree: &str,
        disk: &dyn Disk,
        look: impl FnOnce(&CheckLocation<'_>) -> T,
    ) -> T {
        // A pass next to uncommitted files proves nothing about the commit alone, so claims and candidates
        // have separate caches.
        let kind = if matches!(self.effect, Effect::Queue { .. }) { "candidates" } else { "claims" };
        let path = env::Env::Real.get("PATH").unwrap_or_default();
        // Commits that people put on the target belong to no stage.
        let none = StageId::new("-");
        let dir = worktree.join(whose.working_dir.as_str());
        let of = CommandOwner { worktree, dir: &dir, sandbox: whose.sandbox, caches: whose.caches };
        look(&CheckLocation {
            worktree,
            working_dir: whose.working_dir,
            root: &self.ground.root,
            stage: self.spec.as_ref().map_or(&none, |spec| &spec.id),
            tree,
            passes: &self.ground.run.join("passes").join(kind),
            path: &path,
            disk,
            behind: &SandboxedRunner::new(&self.ground, &self.key, of, disk),
            sandbox: whose.sandbox,
        })
    }
}

/// The work in the worktree of a stage, read from git.
struct GitWork<'a> {
    job: &'a Job,
    spec: &'a StageSpec,
    worktree: &'a Path,
    head: &'a str,
    tip: OnceCell<String>,
}

impl GitWork<'_> {
    /// Returns the tip of the trunk. Asks git once.
    fn trunk_tip(&self) -> Result<&str, GitError> {
        if self.tip.get().is_none() {
            let (root, trunk) = (&self.job.ground.root, self.job.ground.trunk());
            let tip =
                refs::resolve(root, &trunk)?.ok_or_else(|| GitError(format!("`{trunk}` does not exist")))?;
            return Ok(self.tip.get_or_init(|| tip));
        }
        Ok(self.tip.get().map_or("", String::as_str))
    }
}

impl WorkFacts for GitWork<'_> {
    type Error = GitError;

    fn is_clean(&self) -> Result<bool, GitError> {
        worktrees::is_clean(self.worktree)
    }

    fn merge_bases(&self) -> Result<Vec<String>, GitError> {
        refs::all_common(self.worktree, self.trunk_tip()?, self.head)
    }

    fn contains(&self, commit: &str) -> Result<bool, GitError> {
        refs::contains(self.worktree, commit, self.head)
    }

    fn changed(&self, parted: &str) -> Result<ChangedFiles, GitError> {
        let tip = self.trunk_tip()?;
        let touched = protected_marks::touched_since(self.worktree, parted, self.head)?;
        let sides = MergeSides { tip, head: self.head, base: parted, touched: &touched };
        let damage = self.job.damaged(self.worktree, &sides, self.spec)?;
        let paths = touched.iter().map(|it| String::from_utf8_lossy(&it.path).into_owned()).collect();
        Ok(ChangedFiles { paths, damage })
    }
}
