//! One daemon at a time. The lock is held for life and never removed, so two of them cannot hold two files of
//! one name; and each reign has a number, by which those who were started in an earlier one are known.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use sprag_base::result::Discard as _;
use sprag_host::store::lock_within;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::{exec, processes};

/// Held for as long as this daemon lives.
#[derive(Debug)]
pub struct DaemonLock {
    _lock: File,
    /// Held by all that was started in this reign, too.
    children: File,
    pub epoch: u64,
}

/// Begins a reign; `None` while another lasts.
pub fn begin(run: &Path, disk: &dyn Disk) -> io::Result<Option<DaemonLock>> {
    disk.make_dirs(run)?;
    let lock = disk::append_regular(&run.join("lock"))?;
    if !lock_within(&lock, STARTING)? {
        return Ok(None);
    }
    let children = settle_predecessors(run)?;
    let epoch = last(run)? + 1;
    // On the disk before anything is done in its name.
    disk::replace(disk, &run.join("epoch"), format!("{epoch}\n").as_bytes())?;
    // For people to read: who rules is known by the lock alone.
    disk::replace_derived(disk, &run.join("pid"), std::process::id().to_string().as_bytes())?;
    exec::tie_all(format!("{}{epoch}", mark(run)).into(), children.try_clone()?);
    Ok(Some(DaemonLock { _lock: lock, children, epoch }))
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        // All of them have ended. If not, whoever comes next has to wait for nobody we know of.
        self.children.unlock().discard("the lock ends with the last child that holds it");
    }
}

/// A program that a killed daemon was about to start holds all it held, until it has started; and whoever looks who
/// rules holds the lock for a moment.
const STARTING: Duration = Duration::from_millis(300);

/// How long git may take to end what somebody began who is gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often those who are waited for are looked at.
const LOOK: Duration = Duration::from_millis(50);

fn mark(run: &Path) -> String {
    format!("{}#", run.display())
}

/// A daemon that was killed leaves behind what it had started and was waiting for. Git is let finish, since half of
/// what it does is worse than all of it, and nothing is looked at before; a check shows nothing to anybody any more.
/// They hold a lock together, which is ours then.
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
        // Whoever hides from us for so long must not keep us from ever going on.
        if is_late {
            break;
        }
    }
    Ok(lock)
}

/// The process of the reign that lasts; `None` while there is none.
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

/// Waits until the reign that lasts is over.
pub fn wait(run: &Path) -> io::Result<()> {
    disk::append_regular(&run.join("lock"))?.lock_shared()
}

/// The number of the youngest reign; 0 before the first.
pub fn last(run: &Path) -> io::Result<u64> {
    match disk::read_small(&run.join("epoch"), 64) {
        // One that cannot be read must not be taken for the first: its supervisors would be refused.
        Ok(text) => text.trim().parse().map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// The plan that is run by whoever rules, for people to read.
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
