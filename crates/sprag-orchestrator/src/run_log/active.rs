//! Which run a stage belongs to, for whoever knows only its name: its agent's commands, and its client's hooks.

use std::io;
use std::path::Path;

use sprag_plan::ids::StageId;
use sprag_plan::run::Run;

use crate::layout::run_log_path;
use crate::run_log;

/// Runs that are written down here, but for those that were put away.
pub fn runs(run: &Path) -> io::Result<Vec<Run>> {
    let mut found = Vec::new();
    for plan in crate::run_log::known(run) {
        found.extend(run_log::read(&run_log_path(run, &plan))?);
    }
    Ok(found)
}

/// The run of a stage: one that is not over, if there is such. An id is in one active plan only.
pub fn of_stage(run: &Path, stage: &StageId) -> io::Result<Option<Run>> {
    let mut found: Vec<Run> = runs(run)?.into_iter().filter(|run| run.entry(stage).is_some()).collect();
    let at = found.iter().position(|run| !run.is_over()).unwrap_or(0);
    Ok((!found.is_empty()).then(|| found.swap_remove(at)))
}
