//! Reads log content that the index does not have yet, with several threads.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::{io, thread};

use sprag_memory::index::analysis::table;
use sprag_memory::index::segment::build::{self, DocumentDraft};
use sprag_memory::index::segment::{Segment, merge};

use super::reader::MappedIndex;
use super::sources::{self, Covered, DocumentEvent, IndexSource, SourceEvents};

/// Most bytes of log that one thread turns into a segment.
const PIECE: u64 = 64 * 1024 * 1024;

/// Parts of the sources that the index has not read.
pub(crate) struct IngestTask {
    known: Vec<Covered>,
    parts: Vec<Unread>,
}

struct Unread {
    number: u16,
    name: String,
    file: File,
    from: u64,
    to: u64,
}

impl IngestTask {
    /// Returns the task for these sources. `None`: there are too many sources.
    pub(super) fn new(index: &MappedIndex, wanted: Vec<IndexSource>) -> Option<IngestTask> {
        let known: Vec<Covered> =
            index.manifest.iter().flat_map(|manifest| manifest.sources.clone()).collect();
        let mut parts = Vec::new();
        let mut next = known.len();
        for source in wanted {
            let Some(file) = source.open() else { continue };
            let number = known.iter().position(|known| known.name == source.name);
            let from = number.map_or(0, |number| known[number].length);
            let number = number.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            let to = file.metadata().map_or(from, |found| found.len());
            parts.push(Unread { number: u16::try_from(number).ok()?, name: source.name, file, from, to });
        }
        Some(IngestTask { known, parts })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.to.saturating_sub(part.from)).sum()
    }

    /// Reads all parts. Uses two threads for large parts; the result is the same.
    pub(super) fn read(&self) -> io::Result<IngestResult> {
        let mut jobs = Vec::new();
        let size = (self.bytes() / 2 + 1).clamp(1024 * 1024, PIECE);
        for (at, part) in self.parts.iter().enumerate() {
            let mut from = part.from;
            while from < part.to {
                let to = part.line_end((from + size).min(part.to))?;
                jobs.push((at, from, to));
                from = to;
            }
        }
        let jobs = grouped(jobs, size);
        let mut read = IngestResult { segments: Vec::new(), events: Vec::new(), ends: HashMap::new() };
        for pair in jobs.chunks(2) {
            let done: Vec<io::Result<IngestPool>> = thread::scope(|scope| {
                let started: Vec<_> = pair[1..].iter().map(|job| scope.spawn(|| self.piece(job))).collect();
                let mut done = vec![self.piece(&pair[0])];
                done.extend(
                    started
                        .into_iter()
                        .map(|job| job.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))),
                );
                done
            });
            for piece in done {
                let piece = piece?;
                read.segments.extend(piece.segment);
                read.events.extend(piece.events);
                for (number, end) in piece.ends {
                    let known = read.ends.entry(number).or_insert(end);
                    *known = end.max(*known);
                }
            }
        }
        read.events.sort_by_key(|event| event.at);
        read.segments = joined(read.segments);
        Ok(read)
    }

    fn piece(&self, jobs: &[(usize, u64, u64)]) -> io::Result<IngestPool> {
        let mut drafts: Vec<DocumentDraft> = Vec::new();
        let mut piece = IngestPool::default();
        for &(at, from, to) in jobs {
            let part = &self.parts[at];
            let said: SourceEvents = sources::read(&part.file, part.number, from, to)?;
            drafts.extend(said.drafts);
            piece.events.extend(said.changes);
            piece.ends.push((part.number, said.end));
        }
        if !drafts.is_empty() {
            piece.segment = Some(build::build(drafts, &table::built_in()));
        }
        Ok(piece)
    }

    pub(super) fn covered(&self, ends: &HashMap<u16, u64>) -> io::Result<Vec<Covered>> {
        let mut all = self.known.clone();
        for part in &self.parts {
            let end = ends.get(&part.number).copied().unwrap_or(part.from);
            let covered = Covered::for_source(&part.name, &part.file, end)?;
            match all.get_mut(usize::from(part.number)) {
                Some(known) => *known = covered,
                None => all.push(covered),
            }
        }
        Ok(all)
    }
}

impl Unread {
    /// Returns the end of the line at this offset, so that two readers share no line.
    fn line_end(&self, at: u64) -> io::Result<u64> {
        let mut buffer = [0; 4096];
        // The line feed itself may be the byte before the offset.
        let mut from = at.saturating_sub(1);
        while from < self.to {
            let count = self.file.read_at(&mut buffer, from)?;
            if count == 0 {
                break;
            }
            if let Some(end) = memchr::memchr(b'\n', &buffer[..count]) {
                return Ok((from + end as u64 + 1).min(self.to));
            }
            from += count as u64;
        }
        Ok(self.to)
    }
}

/// Most documents of joined segments; larger ones stay separate.
const JOINED: u64 = 32 * 1024;

/// Joins the segments of several threads, unless they are large.
fn joined(segments: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let open: Vec<Segment<'_>> = segments.iter().filter_map(|bytes| Segment::open(bytes).ok()).collect();
    let docs: u64 = open.iter().map(|segment| u64::from(segment.count())).sum();
    if open.len() < 2 || docs > JOINED {
        return segments;
    }
    vec![merge::merge(&open, table::built_in().id())]
}

/// Groups small parts of several sources into one job.
fn grouped(parts: Vec<(usize, u64, u64)>, size: u64) -> Vec<Vec<(usize, u64, u64)>> {
    let mut jobs: Vec<Vec<(usize, u64, u64)>> = Vec::new();
    let mut room = 0;
    for part in parts {
        let bytes = part.2 - part.1;
        match jobs.last_mut() {
            Some(job) if bytes <= room => job.push(part),
            _ => {
                room = size;
                jobs.push(vec![part]);
            }
        }
        room = room.saturating_sub(bytes);
    }
    jobs
}

/// Result of one thread.
#[derive(Default)]
struct IngestPool {
    segment: Option<Vec<u8>>,
    events: Vec<DocumentEvent>,
    ends: Vec<(u16, u64)>,
}

/// Result of all sources.
pub(crate) struct IngestResult {
    pub segments: Vec<Vec<u8>>,
    pub events: Vec<DocumentEvent>,
    /// End of the last whole line of each source.
    pub ends: HashMap<u16, u64>,
}
