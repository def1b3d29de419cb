//! Port leases: each stage gets a block of ten ports that no other stage has and on which no program
//! listened. A lease is a file with the first port as its name and the worktree as its content. The lease
//! lasts while the worktree exists.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use sprag_host::store::lock_within;
use sprag_host::sys::disk::{self, Disk};

const BLOCK: u16 = 10;
/// Above the usual ports of services, below the ephemeral ports of the system.
const FIRST: u16 = 21_000;
const LAST: u16 = 30_990;
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of a lease file.
const BYTES: u64 = 8192;

/// Returns the first port of the worktree's block; the same one at each call.
pub(crate) fn lease(dir: &Path, worktree: &Path, disk: &dyn Disk) -> io::Result<u16> {
    let _alone = alone(dir, disk)?;
    let mut free = Vec::new();
    for block in (FIRST..=LAST).step_by(usize::from(BLOCK)) {
        match owner(dir, block) {
            Some(owner) if Path::new(&owner) == worktree => return Ok(block),
            Some(owner) if Path::new(&owner).exists() => {}
            Some(_) | None => free.push(block),
        }
    }
    let is_quiet = |block: &u16| (*block..*block + BLOCK).all(is_quiet);
    let block =
        free.into_iter().find(is_quiet).ok_or_else(|| io::Error::other("all port blocks are taken"))?;
    let whose = worktree.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    disk::replace_derived(disk, &dir.join(block.to_string()), whose.as_bytes())?;
    Ok(block)
}

pub(crate) fn release(dir: &Path, worktree: &Path, disk: &dyn Disk) -> io::Result<()> {
    let _alone = alone(dir, disk)?;
    for entry in fs::read_dir(dir)?.flatten() {
        let block = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if block.and_then(|block| owner(dir, block)).is_some_and(|owner| Path::new(&owner) == worktree) {
            disk.remove(&entry.path())?;
        }
    }
    Ok(())
}

fn owner(dir: &Path, block: u16) -> Option<String> {
    disk::read_small(&dir.join(block.to_string()), BYTES).ok()
}

fn alone(dir: &Path, disk: &dyn Disk) -> io::Result<fs::File> {
    disk.make_dirs(dir)?;
    let lock = disk::append_regular(&dir.join("lock"))?;
    if lock_within(&lock, PATIENCE)? { Ok(lock) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

fn is_quiet(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn a_worktree_keeps_its_ports_and_no_other_gets_them_while_it_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("ports");
        let worktree = |name: &str| {
            let path = temp.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (a, b, c) = (worktree("a"), worktree("b"), worktree("c"));
        let first = lease(&dir, &a, &RealDisk).unwrap();
        assert_eq!(lease(&dir, &a, &RealDisk).unwrap(), first);
        let second = lease(&dir, &b, &RealDisk).unwrap();
        assert!(second.abs_diff(first) >= BLOCK);
        release(&dir, &a, &RealDisk).unwrap();
        assert_eq!(owner(&dir, first), None);
        // A removed worktree loses its ports.
        fs::remove_dir(&b).unwrap();
        assert!([first, second].contains(&lease(&dir, &c, &RealDisk).unwrap()));
    }

    #[test]
    fn a_block_that_somebody_listens_in_is_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let taken = lease(temp.path(), temp.path(), &RealDisk).unwrap();
        release(temp.path(), temp.path(), &RealDisk).unwrap();
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, taken + 3)).unwrap();
        assert_ne!(lease(temp.path(), temp.path(), &RealDisk).unwrap(), taken);
    }
}
