//! Finds the run of a stage by the stage's name, for commands of its agent and hooks of its client.

use std::io;
use std::path::Path;

use sprag_plan::ids::StageId;
use sprag_plan::run::Run;

use crate::layout::run_log_path;
use crate::run_log;

/// Returns all recorded runs, except archived ones.
pub fn runs(run: &Path) -> io::Result<Vec<Run>> {
    let mut found = Vec::new();
    for plan in crate::run_log::known(run) {
        found.extend(run_log::read(&run_log_path(run, &plan))?);
    }
    Ok(found)
}

/// Returns the run of a stage, preferably one that is not over. A stage id is in one active plan only.
pub fn of_stage(run: &Path, stage: &StageId) -> io::Result<Option<Run>> {
    let mut found: Vec<Run> = runs(run)?.into_iter().filter(|run| run.entry(stage).is_some()).collect();
    let at = found.iter().position(|run| !run.is_over()).unwrap_or(0);
    Ok((!found.is_empty()).then(|| found.swap_remove(at)))
}
