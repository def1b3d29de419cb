//! What the user had unfinished when a session started: enough of each file to tell later how much
//! of it is new. Lines are kept as short hashes, never as text.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;

use super::git_status::Change;
use super::todo_marks;
use crate::git::quoted_path::{quote, unquote};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;

/// Bounds on what is looked into: work, not time, so that the answer does not depend on the load.
/// What is beyond them is known by its size and time.
const FILES: usize = 500;
const FILE_BYTES: u64 = 1024 * 1024;
const ALL_BYTES: u64 = 32 * 1024 * 1024;
const ALL_LINES: usize = 400_000;
/// A file may have grown since.
const GROWN_BYTES: u64 = 2 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    path: String,
    was: Was,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Was {
    Absent,
    Text {
        digest: Digest,
        /// Eight hex digits for each line.
        lines: String,
    },
    /// No text: a link or a binary file.
    Opaque {
        digest: Digest,
    },
    Sized {
        size: u64,
        seconds: i64,
        nanos: i64,
    },
    /// A repository within this one.
    Directory,
}

/// Looks at these files of a worktree.
pub fn look(worktree: &Path, paths: &[Vec<u8>]) -> Vec<Entry> {
    let mut left = Left { files: FILES, bytes: ALL_BYTES, lines: ALL_LINES };
    paths.iter().map(|path| Entry { path: written(path), was: left.look(&below(worktree, path)) }).collect()
}

pub fn below(worktree: &Path, path: &[u8]) -> PathBuf {
    worktree.join(OsStr::from_bytes(path))
}

/// JSON knows no bytes: what is not text is written as git would.
fn written(path: &[u8]) -> String {
    match str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => quote(path),
    }
}

struct Left {
    files: usize,
    bytes: u64,
    lines: usize,
}

impl Left {
    fn look(&mut self, path: &Path) -> Was {
        let Ok(found) = fs::symlink_metadata(path) else {
            return Was::Absent;
        };
        if found.is_dir() {
            return Was::Directory;
        }
        let sized = || Was::Sized { size: found.len(), seconds: found.mtime(), nanos: found.mtime_nsec() };
        if self.files == 0 || found.len() > FILE_BYTES.min(self.bytes) {
            return sized();
        }
        self.files -= 1;
        match Now::read(path, FILE_BYTES) {
            Now::Text { is_cut: true, .. } | Now::Other => sized(),
            Now::Absent => Was::Absent,
            Now::Opaque { digest } => {
                self.bytes -= found.len().min(self.bytes);
                Was::Opaque { digest }
            }
            Now::Text { text, digest, is_cut: false } => {
                self.bytes -= (text.len() as u64).min(self.bytes);
                let hashes: Vec<u32> = lines_of(&text).take(self.lines + 1).map(hash).collect();
                if hashes.len() > self.lines {
                    return sized();
                }
                self.lines -= hashes.len();
                Was::Text { digest, lines: hashes.iter().map(|hash| format!("{hash:08x}")).collect() }
            }
        }
    }
}

/// What has become of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Became {
    pub change: Change,
    /// Its size is known, not only that it changed.
    pub is_whole: bool,
}

impl Entry {
    /// The path as git knows it. `None`: it is damaged.
    pub fn path(&self) -> Option<Vec<u8>> {
        if !self.path.starts_with('"') {
            return Some(self.path.clone().into_bytes());
        }
        unquote(self.path.as_bytes()).filter(|(_, rest)| rest.is_empty()).map(|(path, _)| path)
    }

    /// How the file differs from what it was. `None`: it does not.
    pub fn became(&self, file: &Path) -> Option<Became> {
        let known = |change| Some(Became { change, is_whole: true });
        match &self.was {
            Was::Directory if file.is_dir() => None,
            Was::Directory => known(Change { lines: 1, ..Change::default() }),
            Was::Absent => fs::symlink_metadata(file).is_ok().then(|| new(file)),
            &Was::Sized { size, seconds, nanos } => {
                let is_same = fs::symlink_metadata(file)
                    .is_ok_and(|now| (now.len(), now.mtime(), now.mtime_nsec()) == (size, seconds, nanos));
                let change = Change { lines: 1, ..Change::default() };
                (!is_same).then_some(Became { change, is_whole: false })
            }
            Was::Opaque { digest } => match Now::read(file, GROWN_BYTES) {
                Now::Opaque { digest: now } if now == *digest => None,
                _ => known(Change { lines: 1, ..Change::default() }),
            },
            Was::Text { digest, lines } => match Now::read(file, GROWN_BYTES) {
                Now::Text { digest: now, .. } if now == *digest => None,
                Now::Text { text, is_cut, .. } => {
                    Some(Became { change: compare(lines, &text), is_whole: !is_cut })
                }
                Now::Absent | Now::Opaque { .. } | Now::Other => known(compare(lines, b"")),
            },
        }
    }
}

/// A file that was not there: all of its lines are new. One without readable text counts as one.
pub fn new(file: &Path) -> Became {
    match Now::read(file, GROWN_BYTES) {
        Now::Text { text, is_cut, .. } => Became { change: compare("", &text), is_whole: !is_cut },
        Now::Absent | Now::Opaque { .. } | Now::Other => {
            Became { change: Change { lines: 1, ..Change::default() }, is_whole: true }
        }
    }
}

/// Lines that are in one of the two and not in the other. At least one: lines may have changed
/// places, or a hash may be that of another line too.
fn compare(then: &str, now: &[u8]) -> Change {
    let mut left: HashMap<u32, u64> = HashMap::new();
    for digits in then.as_bytes().chunks(8) {
        let hash = str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        *left.entry(hash.unwrap_or_default()).or_default() += 1;
    }
    let mut change = Change::default();
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

enum Now {
    Absent,
    Text { text: Vec<u8>, digest: Digest, is_cut: bool },
    Opaque { digest: Digest },
    Other,
}

impl Now {
    fn read(path: &Path, cap: u64) -> Now {
        let Ok(found) = fs::symlink_metadata(path) else {
            return Now::Absent;
        };
        if found.is_symlink() {
            return match fs::read_link(path) {
                Ok(target) => {
                    Now::Opaque { digest: Digest::of([b"link", target.as_os_str().as_encoded_bytes()]) }
                }
                Err(_) => Now::Other,
            };
        }
        let Some(mut text) = open_regular(path).ok().and_then(|file| read_capped(file, cap + 1).ok()) else {
            return Now::Other;
        };
        let is_cut = text.len() as u64 > cap;
        text.truncate(usize::try_from(cap).unwrap_or(usize::MAX));
        let kind: &[u8] = if found.mode() & 0o100 == 0 { b"file" } else { b"program" };
        let digest = Digest::of([kind, &text]);
        // As git tells: by the start of the file.
        match memchr::memchr(0, text.get(..8000).unwrap_or(&text)) {
            Some(_) => Now::Opaque { digest },
            None => Now::Text { text, digest, is_cut },
        }
    }
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = text.strip_suffix(b"\n").unwrap_or(text);
    end.split(|&byte| byte == b'\n').take(if text.is_empty() { 0 } else { usize::MAX })
}

/// FNV-1a: short, quick, and the same in every version of ours.
fn hash(line: &[u8]) -> u32 {
    line.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
