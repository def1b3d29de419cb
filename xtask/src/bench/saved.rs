//! A saved state of folders, which the bench restores before every measured call. A hook writes files, and
//! the second call of a case must find the same files as the first.
//!
//! Restoring changes only files that differ, and truncates a file that grew. A fresh copy would give the hook
//! new inodes and a cold cache each time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

pub struct Saved {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Copy>,
}

struct Copy {
    bytes: Vec<u8>,
    stamp: Stamp,
}

/// Values that change when a file changes.
#[derive(PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Saved {
    pub fn of(folders: &[PathBuf]) -> io::Result<Saved> {
        let mut files = BTreeMap::new();
        for path in files_in(folders)? {
            let (bytes, stamp) = (fs::read(&path)?, Stamp::of(&path)?);
            files.insert(path, Copy { bytes, stamp });
        }
        Ok(Saved { folders: folders.to_vec(), files })
    }

    pub fn restore(&mut self) -> io::Result<()> {
        for path in files_in(&self.folders)? {
            if !self.files.contains_key(&path) {
                fs::remove_file(path)?;
            }
        }
        for (path, copy) in &mut self.files {
            if Stamp::of(path).is_ok_and(|stamp| stamp == copy.stamp) {
                continue;
            }
            if fs::read(path).is_ok_and(|now| now.starts_with(&copy.bytes)) {
                File::options().write(true).open(path)?.set_len(copy.bytes.len() as u64)?;
            } else {
                fs::write(path, &copy.bytes)?;
            }
            copy.stamp = Stamp::of(path)?;
        }
        Ok(())
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Stamp> {
        let found = fs::metadata(path)?;
        Ok(Stamp { inode: found.ino(), size: found.size(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

/// Returns every file in these folders. A missing folder counts as empty.
fn files_in(folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = folders.to_vec();
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_happened_is_undone() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir(path("deep")).unwrap();
        for name in ["same", "appended", "replaced", "removed", "deep/rewritten"] {
            fs::write(path(name), name).unwrap();
        }
        let mut saved = Saved::of(&[temp.path().to_path_buf(), path("not there")]).unwrap();
        let inode = |name: &str| fs::metadata(path(name)).unwrap().ino();
        let appended = inode("appended");
        for _ in 0..2 {
            fs::write(path("appended"), "appended and more").unwrap();
            fs::write(path("new"), "x").unwrap();
            fs::write(path("other"), "a longer replacement").unwrap();
            fs::rename(path("other"), path("replaced")).unwrap();
            fs::remove_file(path("removed")).unwrap();
            fs::write(path("deep/rewritten"), "DEEP/rewritten").unwrap();
            saved.restore().unwrap();
            for name in ["same", "appended", "replaced", "removed", "deep/rewritten"] {
                assert_eq!(fs::read_to_string(path(name)).unwrap(), name);
            }
            assert!(!path("new").exists());
            assert_eq!(inode("appended"), appended);
        }
    }
}
