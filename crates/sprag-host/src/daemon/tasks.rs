//! A task that has a check is ticked off only after that: it is run while whoever says it waits, away from the loop.

use std::io;

use sprag_core::plan::checks::{Cache, Check};
use sprag_core::plan::run::Run;
use sprag_core::plan::stage::StageId;
use sprag_core::plan::values::Slug;
use sprag_core::plan::verify::{self, What};

use super::begin;
use super::jobs::Ground;
use super::log;
use super::verification::{self, Place};
use crate::disk::Disk;
use crate::env;

/// What is red of it; `None` where there is nothing against it.
pub fn check(ground: &Ground, stage: &StageId, task: &Slug, disk: &dyn Disk) -> io::Result<Option<String>> {
    let Some(run) = log::read(&begin::path(&ground.run, &ground.plan))? else { return Ok(None) };
    let Some((spec, check)) = wanted(&run, stage, task) else { return Ok(None) };
    // What is there is not committed yet, so that a pass belongs to no tree.
    let check = Check { cache: Cache::Never, ..check.clone() };
    let place = Place {
        worktree: &ground.worktree(stage),
        working_dir: &spec.working_dir,
        root: &ground.root,
        stage,
        tree: "",
        passes: &ground.run.join("passes"),
        path: &env::Env::Real.get("PATH").unwrap_or_default(),
        disk,
    };
    let red = verification::commands(&place, What::Acceptance, &[check]);
    Ok((!red.is_empty()).then(|| verify::report(&red).to_string()))
}

fn wanted<'a>(
    run: &'a Run,
    stage: &StageId,
    task: &Slug,
) -> Option<(&'a sprag_core::plan::spec::StageSpec, &'a Check)> {
    let spec = run.plan().find(stage.as_str())?;
    let task = spec.tasks.iter().find(|it| it.id == *task)?;
    Some((spec, task.check.as_ref()?))
}
