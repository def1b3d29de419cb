//! Notes the user's unfinished files at the start of a session, to tell later how much of each is new. Lines
//! are kept as short hashes, never as text.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;

use super::git_status::StatusChange;
use super::todo_marks;
use crate::git::quoted_path::{quote, unquote};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;

/// Limits of work, not of time, so that the result does not depend on the load. Files beyond them are known
/// by size and time.
const FILES: usize = 500;
const FILE_BYTES: u64 = 1024 * 1024;
const ALL_BYTES: u64 = 32 * 1024 * 1024;
const ALL_LINES: usize = 400_000;
/// Larger limit for a later read, because a file may have grown.
const GROWN_BYTES: u64 = 2 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DirtyEntry {
    path: String,
    was: DirtyBefore,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DirtyBefore {
    Absent,
    Text {
        digest: Digest,
        /// Eight hex digits for each line.
        lines: String,
    },
    /// A link or a binary file.
    Opaque {
        digest: Digest,
    },
    Sized {
        size: u64,
        seconds: i64,
        nanos: i64,
    },
    /// A nested repository.
    Directory,
}

/// Reads these files of a worktree.
pub(crate) fn read_entries(worktree: &Path, paths: &[Vec<u8>]) -> Vec<DirtyEntry> {
    let mut left = LeftOver { files: FILES, bytes: ALL_BYTES, lines: ALL_LINES };
    paths
        .iter()
        .map(|path| DirtyEntry { path: written(path), was: left.read_entry(&below(worktree, path)) })
        .collect()
}

pub(crate) fn below(worktree: &Path, path: &[u8]) -> PathBuf {
    worktree.join(OsStr::from_bytes(path))
}

/// Returns the path as text. JSON has no bytes, so other bytes are quoted as in git.
fn written(path: &[u8]) -> String {
    match str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => quote(path),
    }
}

struct LeftOver {
    files: usize,
    bytes: u64,
    lines: usize,
}

impl LeftOver {
    fn read_entry(&mut self, path: &Path) -> DirtyBefore {
        let Ok(found) = fs::symlink_metadata(path) else {
            return DirtyBefore::Absent;
        };
        if found.is_dir() {
            return DirtyBefore::Directory;
        }
        let sized =
            || DirtyBefore::Sized { size: found.len(), seconds: found.mtime(), nanos: found.mtime_nsec() };
        if self.files == 0 || found.len() > FILE_BYTES.min(self.bytes) {
            return sized();
        }
        self.files -= 1;
        match DirtyNow::read(path, FILE_BYTES) {
            DirtyNow::Text { is_cut: true, .. } | DirtyNow::Other => sized(),
            DirtyNow::Absent => DirtyBefore::Absent,
            DirtyNow::Opaque { digest } => {
                self.bytes -= found.len().min(self.bytes);
                DirtyBefore::Opaque { digest }
            }
            DirtyNow::Text { text, digest, is_cut: false } => {
                self.bytes -= (text.len() as u64).min(self.bytes);
                let hashes: Vec<u32> = lines_of(&text).take(self.lines + 1).map(hash).collect();
                if hashes.len() > self.lines {
                    return sized();
                }
                self.lines -= hashes.len();
                DirtyBefore::Text { digest, lines: hashes.iter().map(|hash| format!("{hash:08x}")).collect() }
            }
        }
    }
}

/// Change of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DirtyChange {
    pub change: StatusChange,
    /// Whether the size of the change is known.
    pub is_whole: bool,
}

impl DirtyEntry {
    /// Returns the path as git knows it. `None`: the note is damaged.
    pub(super) fn path(&self) -> Option<Vec<u8>> {
        if !self.path.starts_with('"') {
            return Some(self.path.clone().into_bytes());
        }
        unquote(self.path.as_bytes()).filter(|(_, rest)| rest.is_empty()).map(|(path, _)| path)
    }

    /// Returns the change of the file since the note. `None`: unchanged.
    pub(super) fn became(&self, file: &Path) -> Option<DirtyChange> {
        let known = |change| Some(DirtyChange { change, is_whole: true });
        match &self.was {
            DirtyBefore::Directory if file.is_dir() => None,
            DirtyBefore::Directory => known(StatusChange { lines: 1, ..StatusChange::default() }),
            DirtyBefore::Absent => fs::symlink_metadata(file).is_ok().then(|| new(file)),
            &DirtyBefore::Sized { size, seconds, nanos } => {
                let is_same = fs::symlink_metadata(file)
                    .is_ok_and(|now| (now.len(), now.mtime(), now.mtime_nsec()) == (size, seconds, nanos));
                let change = StatusChange { lines: 1, ..StatusChange::default() };
                (!is_same).then_some(DirtyChange { change, is_whole: false })
            }
            DirtyBefore::Opaque { digest } => match DirtyNow::read(file, GROWN_BYTES) {
                DirtyNow::Opaque { digest: now } if now == *digest => None,
                _ => known(StatusChange { lines: 1, ..StatusChange::default() }),
            },
            DirtyBefore::Text { digest, lines } => match DirtyNow::read(file, GROWN_BYTES) {
                DirtyNow::Text { digest: now, .. } if now == *digest => None,
                DirtyNow::Text { text, is_cut, .. } => {
                    Some(DirtyChange { change: compare(lines, &text), is_whole: !is_cut })
                }
                DirtyNow::Absent | DirtyNow::Opaque { .. } | DirtyNow::Other => known(compare(lines, b"")),
            },
        }
    }
}

/// Returns the change of a new file: all its lines. A file without readable text counts as one line.
pub(crate) fn new(file: &Path) -> DirtyChange {
    match DirtyNow::read(file, GROWN_BYTES) {
        DirtyNow::Text { text, is_cut, .. } => DirtyChange { change: compare("", &text), is_whole: !is_cut },
        DirtyNow::Absent | DirtyNow::Opaque { .. } | DirtyNow::Other => {
            DirtyChange { change: StatusChange { lines: 1, ..StatusChange::default() }, is_whole: true }
        }
    }
}

/// Counts lines that occur in only one of the two texts. Returns at least one: lines may have moved, or two
/// lines may share a hash.
fn compare(then: &str, now: &[u8]) -> StatusChange {
    let mut left: HashMap<u32, u64> = HashMap::new();
    for digits in then.as_bytes().chunks(8) {
        let hash = str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        *left.entry(hash.unwrap_or_default()).or_default() += 1;
    }
    let mut change = StatusChange::default();
    for (at, line) in (1..).zip(lines_of(now)) {
        match left.get_mut(&hash(line)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                change.lines += 1;
                change.marks.extend(todo_marks::spot(line, Some(at)));
            }
        }
    }
    change.lines = (change.lines + left.values().sum::<u64>()).max(1);
    change
}

enum DirtyNow {
    Absent,
    Text { text: Vec<u8>, digest: Digest, is_cut: bool },
    Opaque { digest: Digest },
    Other,
}

impl DirtyNow {
    fn read(path: &Path, cap: u64) -> DirtyNow {
        let Ok(found) = fs::symlink_metadata(path) else {
            return DirtyNow::Absent;
        };
        if found.is_symlink() {
            return match fs::read_link(path) {
                Ok(target) => DirtyNow::Opaque {
                    digest: Digest::hash_parts([b"link", target.as_os_str().as_encoded_bytes()]),
                },
                Err(_) => DirtyNow::Other,
            };
        }
        let Some(mut text) = open_regular(path).ok().and_then(|file| read_capped(file, cap + 1).ok()) else {
            return DirtyNow::Other;
        };
        let is_cut = text.len() as u64 > cap;
        text.truncate(usize::try_from(cap).unwrap_or(usize::MAX));
        let kind: &[u8] = if found.mode() & 0o100 == 0 { b"file" } else { b"program" };
        let digest = Digest::hash_parts([kind, &text]);
        // Git uses the start of the file too.
        match memchr::memchr(0, text.get(..8000).unwrap_or(&text)) {
            Some(_) => DirtyNow::Opaque { digest },
            None => DirtyNow::Text { text, digest, is_cut },
        }
    }
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = text.strip_suffix(b"\n").unwrap_or(text);
    end.split(|&byte| byte == b'\n').take(if text.is_empty() { 0 } else { usize::MAX })
}

/// Returns the FNV-1a hash: short, fast, and equal in all versions of Sprag.
fn hash(line: &[u8]) -> u32 {
    line.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
