//! Keeps the index up to date: turns new records into a segment, merges small segments, and rebuilds a broken
//! index. Only one process does this at a time and no other process waits for it. Nothing changes until the
//! manifest is replaced.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sprag_base::result::Discard as _;
use sprag_memory::index::analysis::table;
use sprag_memory::index::segment::bytes::checksum;
use sprag_memory::index::segment::columns::{ColumnRow, ColumnView, Columns};
use sprag_memory::index::segment::{Segment, merge};
use sprag_memory::usage::Uses;

use super::ingest::{IngestResult, IngestTask};
use super::manifest::{self, IndexFile, Manifest};
use super::reader::{IndexLag, MappedIndex};
use super::sources::{self, DocumentEvent, IndexSource};
use crate::store::{Store, lock_within};
use crate::sys::disk::{self, Disk};
use crate::sys::mmap::Mapped;

/// Most documents that every reader parses again before they become a segment.
const TAIL: usize = 64;
/// Most such bytes; many of them may belong to other records.
const TAIL_BYTES: u64 = 256 * 1024;
/// Bytes after which a hook makes a segment: about 60 learnings.
const HOOK_TAIL: u64 = 64 * 1024;
/// Most segments of an index.
const SEGMENTS: usize = 8;
/// Segments that remain after a merge.
const LEFT: usize = 4;
/// Most documents that a merge within a hook takes.
const HOOK_DOCS: u64 = 20_000;
/// Most bytes that a hook reads.
const HOOK_BYTES: u64 = 16 * 1024 * 1024;
/// Most documents of one segment; larger merges cost more than they gain.
const LARGEST: u64 = 256 * 1024;

/// Amount of work for one renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexWork {
    /// Only work that a hook may do after its reply.
    Hook,
    /// All work.
    All,
    /// A rebuild from the sources.
    Rebuild,
}

/// Size of the index after a renewal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    pub documents: u64,
    pub segments: usize,
    pub bytes: u64,
}

/// Reports whether the index is broken or far enough behind to renew it.
pub fn is_due(behind: &IndexLag) -> bool {
    behind.is_broken || behind.documents > TAIL || behind.bytes > TAIL_BYTES
}

/// Renews the index after the reply of a hook, if enough new content exists.
pub fn after_reply(store: &Store, disk: &dyn Disk, further: &[PathBuf]) -> io::Result<()> {
    let known = manifest::read(store).map(|manifest| manifest.sources).unwrap_or_default();
    let wanted = sources::all(store, further);
    let is_gone = |known: &&sources::Covered| {
        !wanted.iter().any(|source| source.name == known.name) && !is_elsewhere(&known.name)
    };
    let gone = known.iter().filter(is_gone).count() as u64 * HOOK_TAIL;
    let behind: u64 = wanted
        .iter()
        .map(|source| {
            let covered =
                known.iter().find(|known| known.name == source.name).map_or(0, |known| known.length);
            // A shorter file has other content, which `renew` checks.
            let length = std::fs::metadata(&source.path).map_or(0, |found| found.len());
            if length < covered { HOOK_TAIL } else { length - covered }
        })
        .sum();
    if behind + gone >= HOOK_TAIL {
        renew(store, disk, further, IndexWork::Hook)?;
    }
    Ok(())
}

/// Renews the index. `None`: another process does it, or the work is too large for a hook.
pub fn renew(
    store: &Store,
    disk: &dyn Disk,
    further: &[PathBuf],
    work: IndexWork,
) -> io::Result<Option<Renewed>> {
    let wanted = sources::all(store, further);
    if wanted.is_empty() {
        return Ok(Some(Renewed::default()));
    }
    disk.make_dirs(&store.cache_dir())?;
    let Some(_lock) = lock(store)? else { return Ok(None) };
    let index = match work {
        IndexWork::Rebuild => None,
        IndexWork::Hook | IndexWork::All => MappedIndex::open(store).flatten(),
    };
    let is_usable = index.as_ref().is_some_and(|index| holds(index, &wanted));
    let index = index.filter(|_| is_usable).unwrap_or_default();
    let Some(reading) = IngestTask::new(&index, wanted) else { return Ok(None) };
    if work == IndexWork::Hook && reading.bytes() > HOOK_BYTES {
        return Ok(None);
    }
    let read = reading.read()?;
    let sources = reading.covered(&read.ends)?;
    let written = write(store, disk, index, read, work)?;
    let manifest = Manifest::new(written.segments, written.columns, sources);
    manifest::write(store, disk, &manifest)?;
    sweep(store, disk, &manifest)?;
    Ok(Some(Renewed {
        documents: manifest.segments.iter().map(|piece| u64::from(piece.docs)).sum(),
        segments: manifest.segments.len(),
        bytes: manifest.pieces().map(|piece| piece.bytes).sum(),
    }))
}

/// Lock of the index. It is unlocked explicitly, because a process that is being started may still hold a
/// copy of the file.
struct IndexLock(File);

impl Drop for IndexLock {
    fn drop(&mut self) {
        self.0.unlock().discard("the lock ends with the last copy of the file");
    }
}

fn lock(store: &Store) -> io::Result<Option<IndexLock>> {
    let path = store.dir.join("index.lock");
    let file = disk::append_regular(&path)?;
    Ok(lock_within(&file, std::time::Duration::ZERO)?.then_some(IndexLock(file)))
}

/// Reports whether a source is an existing file of another worktree. The texts of a deleted file are dropped.
fn is_elsewhere(name: &str) -> bool {
    !name.starts_with("log/") && Path::new(name).exists()
}

/// Reports whether the index still agrees with the existing sources. A source that is not requested now may
/// be requested again later.
fn holds(index: &MappedIndex, wanted: &[IndexSource]) -> bool {
    let covered = index.manifest.iter().flat_map(|manifest| &manifest.sources);
    covered.into_iter().all(|known| match wanted.iter().find(|source| source.name == known.name) {
        Some(source) => source.open().is_some_and(|file| known.is_of(&file)),
        None => is_elsewhere(&known.name),
    })
}

/// Segment that is already on disk, or a new one.
enum SegmentContent {
    Old(Mapped, IndexFile),
    New(Vec<u8>),
}

impl SegmentContent {
    fn bytes(&self) -> &[u8] {
        match self {
            SegmentContent::Old(mapped, _) => mapped,
            SegmentContent::New(bytes) => bytes,
        }
    }

    fn docs(&self) -> u64 {
        Segment::open(self.bytes()).map_or(0, |segment| u64::from(segment.count()))
    }
}

struct WrittenSegment {
    segments: Vec<IndexFile>,
    columns: IndexFile,
}

fn write(
    store: &Store,
    disk: &dyn Disk,
    index: MappedIndex,
    read: IngestResult,
    work: IndexWork,
) -> io::Result<WrittenSegment> {
    let pieces = index.manifest.map(|manifest| manifest.segments).unwrap_or_default();
    let mut columns =
        index.columns.as_ref().and_then(|bytes| ColumnView::open(bytes)).map(|view| view.read());
    let columns: &mut Columns = columns.get_or_insert_default();
    let mut contents: Vec<SegmentContent> = index
        .segments
        .into_iter()
        .zip(pieces)
        .map(|(mapped, piece)| SegmentContent::Old(mapped, piece))
        .collect();
    let mut rows: Vec<Vec<ColumnRow>> = std::mem::take(&mut columns.segments);
    for bytes in read.segments {
        let own = build_rows(&bytes, &contents, &mut rows, &mut columns.early);
        rows.push(own);
        contents.push(SegmentContent::New(bytes));
    }
    tell(&read.events, &contents, &mut rows, &mut columns.early);
    while let Some(chosen) = to_merge(&contents, work) {
        merge_some(&mut contents, &mut rows, &chosen);
    }
    let mut segments = Vec::with_capacity(contents.len());
    for content in &contents {
        segments.push(match content {
            SegmentContent::Old(_, piece) => piece.clone(),
            SegmentContent::New(bytes) => put(store, disk, "seg", "idx", bytes, content.docs())?,
        });
    }
    columns.segments = rows;
    let docs = segments.iter().map(|piece| u64::from(piece.docs)).sum();
    let columns = put(store, disk, "use", "col", &columns.bytes(), docs)?;
    Ok(WrittenSegment { segments, columns })
}

/// Returns the rows of a new segment. They take over the use counts of the same ids.
fn build_rows(
    bytes: &[u8],
    old: &[SegmentContent],
    rows: &mut [Vec<ColumnRow>],
    early: &mut Vec<(String, Uses)>,
) -> Vec<ColumnRow> {
    let Ok(segment) = Segment::open(bytes) else { return Vec::new() };
    let old: Vec<Segment<'_>> =
        old.iter().filter_map(|content| Segment::open(content.bytes()).ok()).collect();
    let mut early_ids: HashMap<String, Uses> = early.drain(..).collect();
    let mut own = vec![ColumnRow::default(); segment.count() as usize];
    if !early_ids.is_empty() {
        for (row, doc) in own.iter_mut().zip(segment.docs()) {
            let early = segment.id(doc).and_then(|id| early_ids.remove(id.as_str()));
            row.uses = early.unwrap_or_default();
        }
    }
    for (other, rows) in old.iter().zip(rows.iter_mut()) {
        for (doc, older) in segment.in_both(other) {
            let (Some(row), Some(card)) = (own.get_mut(doc as usize), segment.card(doc)) else { continue };
            let Some(known) = rows.get_mut(older as usize).filter(|known| !known.is_replaced) else {
                continue;
            };
            row.uses = known.uses;
            if other.card(older).is_none_or(|older| card.origin.rank() > older.origin.rank()) {
                known.is_replaced = true
            } else {
                row.is_replaced = true
            }
        }
    }
    early.extend(early_ids);
    early.sort_by(|a, b| a.0.cmp(&b.0));
    own
}

/// Applies events to documents in their order.
fn tell(
    events: &[DocumentEvent],
    contents: &[SegmentContent],
    rows: &mut [Vec<ColumnRow>],
    early: &mut Vec<(String, Uses)>,
) {
    let segments: Vec<Segment<'_>> =
        contents.iter().filter_map(|content| Segment::open(content.bytes()).ok()).collect();
    for event in events {
        let mut is_known = false;
        for (segment, rows) in segments.iter().zip(rows.iter_mut()) {
            let row = segment.by_id(&event.id).and_then(|doc| rows.get_mut(doc as usize));
            if let Some(row) = row {
                row.uses.apply(event.change, event.at);
                is_known = true;
            }
        }
        if !is_known {
            match early.iter_mut().find(|(id, _)| *id == event.id) {
                Some((_, uses)) => uses.apply(event.change, event.at),
                None => {
                    let mut uses = Uses::default();
                    uses.apply(event.change, event.at);
                    early.push((event.id.clone(), uses));
                }
            }
        }
    }
    early.sort_by(|a, b| a.0.cmp(&b.0));
}

/// Returns the segments to merge, if any.
fn to_merge(contents: &[SegmentContent], work: IndexWork) -> Option<Vec<usize>> {
    let mut by_size: Vec<(u64, usize)> = contents.iter().map(SegmentContent::docs).zip(0..).collect();
    by_size.sort_unstable();
    if contents.len() <= SEGMENTS {
        return None;
    }
    let chosen = by_size.into_iter().take(contents.len() - LEFT);
    let mut sum = 0;
    let chosen: Vec<usize> = chosen
        .take_while(|(docs, _)| {
            sum += docs;
            sum <= if work == IndexWork::Hook { HOOK_DOCS } else { LARGEST }
        })
        .map(|(_, at)| at)
        .collect();
    (chosen.len() > 1).then_some(chosen)
}

fn merge_some(contents: &mut Vec<SegmentContent>, rows: &mut Vec<Vec<ColumnRow>>, chosen: &[usize]) {
    let merged = {
        let segments: Vec<Segment<'_>> =
            chosen.iter().filter_map(|&at| Segment::open(contents[at].bytes()).ok()).collect();
        let bytes = merge::merge(&segments, table::built_in().id());
        let mut known: HashMap<(u16, u64), ColumnRow> = HashMap::new();
        for (segment, &at) in segments.iter().zip(chosen) {
            for doc in segment.docs() {
                if let (Some(card), Some(row)) = (segment.card(doc), rows[at].get(doc as usize)) {
                    known.insert((card.origin.source, card.origin.offset), *row);
                }
            }
        }
        let of_merged = Segment::open(&bytes).map_or_else(
            |_| Vec::new(),
            |segment| {
                let origin = |doc| segment.card(doc).map(|card| (card.origin.source, card.origin.offset));
                let row =
                    |doc| origin(doc).and_then(|origin| known.get(&origin)).copied().unwrap_or_default();
                segment.docs().map(row).collect()
            },
        );
        (bytes, of_merged)
    };
    let mut gone: Vec<usize> = chosen.to_vec();
    gone.sort_unstable_by(|a, b| b.cmp(a));
    for at in gone {
        contents.remove(at);
        rows.remove(at);
    }
    contents.push(SegmentContent::New(merged.0));
    rows.push(merged.1);
}

/// Bytes per write. The system caches a file in pieces of this size and maps whole pieces. With large pieces
/// every search would use as much memory as the index.
const CHUNK: usize = 16 * 1024;

/// Writes a file whose name is the hash of its content, unless it exists.
fn put(
    store: &Store,
    disk: &dyn Disk,
    kind: &str,
    ending: &str,
    bytes: &[u8],
    docs: u64,
) -> io::Result<IndexFile> {
    let sum = checksum(bytes);
    let file = format!("{kind}-{sum:016x}.{ending}");
    disk::replace_by_pieces(disk, &store.cache_dir().join(&file), bytes, CHUNK)?;
    Ok(IndexFile { file, bytes: bytes.len() as u64, docs: u32::try_from(docs).unwrap_or(u32::MAX), sum })
}

/// Removes files that the manifest does not name. A process that has such a file open keeps it.
fn sweep(store: &Store, disk: &dyn Disk, manifest: &Manifest) -> io::Result<()> {
    let named: HashSet<&str> = manifest.pieces().map(|piece| piece.file.as_str()).collect();
    for ending in ["idx", "col"] {
        for path in crate::store::files_with_ending(&store.cache_dir(), ending) {
            let is_named =
                path.file_name().is_some_and(|name| named.contains(name.to_string_lossy().as_ref()));
            if !is_named {
                disk.remove(&path)?;
            }
        }
    }
    Ok(())
}
