//! The daemon lock: one daemon at a time. The lock file is never removed, so that two daemons cannot lock two
//! files of one name. Each daemon has an epoch, by which Sprag recognizes processes of an earlier one.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use sprag_base::result::Discard as _;
use sprag_host::store::lock_within;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::{exec, processes};

/// The lock of this daemon, held until the daemon ends.
#[derive(Debug)]
pub struct DaemonLock {
    _lock: File,
    /// Also held by all processes that this daemon started.
    children: File,
    pub epoch: u64,
}

/// Takes the daemon lock and begins an epoch; returns `None` while another daemon holds it.
pub fn begin(run: &Path, disk: &dyn Disk) -> io::Result<Option<DaemonLock>> {
    disk.make_dirs(run)?;
    let lock = disk::append_regular(&run.join("lock"))?;
    if !lock_within(&lock, STARTING)? {
        return Ok(None);
    }
    let children = settle_predecessors(run)?;
    let epoch = last(run)? + 1;
    // The epoch is on disk before anything uses it.
    disk::replace(disk, &run.join("epoch"), format!("{epoch}\n").as_bytes())?;
    // Only for display: the lock alone decides which daemon runs.
    disk::replace_derived(disk, &run.join("pid"), std::process::id().to_string().as_bytes())?;
    exec::tie_all(format!("{}{epoch}", mark(run)).into(), children.try_clone()?);
    Ok(Some(DaemonLock { _lock: lock, children, epoch }))
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        // All children have ended. If not, the next daemon need not wait for them.
        self.children.unlock().discard("the kernel releases the lock with the last child");
    }
}

/// Time to wait for the lock. A program that a killed daemon was starting holds it until it has started, and
/// each check for a running daemon holds it briefly.
const STARTING: Duration = Duration::from_millis(300);

/// Time limit for git processes of a dead daemon.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the remaining processes are checked.
const LOOK: Duration = Duration::from_millis(50);

fn mark(run: &Path) -> String {
    format!("{}#", run.display())
}

/// Waits for the processes that a killed daemon left and returns their common lock. Git may finish, because a
/// half-done change is worse. Other processes, such as checks, are killed.
fn settle_predecessors(run: &Path) -> io::Result<File> {
    let lock = disk::append_regular(&run.join("children"))?;
    let until = Instant::now() + PATIENCE;
    while !lock_within(&lock, LOOK)? {
        let is_late = Instant::now() >= until;
        for process in processes::whose_variable_begins(exec::MARK, &mark(run)) {
            let is_git = processes::name_of(process).is_some_and(|name| name.starts_with("git"));
            if is_late || !is_git {
                processes::signal(process, Signal::KILL);
            }
        }
        // A process that cannot be found must not block the daemon forever.
        if is_late {
            break;
        }
    }
    Ok(lock)
}

/// Returns the process that holds the daemon lock; `None` if the lock is free.
pub fn ruler(run: &Path) -> io::Result<Option<u32>> {
    if !run.join("lock").exists() {
        return Ok(None);
    }
    match disk::append_regular(&run.join("lock"))?.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(fs::TryLockError::WouldBlock) => {
            let pid = disk::read_small(&run.join("pid"), 64).ok().and_then(|text| text.trim().parse().ok());
            Ok(Some(pid.unwrap_or(0)))
        }
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Waits until the daemon lock is free.
pub fn wait(run: &Path) -> io::Result<()> {
    disk::append_regular(&run.join("lock"))?.lock_shared()
}

/// Returns the latest epoch; 0 before the first.
pub fn last(run: &Path) -> io::Result<u64> {
    match disk::read_small(&run.join("epoch"), 64) {
        // An unreadable number must not count as the first epoch, because epochs must only grow.
        Ok(text) => text.trim().parse().map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Returns the plan of the running daemon, for display.
pub fn ruled(run: &Path) -> Option<String> {
    disk::read_small(&run.join("plan"), 256).ok()
}

#[cfg(test)]
mod tests {
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn one_at_a_time_and_each_later_than_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let first = begin(&run, &RealDisk).unwrap().unwrap();
        assert_eq!(first.epoch, 1);
        assert!(begin(&run, &RealDisk).unwrap().is_none());
        assert_eq!(ruler(&run).unwrap(), Some(std::process::id()));
        drop(first);
        assert_eq!(ruler(&run).unwrap(), None);
        assert_eq!(begin(&run, &RealDisk).unwrap().unwrap().epoch, 2);
        assert_eq!(last(&run).unwrap(), 2);
    }

    #[test]
    fn a_damaged_number_begins_no_reign() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("epoch"), "many\n").unwrap();
        assert!(begin(dir.path(), &RealDisk).is_err());
    }
}
