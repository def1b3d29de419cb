//! What could not be delivered yet. An entry is one file; delivering it twice is harmless, because
//! whoever takes it looks for its id first.

use std::fs;
use std::io;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use sprag_core::log::Record;
use sprag_core::time::Timestamp;

use crate::disk::{self, Disk};
use crate::store::{self, Store, files_with_ending};

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
    put(store, disk, &Entry { id: record.id.clone(), to: "log".to_owned(), payload, tries: 0, next_at })
}

/// Tries what is due, `most` at the most.
pub fn replay(store: &Store, disk: &dyn Disk, now: Timestamp, most: usize) -> io::Result<Replayed> {
    let mut done = Replayed::default();
    for path in files_with_ending(&store.dir.join("outbox"), "json") {
        let Some(mut entry) =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Entry>(&bytes).ok())
        else {
            continue;
        };
        if entry.next_at > now || done.delivered + done.waiting >= most {
            continue;
        }
        if deliver(store, disk, &entry)? {
            disk.remove(&path)?;
            done.delivered += 1;
        } else {
            entry.tries += 1;
            entry.next_at = now.plus_seconds((FIRST_WAIT << (entry.tries - 1).min(7)).min(LONGEST_WAIT));
            put(store, disk, &entry)?;
            done.waiting += 1;
        }
    }
    Ok(done)
}

fn deliver(store: &Store, disk: &dyn Disk, entry: &Entry) -> io::Result<bool> {
    if entry.to != "log" {
        return Ok(false);
    }
    let Ok(record) = serde_json::from_value::<Record>(entry.payload.clone()) else {
        return Ok(false);
    };
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
