//! Replays the log into a new one. Nothing is edited in place: the old log stays as a whole, with its
//! unreadable lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use sprag_base::record::{Record, VERSION};
use sprag_base::time::Timestamp;

use crate::store::projections::each_line;
use crate::store::{self, AppendFile, Store};
use crate::sys::disk::Disk;

/// Result of a replay.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MigrationReport {
    pub files: usize,
    pub records: usize,
    /// Records that occur twice in the log; one is kept.
    pub duplicates: usize,
    /// Lines that are not records, for example torn lines of a killed process.
    pub unreadable: usize,
    /// Records of a newer version, kept unchanged.
    pub newer: usize,
    pub by_kind: BTreeMap<String, usize>,
    /// Path of the old log, if it was replaced.
    pub set_aside: Option<PathBuf>,
}

/// Reads the whole log and changes nothing.
pub fn dry_run(store: &Store, mut progress: impl FnMut()) -> io::Result<MigrationReport> {
    let mut replay = Replay::default();
    for path in store.log_files() {
        replay.file(&path, 0, &mut Vec::new())?;
        progress();
    }
    Ok(replay.report)
}

pub fn migrate(
    store: &Store,
    disk: &dyn Disk,
    now: Timestamp,
    mut progress: impl FnMut(),
) -> io::Result<MigrationReport> {
    // Writers wait, and then write to the new log.
    let Some(_shut) = store::shut_log(store, disk)? else {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process uses the log"));
    };
    let files = store.log_files();
    let mut replay = Replay::default();
    if files.is_empty() {
        return Ok(replay.report);
    }
    let moment = now.to_string().replace(':', "-");
    // Never an existing name: a killed migration may have left the old log there.
    let new = store.dir.join(format!("log.new-{moment}-{}", std::process::id()));
    disk.make_dirs(&new)?;
    for path in &files {
        let mut bytes = Vec::new();
        replay.file(path, 0, &mut bytes)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidData)?;
        let out = AppendFile::open(disk, &new.join(name), store::LOCK_WAIT)?;
        disk.append(&out.file, &bytes)?;
        out.unlock_and_sync(disk)?;
        progress();
    }
    renameat_with(CWD, store.log_dir(), CWD, &new, RenameFlags::EXCHANGE)?;
    let aside = store.dir.join(format!("log.old-{moment}"));
    disk.rename(&new, &aside)?;
    replay.report.set_aside = Some(aside);
    Ok(replay.report)
}

#[derive(Default)]
struct Replay {
    report: MigrationReport,
    ids: BTreeSet<String>,
}

impl Replay {
    fn file(&mut self, path: &std::path::Path, from: u64, out: &mut Vec<u8>) -> io::Result<()> {
        self.report.files += 1;
        each_line(path, from, |line| self.line(line, out))?;
        Ok(())
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if line == b"\n" {
            return;
        }
        let Ok(record) = Record::parse(line) else {
            self.report.unreadable += 1;
            return;
        };
        if !self.ids.insert(record.id.clone()) {
            self.report.duplicates += 1;
            return;
        }
        self.report.records += 1;
        *self.report.by_kind.entry(record.kind.clone()).or_insert(0) += 1;
        if record.v > VERSION {
            self.report.newer += 1;
            out.extend_from_slice(line);
        } else {
            out.extend(upgraded(record).line());
        }
    }
}

/// Converts a record of an older version to the current one. Only one version exists so far.
fn upgraded(record: Record) -> Record {
    Record { v: VERSION, ..record }
}
