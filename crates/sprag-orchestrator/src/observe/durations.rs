//! How long stages took in this run of a plan and in earlier ones, from their records.

use std::path::{Path, PathBuf};

use sprag_host::store::files_with_ending;
use sprag_plan::reconcile::durations::Durations;
use sprag_plan::run::timed::Timed;

use crate::run_log;

/// Earlier runs that are looked at: what was long ago says little.
const RUNS: usize = 3;
/// Bytes of their records at most, each: a guess is not worth a long wait.
const LONGEST: u64 = 64 * 1024 * 1024;

/// How long stages take.
pub(crate) struct DurationHistory {
    /// Of runs that are over.
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

    /// With what is merged by now in the run that goes on.
    pub(crate) fn add(&mut self, now: &Timed) {
        self.all = self.earlier.clone();
        self.all.saw(now);
    }

    pub(crate) fn all(&self) -> &Durations {
        &self.all
    }
}

/// Runs that were put away, the oldest first. One that cannot be read says nothing.
fn earlier(run: &Path, plan: &str) -> Vec<Timed> {
    let prefix = format!("{plan}.");
    let is_of_plan =
        |path: &PathBuf| path.file_stem().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let is_short = |path: &PathBuf| path.metadata().is_ok_and(|about| about.len() <= LONGEST);
    let mut paths = files_with_ending(&run.join("plans"), "jsonl");
    paths.retain(|path| is_of_plan(path) && is_short(path));
    // Runs are called by when they began.
    paths.sort();
    let last = paths.split_off(paths.len().saturating_sub(RUNS));
    last.iter().filter_map(|path| run_log::read_to_end(path).ok().flatten()).map(|(timed, _)| timed).collect()
}
