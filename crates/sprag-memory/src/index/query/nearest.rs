//! Finds the documents nearest to a query, by sign bits alone. The search scans all documents in chunks and
//! keeps only those that are still among the nearest, so that memory use stays small.

use std::cmp::Ordering;

use super::{Corpus, chosen};
use crate::index::analysis::simd::SimdWidth;
use crate::index::analysis::table::Vector;
use crate::index::analysis::vectors::{self, SIGNS};
use crate::index::segment::SegmentSection;
use crate::index::segment::bits::Bits;

/// A distance that no document has.
const FAR: u8 = 255;
/// From this many bytes on, feature detection of the processor pays off.
const MANY: usize = 512 * 1024;
/// The number of documents in one chunk.
const RUN: usize = 2048;
/// The size of a group that a quick test can skip.
const GROUP: usize = 64;

pub(crate) fn nearest(
    corpus: &Corpus<'_>,
    vector: &Vector,
    filtered: &[Bits],
    most: usize,
) -> Vec<(usize, u32)> {
    let question = vectors::signs(vector);
    let signs = |shelf: usize| corpus.shelves[shelf].segment.section(SegmentSection::Signs);
    let bytes: usize = (0..corpus.shelves.len()).map(|shelf| signs(shelf).len()).sum();
    let breadth = if bytes >= MANY { SimdWidth::known() } else { SimdWidth::default() };
    let mut near = Near { most, last: FAR - 1, within: 0, counts: [0; 256], found: Vec::new() };
    let (mut distances, mut read) = ([0; RUN], Vec::new());
    for (shelf, bits) in filtered.iter().enumerate() {
        for (run, first) in signs(shelf).chunks(RUN * SIGNS).zip((0..).step_by(RUN)) {
            read.resize(run.len(), 0);
            let is_read = corpus.shelves[shelf].read(SegmentSection::Signs, first * SIGNS, &mut read);
            let run = if is_read { &read } else { run };
            let distances = &mut distances[..run.len() / SIGNS];
            breadth.distances(&question, run, distances);
            near.scan(distances, run, bits, (shelf, first as u32));
        }
    }
    near.chosen(corpus)
}

/// The nearest documents so far, with all ties of the last one.
struct Near {
    most: usize,
    /// The smallest distance within which enough documents are found.
    last: u8,
    /// The number of documents within that distance, and for each distance.
    within: usize,
    counts: [usize; 256],
    /// Some entries may be too far away by now.
    found: Vec<NearestDocument>,
}

struct NearestDocument {
    distance: u8,
    place: (usize, u32),
    signs: [u8; SIGNS],
}

impl Near {
    /// Scans consecutive documents, starting at `first`.
    fn scan(&mut self, distances: &[u8], rows: &[u8], bits: &Bits, (shelf, first): (usize, u32)) {
        let (rows, _) = rows.as_chunks::<SIGNS>();
        for (group, (distances, rows)) in
            (first..).step_by(GROUP).zip(distances.chunks(GROUP).zip(rows.chunks(GROUP)))
        {
            if distances.iter().fold(FAR, |least, distance| least.min(*distance)) > self.last {
                continue;
            }
            for (doc, (&distance, &signs)) in (group..).zip(distances.iter().zip(rows)) {
                if distance <= self.last && bits.has(doc) {
                    self.add(NearestDocument { distance, place: (shelf, doc), signs });
                }
            }
        }
    }

    fn add(&mut self, found: NearestDocument) {
        self.counts[usize::from(found.distance)] += 1;
        self.found.push(found);
        self.within += 1;
        while self.last > 0 && self.within - self.counts[usize::from(self.last)] >= self.most {
            self.within -= self.counts[usize::from(self.last)];
            self.last -= 1;
        }
    }

    fn chosen(self, corpus: &Corpus<'_>) -> Vec<(usize, u32)> {
        let (mut near, mut equal) = (Vec::new(), Vec::new());
        for found in self.found {
            match found.distance.cmp(&self.last) {
                Ordering::Less => near.push(found.place),
                Ordering::Equal => equal.push((found.signs, found.place)),
                Ordering::Greater => {}
            }
        }
        let room = self.most.saturating_sub(near.len());
        near.extend(chosen(corpus, equal, room));
        near
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_the_nearest_of_all_and_among_equals_the_first_by_what_they_say(
            distances in proptest::collection::vec(any::<u8>(), 1..900), most in 0usize..60, size in 1usize..300, step in 1u32..5
        ) {
            let mut bits = Bits::all(distances.len() as u32);
            bits.keep(|doc| step == 1 || doc % step != 0);
            // No two rows are equal, and their content does not depend on the position.
            let signs = |doc: u32| {
                let mut signs = [0; SIGNS];
                signs[..4].copy_from_slice(&doc.wrapping_mul(2_654_435_761).to_le_bytes());
                signs
            };
            let rows: Vec<u8> = (0..distances.len() as u32).flat_map(signs).collect();
            let mut near = Near { most, last: FAR - 1, within: 0, counts: [0; 256], found: Vec::new() };
            for (at, (run, rows)) in distances.chunks(size).zip(rows.chunks(size * SIGNS)).enumerate() {
                near.scan(run, rows, &bits, (3, (at * size) as u32));
            }
            let mut found = near.chosen(&Corpus::default());
            found.sort_unstable();
            let mut wanted: Vec<_> = distances.iter().zip(0..).map(|(distance, doc)| (*distance, signs(doc), doc)).collect();
            wanted.retain(|(distance, _, doc)| *distance < FAR && bits.has(*doc));
            wanted.sort_unstable();
            let mut wanted: Vec<(usize, u32)> = wanted.iter().take(most).map(|(_, _, doc)| (3, *doc)).collect();
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted);
        }
    }
}
