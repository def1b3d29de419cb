//! Files of one machine, with a disk that fails on request and folders that another process deletes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sprag_host::sys::disk::{self, Disk, RealDisk};

use super::conformance::{Fleet, Trouble};
use crate::coordination::{LocalQueue, RunLogBackend, SessionQueue};
use crate::run_log::LogFiles;

pub(super) struct Machine {
    dir: tempfile::TempDir,
    disk: Failing,
}

impl Machine {
    pub(super) fn new() -> Machine {
        Machine { dir: tempfile::tempdir().unwrap(), disk: Failing::default() }
    }

    fn epoch(&self) -> PathBuf {
        self.dir.path().join("epoch")
    }
}

impl Fleet for Machine {
    fn log(&self) -> impl RunLogBackend {
        LogFiles::at(&self.dir.path().join("plans"), &self.disk)
    }

    fn queue(&self) -> impl SessionQueue {
        LocalQueue::new(self.dir.path(), &RealDisk)
    }

    fn reign(&self) -> u64 {
        let last: u64 = fs::read_to_string(self.epoch()).map_or(0, |text| text.trim().parse().unwrap());
        disk::replace(&RealDisk, &self.epoch(), (last + 1).to_string().as_bytes()).unwrap();
        last + 1
    }

    fn trouble(&self, trouble: Trouble) {
        *self.disk.next.lock().unwrap() = Some(trouble);
    }

    fn cut_off(&self, session: &str) {
        fs::remove_dir_all(self.dir.path().join("s").join(session)).unwrap();
    }
}

/// A disk on which the next record fails.
#[derive(Default)]
struct Failing {
    next: Mutex<Option<Trouble>>,
}

impl Failing {
    fn take(&self, fits: impl Fn(Trouble) -> bool) -> Option<Trouble> {
        self.next.lock().unwrap().take_if(|trouble| fits(*trouble))
    }
}

impl Disk for Failing {
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        match self.take(|trouble| trouble != Trouble::AnswerLost) {
            Some(Trouble::Torn) => {
                RealDisk.append(file, &bytes[..bytes.len() / 2])?;
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(Trouble::Lost | Trouble::AnswerLost) => Err(io::ErrorKind::StorageFull.into()),
            None => RealDisk.append(file, bytes),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match self.take(|trouble| trouble == Trouble::AnswerLost) {
            Some(_) => Err(io::Error::other("sync failed")),
            None => RealDisk.sync(file),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_dirs(path)
    }
}
