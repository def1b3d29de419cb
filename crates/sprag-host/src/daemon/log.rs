//! The records of a run, on the disk before anything follows from them. Only the daemon of the present reign writes.

use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use sprag_core::plan::record::Recorded;
use sprag_core::plan::run::Run;
use sprag_core::plan::timed::Timed;
use sprag_core::time::Timestamp;

use crate::disk::{self, Disk};
use crate::env;
use crate::store::Lines;

/// Nobody else writes here: whoever holds it longer is stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// More than ten thousand stages write.
const LONGEST: u64 = 1 << 30;

/// A run, and where it is written down.
pub struct Log<'d> {
    path: PathBuf,
    disk: &'d dyn Disk,
    timed: Timed,
}

impl<'d> Log<'d> {
    /// Begins a run. There must not be one yet.
    pub fn begin(path: &Path, disk: &'d dyn Disk, started: &Recorded) -> io::Result<Log<'d>> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let now = env::now();
        write(path, disk, started, now)?;
        let timed = Timed::begin(started, now).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Log { path: path.to_path_buf(), disk, timed })
    }

    /// Goes on with a run; `None` where none was begun.
    pub fn resume(path: &Path, disk: &'d dyn Disk) -> io::Result<Option<Log<'d>>> {
        let Some(timed) = read_timed(path)? else { return Ok(None) };
        Ok(Some(Log { path: path.to_path_buf(), disk, timed }))
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
        write(&self.path, self.disk, record, now)?;
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
    let mut timed: Option<Timed> = None;
    let end = each(path, 0, |record, at| match &mut timed {
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

fn write(path: &Path, disk: &dyn Disk, record: &Recorded, at: Timestamp) -> io::Result<()> {
    let mut lines = Lines::open(disk, path, PATIENCE)?;
    let mut bytes = serde_json::to_vec(&record.record(at)).map_err(io::Error::other)?;
    bytes.push(b'\n');
    lines.append_sealed(disk, &bytes)?;
    lines.unlock_and_sync(disk)
}
