//! A segment of the index: bytes that are written once and then only read. Opening checks the header and the
//! bounds of all sections. Later reads check their own bounds, so that damaged bytes give wrong answers at
//! worst, and never a panic.

pub(crate) mod assembly;
pub mod bits;
pub mod build;
pub mod bytes;
pub mod columns;
mod dictionary;
pub mod merge;
pub(crate) mod postings;

use std::cmp::Ordering;
use std::ops::Range;

use sprag_base::time::Timestamp;

use crate::document::DocumentLabel;
use crate::index::analysis::table::DIMS;
use crate::index::analysis::vectors::SIGNS;
use crate::index::segment::bytes::{ByteReader, checksum, u32_at, u64_at, unzigzag};
use crate::index::segment::dictionary::Dictionary;
use crate::index::segment::postings::{FIELDS, Postings};
use crate::learning::{Category, LearningKind, LearningReaders, LearningScope};

pub const MAGIC: &[u8; 8] = b"SPRAGSEG";
/// The format that this version writes. A segment of another format is rebuilt.
pub const FORMAT: u32 = 1;

/// The sections of a segment in order.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum SegmentSection {
    TermStarts,
    Terms,
    TermPostings,
    KeyStarts,
    Keys,
    KeyPostings,
    Lengths,
    Metas,
    CardStarts,
    Cards,
    Ids,
    Signs,
    Vectors,
}

pub const SECTIONS: usize = 13;
/// Magic, format, count, table; totals and counts of the fields; sections; two checksums.
pub const HEAD: usize = 32 + 12 * FIELDS + 16 * SECTIONS + 16;
/// The bytes per document in the sections with rows.
const ROWS: [(SegmentSection, usize); 6] = [
    (SegmentSection::Lengths, FIELDS),
    (SegmentSection::Metas, META),
    (SegmentSection::CardStarts, 4),
    (SegmentSection::Ids, 4),
    (SegmentSection::Signs, SIGNS),
    (SegmentSection::Vectors, DIMS),
];
pub const META: usize = 8;

/// Error: the bytes are not a valid segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedSegment;

#[derive(Clone, Debug)]
pub struct Segment<'a> {
    bytes: &'a [u8],
    count: u32,
    parts: [(usize, usize); SECTIONS],
}

/// The short form of a document, which is read first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentCard<'a> {
    pub id: DocumentId<'a>,
    pub at: Timestamp,
    pub origin: DocumentOrigin,
    pub label: Option<DocumentLabel>,
    pub summary: &'a str,
    pub when_not: &'a str,
}

/// The position of a text in its source, and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentOrigin {
    pub source: u16,
    pub offset: u64,
    pub length: u32,
    /// Of two texts with the same id, the later one counts.
    pub version: Timestamp,
}

impl DocumentOrigin {
    /// Returns the order of versions: later texts rank higher.
    pub fn rank(&self) -> (Timestamp, u16, u64) {
        (self.version, self.source, self.offset)
    }
}

/// An id. Most ids are UUIDs and stored in binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentId<'a> {
    Uuid([u8; 36]),
    Text(&'a str),
}

impl DocumentId<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            DocumentId::Uuid(text) => std::str::from_utf8(text).unwrap_or_default(),
            DocumentId::Text(text) => text,
        }
    }
}

impl<'a> Segment<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Segment<'a>, DamagedSegment> {
        Segment::read(bytes).ok_or(DamagedSegment)
    }

    fn read(bytes: &'a [u8]) -> Option<Segment<'a>> {
        let head = bytes.get(..HEAD)?;
        let is_ours = head.starts_with(MAGIC) && u32_at(head, 8)? == FORMAT;
        if !is_ours || u64_at(head, HEAD - 8)? != checksum(&head[..HEAD - 8]) {
            return None;
        }
        let mut parts = [(0, 0); SECTIONS];
        for (part, place) in parts.iter_mut().enumerate() {
            let at = 32 + 12 * FIELDS + 16 * part;
            let from = usize::try_from(u64_at(head, at)?).ok()?;
            let to = from.checked_add(usize::try_from(u64_at(head, at + 8)?).ok()?)?;
            if from < HEAD || to > bytes.len() {
                return None;
            }
            *place = (from, to);
        }
        let count = u32_at(head, 12)?;
        let segment = Segment { bytes, count, parts };
        let has_rows = ROWS
            .iter()
            .all(|&(part, size)| Some(segment.section(part).len()) == (count as usize).checked_mul(size));
        has_rows.then_some(segment)
    }

    /// Checks all bytes. This is too slow for every start, but right for a full check.
    pub fn is_whole(&self) -> bool {
        u64_at(self.bytes, HEAD - 16) == self.bytes.get(HEAD..).map(checksum)
    }

    /// Returns a value that identifies the segment.
    pub fn sum(&self) -> u64 {
        u64_at(self.bytes, HEAD - 8).unwrap_or(0)
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn docs(&self) -> Range<u32> {
        0..self.count
    }

    pub fn table(&self) -> [u8; 16] {
        self.bytes[16..32].try_into().expect("a head has its table")
    }

    /// Returns for each field the number of terms, and of documents with any.
    pub fn totals(&self) -> [(u64, u32); FIELDS] {
        std::array::from_fn(|field| {
            let total = u64_at(self.bytes, 32 + 8 * field).unwrap_or(0);
            (total, u32_at(self.bytes, 32 + 8 * FIELDS + 4 * field).unwrap_or(0))
        })
    }

    pub fn section(&self, section: SegmentSection) -> &'a [u8] {
        let (from, to) = self.parts[section as usize];
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// Returns the start of each section.
    pub fn starts(&self) -> [u64; SECTIONS] {
        self.parts.map(|(from, _)| from as u64)
    }

    pub fn row(&self, part: SegmentSection, size: usize, doc: u32) -> Option<&'a [u8]> {
        let from = (doc as usize).checked_mul(size)?;
        self.section(part).get(from..from.checked_add(size)?)
    }

    pub fn terms(&self) -> Dictionary<'a> {
        Dictionary::new(self.section(SegmentSection::TermStarts), self.section(SegmentSection::Terms))
    }

    pub fn keys(&self) -> Dictionary<'a> {
        Dictionary::new(self.section(SegmentSection::KeyStarts), self.section(SegmentSection::Keys))
    }

    pub fn term(&self, term: &str) -> Option<Postings<'a>> {
        let entry = self.terms().find(term.as_bytes())?;
        self.postings(SegmentSection::TermPostings, entry)
    }

    pub fn key(&self, key: &[u8]) -> Option<Postings<'a>> {
        let entry = self.keys().find(key)?;
        self.postings(SegmentSection::KeyPostings, entry)
    }

    pub fn postings(
        &self,
        part: SegmentSection,
        entry: crate::index::segment::dictionary::DictionaryEntry,
    ) -> Option<Postings<'a>> {
        let bytes = self.section(part).get(entry.offset..entry.offset.checked_add(entry.length)?)?;
        // A list cannot have more documents than the segment.
        Postings::new(bytes, entry.docs.min(self.count))
    }

    pub fn lengths(&self, doc: u32) -> [u8; FIELDS] {
        self.row(SegmentSection::Lengths, FIELDS, doc).and_then(|row| row.try_into().ok()).unwrap_or_default()
    }

    /// Returns seconds since 1970, clamped to four bytes.
    pub fn seconds(&self, doc: u32) -> u32 {
        self.row(SegmentSection::Metas, META, doc).and_then(|row| u32_at(row, 0)).unwrap_or(0)
    }

    pub fn source(&self, doc: u32) -> u16 {
        let row = self.row(SegmentSection::Metas, META, doc).unwrap_or(&[0; META]);
        u16::from_le_bytes([row[6], row[7]])
    }

    pub fn label(&self, doc: u32) -> Option<DocumentLabel> {
        let row = self.row(SegmentSection::Metas, META, doc)?;
        read_label(u16::from_le_bytes([row[4], row[5]]))
    }

    pub fn vector(&self, doc: u32) -> &'a [u8] {
        self.row(SegmentSection::Vectors, DIMS, doc).unwrap_or_default()
    }

    /// Returns the bytes of a card, for copying to another segment.
    pub fn card_bytes(&self, doc: u32) -> Option<&'a [u8]> {
        let starts = self.section(SegmentSection::CardStarts);
        let from = u32_at(starts, doc as usize * 4)? as usize;
        let cards = self.section(SegmentSection::Cards);
        let to = u32_at(starts, doc as usize * 4 + 4).map_or(cards.len(), |to| to as usize);
        cards.get(from..to)
    }

    pub fn card(&self, doc: u32) -> Option<DocumentCard<'a>> {
        let mut reader = ByteReader::new(self.card_bytes(doc)?);
        let flags = reader.byte()?;
        let id = read_id(&mut reader, flags)?;
        let at = unzigzag(reader.number()?);
        let later = if flags & card::LATER != 0 { unzigzag(reader.number()?) } else { 0 };
        let (offset, length) = (reader.number()?, u32::try_from(reader.number()?).ok()?);
        let summary = reader.text()?;
        let when_not = if flags & card::WHEN_NOT != 0 { reader.text()? } else { "" };
        let version = Timestamp::from_millis(at.saturating_add(later));
        let origin = DocumentOrigin { source: self.source(doc), offset, length, version };
        Some(DocumentCard {
            id,
            at: Timestamp::from_millis(at),
            origin,
            label: self.label(doc),
            summary,
            when_not,
        })
    }

    pub fn id(&self, doc: u32) -> Option<DocumentId<'a>> {
        let mut reader = ByteReader::new(self.card_bytes(doc)?);
        let flags = reader.byte()?;
        read_id(&mut reader, flags)
    }

    /// Returns the document of this id. Ids are unique in a segment.
    pub fn by_id(&self, id: &str) -> Option<u32> {
        let at = self.first_id(id);
        let doc = self.nth_id(at)?;
        (self.id(doc)?.as_str() == id).then_some(doc)
    }

    /// Returns documents whose id has this prefix, sorted by id.
    pub fn by_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = u32> + 's {
        (self.first_id(prefix)..self.count)
            .map_while(|at| self.nth_id(at))
            .take_while(move |&doc| self.id(doc).is_some_and(|id| id.as_str().starts_with(prefix)))
    }

    /// Returns documents whose ids both segments have, with both numbers.
    pub fn in_both(&self, other: &Segment<'_>) -> Vec<(u32, u32)> {
        let mut both = Vec::new();
        // A few ids are looked up; many are merged in order.
        if self.count < other.count / 64 {
            for doc in self.docs() {
                let found = self.id(doc).and_then(|id| other.by_id(id.as_str()));
                both.extend(found.map(|found| (doc, found)));
            }
            return both;
        }
        let (mut ours, mut theirs) = (0, 0);
        while let (Some(doc), Some(found)) = (self.nth_id(ours), other.nth_id(theirs)) {
            let order = match (self.id(doc), other.id(found)) {
                (Some(a), Some(b)) => a.as_str().cmp(b.as_str()),
                (None, _) => Ordering::Less,
                (_, None) => Ordering::Greater,
            };
            match order {
                Ordering::Less => ours += 1,
                Ordering::Greater => theirs += 1,
                Ordering::Equal => {
                    both.push((doc, found));
                    (ours, theirs) = (ours + 1, theirs + 1);
                }
            }
        }
        both
    }

    fn nth_id(&self, at: u32) -> Option<u32> {
        u32_at(self.section(SegmentSection::Ids), at as usize * 4)
    }

    /// Returns the number of ids before this one.
    fn first_id(&self, id: &str) -> u32 {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let order = self.nth_id(middle).and_then(|doc| self.id(doc)).map(|known| known.as_str().cmp(id));
            match order {
                Some(Ordering::Less) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

/// Flags in the first byte of a card.
pub mod card {
    pub const UUID: u8 = 1;
    /// The version differs from the time of the document.
    pub const LATER: u8 = 2;
    pub const WHEN_NOT: u8 = 4;
}

fn read_id<'a>(reader: &mut ByteReader<'a>, flags: u8) -> Option<DocumentId<'a>> {
    if flags & card::UUID == 0 {
        return reader.text().map(DocumentId::Text);
    }
    let bytes = reader.read_bytes(16)?;
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        for nibble in [byte >> 4, byte & 15] {
            text[at] = b"0123456789abcdef"[usize::from(nibble)];
            at += 1;
        }
    }
    Some(DocumentId::Uuid(text))
}

/// Returns the 16 bytes of an id in UUID form.
pub fn uuid_bytes(id: &str) -> Option<[u8; 16]> {
    let text = id.as_bytes();
    if text.len() != 36 {
        return None;
    }
    let mut bytes = [0; 16];
    let mut count = 0;
    for (at, &byte) in text.iter().enumerate() {
        let nibble = match byte {
            b'-' if matches!(at, 8 | 13 | 18 | 23) => continue,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        if matches!(at, 8 | 13 | 18 | 23) {
            return None;
        }
        bytes[count / 2] = bytes[count / 2] << 4 | nibble;
        count += 1;
    }
    Some(bytes)
}

pub fn write_label(label: Option<DocumentLabel>) -> u16 {
    fn place<T: PartialEq>(all: &[T], one: &T) -> u16 {
        all.iter().position(|known| known == one).unwrap_or(0) as u16
    }
    label.map_or(0, |label| {
        1 | place(Category::ALL, &label.category) << 1
            | place(LearningScope::ALL, &label.scope) << 5
            | place(LearningKind::ALL, &label.kind) << 8
            | place(LearningReaders::ALL, &label.readers) << 11
    })
}

fn read_label(bits: u16) -> Option<DocumentLabel> {
    fn get_by_bits<T: Copy>(all: &[T], bits: u16) -> Option<T> {
        all.get(usize::from(bits & 7)).copied()
    }
    if bits & 1 == 0 {
        return None;
    }
    Some(DocumentLabel {
        category: Category::ALL.get(usize::from(bits >> 1 & 15)).copied()?,
        scope: get_by_bits(LearningScope::ALL, bits >> 5)?,
        kind: get_by_bits(LearningKind::ALL, bits >> 8)?,
        readers: get_by_bits(LearningReaders::ALL, bits >> 11)?,
    })
}
