//! A board kept beside its log, because ten thousand stages write more than can be folded at every look. It is derived:
//! deleted it is made again, and one that is of another log or another build is as good as none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_govern::session_facts::Process;
use sprag_host::sys::disk::{self, Disk};
use sprag_plan::view::{RunBoard, StageRow};

/// Another build may mean something else by the same bytes.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/board/4");
/// Larger than that of ten thousand stages.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Of the log at both ends: the start names the run, the end the last thing that happened.
const COMPARED: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct BoardFile {
    build: String,
    covers: Covers,
    /// Who keeps it up to date.
    by: Option<Process>,
    /// Without the rows that stand behind all this.
    board: RunBoard,
}

/// How much of a board is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardPart {
    /// Rows that somebody may want to know of, if there are many; the others are counted.
    Telling,
    All,
}

/// What of a log a board was made from. A log is only ever appended to, so that its ends tell it from all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Covers {
    pub bytes: u64,
    first: String,
    last: String,
}

/// A board that was found.
pub(crate) struct CachedBoard {
    pub board: RunBoard,
    pub bytes: u64,
    pub by: Option<Process>,
}

pub(crate) fn path(log: &Path) -> PathBuf {
    log.with_extension("board")
}

impl Covers {
    /// So much of a log.
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

/// `None`: there is none of this log.
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
