//! How long stages took, from the records of this run and of earlier runs of the plan.

use std::path::{Path, PathBuf};

use sprag_host::store::files_with_ending;
use sprag_plan::reconcile::durations::Durations;
use sprag_plan::run::timed::Timed;

use crate::run_log;

/// Number of earlier runs that count; older runs say little.
const RUNS: usize = 3;
/// Maximum size of the records of each run; an estimate is not worth a long read.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Durations of stages.
pub(crate) struct DurationHistory {
    /// Durations of finished runs.
    earlier: Durations,
    all: Durations,
}

impl DurationHistory {
    pub(crate) fn read(run: &Path, plan: &str, now: &Timed) -> DurationHistory {
        let mut before = Durations::default();
        for timed in earlier(run, plan).iter() {
            before.saw(timed);
        }
        let mut lengths = DurationHistory { earlier: before, all: Durations::default() };
        lengths.add(now);
        lengths
    }

    /// Adds the stages that are merged by now in the current run.
    pub(crate) fn add(&mut self, now: &Timed) {
        self.all = self.earlier.clone();
        self.all.saw(now);
    }

    pub(crate) fn all(&self) -> &Durations {
        &self.all
    }
}

/// Returns archived runs, oldest first; skips unreadable ones.
fn earlier(run: &Path, plan: &str) -> Vec<Timed> {
    let prefix = format!("{plan}.");
    let is_of_plan =
        |path: &PathBuf| path.file_stem().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let is_short = |path: &PathBuf| path.metadata().is_ok_and(|about| about.len() <= LONGEST);
    let mut paths = files_with_ending(&run.join("plans"), "jsonl");
    paths.retain(|path| is_of_plan(path) && is_short(path));
    // Run ids sort by start time.
    paths.sort();
    let last = paths.split_off(paths.len().saturating_sub(RUNS));
    last.iter().filter_map(|path| run_log::read_to_end(path).ok().flatten()).map(|(timed, _)| timed).collect()
}
