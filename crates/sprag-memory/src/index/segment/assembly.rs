//! Writes the bytes of a segment. Build and merge share this code, so a merge gives the same bytes as a build
//! of the same documents.

use crate::index::segment::bytes::checksum;
use crate::index::segment::postings::{self, FIELDS, Posting};
use crate::index::segment::{FORMAT, HEAD, MAGIC, META, SECTIONS, Segment, SegmentSection, dictionary};

#[derive(Default)]
pub(crate) struct Assembly {
    terms: Lists,
    keys: Lists,
    count: u32,
    totals: [(u64, u32); FIELDS],
    lengths: Vec<u8>,
    metas: Vec<u8>,
    card_starts: Vec<u8>,
    cards: Vec<u8>,
    signs: Vec<u8>,
    vectors: Vec<u8>,
    ids: Vec<([u8; START], u32)>,
}

#[derive(Default)]
struct Lists {
    words: dictionary::DictionaryWriter,
    postings: Vec<u8>,
}

/// The data of one document in the sections with rows.
pub(crate) struct DocumentRow<'a> {
    pub lengths: [u8; FIELDS],
    pub meta: [u8; META],
    pub card: &'a [u8],
    pub id: &'a str,
    pub signs: &'a [u8],
    pub vector: &'a [u8],
}

impl Lists {
    fn add(&mut self, word: &[u8], list: &[Posting]) {
        let before = self.postings.len();
        postings::write(&mut self.postings, list);
        let docs = u32::try_from(list.len()).unwrap_or(u32::MAX);
        self.words.add(word, docs, (self.postings.len() - before) as u64);
    }
}

impl Assembly {
    /// Adds a term. Terms must come in order.
    pub(crate) fn term(&mut self, term: &[u8], list: &[Posting]) {
        self.terms.add(term, list);
    }

    /// Adds a key. Keys must come in order.
    pub(crate) fn key(&mut self, key: &[u8], list: &[Posting]) {
        self.keys.add(key, list);
    }

    /// Adds a document. Documents must come in the order of their origin.
    pub(crate) fn document(&mut self, row: &DocumentRow<'_>) {
        for (total, length) in self.totals.iter_mut().zip(row.lengths) {
            total.0 += u64::from(length_of(length));
            total.1 += u32::from(length > 0);
        }
        self.lengths.extend(row.lengths);
        self.metas.extend(row.meta);
        self.card_starts.extend(u32::try_from(self.cards.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.cards.extend_from_slice(row.card);
        self.signs.extend_from_slice(row.signs);
        self.vectors.extend_from_slice(row.vector);
        self.ids.push((first_bytes(row.id), self.count));
        self.count += 1;
    }

    pub(crate) fn finish(self, table: [u8; 16]) -> Vec<u8> {
        let (term_starts, terms) = self.terms.words.finish();
        let (key_starts, keys) = self.keys.words.finish();
        let parts: [&[u8]; SECTIONS] = [
            &term_starts,
            &terms,
            &self.terms.postings,
            &key_starts,
            &keys,
            &self.keys.postings,
            &self.lengths,
            &self.metas,
            &self.card_starts,
            &self.cards,
            // Filled below, when the cards can be read.
            &vec![0; self.ids.len() * 4],
            &self.signs,
            &self.vectors,
        ];
        let size = parts.iter().fold(HEAD, |size, part| (size + part.len()).next_multiple_of(ALIGN));
        let mut bytes = Vec::with_capacity(size + ALIGN);
        bytes.resize(HEAD, 0);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..32].copy_from_slice(&table);
        for (field, (total, filled)) in self.totals.iter().enumerate() {
            bytes[32 + 8 * field..][..8].copy_from_slice(&total.to_le_bytes());
            bytes[32 + 8 * FIELDS + 4 * field..][..4].copy_from_slice(&filled.to_le_bytes());
        }
        for (part, content) in parts.iter().enumerate() {
            bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
            let at = 32 + 12 * FIELDS + 16 * part;
            let from = bytes.len() as u64;
            bytes[at..at + 8].copy_from_slice(&from.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&(content.len() as u64).to_le_bytes());
            bytes.extend_from_slice(content);
        }
        seal(&mut bytes);
        let ids = sorted(self.ids, &Segment::open(&bytes).expect("what was just put together is a segment"));
        let at = 32 + 12 * FIELDS + 16 * SegmentSection::Ids as usize;
        let from = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
        bytes[from..from + ids.len()].copy_from_slice(&ids);
        seal(&mut bytes);
        bytes
    }
}

const ALIGN: usize = 64;

fn seal(bytes: &mut [u8]) {
    let body = checksum(&bytes[HEAD..]);
    bytes[HEAD - 16..HEAD - 8].copy_from_slice(&body.to_le_bytes());
    let head = checksum(&bytes[..HEAD - 8]);
    bytes[HEAD - 8..HEAD].copy_from_slice(&head.to_le_bytes());
}

/// Returns the numbers of documents sorted by id. Few ids are longer than the stored prefix.
fn sorted(mut ids: Vec<([u8; START], u32)>, segment: &Segment<'_>) -> Vec<u8> {
    let text = |doc: u32| segment.id(doc).map(|id| id.as_str().to_owned()).unwrap_or_default();
    ids.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).cmp(&text(b.1))));
    ids.iter().flat_map(|(_, doc)| doc.to_le_bytes()).collect()
}

/// The length of a UUID as text.
const START: usize = 36;

fn first_bytes(id: &str) -> [u8; START] {
    let mut bytes = [0; START];
    bytes.iter_mut().zip(id.bytes()).for_each(|(byte, known)| *byte = known);
    bytes
}

/// Lengths as one byte: exact for small values, then in steps of 1/24.
const LENGTHS: [u32; 256] = {
    let mut lengths = [0u32; 256];
    let mut at = 1;
    while at < 256 {
        let step = lengths[at - 1] / 24;
        lengths[at] = lengths[at - 1] + if step > 1 { step } else { 1 };
        at += 1;
    }
    lengths
};

pub(crate) fn length_of(quantised: u8) -> u32 {
    LENGTHS[usize::from(quantised)]
}

/// Returns the largest step that does not exceed the length.
pub(crate) fn quantised(length: u32) -> u8 {
    u8::try_from(LENGTHS.partition_point(|&known| known <= length).saturating_sub(1)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_kept_within_a_twentieth() {
        for length in (0..50).chain([100, 1000, 10_000, 100_000]) {
            let kept = length_of(quantised(length));
            assert!(kept <= length && length - kept <= length / 20, "{length} {kept}");
        }
        assert_eq!(quantised(u32::MAX), 255);
    }
}
