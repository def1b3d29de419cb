//! The records of a run, on the disk before anything follows from them. Only the daemon of the present reign writes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_core::log::Record;
use sprag_core::plan::record::Recorded;
use sprag_core::plan::run::Run;

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
    run: Run,
}

impl<'d> Log<'d> {
    /// Begins a run. There must not be one yet.
    pub fn begin(path: &Path, disk: &'d dyn Disk, started: &Recorded) -> io::Result<Log<'d>> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        write(path, disk, started)?;
        let run = Run::fold([started]).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Log { path: path.to_path_buf(), disk, run })
    }

    /// Goes on with a run; `None` where none was begun.
    pub fn resume(path: &Path, disk: &'d dyn Disk) -> io::Result<Option<Log<'d>>> {
        let Some(run) = read(path)? else { return Ok(None) };
        Ok(Some(Log { path: path.to_path_buf(), disk, run }))
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn append(&mut self, record: &Recorded) -> io::Result<()> {
        write(&self.path, self.disk, record)?;
        self.run.apply(record);
        Ok(())
    }
}

/// A run as it is written down, for whoever only looks.
pub fn read(path: &Path) -> io::Result<Option<Run>> {
    let text = match disk::read_regular(path, LONGEST) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A line without an end was being written when somebody died: nothing had followed from it yet. What is no
    // record of a kind we know is another version's.
    let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let records = lines.filter_map(|line| Recorded::read(&serde_json::from_slice::<Record>(line).ok()?));
    Ok(Run::fold(records.collect::<Vec<_>>().iter()))
}

fn write(path: &Path, disk: &dyn Disk, record: &Recorded) -> io::Result<()> {
    let mut lines = Lines::open(disk, path, PATIENCE)?;
    let mut bytes = serde_json::to_vec(&record.record(env::now())).map_err(io::Error::other)?;
    bytes.push(b'\n');
    lines.append_sealed(disk, &bytes)?;
    lines.unlock_and_sync(disk)
}
