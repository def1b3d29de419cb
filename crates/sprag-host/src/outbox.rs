//! What could not be delivered yet. An entry is one file; delivering it twice is harmless, because
//! whoever takes it looks for its id first.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::{Deserialize, Serialize};

use sprag_base::record::Record;
use sprag_base::time::Timestamp;

use crate::backends;
use crate::disk::{self, Disk};
use crate::store::{self, Store, files_with_ending};
use crate::trace::book;
use crate::walk::World;

/// Where records go that could not be appended at once.
const LOG: &str = "log";
/// Entries one hook call tries at most.
pub const PER_HOOK: usize = 8;
const FIRST_WAIT: i64 = 30;
const LONGEST_WAIT: i64 = 3600;

/// Something to be delivered.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Whose it is: the id is what makes a second delivery a no-op.
    pub id: String,
    /// Where it goes: `log`, or the name of a backend.
    pub to: String,
    pub payload: serde_json::Value,
    pub tries: u32,
    pub next_at: Timestamp,
}

/// What replaying came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    pub delivered: usize,
    pub waiting: usize,
    pub warnings: Vec<String>,
}

pub fn put(store: &Store, disk: &dyn Disk, entry: &Entry) -> io::Result<()> {
    let dir = store.dir.join("outbox");
    disk.make_dirs(&dir)?;
    let bytes = serde_json::to_vec(entry).map_err(io::Error::other)?;
    disk::replace(disk, &dir.join(format!("{}.json", entry.id)), &bytes)
}

pub fn put_record(store: &Store, disk: &dyn Disk, record: &Record) -> io::Result<()> {
    let payload = serde_json::to_value(record).map_err(io::Error::other)?;
    // Not at once: whoever could not deliver it would only wait again.
    let next_at = record.at.plus_seconds(1);
    put(store, disk, &Entry { id: record.id.clone(), to: LOG.to_owned(), payload, tries: 0, next_at })
}

/// Tries what is due, `most` at the most. Entries of one backend go together and in their order: what comes
/// behind one that cannot be delivered waits with it.
pub fn replay(world: &World<'_>, now: Timestamp, most: usize) -> io::Result<Replayed> {
    replay_with(world, now, most, |entry| entry.next_at <= now)
}

/// Tries everything: somebody has asked for it, and waits.
pub fn replay_all(world: &World<'_>, now: Timestamp) -> io::Result<Replayed> {
    replay_with(world, now, usize::MAX, |_| true)
}

fn replay_with(
    world: &World<'_>,
    now: Timestamp,
    most: usize,
    is_due: impl Fn(&Entry) -> bool,
) -> io::Result<Replayed> {
    let (store, disk) = (world.store(), world.disk);
    let mut due: BTreeMap<String, Vec<(PathBuf, Entry)>> = BTreeMap::new();
    let mut held_back: Vec<String> = Vec::new();
    let mut count = 0;
    for path in files_with_ending(&store.dir.join("outbox"), "json") {
        let Some(entry) = read(&path) else {
            continue;
        };
        if !is_due(&entry) {
            held_back.push(entry.to);
        } else if count < most && (entry.to == LOG || !held_back.contains(&entry.to)) {
            due.entry(entry.to.clone()).or_default().push((path, entry));
            count += 1;
        }
    }
    let mut done = Replayed::default();
    for (to, entries) in due {
        if to == LOG {
            for (path, entry) in entries {
                settle(&store, disk, now, &mut done, path, entry, |entry| deliver(&store, disk, entry))?;
            }
            continue;
        }
        let (paths, entries): (Vec<PathBuf>, Vec<Entry>) = entries.into_iter().unzip();
        let delivered = backends::deliver(world, &to, &entries, now);
        if let Some(trouble) = delivered.trouble {
            let waiting = entries.len() - delivered.taken;
            done.warnings.push(format!("backend `{to}`: {trouble}; {waiting} wait in the outbox"));
        }
        for (at, (path, entry)) in paths.into_iter().zip(entries).enumerate() {
            settle(&store, disk, now, &mut done, path, entry, |_| Ok(at < delivered.taken))?;
        }
    }
    Ok(done)
}

/// The same for records alone, of a store that has no backends.
pub fn replay_log(store: &Store, disk: &dyn Disk, now: Timestamp, most: usize) -> io::Result<Replayed> {
    let mut done = Replayed::default();
    let files = files_with_ending(&store.dir.join("outbox"), "json");
    let due = files.into_iter().filter_map(|path| Some((read(&path)?, path)));
    for (entry, path) in due.filter(|(entry, _)| entry.to == LOG && entry.next_at <= now).take(most) {
        settle(store, disk, now, &mut done, path, entry, |entry| deliver(store, disk, entry))?;
    }
    Ok(done)
}

/// Removes an entry that was delivered; puts another off.
fn settle(
    store: &Store,
    disk: &dyn Disk,
    now: Timestamp,
    done: &mut Replayed,
    path: PathBuf,
    mut entry: Entry,
    deliver: impl FnOnce(&Entry) -> io::Result<bool>,
) -> io::Result<()> {
    if deliver(&entry)? {
        disk.remove(&path)?;
        done.delivered += 1;
    } else {
        entry.tries += 1;
        entry.next_at = now.plus_seconds((FIRST_WAIT << (entry.tries - 1).min(7)).min(LONGEST_WAIT));
        put(store, disk, &entry)?;
        done.waiting += 1;
    }
    Ok(())
}

/// How many wait for each.
pub fn waiting(store: &Store) -> BTreeMap<String, usize> {
    let mut waiting = BTreeMap::new();
    for entry in entries(store) {
        *waiting.entry(entry.to).or_default() += 1;
    }
    waiting
}

/// All that waits.
pub fn entries(store: &Store) -> Vec<Entry> {
    files_with_ending(&store.dir.join("outbox"), "json").iter().filter_map(|path| read(path)).collect()
}

/// More than any record.
const ENTRY_BYTES: u64 = 16 * 1024 * 1024;

fn read(path: &Path) -> Option<Entry> {
    disk::read_regular(path, ENTRY_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

fn deliver(store: &Store, disk: &dyn Disk, entry: &Entry) -> io::Result<bool> {
    let Ok(record) = serde_json::from_value::<Record>(entry.payload.clone()) else {
        return Ok(false);
    };
    if sprag_trace::is_trace(&record.kind) {
        return book::deliver(store, disk, &record);
    }
    let mut log = store::open_log(store, disk, &record.at.month())?;
    if !log.is_locked {
        return Ok(false);
    }
    let line = record.line();
    if memmem::find(&log.tail(u64::MAX)?, &line).is_none() {
        log.append_sealed(disk, &line)?;
    }
    log.unlock_and_sync(disk)?;
    Ok(true)
}
