//! Waits for changes of a run's files, so that no reader has to poll.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// The watched folders.
pub struct FileWatch {
    told: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    Changed,
    /// No change within the time limit.
    Nothing,
}

impl FileWatch {
    /// Watches the folders that exist.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> io::Result<FileWatch> {
        let told = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        for folder in folders {
            let what = WatchFlags::MODIFY
                | WatchFlags::CREATE
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::ONLYDIR;
            match inotify::add_watch(&told, folder, what) {
                Ok(_) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(FileWatch { told })
    }

    pub fn wait(&self, patience: Duration) -> io::Result<WatchEvent> {
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        let mut watched = [PollFd::new(&self.told, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(WatchEvent::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        // All pending events count as one change.
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.told, &mut buffer);
        while reader.next().is_ok() {}
        Ok(WatchEvent::Changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_heard_once_and_silence_too() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        let watch = FileWatch::new([dir.path(), gone.as_path()]).unwrap();
        assert_eq!(watch.wait(Duration::ZERO).unwrap(), WatchEvent::Nothing);
        fs::write(dir.path().join("a"), "x").unwrap();
        fs::write(dir.path().join("b"), "x").unwrap();
        assert_eq!(watch.wait(Duration::from_secs(10)).unwrap(), WatchEvent::Changed);
        assert_eq!(watch.wait(Duration::ZERO).unwrap(), WatchEvent::Nothing);
    }
}
