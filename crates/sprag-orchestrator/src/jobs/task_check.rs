//! Runs the check of a task before the task counts as done. The agent's command waits for it, outside the
//! loop.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sprag_base::text::Text;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::accept::{self, CheckKind};
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::Run;
use sprag_plan::spec::checks::{CheckCache, StageCheck};
use sprag_plan::spec::values::Slug;

use super::stage_checks::{self, CheckLocation};
use crate::layout::{RunLayout, run_log_path};
use crate::run_log;
use crate::sandbox::sandboxed_runner::{CommandOwner, SandboxedRunner};

/// Runs the check of a task; returns the report if it failed.
pub(crate) fn check(
    ground: &RunLayout,
    stage: &StageId,
    task: &Slug,
    disk: &dyn Disk,
) -> io::Result<Option<String>> {
    let Some(run) = run_log::read(&run_log_path(&ground.run, &ground.plan))? else {
        return Ok(None);
    };
    let Some((spec, check)) = wanted(&run, stage, task) else { return Ok(None) };
    // The files are not committed, so a pass belongs to no tree.
    let check = StageCheck { cache: CheckCache::Never, ..check.clone() };
    let worktree = ground.worktree(stage);
    let dir = worktree.join(spec.working_dir.as_str());
    let of = CommandOwner { worktree: &worktree, dir: &dir, sandbox: &spec.sandbox, caches: &spec.caches };
    let name = EffectKey(Text::new(format!("task/{}", stage.as_str())));
    let place = CheckLocation {
        worktree: &worktree,
        working_dir: &spec.working_dir,
        root: &ground.root,
        stage,
        tree: "",
        passes: &ground.run.join("passes"),
        path: &env::Env::Real.get("PATH").unwrap_or_default(),
        disk,
        behind: &SandboxedRunner::new(ground, &name, of, disk),
        sandbox: &spec.sandbox,
    };
    let red = stage_checks::commands(&place, CheckKind::Acceptance, &[check]);
    Ok((!red.is_empty()).then(|| accept::report(&red).to_string()))
}

/// Stages with a running task check. Each stage has one at a time, so that an agent cannot use up the
/// machine.
#[derive(Debug, Default)]
pub(crate) struct TaskChecks(Mutex<BTreeSet<StageId>>);

impl TaskChecks {
    /// Starts a task check; returns `None` if one already runs for the stage.
    pub(crate) fn acquire(&self, stage: &StageId) -> Option<TaskCheckGuard<'_>> {
        self.now().insert(stage.clone()).then(|| TaskCheckGuard { of: self, stage: stage.clone() })
    }

    fn now(&self) -> MutexGuard<'_, BTreeSet<StageId>> {
        // A panic while the lock is held leaves no partial state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the task check on drop.
#[derive(Debug)]
pub(crate) struct TaskCheckGuard<'a> {
    of: &'a TaskChecks,
    stage: StageId,
}

impl Drop for TaskCheckGuard<'_> {
    fn drop(&mut self) {
        self.of.now().remove(&self.stage);
    }
}

fn wanted<'a>(
    run: &'a Run,
    stage: &StageId,
    task: &Slug,
) -> Option<(&'a sprag_plan::spec::StageSpec, &'a StageCheck)> {
    let spec = run.plan().find(stage.as_str())?;
    let task = spec.tasks.iter().find(|it| it.id == *task)?;
    Some((spec, task.check.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_one_turn_at_a_time_and_no_other_waits_for_it() {
        let checking = TaskChecks::default();
        let (a, b) = (StageId::new("a"), StageId::new("b"));
        let first = checking.acquire(&a);
        assert!(first.is_some() && checking.acquire(&a).is_none());
        assert!(checking.acquire(&b).is_some());
        drop(first);
        assert!(checking.acquire(&a).is_some());
    }
}
