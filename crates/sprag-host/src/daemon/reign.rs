//! One daemon at a time. The lock is held for life and never removed, so two of them cannot hold two files of
//! one name; and each reign has a number, by which those who were started in an earlier one are known.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::disk::{self, Disk};
use crate::store::lock_within;

/// Whoever looks who rules holds the lock for a moment.
const LOOK: Duration = Duration::from_millis(200);

/// Held for as long as this daemon lives.
#[derive(Debug)]
pub struct Reign {
    _lock: File,
    pub epoch: u64,
}

/// Begins a reign; `None` while another lasts.
pub fn begin(run: &Path, disk: &dyn Disk) -> io::Result<Option<Reign>> {
    disk.make_dirs(run)?;
    let lock = disk::append_regular(&run.join("lock"))?;
    if !lock_within(&lock, LOOK)? {
        return Ok(None);
    }
    let epoch = last(run)? + 1;
    // On the disk before anything is done in its name.
    disk::replace(disk, &run.join("epoch"), format!("{epoch}\n").as_bytes())?;
    // For people to read: who rules is known by the lock alone.
    disk::replace_derived(disk, &run.join("pid"), std::process::id().to_string().as_bytes())?;
    Ok(Some(Reign { _lock: lock, epoch }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

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
