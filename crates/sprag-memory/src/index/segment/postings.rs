//! Lists of documents with a term, and the counts in their fields. Documents are sorted; long lists have skip
//! marks, so that a lookup does not read the whole list.

use crate::index::segment::bytes::{ByteReader, put_number, u32_at};

/// Summary, tags, trigger, detail.
pub(crate) const FIELDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    pub doc: u32,
    /// The count for each field.
    pub tf: [u8; FIELDS],
}

/// The number of documents between two marks.
const STRIDE: usize = 128;
/// The size of a mark: the document before it, and the position of its bytes.
const MARK: usize = 8;

/// The most common counts, coded in three bits; [`OTHER`] marks all others.
pub(crate) const SHAPES: [[u8; FIELDS]; 7] =
    [[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 2], [0, 0, 1, 0]];
const OTHER: u64 = 7;

/// Writes a sorted list.
pub(crate) fn write(out: &mut Vec<u8>, postings: &[Posting]) {
    let marks = marks_of(postings.len());
    let start = out.len();
    out.resize(start + marks * MARK, 0);
    let data = out.len();
    let mut next = 0u32;
    for (at, posting) in postings.iter().enumerate() {
        if at > 0 && at % STRIDE == 0 {
            let mark = start + (at / STRIDE - 1) * MARK;
            let offset = u32::try_from(out.len() - data).unwrap_or(u32::MAX);
            out[mark..mark + 4].copy_from_slice(&next.to_le_bytes());
            out[mark + 4..mark + 8].copy_from_slice(&offset.to_le_bytes());
        }
        let gap = u64::from(posting.doc.saturating_sub(next)) << 3;
        match SHAPES.iter().position(|shape| *shape == posting.tf) {
            Some(shape) => put_number(out, gap | shape as u64),
            None => {
                put_number(out, gap | OTHER);
                let mask = (0..FIELDS)
                    .filter(|&field| posting.tf[field] > 0)
                    .fold(0u8, |mask, field| mask | 1 << field);
                out.push(mask);
                out.extend(posting.tf.iter().filter(|&&tf| tf > 0));
            }
        }
        next = posting.doc.saturating_add(1);
    }
}

fn marks_of(count: usize) -> usize {
    count.saturating_sub(1) / STRIDE
}

/// A stored list.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'a> {
    pub count: u32,
    marks: &'a [u8],
    data: &'a [u8],
}

impl<'a> Postings<'a> {
    pub fn new(bytes: &'a [u8], count: u32) -> Option<Postings<'a>> {
        let marks = marks_of(count as usize) * MARK;
        Some(Postings { count, marks: bytes.get(..marks)?, data: bytes.get(marks..)? })
    }

    pub fn iter(&self) -> Iter<'a> {
        Iter { reader: ByteReader::new(self.data), next: 0, left: self.count, ahead: None }
    }

    /// Calls `take` for each of these sorted documents that is in the list.
    pub fn among(&self, docs: impl IntoIterator<Item = u32>, mut take: impl FnMut(usize, [u8; FIELDS])) {
        let mut iter = self.iter();
        let mut block = 0;
        for (at, doc) in docs.into_iter().enumerate() {
            let wanted = self.block_of(doc, block);
            if wanted > block {
                block = wanted;
                iter = self.at_mark(block);
            }
            let Some(end) = doc.checked_add(1) else { return };
            iter.below(end, |found, times| {
                if found == doc {
                    take(at, times.tf());
                }
            });
        }
    }

    /// Returns the last block that starts at or before a document.
    fn block_of(&self, doc: u32, from: usize) -> usize {
        let (mut low, mut high) = (from, self.marks.len() / MARK);
        while low < high {
            let middle = (low + high).div_ceil(2);
            match u32_at(self.marks, (middle - 1) * MARK) {
                Some(next) if next <= doc => low = middle,
                _ => high = middle - 1,
            }
        }
        low
    }

    fn at_mark(&self, block: usize) -> Iter<'a> {
        let at = block.saturating_sub(1) * MARK;
        let (next, offset) =
            (u32_at(self.marks, at).unwrap_or(u32::MAX), u32_at(self.marks, at + 4).unwrap_or(u32::MAX));
        let data = self.data.get(offset as usize..).unwrap_or_default();
        let left = self.count.saturating_sub(u32::try_from(block * STRIDE).unwrap_or(u32::MAX));
        Iter { reader: ByteReader::new(data), next, left, ahead: None }
    }
}

pub struct Iter<'a> {
    reader: ByteReader<'a>,
    next: u32,
    left: u32,
    /// An entry that was read but not returned yet.
    ahead: Option<(u32, TermCounts)>,
}

/// The counts of a term in the fields of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermCounts {
    /// The index of a shape in [`SHAPES`].
    Shape(u8),
    Other([u8; FIELDS]),
}

impl TermCounts {
    pub fn tf(self) -> [u8; FIELDS] {
        match self {
            TermCounts::Shape(shape) => SHAPES[usize::from(shape)],
            TermCounts::Other(tf) => tf,
        }
    }
}

impl Iter<'_> {
    /// Passes all remaining entries of documents before `end`.
    #[inline]
    pub fn below(&mut self, end: u32, mut take: impl FnMut(u32, TermCounts)) {
        if let Some((doc, times)) = self.ahead {
            if doc >= end {
                return;
            }
            take(doc, times);
            self.ahead = None;
        }
        while let Some((doc, times)) = self.read() {
            if doc >= end {
                self.ahead = Some((doc, times));
                return;
            }
            take(doc, times);
        }
    }

    #[inline(always)]
    fn read(&mut self) -> Option<(u32, TermCounts)> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let head = self.reader.number()?;
        let doc = self.next.checked_add(u32::try_from(head >> 3).ok()?)?;
        self.next = doc.checked_add(1)?;
        let shape = head & OTHER;
        if shape != OTHER {
            return Some((doc, TermCounts::Shape(shape as u8)));
        }
        let mask = self.reader.byte()?;
        let mut tf = [0; FIELDS];
        for (field, tf) in tf.iter_mut().enumerate() {
            if mask & (1 << field) != 0 {
                *tf = self.reader.byte()?;
            }
        }
        Some((doc, TermCounts::Other(tf)))
    }
}

impl Iterator for Iter<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let (doc, times) = self.ahead.take().or_else(|| self.read())?;
        Some(Posting { doc, tf: times.tf() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lists() -> impl Strategy<Value = Vec<Posting>> {
        let tf = prop_oneof![Just([0, 0, 0, 1]), Just([1, 0, 0, 1]), any::<[u8; 4]>()];
        proptest::collection::btree_map(0u32..3000, tf, 0..600)
            .prop_map(|map| map.into_iter().map(|(doc, tf)| Posting { doc, tf }).collect())
    }

    proptest! {
        #[test]
        fn a_list_comes_back_and_can_be_looked_into(list in lists(), docs in proptest::collection::btree_set(0u32..3000, 0..50)) {
            let mut bytes = Vec::new();
            write(&mut bytes, &list);
            let read = Postings::new(&bytes, list.len() as u32).unwrap();
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), list.clone());
            let docs: Vec<u32> = docs.into_iter().collect();
            let mut found = Vec::new();
            read.among(docs.iter().copied(), |at, tf| found.push(Posting { doc: docs[at], tf }));
            let wanted: Vec<Posting> = list.into_iter().filter(|posting| docs.contains(&posting.doc)).collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..200), count in any::<u32>()) {
            if let Some(read) = Postings::new(&bytes, count) {
                let _count = read.iter().count();
                read.among([0, 5, 70, 900, u32::MAX], |_, _| {});
            }
        }
    }
}
