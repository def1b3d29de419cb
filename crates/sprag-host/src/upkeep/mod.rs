//! What the memory needs from time to time, as a list of steps: `sprag memory maintain` takes them all, a starting
//! session those that are due, once a day and after its reply. Every step may be killed and begun again.

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

/// Every step, in order: what is settled first may be due to leave then.
pub const STEPS: &[&UpkeepStep] = &[
    &silent_sessions::STEP,
    &decay::STEP,
    &negative::STEP,
    &recall_floor::STEP,
    &tiers::STEP,
    // What has left is not rendered any more.
    &shared::STEP,
    &lessons::STEP,
    &mirrors::STEP,
    &deliver::STEP,
    &index::STEP,
    &projections::STEP,
];

pub struct UpkeepStep {
    pub name: &'static str,
    /// What it does, for the report.
    pub about: &'static str,
    /// Whether hooks take it too.
    pub when: When,
    run: fn(&World<'_>, UpkeepMode, Timestamp) -> io::Result<StepResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whenever a session starts or ends, a little.
    Always,
    Daily,
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepMode {
    /// Only says what it would do.
    Rehearsal,
    Real,
    /// The same within the bounds of a hook.
    Bounded,
}

/// What a step came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    pub count: usize,
    /// For people, one each.
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

/// A log that is larger is left to `sprag memory maintain`: a hook does not read it all, even after its reply.
const HOOK_BYTES: u64 = 64 * 1024 * 1024;

/// Takes the steps that are due, the daily ones unless somebody did today; all of them unless somebody does now.
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

/// Held by whoever takes the steps; none while somebody else does.
pub fn try_lock(store: &Store, world: &World<'_>) -> io::Result<Option<File>> {
    world.disk.make_dirs(&store.dir)?;
    let lock = disk::append_regular(&store.dir.join("upkeep.lock"))?;
    Ok(lock.try_lock().is_ok().then_some(lock))
}

/// The learnings of the project and the user's own, each with the store they are in.
fn kept(world: &World<'_>) -> io::Result<Vec<(Store, Learnings)>> {
    let mut kept = Vec::new();
    for store in [Some(world.store()), memory::personal(&world.places)].into_iter().flatten() {
        let learnings = crate::store::projections::load::<Learnings>(&store)?.state;
        kept.push((store, learnings));
    }
    Ok(kept)
}

/// Whose doing these records are.
fn by() -> RecordAuthor {
    RecordAuthor::reporter()
}
