//! What became of the documents of an index: a row for each, in the order of segments and documents,
//! in a file of its own because it changes while segments do not. Beside the rows stands for each
//! segment which documents may be shown, and what was said of documents that are not there yet.

use sprag_core::memory::learning::Status;
use sprag_core::memory::usage::{ROW, Uses};

use crate::bits::Bits;
use crate::bytes::{Reader, checksum, put_block, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"SPRAGUSE";
const FORMAT: u32 = 1;
/// Magic, format, number of segments; then a count for each; sum of the head; rows; bits; the early.
const HEAD: usize = 16;
/// The byte of a row that uses leave free: a later text took the document's place.
const REPLACED: usize = 1;

/// In memory, to be changed and written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub segments: Vec<Vec<Row>>,
    /// Said of documents that are not there yet.
    pub early: Vec<(String, Uses)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    pub uses: Uses,
    /// A later text of the same id is elsewhere.
    pub is_replaced: bool,
}

impl Row {
    /// Whether it may be shown to somebody who asked for nothing special.
    pub fn is_live(&self) -> bool {
        !self.is_replaced && matches!(self.uses.status, Status::Active | Status::Stale)
    }

    fn bytes(&self) -> [u8; ROW] {
        let mut row = self.uses.row();
        row[REPLACED] = u8::from(self.is_replaced);
        row
    }

    pub fn read(bytes: &[u8; ROW]) -> Row {
        Row { uses: Uses::from_row(bytes), is_replaced: bytes[REPLACED] != 0 }
    }
}

impl Columns {
    pub fn bytes(&self) -> Vec<u8> {
        let rows: usize = self.segments.iter().map(Vec::len).sum();
        let mut bytes = Vec::with_capacity(HEAD + self.segments.len() * 4 + 8 + rows * (ROW + 1));
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend((self.segments.len() as u32).to_le_bytes());
        for segment in &self.segments {
            bytes.extend((segment.len() as u32).to_le_bytes());
        }
        let head = checksum(&bytes);
        bytes.extend(head.to_le_bytes());
        for row in self.segments.iter().flatten() {
            bytes.extend(row.bytes());
        }
        for segment in &self.segments {
            let mut bits = Bits::all(segment.len() as u32);
            bits.keep(|doc| segment[doc as usize].is_live());
            bytes.extend(bits.bytes());
        }
        for (id, uses) in &self.early {
            put_block(&mut bytes, id.as_bytes());
            bytes.extend(uses.row());
        }
        bytes
    }
}

/// As they are in a file.
#[derive(Clone, Debug)]
pub struct View<'a> {
    bytes: &'a [u8],
    /// For each segment: its documents, where its rows begin, where its bits begin.
    segments: Vec<(u32, usize, usize)>,
    end: usize,
}

impl<'a> View<'a> {
    /// `None`: these are no columns, or not all of them.
    pub fn open(bytes: &'a [u8]) -> Option<View<'a>> {
        let count = u32_at(bytes, 12)? as usize;
        let counts = bytes.get(HEAD..HEAD.checked_add(count.checked_mul(4)?)?)?;
        let head = HEAD + counts.len();
        let is_ours = bytes.starts_with(MAGIC) && u32_at(bytes, 8)? == FORMAT;
        if !is_ours || u64_at(bytes, head)? != checksum(&bytes[..head]) {
            return None;
        }
        let mut segments = Vec::with_capacity(count);
        let mut at = head + 8;
        for docs in counts.chunks_exact(4) {
            let docs = u32_at(docs, 0)?;
            segments.push((docs, at, 0));
            at = at.checked_add((docs as usize).checked_mul(ROW)?)?;
        }
        for (docs, _, bits) in &mut segments {
            *bits = at;
            at = at.checked_add((*docs as usize).div_ceil(64) * 8)?;
        }
        (at <= bytes.len()).then_some(View { bytes, segments, end: at })
    }

    /// How many documents each segment has.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.segments.iter().map(|segment| segment.0)
    }

    pub fn row(&self, segment: usize, doc: u32) -> Row {
        let from = self.place(segment, doc);
        let row = from.and_then(|from| self.bytes.get(from..from + ROW)).and_then(|row| row.try_into().ok());
        row.map(Row::read).unwrap_or_default()
    }

    /// Where a row begins.
    pub fn place(&self, segment: usize, doc: u32) -> Option<usize> {
        let &(docs, rows, _) = self.segments.get(segment)?;
        (doc < docs).then_some(rows + ROW * doc as usize)
    }

    pub fn live(&self, segment: usize) -> Bits {
        let Some(&(docs, _, bits)) = self.segments.get(segment) else {
            return Bits::default();
        };
        Bits::read(self.bytes.get(bits..).unwrap_or_default(), docs)
    }

    pub fn read(&self) -> Columns {
        let rows = |(segment, &(docs, ..)): (usize, &(u32, usize, usize))| {
            (0..docs).map(|doc| self.row(segment, doc)).collect()
        };
        Columns { segments: self.segments.iter().enumerate().map(rows).collect(), early: self.early() }
    }

    pub fn early(&self) -> Vec<(String, Uses)> {
        let mut early = Vec::new();
        let mut reader = Reader::new(self.bytes.get(self.end..).unwrap_or_default());
        while let (Some(id), Some(row)) = (reader.text(), reader.take(ROW)) {
            early.push((id.to_owned(), Uses::from_row(row.try_into().expect("a row has its bytes"))));
        }
        early
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sprag_core::memory::usage::Change;
    use sprag_core::time::Timestamp;

    use super::*;

    fn columns() -> Columns {
        let mut archived = Row::default();
        archived.uses.apply(Change::Archived, Timestamp::from_millis(0));
        let replaced = Row { is_replaced: true, ..Row::default() };
        Columns {
            segments: vec![vec![Row::default(); 70], Vec::new(), vec![archived, Row::default(), replaced]],
            early: vec![("not-there".to_owned(), archived.uses)],
        }
    }

    #[test]
    fn they_come_back_and_say_what_may_be_shown() {
        let bytes = columns().bytes();
        let view = View::open(&bytes).unwrap();
        assert_eq!(view.read(), columns());
        assert_eq!(view.live(0), Bits::all(70));
        assert_eq!([0, 1, 2].map(|doc| view.live(2).has(doc)), [false, true, false]);
    }

    proptest! {
        #[test]
        fn damaged_ones_are_refused_or_read_within_bounds(at in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>()) {
            let mut bytes = columns().bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(end.index(bytes.len() + 1));
            if let Some(view) = View::open(&bytes) {
                let _columns = view.read();
                let _bits = (view.live(0), view.live(9));
            }
        }
    }
}
