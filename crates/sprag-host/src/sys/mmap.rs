//! Maps a file as bytes: unread parts cost nothing. This is the only file with `unsafe` code.

#![expect(unsafe_code, reason = "mapping a file is a promise about the file that no type can check")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use sprag_base::result::Discard as _;

use crate::sys::disk;

/// A mapped file that does not change. Files of the index are written under another name and renamed into
/// place once. Their later removal does not affect open mappings.
#[derive(Debug)]
pub struct Mapped {
    start: NonNull<u8>,
    length: usize,
    /// For reading single pieces of a large file.
    pub file: File,
}

impl Mapped {
    pub fn open(path: &Path) -> io::Result<Mapped> {
        Mapped::map_file(disk::open_regular(path)?)
    }

    fn map_file(file: File) -> io::Result<Mapped> {
        let length = usize::try_from(file.metadata()?.size()).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Mapped { start: NonNull::dangling(), length, file });
        }
        // SAFETY: the kernel chooses the address, so that no existing mapping is replaced.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapped { start, length, file })
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is the beginning of a mapping of `length` bytes that lives as long as `self`,
        // or dangling with length zero. No process writes to a file of the index after its rename, and none
        // makes it shorter.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: `self` owns the mapping, and no slice of it outlives `self`.
            unsafe { munmap(self.start.as_ptr().cast(), self.length) }
                .discard("a remaining mapping only costs address space");
        }
    }
}

// SAFETY: the mapping is only read, by any thread.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_bytes_even_when_it_is_gone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x");
        std::fs::write(&path, "some bytes").unwrap();
        let mapped = Mapped::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&*mapped, b"some bytes");
        std::fs::write(&path, "").unwrap();
        assert_eq!(&*Mapped::open(&path).unwrap(), b"");
        assert!(Mapped::open(temp.path()).is_err(), "a directory is not a file");
    }
}
