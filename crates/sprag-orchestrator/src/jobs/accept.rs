//! What a stage owes before its work is merged: looked at by us, in its worktree, whatever its agent says.

use std::path::Path;

use sprag_base::text::{Text, quoted};
use sprag_check::Risk;
use sprag_host::git::refs::{self, GitError};
use sprag_host::git::{protected_marks, worktrees};
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::accept::reviewer::{self, StageReviewer};
use sprag_plan::accept::{self, CheckKind};
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::run::effect::{CheckPhase, Effect, EffectOutcome};
use sprag_plan::spec::values::RelPath;
use sprag_plan::spec::{CacheSpec, EmptyWork, SandboxSettings, StageSpec};
use sprag_plan::stage::state::StageState;
use sprag_plan::stage::{StageConflict, StageFailure};

use super::{Job, JobError, failed};
use crate::jobs::protected_files::{self, MergeSides, ProtectedException};
use crate::jobs::stage_checks::{self, CheckLocation};
use crate::sandbox::sandboxed_runner::{CommandOwner, SandboxedRunner};

/// Whose commands look at work: where they run, and how they are kept.
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
        if !worktrees::is_clean(&worktree)? || (head == base && spec.empty == EmptyWork::Refused) {
            return Ok(EffectOutcome::Unchanged);
        }
        if let Some(report) = self.out_of_bounds(&worktree, spec, &base, &head)? {
            return Ok(EffectOutcome::Red { report: Text::new(report) });
        }
        let red = self.looking(&worktree, CheckOwner::from_spec(spec), &tree, disk, |place| {
            stage_checks::verify(place, &spec.checks)
        });
        if !red.is_empty() {
            return Ok(EffectOutcome::Red { report: accept::report(&red) });
        }
        let reviewer = self.reviewer(&worktree, spec, &head)?;
        let (head, tree) = (CommitId(Text::new(head)), CommitId(Text::new(tree)));
        Ok(match reviewer {
            None => EffectOutcome::Green { head, tree },
            Some(StageReviewer::Client(by)) => EffectOutcome::Reviewable { head, tree, by },
            Some(StageReviewer::Person) => {
                let why = format!(
                    "it is to be reviewed (`verify: deep`), and for `{}` there is no reviewer but you",
                    quoted(spec.agent.client.word())
                );
                EffectOutcome::Unreviewed { head, tree, why: Text::new(why) }
            }
        })
    }

    /// Who else has to look at what was found good. Only where somebody may have to, the change is measured.
    fn reviewer(
        &self,
        worktree: &Path,
        spec: &StageSpec,
        head: &str,
    ) -> Result<Option<StageReviewer>, JobError> {
        if reviewer::reviewer(spec).is_none() {
            return Ok(None);
        }
        let trunk = self.ground.trunk();
        let paths = refs::changed(worktree, &trunk, head)?;
        let lines = refs::changed_lines(worktree, &trunk, head)?;
        Ok(reviewer::wanted(spec, &Risk::assess(paths.iter().map(String::as_str), lines, 0)))
    }

    /// What no check of the plan asks for, and every stage owes.
    fn out_of_bounds(
        &self,
        worktree: &Path,
        spec: &StageSpec,
        base: &str,
        head: &str,
    ) -> Result<Option<String>, JobError> {
        let trunk = self.ground.trunk();
        let tip = refs::resolve(&self.ground.root, &trunk)?
            .ok_or_else(|| GitError(format!("there is no `{trunk}`")))?;
        let common = refs::all_common(worktree, &tip, head)?;
        // What both have is in its history, and usually it is what the worktree was made from.
        let is_common = common.iter().any(|commit| commit == base);
        if !base.is_empty() && !is_common && !refs::contains(worktree, base, head)? {
            return Ok(Some(format!("the branch does not descend from `{base}` any more")));
        }
        if let Some(StageState::Conflicted(StageConflict { against, .. })) = &self.stage
            && !refs::contains(worktree, against.0.as_str(), head)?
        {
            return Ok(Some(format!("`{}` is not merged into the branch", against.0)));
        }
        if let Some(owed) = &self.owed
            && !refs::contains(worktree, owed.0.as_str(), head)?
        {
            let target = self.ground.target_name();
            return Ok(Some(format!(
                "`{}`, which was put on `{target}`, is not merged into the branch",
                owed.0
            )));
        }
        let parted = match common.as_slice() {
            [parted] => parted,
            [] => return Ok(Some(format!("the branch has nothing in common with `{trunk}` any more"))),
            _ => {
                return Ok(Some(format!(
                    "the branch has come from the trunk in several ways, so that what it changes cannot be told: `git merge {trunk}`"
                )));
            }
        };
        // What came in with a merge of the trunk is not the stage's.
        let touched = protected_marks::touched_since(worktree, parted, head)?;
        let sides = MergeSides { tip: &tip, head, base: parted, touched: &touched };
        if let Some(damage) = self.damaged(worktree, &sides, spec)? {
            return Ok(Some(damage));
        }
        let paths: Vec<String> =
            touched.iter().map(|it| String::from_utf8_lossy(&it.path).into_owned()).collect();
        if let Some(copied) = spec.copy.iter().find(|copied| paths.iter().any(|path| path == copied.as_str()))
        {
            return Ok(Some(format!("`{copied}` was copied here for you and must not be committed")));
        }
        let outside: Vec<&String> = paths.iter().filter(|path| !spec.scope.holds(path)).collect();
        let Some(first) = outside.first() else { return Ok(None) };
        Ok(Some(format!(
            "{} files outside of the scope were changed, the first is `{}`",
            outside.len(),
            quoted(first)
        )))
    }

    /// Protected files that are neither as the trunk has them nor as somebody put them on the target.
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
        // What was found good beside files that no commit has says nothing of the commit alone.
        let kind = if matches!(self.effect, Effect::Queue { .. }) { "candidates" } else { "claims" };
        let path = env::Env::Real.get("PATH").unwrap_or_default();
        // Commits that others put on the target are no stage's.
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
