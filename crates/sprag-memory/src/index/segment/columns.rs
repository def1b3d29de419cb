//! The use of documents, in a separate file because it changes while segments do not. The file holds a bit
//! for visible documents, a bit for documents with a row, and the rows. Most documents were never used and
//! take no row. After the rows come uses of documents that do not exist yet.

use crate::index::segment::bits::Bits;
use crate::index::segment::bytes::{ByteReader, checksum, put_block, u32_at, u64_at};
use crate::learning::LearningStatus;
use crate::usage::{ROW, Uses};

const MAGIC: &[u8; 8] = b"SPRAGUSE";
const FORMAT: u32 = 2;
/// Magic, format, number of segments; documents and rows of each segment; checksum of the header. Then for
/// each segment: visible documents, documents with a row, row counts by stride. Then the rows and the early
/// uses.
const HEAD: usize = 16;
/// The byte of a row that uses leave free: a later text replaced the document.
const REPLACED: usize = 1;

/// The columns in memory, for changing and writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub segments: Vec<Vec<ColumnRow>>,
    /// Uses of documents that do not exist yet.
    pub early: Vec<(String, Uses)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnRow {
    pub uses: Uses,
    /// Another segment has a later text with the same id.
    pub is_replaced: bool,
}

impl ColumnRow {
    /// Reports whether the document is shown by default.
    pub fn is_live(&self) -> bool {
        !self.is_replaced && matches!(self.uses.status, LearningStatus::Active | LearningStatus::Stale)
    }

    fn bytes(&self) -> [u8; ROW] {
        let mut row = self.uses.row();
        row[REPLACED] = u8::from(self.is_replaced);
        row
    }

    pub fn read(bytes: &[u8; ROW]) -> ColumnRow {
        ColumnRow { uses: Uses::from_row(bytes), is_replaced: bytes[REPLACED] != 0 }
    }
}

/// The number of words between two counts.
const STRIDE: usize = 8;

impl Columns {
    pub fn bytes(&self) -> Vec<u8> {
        let is_known = |row: &&ColumnRow| **row != ColumnRow::default();
        let rows: Vec<usize> =
            self.segments.iter().map(|segment| segment.iter().filter(is_known).count()).collect();
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend((self.segments.len() as u32).to_le_bytes());
        for (segment, rows) in self.segments.iter().zip(&rows) {
            bytes.extend((segment.len() as u32).to_le_bytes());
            bytes.extend((*rows as u32).to_le_bytes());
        }
        let head = checksum(&bytes);
        bytes.extend(head.to_le_bytes());
        for segment in &self.segments {
            let bits = |is_set: &dyn Fn(&ColumnRow) -> bool| {
                let mut bits = Bits::all(segment.len() as u32);
                bits.keep(|doc| is_set(&segment[doc as usize]));
                bits
            };
            let known = bits(&|row| is_known(&row));
            bytes.extend(bits(&ColumnRow::is_live).bytes());
            bytes.extend(known.bytes());
            known.counts(STRIDE).for_each(|before| bytes.extend(before.to_le_bytes()));
        }
        for row in self.segments.iter().flatten().filter(is_known) {
            bytes.extend(row.bytes());
        }
        for (id, uses) in &self.early {
            put_block(&mut bytes, id.as_bytes());
            bytes.extend(uses.row());
        }
        bytes
    }
}

/// The columns in a file.
#[derive(Clone, Debug)]
pub struct ColumnView<'a> {
    bytes: &'a [u8],
    segments: Vec<ColumnRange>,
    end: usize,
}

/// The positions of a segment's data.
#[derive(Clone, Copy, Debug)]
struct ColumnRange {
    docs: u32,
    live: usize,
    known: usize,
    counts: usize,
    rows: usize,
}

impl<'a> ColumnView<'a> {
    /// Opens columns. `None`: the bytes are damaged or have another format.
    pub fn open(bytes: &'a [u8]) -> Option<ColumnView<'a>> {
        let count = u32_at(bytes, 12)? as usize;
        let sizes = bytes.get(HEAD..HEAD.checked_add(count.checked_mul(8)?)?)?;
        let head = HEAD + sizes.len();
        let is_ours = bytes.starts_with(MAGIC) && u32_at(bytes, 8)? == FORMAT;
        if !is_ours || u64_at(bytes, head)? != checksum(&bytes[..head]) {
            return None;
        }
        let mut segments = Vec::with_capacity(count);
        let mut at = head + 8;
        for size in sizes.chunks_exact(8) {
            let docs = u32_at(size, 0)?;
            let words = (docs as usize).div_ceil(64);
            let (live, known, counts) = (at, at + 8 * words, at + 16 * words);
            at = counts.checked_add(4 * words.div_ceil(STRIDE))?;
            segments.push(ColumnRange { docs, live, known, counts, rows: 0 });
        }
        for (part, size) in segments.iter_mut().zip(sizes.chunks_exact(8)) {
            part.rows = at;
            at = at.checked_add((u32_at(size, 4)? as usize).checked_mul(ROW)?)?;
        }
        (at <= bytes.len()).then_some(ColumnView { bytes, segments, end: at })
    }

    /// Returns the number of documents of each segment.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.segments.iter().map(|part| part.docs)
    }

    pub fn row(&self, segment: usize, doc: u32) -> ColumnRow {
        let from = self.place(segment, doc);
        let row = from.and_then(|from| self.bytes.get(from..from + ROW)).and_then(|row| row.try_into().ok());
        row.map(ColumnRow::read).unwrap_or_default()
    }

    /// Returns the position of a row, if it exists.
    pub fn place(&self, segment: usize, doc: u32) -> Option<usize> {
        let part = self.segments.get(segment).filter(|part| doc < part.docs)?;
        let (word, bit) = (doc as usize / 64, doc % 64);
        let last = u64_at(self.bytes, part.known + 8 * word)?;
        if last >> bit & 1 == 0 {
            return None;
        }
        let from = word / STRIDE * STRIDE;
        let between = (from..word).filter_map(|word| u64_at(self.bytes, part.known + 8 * word));
        let between: u32 = between.map(u64::count_ones).sum::<u32>() + (last & ((1 << bit) - 1)).count_ones();
        let before = u32_at(self.bytes, part.counts + 4 * (word / STRIDE))?;
        let place = part.rows.checked_add((before as usize + between as usize).checked_mul(ROW)?)?;
        (place + ROW <= self.end).then_some(place)
    }

    pub fn live(&self, segment: usize) -> Bits {
        let Some(part) = self.segments.get(segment) else {
            return Bits::default();
        };
        Bits::read(self.bytes.get(part.live..).unwrap_or_default(), part.docs)
    }

    pub fn read(&self) -> Columns {
        let rows = |(segment, part): (usize, &ColumnRange)| {
            (0..part.docs).map(|doc| self.row(segment, doc)).collect()
        };
        Columns { segments: self.segments.iter().enumerate().map(rows).collect(), early: self.early() }
    }

    pub fn early(&self) -> Vec<(String, Uses)> {
        let mut early = Vec::new();
        let mut reader = ByteReader::new(self.bytes.get(self.end..).unwrap_or_default());
        while let (Some(id), Some(row)) = (reader.text(), reader.read_bytes(ROW)) {
            early.push((id.to_owned(), Uses::from_row(row.try_into().expect("a row has its bytes"))));
        }
        early
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use sprag_base::time::Timestamp;

    use super::*;
    use crate::usage::UsageChange;

    fn columns() -> Columns {
        let mut archived = ColumnRow::default();
        archived.uses.apply(UsageChange::Archived, Timestamp::from_millis(0));
        let replaced = ColumnRow { is_replaced: true, ..ColumnRow::default() };
        Columns {
            segments: vec![
                vec![ColumnRow::default(); 70],
                Vec::new(),
                vec![archived, ColumnRow::default(), replaced],
            ],
            early: vec![("not-there".to_owned(), archived.uses)],
        }
    }

    #[test]
    fn they_come_back_and_say_what_may_be_shown() {
        let bytes = columns().bytes();
        let view = ColumnView::open(&bytes).unwrap();
        assert_eq!(view.read(), columns());
        assert_eq!(view.live(0), Bits::all(70));
        assert_eq!([0, 1, 2].map(|doc| view.live(2).has(doc)), [false, true, false]);
    }

    #[test]
    fn what_was_never_used_takes_a_bit() {
        let mut columns = Columns { segments: vec![vec![ColumnRow::default(); 10_000]], early: Vec::new() };
        assert!(columns.bytes().len() < 3 * 10_000 / 8 + 100);
        for doc in [0, 63, 64, 511, 512, 513, 9_999] {
            columns.segments[0][doc].uses.surfaced = 1 + doc as u16;
        }
        let bytes = columns.bytes();
        assert_eq!(ColumnView::open(&bytes).unwrap().read(), columns);
    }

    proptest! {
        #[test]
        fn damaged_ones_are_refused_or_read_within_bounds(at in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>()) {
            let mut bytes = columns().bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(end.index(bytes.len() + 1));
            if let Some(view) = ColumnView::open(&bytes) {
                let _columns = view.read();
                let _bits = (view.live(0), view.live(9));
            }
        }
    }
}
