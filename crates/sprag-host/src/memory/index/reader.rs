//! Opens the index for reading, without a lock. Records written after the index are read from their sources,
//! so an answer is as new as the log.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use sprag_base::record::Record;
use sprag_memory::index::analysis::table;
use sprag_memory::index::query::{self, Corpus, SegmentShelf};
use sprag_memory::index::segment::bits::Bits;
use sprag_memory::index::segment::columns::{ColumnRow, ColumnView};
use sprag_memory::index::segment::{DocumentCard, SECTIONS, Segment, SegmentSection, build};
use sprag_memory::learning::LearningStatus;
use sprag_memory::usage::{ROW, Uses};

use super::manifest::{self, Manifest};
use super::sources::{self, DocumentEvent, IndexSource, SourceEvents};
use crate::store::Store;
use crate::sys::mmap::Mapped;

pub struct IndexReader {
    segments: Vec<Mapped>,
    /// Rows of each segment.
    rows: Vec<Option<SegmentRows>>,
    columns: Option<Mapped>,
    /// Newer records, as a separate segment.
    tail: Vec<u8>,
    /// Rows that differ from the columns, by segment and document.
    changed: HashMap<(usize, u32), ColumnRow>,
    sources: Vec<SourceRef>,
    pub behind: IndexLag,
}

/// A source with its number.
struct SourceRef {
    source: IndexSource,
    /// Whether the indexed part of the source is unchanged.
    is_served: bool,
}

/// Content that the index does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexLag {
    pub documents: usize,
    pub bytes: u64,
    /// Whether the reader left out content because there was too much.
    pub is_cut: bool,
    /// Whether the index is missing or partly invalid.
    pub is_broken: bool,
}

/// How much unindexed content a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailRead {
    /// At most this many bytes at the end of each source, because the caller waits.
    Last(u64),
    All,
}

/// Selection of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFilter {
    /// Active and stale documents.
    InUse,
    /// Archived and superseded documents too.
    All,
}

/// Position of a document in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRef {
    pub shelf: usize,
    pub doc: u32,
}

/// Attempts of a reader when files are replaced while it opens them.
const TRIES: usize = 5;

impl IndexReader {
    pub fn open(store: &Store, further: &[PathBuf], reach: TailRead) -> io::Result<IndexReader> {
        let wanted = sources::all(store, further);
        let index = (0..TRIES).find_map(|_| MappedIndex::open(store)).flatten();
        IndexReader::read(index, wanted, reach)
    }

    fn read(
        index: Option<MappedIndex>,
        wanted: Vec<IndexSource>,
        reach: TailRead,
    ) -> io::Result<IndexReader> {
        let MappedIndex { manifest, segments, columns } = index.unwrap_or_default();
        let mut library = IndexReader {
            behind: IndexLag { is_broken: manifest.is_none() && !wanted.is_empty(), ..IndexLag::default() },
            rows: segments.iter().map(SegmentRows::from_mapped).collect(),
            segments,
            columns,
            tail: Vec::new(),
            changed: HashMap::new(),
            sources: Vec::new(),
        };
        let covered = manifest.map(|manifest| manifest.sources).unwrap_or_default();
        for known in &covered {
            // The source is not requested, but its number stays taken.
            let source = IndexSource { name: known.name.clone(), path: PathBuf::new() };
            library.sources.push(SourceRef { source, is_served: false });
        }
        let mut tail = SourceEvents::default();
        for source in wanted {
            let number = covered.iter().position(|known| known.name == source.name);
            let Some(file) = source.open() else {
                // Texts that this source replaced return when the index is rebuilt.
                library.behind.is_broken |= number.is_some();
                continue;
            };
            let is_served = number.is_none_or(|number| covered[number].is_of(&file));
            let from = number.filter(|_| is_served).map_or(0, |number| covered[number].length);
            library.behind.is_broken |= !is_served;
            let known = SourceRef { source, is_served };
            let number = match number {
                Some(number) => {
                    library.sources[number] = known;
                    number
                }
                None => {
                    library.sources.push(known);
                    library.sources.len() - 1
                }
            };
            let said = library.read_rest(&file, number, from, reach)?;
            tail.drafts.extend(said.drafts);
            tail.changes.extend(said.changes);
        }
        library.behind.documents = tail.drafts.len();
        if !tail.drafts.is_empty() {
            library.tail = build::build(tail.drafts, &table::built_in());
        }
        library.settle(&tail.changes);
        Ok(library)
    }

    fn read_rest(
        &mut self,
        file: &std::fs::File,
        number: usize,
        from: u64,
        reach: TailRead,
    ) -> io::Result<SourceEvents> {
        let end = file.metadata()?.len();
        let start = match reach {
            TailRead::All => from,
            TailRead::Last(most) => from.max(end.saturating_sub(most)),
        };
        self.behind.bytes += end.saturating_sub(from);
        self.behind.is_cut |= start > from;
        // A start in the middle of a line is harmless: the rest of the line is not a valid record.
        sources::read(file, u16::try_from(number).unwrap_or(u16::MAX), start, end)
    }

    /// Applies the changes in the tail to its own and to older documents.
    fn settle(&mut self, events: &[DocumentEvent]) {
        let mut changed = HashMap::new();
        {
            let segments = self.open_segments();
            let view = self.view();
            let row = |changed: &HashMap<(usize, u32), ColumnRow>, place: (usize, u32)| {
                let stored = || view.as_ref().map(|view| view.row(place.0, place.1)).unwrap_or_default();
                changed.get(&place).copied().unwrap_or_else(stored)
            };
            let tail = self.segments.len();
            let early = view.as_ref().map(ColumnView::early).unwrap_or_default();
            if let Some(newest) = segments.get(tail) {
                for doc in newest.docs() {
                    let Some(card) = newest.card(doc) else { continue };
                    let mut own = ColumnRow::default();
                    if let Some((_, uses)) = early.iter().find(|(id, _)| id == card.id.as_str()) {
                        own.uses = *uses;
                    }
                    for (number, segment) in segments[..tail].iter().enumerate() {
                        let Some(old) = segment.by_id(card.id.as_str()) else { continue };
                        let mut older = row(&changed, (number, old));
                        if older.is_replaced || !self.is_served(segment, old) {
                            continue;
                        }
                        own.uses = older.uses;
                        let is_later =
                            segment.card(old).is_none_or(|old| card.origin.rank() > old.origin.rank());
                        if is_later {
                            older.is_replaced = true
                        } else {
                            own.is_replaced = true
                        }
                        changed.insert((number, old), older);
                    }
                    changed.insert((tail, doc), own);
                }
            }
            let mut events: Vec<&DocumentEvent> = events.iter().collect();
            events.sort_by_key(|event| event.at);
            for event in events {
                for (number, segment) in segments.iter().enumerate() {
                    if let Some(doc) = segment.by_id(&event.id) {
                        let mut known = row(&changed, (number, doc));
                        known.uses.apply(event.change, event.at);
                        changed.insert((number, doc), known);
                    }
                }
            }
        }
        self.changed = changed;
    }

    fn open_segments(&self) -> Vec<Segment<'_>> {
        let all = self
            .segments
            .iter()
            .map(|mapped| &**mapped)
            .chain((!self.tail.is_empty()).then_some(&*self.tail));
        all.filter_map(|bytes| Segment::open(bytes).ok()).collect()
    }

    fn view(&self) -> Option<ColumnView<'_>> {
        ColumnView::open(self.columns.as_ref()?)
    }

    fn all_served(&self) -> bool {
        self.sources.iter().all(|known| known.is_served)
    }

    fn is_served(&self, segment: &Segment<'_>, doc: u32) -> bool {
        self.sources.get(usize::from(segment.source(doc))).is_some_and(|known| known.is_served)
    }

    /// Returns the searchable segments.
    pub fn shelves(&self, shown: DocumentFilter) -> Vec<SegmentShelf<'_>> {
        let view = self.view();
        let tail = self.segments.len();
        let all_served = self.all_served();
        // A text may have been replaced by one of an unserved source; then the search checks it again.
        let is_shown = |row: &ColumnRow| {
            let is_in_use = matches!(row.uses.status, LearningStatus::Active | LearningStatus::Stale);
            (!all_served || !row.is_replaced) && (is_in_use || shown == DocumentFilter::All)
        };
        let open = |number: usize, segment: &Segment<'_>| -> Bits {
            let is_tail = number == tail;
            let mut open = match (&view, shown) {
                (Some(view), DocumentFilter::InUse) if !is_tail && all_served => view.live(number),
                (Some(view), _) if !is_tail => {
                    let mut open = Bits::all(segment.count());
                    open.keep(|doc| is_shown(&view.row(number, doc)) && self.is_served(segment, doc));
                    open
                }
                _ => Bits::all(segment.count()),
            };
            for (&(_, doc), row) in self.changed.iter().filter(|((shelf, _), _)| *shelf == number) {
                open.set(doc, is_shown(row) && (is_tail || self.is_served(segment, doc)));
            }
            open
        };
        let segments = self.open_segments();
        segments
            .into_iter()
            .enumerate()
            .map(|(number, segment)| SegmentShelf {
                open: open(number, &segment),
                segment,
                owner: all_served.then(|| std::ptr::from_ref(self).addr()),
                rows: self
                    .rows
                    .get(number)
                    .and_then(Option::as_ref)
                    .map(|rows| rows as &dyn query::RowReader),
            })
            .collect()
    }

    pub fn corpus(&self, shown: DocumentFilter) -> Corpus<'_> {
        Corpus { shelves: self.shelves(shown) }
    }

    /// Returns the use counts of a document.
    pub fn uses(&self, place: DocumentRef) -> Uses {
        self.row(place).uses
    }

    fn row(&self, place: DocumentRef) -> ColumnRow {
        let stored = || self.stored(place).unwrap_or_default();
        self.changed.get(&(place.shelf, place.doc)).copied().unwrap_or_else(stored)
    }

    /// Reads one row from the file without mapping it: the caller needs only a few scattered rows.
    fn stored(&self, place: DocumentRef) -> Option<ColumnRow> {
        let at = self.view()?.place(place.shelf, place.doc)?;
        let mut row = [0; ROW];
        self.columns.as_ref()?.file.read_exact_at(&mut row, at as u64).ok()?;
        Some(ColumnRow::read(&row))
    }

    pub fn card(&self, place: DocumentRef) -> Option<DocumentCard<'_>> {
        self.open_segments().into_iter().nth(place.shelf)?.card(place.doc)
    }

    /// Returns the documents whose id equals this one, or else starts with it, in the order of ids.
    pub fn by_prefix(&self, id: &str) -> Vec<(DocumentRef, DocumentCard<'_>)> {
        let mut found: Vec<(DocumentRef, DocumentCard<'_>)> = Vec::new();
        for (shelf, segment) in self.open_segments().into_iter().enumerate() {
            let is_tail = shelf == self.segments.len();
            for doc in segment.by_prefix(id) {
                let place = DocumentRef { shelf, doc };
                let is_current = !self.all_served() || !self.row(place).is_replaced;
                let is_current = is_current && (is_tail || self.is_served(&segment, doc));
                found.extend(segment.card(doc).filter(|_| is_current).map(|card| (place, card)));
            }
        }
        // Keep the latest document of each id.
        found.sort_by(|(_, a), (_, b)| {
            (a.id.as_str().cmp(b.id.as_str())).then(b.origin.rank().cmp(&a.origin.rank()))
        });
        found.dedup_by(|(_, later), (_, first)| later.id.as_str() == first.id.as_str());
        if found.iter().any(|(_, card)| card.id.as_str() == id) {
            found.retain(|(_, card)| card.id.as_str() == id);
        }
        found
    }

    /// Returns the whole record of a document.
    pub fn record(&self, card: &DocumentCard<'_>) -> io::Result<Record> {
        let known = self.sources.get(usize::from(card.origin.source)).ok_or(io::ErrorKind::NotFound)?;
        let file = known.source.open().ok_or(io::ErrorKind::NotFound)?;
        let mut line = vec![0; card.origin.length as usize];
        file.read_exact_at(&mut line, card.origin.offset)?;
        Record::parse(&line).map_err(io::Error::other)
    }

    /// Counts all documents, hidden ones included.
    pub fn documents(&self) -> u64 {
        self.open_segments().iter().map(|segment| u64::from(segment.count())).sum()
    }
}

/// Most bytes of vectors that are read through the mapping. The pages around a row then hold the next rows.
const DENSE: u64 = 4 * 1024 * 1024;

/// Reader of the rows of a segment, from its file.
#[derive(Debug)]
struct SegmentRows {
    file: File,
    starts: [u64; SECTIONS],
}

impl SegmentRows {
    /// Returns a reader. `None`: the vectors are small enough to read through the mapping.
    fn from_mapped(mapped: &Mapped) -> Option<SegmentRows> {
        let segment = Segment::open(mapped).ok()?;
        if u64::from(segment.count()) * table::DIMS as u64 <= DENSE {
            return None;
        }
        Some(SegmentRows { file: mapped.file.try_clone().ok()?, starts: segment.starts() })
    }
}

impl query::RowReader for SegmentRows {
    fn read(&self, section: SegmentSection, from: usize, into: &mut [u8]) -> bool {
        self.file.read_exact_at(into, self.starts[section as usize] + from as u64).is_ok()
    }
}

/// Mapped files of an index.
#[derive(Default)]
pub struct MappedIndex {
    pub manifest: Option<Manifest>,
    pub segments: Vec<Mapped>,
    pub columns: Option<Mapped>,
}

impl MappedIndex {
    /// Opens the files of the index. `None`: files disappeared meanwhile; try again. `Some(None)`: the index
    /// is incomplete.
    pub fn open(store: &Store) -> Option<Option<MappedIndex>> {
        let Some(manifest) = manifest::read(store) else {
            return Some(None);
        };
        let open = |file: &str| Mapped::open(&store.cache_dir().join(file));
        let mut segments = Vec::with_capacity(manifest.segments.len());
        for piece in &manifest.segments {
            match open(&piece.file) {
                Ok(mapped) => segments.push(mapped),
                Err(_) if manifest::read(store).as_ref() != Some(&manifest) => return None,
                Err(_) => return Some(None),
            }
        }
        let Ok(columns) = open(&manifest.columns.file) else {
            return if manifest::read(store).as_ref() == Some(&manifest) { Some(None) } else { None };
        };
        let fits = |(piece, bytes): (&manifest::IndexFile, &Mapped)| {
            bytes.len() as u64 == piece.bytes
                && Segment::open(bytes).is_ok_and(|segment| segment.count() == piece.docs)
        };
        let is_whole = manifest.segments.iter().zip(&segments).all(fits)
            && columns.len() as u64 == manifest.columns.bytes
            && ColumnView::open(&columns)
                .is_some_and(|view| view.counts().eq(manifest.segments.iter().map(|piece| piece.docs)));
        Some(is_whole.then_some(MappedIndex { manifest: Some(manifest), segments, columns: Some(columns) }))
    }
}
