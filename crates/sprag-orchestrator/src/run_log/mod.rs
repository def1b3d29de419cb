//! The records of a run. A record is on disk before anything follows from it, and only the daemon that holds
//! the lock writes.

pub mod active;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use sprag_base::time::Timestamp;
use sprag_host::store::{AppendFile, files_with_ending};
use sprag_host::sys::disk::{self, Disk, ReadOnly};
use sprag_host::sys::env;
use sprag_plan::run::Run;
use sprag_plan::run::record::RunRecord;
use sprag_plan::run::timed::Timed;

use super::coordination::{self, LogPosition, NotAppended};

/// Time limit for the file lock. Only the daemon writes here, so a longer wait means a stuck process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum bytes of a log: more than ten thousand stages write.
const LONGEST: u64 = 1 << 30;

/// Maximum size of an incomplete record.
const TORN: u64 = 64 * 1024 * 1024;

/// A run and its log file.
pub struct RunLog<'d> {
    path: PathBuf,
    plan: String,
    files: LogFiles<'d>,
    timed: Timed,
    /// The end of the last record that the run includes.
    end: LogPosition,
}

impl<'d> RunLog<'d> {
    /// Begins a run; fails if the log exists.
    pub fn begin(path: &Path, disk: &'d dyn Disk, started: &RunRecord) -> io::Result<RunLog<'d>> {
        let now = env::now();
        let (files, plan) = LogFiles::with(path, disk);
        let timed = Timed::begin(started, now).ok_or(io::ErrorKind::InvalidInput)?;
        let end = write(&files, &plan, started, now, LogPosition::START)?;
        Ok(RunLog { path: path.to_path_buf(), plan, files, timed, end })
    }

    /// Resumes a run; returns `None` if none was begun.
    pub fn resume(path: &Path, disk: &'d dyn Disk) -> io::Result<Option<RunLog<'d>>> {
        let (files, plan) = LogFiles::with(path, disk);
        let Some((timed, end)) = fold(&files, &plan)? else { return Ok(None) };
        Ok(Some(RunLog { path: path.to_path_buf(), plan, files, timed, end }))
    }

    pub fn run(&self) -> &Run {
        self.timed.run()
    }

    pub fn timed(&self) -> &Timed {
        &self.timed
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn append(&mut self, record: &RunRecord) -> io::Result<()> {
        let now = env::now();
        self.end = write(&self.files, &self.plan, record, now, self.end)?;
        self.timed.apply(record, now);
        Ok(())
    }
}

/// Reads a run from its log, without writing.
pub fn read(path: &Path) -> io::Result<Option<Run>> {
    Ok(read_timed(path)?.map(Timed::into_run))
}

/// Reads a run with its times.
fn read_timed(path: &Path) -> io::Result<Option<Timed>> {
    Ok(read_to_end(path)?.map(|(timed, _)| timed))
}

/// Reads a run with its times and the length of its log in bytes.
pub fn read_to_end(path: &Path) -> io::Result<Option<(Timed, u64)>> {
    let (files, plan) = LogFiles::with(path, &ReadOnly);
    Ok(fold(&files, &plan)?.map(|(timed, LogPosition(end))| (timed, end)))
}

/// Folds all records to a run; returns it with the end of the last record, or `None` if none was begun.
fn fold(log: &impl coordination::RunLogBackend, plan: &str) -> io::Result<Option<(Timed, LogPosition)>> {
    let mut timed: Option<Timed> = None;
    let end = log.read(plan, LogPosition::START, &mut |record, at| match &mut timed {
        None => timed = Timed::begin(&record, at),
        Some(timed) => timed.apply(&record, at),
    })?;
    Ok(timed.map(|timed| (timed, end)))
}

/// Passes every record from a position to `take`; the position must be the end of a record. Returns the end
/// of the last record. A missing file has no records.
pub fn each(path: &Path, from: u64, mut take: impl FnMut(RunRecord, Timestamp)) -> io::Result<u64> {
    let mut file = match disk::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(from))?;
    // One line at a time, because the log of a long run does not fit into memory.
    let mut lines = BufReader::with_capacity(256 * 1024, file).take(LONGEST);
    let mut line = Vec::new();
    let mut end = from;
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
        // A line without an end is from a process that died while writing. Nothing has followed from it.
        if !line.ends_with(b"\n") {
            return Ok(end);
        }
        end += line.len() as u64;
        // Unknown records belong to another version.
        if let (Ok(record), Ok(LogLineHead { at })) =
            (serde_json::from_slice(&line), serde_json::from_slice(&line))
        {
            take(record, at);
        }
    }
}

/// The time of a line, which every kind of record has.
#[derive(Deserialize)]
struct LogLineHead {
    at: Timestamp,
}

fn write(
    log: &impl coordination::RunLogBackend,
    plan: &str,
    record: &RunRecord,
    at: Timestamp,
    expect: LogPosition,
) -> io::Result<LogPosition> {
    log.append(plan, record, at, Some(expect)).map_err(|not| match not {
        NotAppended::Stale if expect == LogPosition::START => io::ErrorKind::AlreadyExists.into(),
        // The run in memory is out of date. The next daemon reads all records.
        NotAppended::Stale => {
            io::Error::other(format!("another process wrote to the records of plan `{plan}`"))
        }
        NotAppended::Unknown(error) => error,
    })
}

/// The logs of one machine: one file per plan.
pub struct LogFiles<'d> {
    folder: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> LogFiles<'d> {
    pub fn at(folder: &Path, disk: &'d dyn Disk) -> LogFiles<'d> {
        LogFiles { folder: folder.to_path_buf(), disk }
    }

    /// Returns the logs in the file's folder, and the plan of the file.
    fn with(path: &Path, disk: &'d dyn Disk) -> (LogFiles<'d>, String) {
        let plan = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (LogFiles::at(path.parent().unwrap_or(Path::new("")), disk), plan)
    }

    fn path(&self, subject: &str) -> PathBuf {
        self.folder.join(format!("{subject}.jsonl"))
    }
}

impl coordination::RunLogBackend for LogFiles<'_> {
    fn append(
        &self,
        subject: &str,
        record: &RunRecord,
        at: Timestamp,
        expect: Option<LogPosition>,
    ) -> Result<LogPosition, NotAppended> {
        let mut lines = AppendFile::open(self.disk, &self.path(subject), PATIENCE)?;
        if !lines.is_locked {
            return Err(NotAppended::Unknown(io::ErrorKind::WouldBlock.into()));
        }
        let is_whole = match expect {
            Some(LogPosition(end)) => is_whole_at(&lines, end)?.ok_or(NotAppended::Stale)?,
            None => matches!(lines.tail(1)?.last(), None | Some(b'\n')),
        };
        let bytes = record.record(at).line();
        if is_whole {
            lines.append(self.disk, &bytes)?;
        } else {
            lines.append_after_torn(self.disk, &bytes)?;
        }
        let end = lines.len + bytes.len() as u64 + u64::from(!is_whole);
        lines.unlock_and_sync(self.disk)?;
        Ok(LogPosition(end))
    }

    fn read(
        &self,
        subject: &str,
        from: LogPosition,
        take: &mut dyn FnMut(RunRecord, Timestamp),
    ) -> io::Result<LogPosition> {
        each(&self.path(subject), from.0, take).map(LogPosition)
    }
}

/// Reports whether a log ends at `end`; `false` if an incomplete line follows. Returns `None` if the log is
/// shorter, or has more complete lines.
fn is_whole_at(lines: &AppendFile, end: u64) -> io::Result<Option<bool>> {
    match lines.len.checked_sub(end) {
        Some(0) => Ok(Some(true)),
        Some(more) if more <= TORN => Ok((!lines.tail(more)?.contains(&b'\n')).then_some(false)),
        Some(_) | None => Ok(None),
    }
}

/// Returns the names of the plans that have a run.
pub fn known(run: &Path) -> Vec<String> {
    let files = files_with_ending(&run.join("plans"), "jsonl");
    let names = files.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    // Archived logs also have the run id in their name.
    names.filter(|name| !name.contains('.')).collect()
}
