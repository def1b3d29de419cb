//! Appends to the chain. A writer locks all log files with a separate lock, because each line follows the
//! last one in any file. Other log writers do not wait for this lock.
//!
//! A note next to the log holds the last lines, so that writers find them fast and Sprag notices their
//! removal. The note is written after the lines. Sprag updates an older note and rebuilds a damaged one from
//! the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::sha256::Sha256Sum;
use sprag_trace::chain::{self, ChainHeads, ChainName};

use crate::store::projections::{each_line, id_of};
use crate::store::{self, LOCK_WAIT, Store};
use crate::sys::disk::{self, Disk, read_small};

/// Note about the last lines of the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainNote {
    v: u32,
    /// Log file of the last line, with the line's start and end.
    file: String,
    at: u64,
    end: u64,
    sum: Option<Sha256Sum>,
    pub provisional: Option<ChainHead>,
    pub settled: Option<ChainHead>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainHead {
    pub sum: Sha256Sum,
    pub id: String,
}

impl ChainNote {
    pub(crate) fn last(&self, book: ChainName) -> Option<&ChainHead> {
        match book {
            ChainName::Provisional => self.provisional.as_ref(),
            ChainName::Final => self.settled.as_ref(),
        }
    }

    fn heads(&self) -> ChainHeads {
        let mut heads = ChainHeads::default();
        for book in ChainName::ALL {
            heads.set(book, self.last(book).map(|last| last.sum));
        }
        heads
    }

    fn pass(&mut self, file: &str, at: u64, line: &[u8], record: &Record) {
        let Some(book) = ChainName::from_kind(&record.kind) else {
            return;
        };
        let last = ChainHead { sum: chain::sum_of(line), id: record.id.clone() };
        file.clone_into(&mut self.file);
        (self.at, self.end, self.sum) = (at, at + line.len() as u64, Some(last.sum));
        match book {
            ChainName::Provisional => self.provisional = Some(last),
            ChainName::Final => self.settled = Some(last),
        }
    }
}

/// Appends trace records, each linked to the one before. `false`: another process holds the lock.
pub(crate) fn append(store: &Store, disk: &dyn Disk, records: &[Record]) -> io::Result<bool> {
    match lock(store, disk)? {
        Some(lock) => write_behind(store, disk, lock, records),
        None => Ok(false),
    }
}

/// Appends a record unless the log has it: an earlier writer may have died after it wrote the record.
pub(crate) fn deliver(store: &Store, disk: &dyn Disk, record: &Record) -> io::Result<bool> {
    match lock(store, disk)? {
        Some(_) if has(store, &record.id)? => Ok(true),
        Some(lock) => write_behind(store, disk, lock, std::slice::from_ref(record)),
        None => Ok(false),
    }
}

fn lock(store: &Store, disk: &dyn Disk) -> io::Result<Option<File>> {
    disk.make_dirs(&store.dir)?;
    let lock = disk::append_regular(&store.dir.join("trace.lock"))?;
    Ok(store::lock_within(&lock, LOCK_WAIT)?.then_some(lock))
}

fn write_behind(store: &Store, disk: &dyn Disk, lock: File, records: &[Record]) -> io::Result<bool> {
    let Some(first) = records.first() else {
        return Ok(true);
    };
    let noted = noted(store);
    // Never before a line of a later month, whatever the clock says: files and chain have the same order.
    let month = noted.as_ref().and_then(|noted| noted.file.strip_suffix(".jsonl")).unwrap_or_default();
    let month = first.at.month().max(month.to_owned());
    let mut log = store::open_log(store, disk, &month)?;
    if !log.is_locked {
        return Ok(false);
    }
    let mut noted = caught_up(store, noted)?;
    let mut heads = noted.heads();
    let mut bytes = Vec::new();
    let mut lines = Vec::new();
    for record in records {
        let mut record = record.clone();
        let line = heads.link(&mut record);
        lines.push((bytes.len() as u64, record));
        bytes.extend(line);
    }
    log.append_sealed(disk, &bytes)?;
    let start = log.file.metadata()?.len() - bytes.len() as u64;
    let file = format!("{month}.jsonl");
    for (at, record) in &lines {
        noted.pass(&file, start + at, &record.line(), record);
    }
    write(store, disk, &noted).discard("the next reader walks the chain instead");
    drop(lock);
    log.unlock_and_sync(disk)?;
    Ok(true)
}

/// Reports whether the log has a record. Its file may be later than its time.
fn has(store: &Store, id: &str) -> io::Result<bool> {
    let mut has = false;
    for path in store.log_files() {
        each_line(&path, 0, |line| has |= id_of(line) == Some(id) && Record::parse(line).is_ok())?;
    }
    Ok(has)
}

/// Reads the stored note.
pub(crate) fn noted(store: &Store) -> Option<ChainNote> {
    let text = read_small(&path(store), 4096).ok()?;
    serde_json::from_str::<ChainNote>(&text).ok().filter(|noted| noted.v == 1)
}

fn path(store: &Store) -> PathBuf {
    store.dir.join("trace.head")
}

fn write(store: &Store, disk: &dyn Disk, noted: &ChainNote) -> io::Result<()> {
    let bytes = serde_json::to_vec(&ChainNote { v: 1, ..noted.clone() }).map_err(io::Error::other)?;
    disk::replace_derived(disk, &path(store), &bytes)
}

/// Returns the note, updated with newer lines.
fn caught_up(store: &Store, noted: Option<ChainNote>) -> io::Result<ChainNote> {
    let files = store.log_files();
    let (mut noted, from) = match noted.filter(|noted| is_there(store, noted)) {
        Some(noted) => {
            let from = (noted.file.clone(), noted.end);
            (noted, from)
        }
        None => (ChainNote::default(), (String::new(), 0)),
    };
    for path in files {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name < from.0 {
            continue;
        }
        let start = if name == from.0 { from.1 } else { 0 };
        let mut at = start;
        each_line(&path, start, |line| {
            if chain::mentions_trace(line)
                && let Ok(record) = Record::parse(line)
            {
                noted.pass(&name, at, line, &record);
            }
            at += line.len() as u64;
        })?;
    }
    Ok(noted)
}

/// Reports whether the last line is still at its place. If not, the log was replaced and is read again.
fn is_there(store: &Store, noted: &ChainNote) -> bool {
    let is_name = noted.file.len() == 13 && !noted.file.contains('/');
    let read = |path: &Path| -> io::Result<Vec<u8>> {
        let length = noted.end.checked_sub(noted.at).filter(|length| *length < LONGEST);
        let mut line = vec![0; length.ok_or(io::ErrorKind::InvalidData)? as usize];
        File::open(path)?.read_exact_at(&mut line, noted.at)?;
        Ok(line)
    };
    is_name
        && read(&store.log_dir().join(&noted.file)).is_ok_and(|line| Some(chain::sum_of(&line)) == noted.sum)
}

/// Larger than any record.
const LONGEST: u64 = 64 * 1024 * 1024;
