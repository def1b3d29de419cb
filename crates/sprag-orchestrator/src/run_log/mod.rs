//! The records of a run, on the disk before anything follows from them. Only the daemon of the present reign writes.
pub mod active;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use sprag_base::time::Timestamp;
use sprag_host::store::{Lines, files_with_ending};
use sprag_host::sys::disk::{self, Disk, ReadOnly};
use sprag_host::sys::env;
use sprag_plan::run::Run;
use sprag_plan::run::record::Recorded;
use sprag_plan::run::timed::Timed;

use super::coordination::{self, NotAppended, Seq};

/// Nobody else writes here: whoever holds it longer is stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// More than ten thousand stages write.
const LONGEST: u64 = 1 << 30;

/// A torn record is no longer than one.
const TORN: u64 = 64 * 1024 * 1024;

/// A run, and where it is written down.
pub struct Log<'d> {
    path: PathBuf,
    plan: String,
    files: Files<'d>,
    timed: Timed,
    /// Where the last record ends that the run was folded from.
    end: Seq,
}

impl<'d> Log<'d> {
    /// Begins a run. There must not be one yet.
    pub fn begin(path: &Path, disk: &'d dyn Disk, started: &Recorded) -> io::Result<Log<'d>> {
        let now = env::now();
        let (files, plan) = Files::with(path, disk);
        let timed = Timed::begin(started, now).ok_or(io::ErrorKind::InvalidInput)?;
        let end = write(&files, &plan, started, now, Seq::START)?;
        Ok(Log { path: path.to_path_buf(), plan, files, timed, end })
    }

    /// Goes on with a run; `None` where none was begun.
    pub fn resume(path: &Path, disk: &'d dyn Disk) -> io::Result<Option<Log<'d>>> {
        let (files, plan) = Files::with(path, disk);
        let Some((timed, end)) = fold(&files, &plan)? else { return Ok(None) };
        Ok(Some(Log { path: path.to_path_buf(), plan, files, timed, end }))
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

    pub fn append(&mut self, record: &Recorded) -> io::Result<()> {
        let now = env::now();
        self.end = write(&self.files, &self.plan, record, now, self.end)?;
        self.timed.apply(record, now);
        Ok(())
    }
}

/// A run as it is written down, for whoever only looks.
pub fn read(path: &Path) -> io::Result<Option<Run>> {
    Ok(read_timed(path)?.map(Timed::into_run))
}

/// The same with its times.
fn read_timed(path: &Path) -> io::Result<Option<Timed>> {
    Ok(read_to_end(path)?.map(|(timed, _)| timed))
}

/// The same, and how many bytes it is written down in.
pub fn read_to_end(path: &Path) -> io::Result<Option<(Timed, u64)>> {
    let (files, plan) = Files::with(path, &ReadOnly);
    Ok(fold(&files, &plan)?.map(|(timed, Seq(end))| (timed, end)))
}

/// A run, and where its last record ends; `None` where none was begun.
fn fold(log: &impl coordination::Log, plan: &str) -> io::Result<Option<(Timed, Seq)>> {
    let mut timed: Option<Timed> = None;
    let end = log.read(plan, Seq::START, &mut |record, at| match &mut timed {
        None => timed = Timed::begin(&record, at),
        Some(timed) => timed.apply(&record, at),
    })?;
    Ok(timed.map(|timed| (timed, end)))
}

/// Every record from a place on, which has to be the end of another; says where the last one ends. A file that is
/// not there has none.
pub fn each(path: &Path, from: u64, mut take: impl FnMut(Recorded, Timestamp)) -> io::Result<u64> {
    let mut file = match disk::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(from))?;
    // One line at a time: a long run has more than anybody wants in memory.
    let mut lines = BufReader::with_capacity(256 * 1024, file).take(LONGEST);
    let mut line = Vec::new();
    let mut end = from;
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
        // A line without an end was being written when somebody died: nothing had followed from it yet.
        if !line.ends_with(b"\n") {
            return Ok(end);
        }
        end += line.len() as u64;
        // What is no record of a kind we know is another version's.
        if let (Ok(record), Ok(Written { at })) =
            (serde_json::from_slice(&line), serde_json::from_slice(&line))
        {
            take(record, at);
        }
    }
}

/// What every line has, whatever it tells.
#[derive(Deserialize)]
struct Written {
    at: Timestamp,
}

fn write(
    log: &impl coordination::Log,
    plan: &str,
    record: &Recorded,
    at: Timestamp,
    expect: Seq,
) -> io::Result<Seq> {
    log.append(plan, record, at, Some(expect)).map_err(|not| match not {
        NotAppended::Stale if expect == Seq::START => io::ErrorKind::AlreadyExists.into(),
        // What follows from what we know may be wrong by now: whoever comes next reads all of it.
        NotAppended::Stale => {
            io::Error::other(format!("somebody else has written to the records of plan `{plan}`"))
        }
        NotAppended::Unknown(error) => error,
    })
}

/// Logs of one machine: a file for each plan.
pub struct Files<'d> {
    folder: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> Files<'d> {
    pub fn at(folder: &Path, disk: &'d dyn Disk) -> Files<'d> {
        Files { folder: folder.to_path_buf(), disk }
    }

    /// Those that have this one, and what it is about.
    fn with(path: &Path, disk: &'d dyn Disk) -> (Files<'d>, String) {
        let plan = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (Files::at(path.parent().unwrap_or(Path::new("")), disk), plan)
    }

    fn path(&self, subject: &str) -> PathBuf {
        self.folder.join(format!("{subject}.jsonl"))
    }
}

impl coordination::Log for Files<'_> {
    fn append(
        &self,
        subject: &str,
        record: &Recorded,
        at: Timestamp,
        expect: Option<Seq>,
    ) -> Result<Seq, NotAppended> {
        let mut lines = Lines::open(self.disk, &self.path(subject), PATIENCE)?;
        if !lines.is_locked {
            return Err(NotAppended::Unknown(io::ErrorKind::WouldBlock.into()));
        }
        let is_whole = match expect {
            Some(Seq(end)) => is_whole_at(&lines, end)?.ok_or(NotAppended::Stale)?,
            None => matches!(lines.tail(1)?.last(), None | Some(b'\n')),
        };
        let bytes = record.record(at).line();
        lines.append(self.disk, &bytes, is_whole)?;
        let end = lines.len + bytes.len() as u64 + u64::from(!is_whole);
        lines.unlock_and_sync(self.disk)?;
        Ok(Seq(end))
    }

    fn read(&self, subject: &str, from: Seq, take: &mut dyn FnMut(Recorded, Timestamp)) -> io::Result<Seq> {
        each(&self.path(subject), from.0, take).map(Seq)
    }
}

/// Whether a log ends where its last record was taken to end, or has half a line after it that somebody did not live to
/// finish; `None`: it has more than that, or less.
fn is_whole_at(lines: &Lines, end: u64) -> io::Result<Option<bool>> {
    match lines.len.checked_sub(end) {
        Some(0) => Ok(Some(true)),
        Some(more) if more <= TORN => Ok((!lines.tail(more)?.contains(&b'\n')).then_some(false)),
        Some(_) | None => Ok(None),
    }
}

/// Plans that have a run, by name: their last one.
pub fn known(run: &Path) -> Vec<String> {
    let files = files_with_ending(&run.join("plans"), "jsonl");
    let names = files.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    // Those that were put away have the name of their run, too.
    names.filter(|name| !name.contains('.')).collect()
}
