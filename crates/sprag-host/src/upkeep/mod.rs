//! Upkeep of the memory, as a list of steps. `sprag memory maintain` runs all of them. A starting session
//! runs the due ones, once a day and after its reply. Every step can be killed and repeated.

use std::fs::{self, File};
use std::io;

use sprag_base::record::RecordAuthor;
use sprag_base::time::Timestamp;
use sprag_memory::learnings::Learnings;

use crate::memory;
use crate::store::Store;
use crate::sys::disk;
use crate::world::World;

pub mod after_reply;
pub mod clean;
mod decay;
pub(crate) mod deliver;
mod index;
mod lessons;
mod mirrors;
mod negative;
mod projections;
mod recall_floor;
mod shared;
mod silent_sessions;
mod tiers;

/// All steps in order: an earlier step may make items due for a later one.
pub const STEPS: &[&UpkeepStep] = &[
    &silent_sessions::STEP,
    &decay::STEP,
    &negative::STEP,
    &recall_floor::STEP,
    &tiers::STEP,
    // Rendering comes after the steps that archive learnings.
    &shared::STEP,
    &lessons::STEP,
    &mirrors::STEP,
    &deliver::STEP,
    &index::STEP,
    &projections::STEP,
];

pub struct UpkeepStep {
    pub name: &'static str,
    /// Result of the step, for the report.
    pub about: &'static str,
    /// When the step runs.
    pub when: When,
    run: fn(&World<'_>, UpkeepMode, Timestamp) -> io::Result<StepResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whenever a session starts or ends, with limits.
    Always,
    Daily,
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepMode {
    /// Only reports what the step would do.
    Rehearsal,
    Real,
    /// Does the work within the limits of a hook.
    Bounded,
}

/// Result of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    pub count: usize,
    /// Lines for people.
    pub lines: Vec<String>,
}

impl StepResult {
    fn add(&mut self, line: impl Into<String>) {
        self.count += 1;
        self.lines.push(line.into());
    }
}

impl UpkeepStep {
    pub fn execute(&self, world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
        (self.run)(world, mode, now)
    }
}

/// Most bytes of log for upkeep in a hook; `sprag memory maintain` handles a larger log.
const HOOK_BYTES: u64 = 64 * 1024 * 1024;

/// Runs the due steps, the daily ones once a day. Does nothing while another process runs them.
pub fn in_hook(world: &World<'_>, now: Timestamp) -> io::Result<()> {
    let store = world.store();
    let size: u64 =
        store.log_files().iter().filter_map(|path| fs::metadata(path).ok()).map(|it| it.len()).sum();
    if size == 0 || size > HOOK_BYTES {
        return Ok(());
    }
    let Some(_lock) = try_lock(&store, world)? else {
        return Ok(());
    };
    let stamp = store.cache_dir().join("upkeep");
    let today: String = now.to_string().chars().take(10).collect();
    let is_done = disk::read_small(&stamp, 4096).is_ok_and(|day| day == today);
    let is_due = |step: &&&UpkeepStep| match step.when {
        When::Always => true,
        When::Daily => !is_done,
        When::Asked => false,
    };
    for step in STEPS.iter().filter(is_due) {
        step.execute(world, UpkeepMode::Bounded, now)?;
    }
    if is_done {
        return Ok(());
    }
    world.disk.make_dirs(&store.cache_dir())?;
    disk::replace_derived(world.disk, &stamp, today.as_bytes())
}

/// Takes the lock for upkeep. `None`: another process holds it.
pub fn try_lock(store: &Store, world: &World<'_>) -> io::Result<Option<File>> {
    world.disk.make_dirs(&store.dir)?;
    let lock = disk::append_regular(&store.dir.join("upkeep.lock"))?;
    Ok(lock.try_lock().is_ok().then_some(lock))
}

/// Returns the learnings of the project and of the user, each with their store.
fn kept(world: &World<'_>) -> io::Result<Vec<(Store, Learnings)>> {
    let mut kept = Vec::new();
    for store in [Some(world.store()), memory::personal(&world.places)].into_iter().flatten() {
        let learnings = crate::store::projections::load::<Learnings>(&store)?.state;
        kept.push((store, learnings));
    }
    Ok(kept)
}

/// Returns the author of upkeep records.
fn by() -> RecordAuthor {
    RecordAuthor::reporter()
}
