//! Holds entries that could not be delivered yet. An entry is one file. A second delivery is harmless,
//! because the receiver looks for the id first.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::{Deserialize, Serialize};

use sprag_base::record::Record;
use sprag_base::time::Timestamp;

use crate::store::{self, Store, chain, files_with_ending};
use crate::sys::disk::{self, Disk};

/// Destination of records that could not be appended at once.
pub(crate) const LOG: &str = "log";
/// Most entries that one hook call tries.
pub const PER_HOOK: usize = 8;
const FIRST_WAIT: i64 = 30;
const LONGEST_WAIT: i64 = 3600;

/// An entry that waits for delivery.
#[derive(Debug, Serialize, Deserialize)]
pub struct OutboxEntry {
    /// Id of the entry; it makes a second delivery harmless.
    pub id: String,
    /// Destination: `log`, or the name of a backend.
    pub to: String,
    pub payload: serde_json::Value,
    pub tries: u32,
    pub next_at: Timestamp,
}

/// Result of a delivery.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    pub delivered: usize,
    pub waiting: usize,
    pub warnings: Vec<String>,
}

pub fn put(store: &Store, disk: &dyn Disk, entry: &OutboxEntry) -> io::Result<()> {
    let dir = store.dir.join("outbox");
    disk.make_dirs(&dir)?;
    let bytes = serde_json::to_vec(entry).map_err(io::Error::other)?;
    disk::replace(disk, &dir.join(format!("{}.json", entry.id)), &bytes)
}

pub fn put_record(store: &Store, disk: &dyn Disk, record: &Record) -> io::Result<()> {
    let payload = serde_json::to_value(record).map_err(io::Error::other)?;
    // Not at once: an immediate retry would only wait again.
    let next_at = record.at.plus_seconds(1);
    put(store, disk, &OutboxEntry { id: record.id.clone(), to: LOG.to_owned(), payload, tries: 0, next_at })
}

/// Delivers records to the log of a store without backends.
pub fn replay_log(store: &Store, disk: &dyn Disk, now: Timestamp, most: usize) -> io::Result<DeliveryReport> {
    let mut done = DeliveryReport::default();
    let files = files_with_ending(&store.dir.join("outbox"), "json");
    let due = files.into_iter().filter_map(|path| Some((read(&path)?, path)));
    for (entry, path) in due.filter(|(entry, _)| entry.to == LOG && entry.next_at <= now).take(most) {
        settle(store, disk, now, &mut done, path, entry, |entry| deliver(store, disk, entry))?;
    }
    Ok(done)
}

/// Removes a delivered entry, or delays it.
pub(crate) fn settle(
    store: &Store,
    disk: &dyn Disk,
    now: Timestamp,
    done: &mut DeliveryReport,
    path: PathBuf,
    mut entry: OutboxEntry,
    deliver: impl FnOnce(&OutboxEntry) -> io::Result<bool>,
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

/// Counts the waiting entries of each destination.
pub fn waiting(store: &Store) -> BTreeMap<String, usize> {
    let mut waiting = BTreeMap::new();
    for entry in entries(store) {
        *waiting.entry(entry.to).or_default() += 1;
    }
    waiting
}

/// Returns all waiting entries.
pub fn entries(store: &Store) -> Vec<OutboxEntry> {
    files_with_ending(&store.dir.join("outbox"), "json").iter().filter_map(|path| read(path)).collect()
}

/// Larger than any record.
const ENTRY_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) fn read(path: &Path) -> Option<OutboxEntry> {
    disk::read_regular(path, ENTRY_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

pub(crate) fn deliver(store: &Store, disk: &dyn Disk, entry: &OutboxEntry) -> io::Result<bool> {
    let Ok(record) = serde_json::from_value::<Record>(entry.payload.clone()) else {
        return Ok(false);
    };
    if sprag_trace::is_trace(&record.kind) {
        return chain::deliver(store, disk, &record);
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
