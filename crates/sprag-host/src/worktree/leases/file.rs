//! Reads the state of a file without trusting it: opens only regular files and limits the bytes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use sprag_base::digest::Digest;
use sprag_base::time::Timestamp;
use sprag_govern::gates::stale::LARGE;
use sprag_govern::gates::stale::content::{ContentHash, ShortHash};
use sprag_govern::gates::stale::facts::{FileKind, FileVersionFact};

use crate::sys::disk::open_regular;

/// Bytes from which a file is known by its stamp only.
const HUGE: u64 = 64 * 1024 * 1024;

/// A file with its content, unless it is large.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub found: FileKind,
    pub text: Option<Vec<u8>>,
}

impl ReadFile {
    pub(super) fn content(&self) -> Option<ContentHash> {
        match self.found {
            FileKind::File(version) => version.content,
            FileKind::Absent | FileKind::Directory | FileKind::Odd | FileKind::Unknown => None,
        }
    }
}

/// Returns the metadata of a file as its kind.
pub(super) fn stat(path: &Path) -> FileKind {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return FileKind::Absent;
        }
        Err(_) => return FileKind::Unknown,
    };
    let kind = found.file_type();
    if kind.is_file() {
        FileKind::File(version(&found, None, 0))
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
        FileKind::Odd
    } else {
        // A link to a missing target.
        FileKind::Absent
    }
}

/// Reads and hashes a file. Skips a large file whose stamp the caller knows.
pub(crate) fn read_unless_known(path: &Path, knows_stamp: impl FnOnce(ShortHash) -> bool) -> ReadFile {
    let found = stat(path);
    let FileKind::File(stamped) = found else {
        return ReadFile { found, text: None };
    };
    if stamped.bytes > HUGE || (stamped.bytes > LARGE && knows_stamp(stamped.stamp)) {
        return ReadFile { found, text: None };
    }
    read(path).unwrap_or(ReadFile { found: FileKind::Unknown, text: None })
}

fn read(path: &Path) -> io::Result<ReadFile> {
    let mut file = open_regular(path)?;
    let before = file.metadata()?;
    if before.len() > LARGE {
        let (content, lines) = hash(&mut file)?;
        return Ok(ReadFile { found: FileKind::File(version(&before, Some(content), lines)), text: None });
    }
    let mut text = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0) + 1);
    (&file).take(LARGE + 1).read_to_end(&mut text)?;
    let lines = count_lines(&text, text.last().copied());
    let version = version(&before, Some(ContentHash::hash_bytes(&text)), lines);
    Ok(ReadFile { found: FileKind::File(version), text: (text.len() as u64 <= LARGE).then_some(text) })
}

fn hash(file: &mut File) -> io::Result<(ContentHash, u32)> {
    let (mut hash, mut lines, mut last) = (Sha256::new(), 0u32, None);
    let mut buffer = vec![0; 256 * 1024];
    let mut left = HUGE;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        // The file grows during the read.
        left = left.checked_sub(count as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        hash.update(&buffer[..count]);
        lines = lines.saturating_add(count_lines(&buffer[..count], Some(b'\n')));
        last = Some(buffer[count - 1]);
    }
    let unfinished = u32::from(last.is_some_and(|last| last != b'\n'));
    Ok((ContentHash::from_hash(hash.finalize().into()), lines.saturating_add(unfinished)))
}

/// Counts the lines, including a last one without a line feed.
fn count_lines(text: &[u8], last: Option<u8>) -> u32 {
    let ended = memchr::memchr_iter(b'\n', text).count();
    u32::try_from(ended).unwrap_or(u32::MAX).saturating_add(u32::from(last.is_some_and(|last| last != b'\n')))
}

fn version(found: &Metadata, content: Option<ContentHash>, lines: u32) -> FileVersionFact {
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    let changed = millis(found.mtime(), found.mtime_nsec()).max(millis(found.ctime(), found.ctime_nsec()));
    let stamp = [
        found.dev().to_le_bytes(),
        found.ino().to_le_bytes(),
        found.size().to_le_bytes(),
        found.mtime().to_le_bytes(),
        found.mtime_nsec().to_le_bytes(),
        found.ctime().to_le_bytes(),
        found.ctime_nsec().to_le_bytes(),
    ];
    // Twelve of the 32 digits distinguish any two stamps.
    let stamp = Digest::hash_parts(stamp).to_string();
    let mut short: ShortHash = [0; 12];
    short.copy_from_slice(&stamp.as_bytes()[..12]);
    FileVersionFact {
        content,
        stamp: short,
        lines,
        bytes: found.size(),
        changed: Timestamp::from_millis(changed),
    }
}
