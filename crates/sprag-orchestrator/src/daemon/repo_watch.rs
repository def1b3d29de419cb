//! Checks that the repository of a run still exists. After a deletion, a daemon that continues would write
//! records and start agents that no one can find.

use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::{fs, io, thread};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::socket::loop_event::LoopEvent;

/// A checkout and the lock file of its folder of runs.
pub(crate) struct RepoWatch {
    root: PathBuf,
    lock: PathBuf,
    /// Device and inode: another file of the same name belongs to another daemon.
    id: (u64, u64),
}

impl RepoWatch {
    pub(super) fn new(root: &Path, run: &Path) -> io::Result<RepoWatch> {
        let lock = run.join("lock");
        let id = id_of(&lock)?;
        Ok(RepoWatch { root: root.to_path_buf(), lock, id })
    }

    pub(super) fn is_there(&self) -> bool {
        self.root.is_dir() && id_of(&self.lock).is_ok_and(|id| id == self.id)
    }

    /// Wakes the loop when the lock file is removed. If the watch fails, the next round finds out.
    pub(super) fn watch(&self, tell: &Sender<LoopEvent>) {
        let flags = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let Ok(told) = inotify::init(CreateFlags::CLOEXEC) else { return };
        if inotify::add_watch(&told, &self.lock, flags).is_err() {
            return;
        }
        let tell = tell.clone();
        thread::spawn(move || {
            let mut buffer = [MaybeUninit::uninit(); 1024];
            let mut reader = inotify::Reader::new(&told, &mut buffer);
            while reader.next().is_ok() && tell.send(LoopEvent::Rung).is_ok() {}
        });
    }
}

fn id_of(lock: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(lock).map(|about| (about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_lock_of_the_same_name_is_another_run() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("lock"), "").unwrap();
        let held = fs::File::open(dir.path().join("lock")).unwrap();
        let footing = RepoWatch::new(dir.path(), dir.path()).unwrap();
        assert!(footing.is_there());
        fs::remove_file(dir.path().join("lock")).unwrap();
        assert!(!footing.is_there());
        fs::write(dir.path().join("lock"), "").unwrap();
        assert!(!footing.is_there(), "while the old file is open, no other file has its inode");
        drop(held);
    }
}
