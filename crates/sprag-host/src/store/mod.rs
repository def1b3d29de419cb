//! The append-only files under everything. A line that was acknowledged is never lost: it is
//! appended under a lock in one write, behind a line feed that seals whatever a killed process may
//! have left half-written, and what must survive a power cut is synced before anyone hears of it.

pub(crate) mod chain;
pub mod clone;
pub(crate) mod inbox;
pub mod journal;
pub mod migrate;
pub mod new_record;
pub mod outbox;
pub mod projections;
pub mod session_registry;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sprag_base::record::{self, Record};

use crate::sys::disk::{self, Disk};

/// How long anyone waits for anyone else.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The records of one clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub dir: PathBuf,
    pub sessions: SessionSelection,
}

/// Which sessions a store is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionSelection {
    /// Any: each is found where it began.
    All,
    /// One of a client that works at no stage. Nobody searches for it: it may be the first call of hundreds.
    Plain,
    /// One that works at this stage of a plan.
    OfStage(String),
}

/// One append-only file, open and, if `is_locked`, ours alone.
pub struct AppendFile {
    pub path: PathBuf,
    pub file: File,
    pub len: u64,
    pub is_locked: bool,
    /// Held by whoever writes to the log, so that nobody replaces it meanwhile.
    gate: Option<File>,
}

impl Store {
    pub fn at(dir: impl Into<PathBuf>) -> Store {
        Store { dir: dir.into(), sessions: SessionSelection::All }
    }

    pub fn log_dir(&self) -> PathBuf {
        self.dir.join("log")
    }

    pub fn cache_dir(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// Log files, oldest first.
    pub fn log_files(&self) -> Vec<PathBuf> {
        files_with_ending(&self.log_dir(), "jsonl")
    }

    /// Appends records to the log, on disk when this returns. If somebody keeps the log locked,
    /// they wait in the outbox, where the next hook takes them from.
    pub fn log(&self, disk: &dyn Disk, records: &[Record]) -> io::Result<()> {
        let is_chained = |record: &Record| sprag_trace::is_trace(&record.kind);
        let is_one_group =
            |a: &Record, b: &Record| a.at.month() == b.at.month() && is_chained(a) == is_chained(b);
        for group in records.chunk_by(is_one_group) {
            if is_chained(&group[0]) {
                if !chain::append(self, disk, group)? {
                    group.iter().try_for_each(|record| outbox::put_record(self, disk, record))?;
                }
                continue;
            }
            let mut lines = open_log(self, disk, &group[0].at.month())?;
            if !lines.is_locked {
                for record in group {
                    outbox::put_record(self, disk, record)?;
                }
                continue;
            }
            lines.append_sealed(disk, &record::lines(group))?;
            lines.unlock_and_sync(disk)?;
        }
        Ok(())
    }
}

/// Opens a log file for appending. While somebody replaces the log, it is not to be had.
pub fn open_log(store: &Store, disk: &dyn Disk, month: &str) -> io::Result<AppendFile> {
    disk.make_dirs(&store.dir)?;
    let gate = gate(store)?;
    let is_open = within(LOCK_WAIT, || try_to(gate.try_lock_shared()))?;
    let path = store.log_dir().join(format!("{month}.jsonl"));
    let mut lines = AppendFile::open(disk, &path, if is_open { LOCK_WAIT } else { Duration::ZERO })?;
    lines.is_locked &= is_open;
    lines.gate = Some(gate);
    Ok(lines)
}

/// Shuts everybody else out of the log for as long as the file is held.
pub fn shut_log(store: &Store, disk: &dyn Disk) -> io::Result<Option<File>> {
    disk.make_dirs(&store.dir)?;
    let gate = gate(store)?;
    Ok(lock_within(&gate, LOCK_WAIT)?.then_some(gate))
}

fn gate(store: &Store) -> io::Result<File> {
    disk::append_regular(&store.dir.join("log.lock"))
}

impl AppendFile {
    /// Opens and locks. A lock that cannot be had in time leaves `is_locked` false: what can be
    /// done without it is the caller's matter.
    pub fn open(disk: &dyn Disk, path: &Path, wait: Duration) -> io::Result<AppendFile> {
        loop {
            let file = match disk::append_regular(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disk::make_parent(disk, path)?;
                    disk::append_regular(path)?
                }
                opened => opened?,
            };
            let is_locked = lock_within(&file, wait)?;
            let found = file.metadata()?;
            // Moved away while we waited: the name belongs to a new file now.
            if found.nlink() == 0 {
                continue;
            }
            return Ok(AppendFile { path: path.to_owned(), file, len: found.len(), is_locked, gate: None });
        }
    }

    /// For reading only.
    pub fn open_read_only(path: &Path) -> io::Result<AppendFile> {
        let file = disk::open_regular(path)?;
        let len = file.metadata()?.len();
        Ok(AppendFile { path: path.to_owned(), file, len, is_locked: false, gate: None })
    }

    /// With what was appended since it was opened.
    pub fn grown(self) -> io::Result<AppendFile> {
        Ok(AppendFile { len: self.file.metadata()?.len(), ..self })
    }

    /// The last `size` bytes, or all.
    pub fn tail(&self, size: u64) -> io::Result<Vec<u8>> {
        let from = self.len.saturating_sub(size);
        let mut tail = vec![0; usize::try_from(self.len - from).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut tail, from)?;
        Ok(tail)
    }

    /// Appends whole lines, sealing a torn one first: it would swallow the next.
    pub fn append_sealed(&mut self, disk: &dyn Disk, bytes: &[u8]) -> io::Result<()> {
        let mut last = [b'\n'];
        if self.len > 0 {
            self.file.read_exact_at(&mut last, self.len - 1)?;
        }
        if last == [b'\n'] { self.append(disk, bytes) } else { self.append_after_torn(disk, bytes) }
    }

    pub fn append(&mut self, disk: &dyn Disk, bytes: &[u8]) -> io::Result<()> {
        disk.append(&self.file, bytes)
    }

    /// Ends the torn line that the file ends with, and appends.
    pub fn append_after_torn(&mut self, disk: &dyn Disk, bytes: &[u8]) -> io::Result<()> {
        disk.append(
            &self.file,
            &[
                b"
", bytes,
            ]
            .concat(),
        )
    }

    /// Syncs after letting go of the lock, so that those who wait can write and share the sync.
    pub fn unlock_and_sync(self, disk: &dyn Disk) -> io::Result<()> {
        if self.is_locked {
            self.file.unlock()?;
        }
        drop(self.gate);
        disk.sync(&self.file)?;
        if self.len == 0 { disk::sync_parent(disk, &self.path) } else { Ok(()) }
    }
}

pub fn lock_within(file: &File, wait: Duration) -> io::Result<bool> {
    within(wait, || try_to(file.try_lock()))
}

fn try_to(tried: Result<(), fs::TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Tries until the deadline. There is no lock with a timeout to wait in.
fn within(wait: Duration, mut attempt: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    let mut pause = Duration::from_micros(100);
    let mut deadline = None;
    loop {
        if attempt()? {
            return Ok(true);
        }
        let now = Instant::now();
        if now >= *deadline.get_or_insert(now + wait) {
            return Ok(false);
        }
        #[expect(clippy::disallowed_methods, reason = "a file lock sends no event that could be waited for")]
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Files of a directory by name; a directory that is not there has none.
pub fn files_with_ending(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")))
        .collect();
    files.sort();
    files
}
