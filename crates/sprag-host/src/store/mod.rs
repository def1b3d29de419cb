//! Append-only files. An acknowledged line is never lost. Sprag appends it under a lock in one write, after a
//! line feed that ends any torn line. Records that must survive a power cut are synced before the answer.

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

/// Longest wait for a lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Records of one clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub dir: PathBuf,
    pub sessions: SessionSelection,
}

/// Selection of sessions in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionSelection {
    /// All sessions, each found at the place where it began.
    All,
    /// A session without a stage. Its path is not searched, because hooks call this often.
    Plain,
    /// A session of this stage.
    OfStage(String),
}

/// One append-only file; exclusive if `is_locked`.
pub struct AppendFile {
    pub path: PathBuf,
    pub file: File,
    pub len: u64,
    pub is_locked: bool,
    /// Shared lock of log writers; it prevents a replacement of the log.
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

    /// Returns the log files, oldest first.
    pub fn log_files(&self) -> Vec<PathBuf> {
        files_with_ending(&self.log_dir(), "jsonl")
    }

    /// Appends records to the log and syncs them. If another process locks the log, the records wait in the
    /// outbox for the next hook.
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

/// Opens a log file for appending. The file is not locked while another process replaces the log.
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

/// Locks out all other log writers while the returned file is open.
pub fn shut_log(store: &Store, disk: &dyn Disk) -> io::Result<Option<File>> {
    disk.make_dirs(&store.dir)?;
    let gate = gate(store)?;
    Ok(lock_within(&gate, LOCK_WAIT)?.then_some(gate))
}

fn gate(store: &Store) -> io::Result<File> {
    disk::append_regular(&store.dir.join("log.lock"))
}

impl AppendFile {
    /// Opens and locks a file. If the lock is not free in time, `is_locked` is false and the caller decides
    /// what to do.
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
            // The file was moved away meanwhile; the name belongs to a new file now.
            if found.nlink() == 0 {
                continue;
            }
            return Ok(AppendFile { path: path.to_owned(), file, len: found.len(), is_locked, gate: None });
        }
    }

    /// Opens a file for reading only.
    pub fn open_read_only(path: &Path) -> io::Result<AppendFile> {
        let file = disk::open_regular(path)?;
        let len = file.metadata()?.len();
        Ok(AppendFile { path: path.to_owned(), file, len, is_locked: false, gate: None })
    }

    /// Updates the length, to include lines that were appended since.
    pub fn grown(self) -> io::Result<AppendFile> {
        Ok(AppendFile { len: self.file.metadata()?.len(), ..self })
    }

    /// Returns the last `size` bytes, or all.
    pub fn tail(&self, size: u64) -> io::Result<Vec<u8>> {
        let from = self.len.saturating_sub(size);
        let mut tail = vec![0; usize::try_from(self.len - from).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut tail, from)?;
        Ok(tail)
    }

    /// Appends whole lines. Ends a torn line first, because it would join with the next one.
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

    /// Ends the torn last line of the file, and appends.
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

    /// Unlocks before it syncs, so that waiting writers can write and share the sync.
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

/// Tries until the deadline. File locks have no timeout.
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

/// Returns the files of a directory with this extension, by name. A missing directory has none.
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
