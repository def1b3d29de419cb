//! Merges several segments into one without reading texts again. The bytes equal those of a build of the same
//! documents.

use std::collections::HashMap;

use crate::index::analysis::table::DIMS;
use crate::index::analysis::vectors::SIGNS;
use crate::index::segment::assembly::{Assembly, DocumentRow};
use crate::index::segment::dictionary::DictionaryWords;
use crate::index::segment::postings::Posting;
use crate::index::segment::{META, Segment, SegmentSection};

/// Marks a document that another text replaced.
const GONE: u32 = u32::MAX;

pub fn merge(segments: &[Segment<'_>], table: [u8; 16]) -> Vec<u8> {
    let order = in_order(segments);
    let mut numbers: Vec<Vec<u32>> =
        segments.iter().map(|segment| vec![GONE; segment.count() as usize]).collect();
    let mut assembly = Assembly::default();
    for (number, place) in order.iter().enumerate() {
        numbers[place.segment][place.doc as usize] = u32::try_from(number).unwrap_or(GONE);
        let segment = &segments[place.segment];
        let id = segment.id(place.doc);
        assembly.document(&DocumentRow {
            lengths: segment.lengths(place.doc),
            meta: row::<META>(segment, SegmentSection::Metas, place.doc),
            card: segment.card_bytes(place.doc).unwrap_or_default(),
            id: id.as_ref().map(|id| id.as_str()).unwrap_or_default(),
            signs: &row::<SIGNS>(segment, SegmentSection::Signs, place.doc),
            vector: &row::<DIMS>(segment, SegmentSection::Vectors, place.doc),
        });
    }
    let terms = segments.iter().map(|segment| segment.terms().iter()).collect();
    lists(segments, SegmentSection::TermPostings, terms, &numbers, |term, list| assembly.term(term, list));
    let keys = segments.iter().map(|segment| segment.keys().iter()).collect();
    lists(segments, SegmentSection::KeyPostings, keys, &numbers, |key, list| assembly.key(key, list));
    assembly.finish(table)
}

/// The position of a document.
struct SegmentDocument {
    source: u16,
    offset: u64,
    segment: usize,
    doc: u32,
}

/// Returns the remaining documents in the order of a build. A document with an unreadable card is dropped;
/// the next rebuild restores it.
fn in_order(segments: &[Segment<'_>]) -> Vec<SegmentDocument> {
    let mut latest = HashMap::new();
    for (number, segment) in segments.iter().enumerate() {
        for doc in segment.docs() {
            let Some(card) = segment.card(doc) else { continue };
            let known = latest.entry(IdKey::for_document(segment, doc)).or_insert((card.origin, number, doc));
            if card.origin.rank() > known.0.rank() {
                *known = (card.origin, number, doc);
            }
        }
    }
    let mut places: Vec<SegmentDocument> = latest
        .into_values()
        .map(|(origin, segment, doc)| SegmentDocument {
            source: origin.source,
            offset: origin.offset,
            segment,
            doc,
        })
        .collect();
    places.sort_unstable_by_key(|place| (place.source, place.offset, place.segment, place.doc));
    places
}

/// An id in its stored form.
#[derive(PartialEq, Eq, Hash)]
enum IdKey<'a> {
    Uuid(u128),
    Text(&'a str),
}

impl<'a> IdKey<'a> {
    fn for_document(segment: &Segment<'a>, doc: u32) -> IdKey<'a> {
        match segment.id(doc) {
            Some(crate::index::segment::DocumentId::Text(text)) => IdKey::Text(text),
            Some(id) => {
                IdKey::Uuid(crate::index::segment::uuid_bytes(id.as_str()).map_or(0, u128::from_be_bytes))
            }
            None => IdKey::Text(""),
        }
    }
}

fn row<const N: usize>(segment: &Segment<'_>, section: SegmentSection, doc: u32) -> [u8; N] {
    segment.row(section, N, doc).and_then(|row| row.try_into().ok()).unwrap_or([0; N])
}

/// Passes the words of all segments in order, each with its remaining postings.
fn lists(
    segments: &[Segment<'_>],
    section: SegmentSection,
    mut words: Vec<DictionaryWords<'_>>,
    numbers: &[Vec<u32>],
    mut take: impl FnMut(&[u8], &[Posting]),
) {
    let mut current: Vec<_> = words.iter_mut().map(DictionaryWords::step).collect();
    let mut word = Vec::new();
    let mut list: Vec<Posting> = Vec::new();
    loop {
        let waiting = words.iter().zip(&current).filter(|(_, entry)| entry.is_some());
        let Some(first) = waiting.map(|(words, _)| words.word()).min() else { return };
        first.clone_into(&mut word);
        list.clear();
        for (at, segment) in segments.iter().enumerate() {
            let Some(entry) = current[at].filter(|_| words[at].word() == word) else { continue };
            let postings = segment.postings(section, entry);
            for posting in postings.iter().flat_map(|postings| postings.iter()) {
                let number = numbers[at].get(posting.doc as usize).copied().unwrap_or(GONE);
                if number != GONE {
                    list.push(Posting { doc: number, tf: posting.tf });
                }
            }
            current[at] = words[at].step();
            // A damaged dictionary must not cause an endless loop.
            if current[at].is_some() && words[at].word() <= word.as_slice() {
                current[at] = None;
            }
        }
        if !list.is_sorted_by_key(|posting| posting.doc) {
            list.sort_unstable_by_key(|posting| posting.doc);
        }
        list.dedup_by_key(|posting| posting.doc);
        if !list.is_empty() {
            take(&word, &list);
        }
    }
}
