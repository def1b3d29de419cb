//! Reads, writes and shares learnings: two stores, one of the project and one of the user, and the files that
//! Sprag renders from them. The index finds learnings again.

pub mod candidates;
pub mod evidence;
pub mod import;
pub mod index;
pub mod judge;
pub mod lessons;
pub mod mirrors;
pub mod recall;
pub mod render;
pub mod share;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_memory::destination::{Destination, place};
use sprag_memory::learnings::{LearningEntry, Learnings};

pub use crate::memory::index::query::personal;
use crate::store::clone::project_dir;
use crate::store::{Store, files_with_ending, lock_within, projections};
use crate::sys::disk;
use crate::sys::locations::Locations;
use crate::trace;
use crate::world::World;

/// All learnings that are visible here.
#[derive(Debug, Default)]
pub struct AllLearnings {
    pub project: Learnings,
    pub personal: Learnings,
}

/// Shortest prefix of an id that may stand for it.
pub const PREFIX: usize = 6;

/// Reason why a prefix matches no single learning.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    TooShort,
    None,
    Several(Vec<String>),
}

pub fn load(places: &Locations) -> io::Result<AllLearnings> {
    let project = projections::load_all::<Learnings>(&Store::at(&places.store))?;
    let personal = match personal(places) {
        Some(store) => projections::load::<Learnings>(&store)?.state,
        None => Learnings::default(),
    };
    Ok(AllLearnings { project, personal })
}

impl AllLearnings {
    pub fn entries(&self) -> impl Iterator<Item = (Destination, &LearningEntry)> {
        let project = self.project.all().map(|entry| (place(entry.learning.candidate.scope), entry));
        project.chain(self.personal.all().map(|entry| (Destination::Personal, entry)))
    }

    /// Returns the learning whose id equals this prefix or starts with it.
    pub fn find(&self, prefix: &str) -> Result<(Destination, &LearningEntry), NotFound> {
        let found: Vec<(Destination, &LearningEntry)> =
            self.entries().filter(|(_, entry)| entry.learning.id.as_str().starts_with(prefix)).collect();
        if let Some(exact) = found.iter().find(|(_, entry)| entry.learning.id.as_str() == prefix) {
            return Ok(*exact);
        }
        match &found[..] {
            _ if prefix.chars().count() < PREFIX => Err(NotFound::TooShort),
            [] => Err(NotFound::None),
            [one] => Ok(*one),
            several => Err(NotFound::Several(
                several.iter().map(|(_, entry)| entry.learning.id.to_string()).collect(),
            )),
        }
    }

    /// Returns the shortest prefix of an id that no other learning has.
    pub fn short(&self, id: &str) -> String {
        let ids: Vec<&str> = self.entries().map(|(_, entry)| entry.learning.id.as_str()).collect();
        short(id, &ids).to_owned()
    }
}

/// Returns the shortest prefix of an id that no other id has, at least [`PREFIX`] long.
pub fn short<'a>(id: &'a str, others: &[&str]) -> &'a str {
    let shared = |other: &&str| id.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let longest = others.iter().filter(|other| **other != id).map(shared).max().unwrap_or(0);
    id.get(..(longest + 1).max(PREFIX)).unwrap_or(id)
}

/// Writes records about learnings to their store, then updates backends and rendered files.
pub fn write(world: &World<'_>, place: Destination, records: &[Record], now: Timestamp) -> io::Result<()> {
    match place {
        Destination::Project | Destination::Session => {
            world.store().log(world.disk, records)?;
            let concerned: Vec<Record> =
                records.iter().filter(|it| sprag_memory::mirror::concerns(it)).cloned().collect();
            // A failed backend gets the records from the outbox later.
            mirrors::mirror(world, &concerned, now);
        }
        Destination::Personal => {
            let home = personal(&world.places).ok_or(io::ErrorKind::NotFound)?;
            home.log(world.disk, records)?;
        }
    }
    after_change(world, now);
    Ok(())
}

/// Does the upkeep after a change. Ignores failures, because the next change or hook repeats it.
pub fn after_change(world: &World<'_>, now: Timestamp) {
    maintain(world, now).discard("the next change or hook does the upkeep");
}

/// Does the upkeep after the reply of a hook, only if files changed since the last time.
pub fn after_hook(world: &World<'_>, now: Timestamp) -> io::Result<()> {
    let Some(project) = project_dir(&world.places) else {
        return Ok(());
    };
    let store = world.store();
    let stamp = store.cache_dir().join("learnings.stamp");
    let seen = Digest::hash_parts(looked_at(&store, &project)).to_string();
    if disk::read_small(&stamp, 4096).is_ok_and(|before| before == seen) {
        return Ok(());
    }
    let size: u64 =
        store.log_files().iter().filter_map(|path| fs::metadata(path).ok()).map(|it| it.len()).sum();
    if size > HOOK_BYTES {
        return Ok(());
    }
    maintain(world, now)?;
    world.disk.make_dirs(&store.cache_dir())?;
    let seen = Digest::hash_parts(looked_at(&store, &project)).to_string();
    disk::replace_derived(world.disk, &stamp, seen.as_bytes())
}

/// Most bytes of log for upkeep in a hook; `sprag memory maintain` handles a larger log.
const HOOK_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the size and time of each file whose change requires upkeep.
fn looked_at(store: &Store, project: &Path) -> Vec<String> {
    let mut files = store.log_files();
    files.extend(files_with_ending(&project.join("share"), "jsonl"));
    files.push(project.join("learnings.md"));
    let look = |path: &PathBuf| {
        let found = fs::symlink_metadata(path).ok()?;
        Some(format!("{} {} {}.{}", path.display(), found.len(), found.mtime(), found.mtime_nsec()))
    };
    files.iter().filter_map(look).collect()
}

/// Result of the upkeep.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Records taken from other clones.
    pub taken: usize,
    /// Blocks that people edited by hand.
    pub edited: usize,
    pub published: usize,
    /// Messages about edits that could not be read. Sprag leaves such edits unchanged.
    pub problems: Vec<String>,
}

/// Brings the log, the shared files and the rendered files up to date. Does nothing if another process
/// already does this.
pub fn maintain(world: &World<'_>, now: Timestamp) -> io::Result<Maintained> {
    let mut done = Maintained::default();
    let (store, disk) = (world.store(), world.disk);
    disk.make_dirs(&store.dir)?;
    let lock = disk::append_regular(&store.dir.join("learnings.lock"))?;
    if !lock_within(&lock, Duration::ZERO)? {
        return Ok(done);
    }
    if let (Some(worktree), Some(project)) = (&world.places.worktree, project_dir(&world.places)) {
        done.taken = share::take_in(&store, &project, disk, now)?;
        let mut learnings = projections::load::<Learnings>(&store)?.state;
        let (edits, problems) = render::edits(&project, worktree, &learnings, now);
        done.edited = edits.len();
        if !edits.is_empty() {
            store.log(disk, &edits)?;
            learnings = projections::load::<Learnings>(&store)?.state;
        }
        done.published = share::publish(&store, &project, disk)?;
        done.published += trace::share::publish(&store, &project, disk)?;
        if problems.is_empty() {
            render::project(&project, &learnings, disk)?;
        }
        done.problems = problems;
    }
    if let (Some(own), Some(user)) = (personal(&world.places), &world.places.user) {
        render::profile(&user.state, &projections::load::<Learnings>(&own)?.state, disk)?;
    }
    Ok(done)
}
