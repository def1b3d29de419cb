//! The log file of a daemon in the background, with bounded size.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::text::one_line;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env;

/// A larger file is rotated; only one rotated file is stored.
const LONGEST: u64 = 1024 * 1024;

pub struct DaemonLogFile {
    path: PathBuf,
}

impl DaemonLogFile {
    pub fn at(run: &Path) -> DaemonLogFile {
        DaemonLogFile { path: run.join("daemon.log") }
    }

    /// Opens the log for appending; rotates it first if it is too large.
    pub fn open(&self) -> io::Result<fs::File> {
        if fs::metadata(&self.path).is_ok_and(|found| found.len() > LONGEST) {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        disk::append_regular(&self.path)
    }

    pub fn write(&self, disk: &dyn Disk, text: &str) -> io::Result<()> {
        let line = format!("{} {}\n", env::now(), one_line(text));
        disk.append(&self.open()?, line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn what_is_full_is_put_away_once() {
        let dir = tempfile::tempdir().unwrap();
        let diary = DaemonLogFile::at(dir.path());
        diary.write(&RealDisk, "first\nline").unwrap();
        let text = fs::read_to_string(&diary.path).unwrap();
        assert!(text.ends_with(" first line\n") && text.lines().count() == 1);
        fs::write(&diary.path, "x".repeat(LONGEST as usize + 1)).unwrap();
        diary.write(&RealDisk, "second").unwrap();
        assert!(fs::metadata(dir.path().join("daemon.log")).unwrap().len() < 100);
        assert!(fs::metadata(dir.path().join("daemon.log.1")).unwrap().len() > LONGEST);
    }
}
