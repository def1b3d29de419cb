//! A cached board beside its log, because folding the log of ten thousand stages at each read is too slow.
//! The cache is derived data: Sprag ignores a cache of another log or build, and writes it again after a
//! deletion.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_govern::session_facts::Process;
use sprag_host::sys::disk::{self, Disk};
use sprag_plan::view::{RunBoard, StageRow};

/// Another build may use another format.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/board/4");
/// Maximum size: more than ten thousand stages need.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Bytes compared at both ends of the log: the start names the run, the end has the last record.
const COMPARED: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct BoardFile {
    build: String,
    covers: Covers,
    /// The process that keeps the cache up to date.
    by: Option<Process>,
    /// Without the hidden rows, which follow after this in the file.
    board: RunBoard,
}

/// The part of a board to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardPart {
    /// If there are many rows, only those of interest; the others are counted.
    Telling,
    All,
}

/// The part of a log that a board covers. A log only grows, so its two ends identify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Covers {
    pub bytes: u64,
    first: String,
    last: String,
}

/// A board from the cache.
pub(crate) struct CachedBoard {
    pub board: RunBoard,
    pub bytes: u64,
    pub by: Option<Process>,
}

pub(crate) fn path(log: &Path) -> PathBuf {
    log.with_extension("board")
}

impl Covers {
    /// Reads the digests of the first `bytes` bytes of a log.
    pub(crate) fn read(log: &Path, bytes: u64) -> io::Result<Covers> {
        let file = disk::open_regular(log)?;
        let size = COMPARED.min(bytes);
        Ok(Covers { bytes, first: part(&file, 0, size)?, last: part(&file, bytes - size, size)? })
    }
}

fn part(file: &File, from: u64, size: u64) -> io::Result<String> {
    let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(Digest::hash_parts([&bytes]).to_string())
}

/// Loads the cached board; returns `None` if there is none for this log.
pub(crate) fn load(log: &Path, want: BoardPart) -> Option<CachedBoard> {
    let bytes = disk::read_regular(&path(log), LARGEST).ok()?;
    let (kept, rest): (BoardFile, &[u8]) = postcard::take_from_bytes(&bytes).ok()?;
    let is_ours = kept.build == BUILD && Covers::read(log, kept.covers.bytes).ok()? == kept.covers;
    if !is_ours {
        return None;
    }
    let board = match want {
        BoardPart::Telling => kept.board,
        BoardPart::All => kept.board.joined(postcard::from_bytes(rest).ok()?),
    };
    Some(CachedBoard { board, bytes: kept.covers.bytes, by: kept.by })
}

pub(crate) fn keep(
    log: &Path,
    disk: &dyn Disk,
    covers: Covers,
    by: Option<Process>,
    board: RunBoard,
) -> io::Result<()> {
    let (board, rest): (RunBoard, Vec<StageRow>) = board.split();
    let kept = BoardFile { build: BUILD.to_owned(), covers, by, board };
    let bytes = postcard::to_allocvec(&kept).map_err(io::Error::other)?;
    let bytes = postcard::to_extend(&rest, bytes).map_err(io::Error::other)?;
    disk::replace_derived(disk, &path(log), &bytes)
}
