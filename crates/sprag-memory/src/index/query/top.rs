//! Keeps the best of many scores, with ties. Scores that can no longer win are dropped: most documents share
//! only one word with the query.

use super::{Corpus, chosen_places};
use crate::index::segment::bits::Bits;

pub(crate) struct TopScores {
    most: usize,
    /// Scores below this are not among the best.
    floor: f32,
    found: Vec<(f32, usize, u32)>,
    /// The number of entries that triggers the next cleanup.
    room: usize,
}

/// Entries kept per wanted entry, so that cleanups stay rare.
const SPARE: usize = 8;
/// The size of a group that a quick test can skip: most documents share no word with the query.
const GROUP: usize = 32;

impl TopScores {
    pub(super) fn new(most: usize) -> TopScores {
        TopScores { most, floor: 0.0, found: Vec::new(), room: most.saturating_mul(SPARE) }
    }

    /// Adds the good scores of consecutive documents.
    pub(super) fn scan(&mut self, scores: &[f32], bits: &Bits, shelf: usize, first: u32) {
        if self.most == 0 {
            return;
        }
        for (group, scores) in (first..).step_by(GROUP).zip(scores.chunks(GROUP)) {
            let highest = scores.iter().fold(0.0, |high, &score| if score > high { score } else { high });
            if highest <= 0.0 || highest < self.floor {
                continue;
            }
            for (doc, &score) in (group..).zip(scores) {
                if score > 0.0 && score >= self.floor && bits.has(doc) {
                    self.found.push((score, shelf, doc));
                }
            }
            if self.found.len() > self.room {
                self.sift();
            }
        }
    }

    fn sift(&mut self) {
        if self.found.len() > self.most {
            let (_, last, _) = self.found.select_nth_unstable_by(self.most - 1, |a, b| b.0.total_cmp(&a.0));
            self.floor = last.0;
            self.found.retain(|found| found.0 >= self.floor);
        }
        // All ties stay. Without more room, each new tie would trigger another cleanup.
        self.room = self.room.max(self.found.len().saturating_mul(2));
    }

    /// Returns the best with their scores. Content decides between ties at the end.
    pub(super) fn chosen(mut self, corpus: &Corpus<'_>) -> Vec<(usize, u32, f32)> {
        self.sift();
        let floor = self.floor;
        let is_kept = |found: &&(f32, usize, u32)| self.found.len() <= self.most || found.0 > floor;
        let mut best: Vec<(usize, u32, f32)> =
            self.found.iter().filter(is_kept).map(|&(score, shelf, doc)| (shelf, doc, score)).collect();
        if best.len() < self.found.len() {
            let equal = self.found.iter().filter(|found| found.0 == floor);
            let equal: Vec<(usize, u32)> = equal.map(|&(_, shelf, doc)| (shelf, doc)).collect();
            let equal = chosen_places(corpus, equal, self.most - best.len());
            best.extend(equal.into_iter().map(|(shelf, doc)| (shelf, doc, floor)));
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_the_best_of_all_however_many_there_are(
            scores in Just((0u16..900).collect::<Vec<_>>()).prop_shuffle(), most in 0usize..40, size in 1usize..300, step in 1u32..5
        ) {
            // Some documents are closed, and some have score 0.
            let scores: Vec<f32> = scores.iter().map(|score| f32::from(score.saturating_sub(50))).collect();
            let mut bits = Bits::all(scores.len() as u32);
            bits.keep(|doc| step == 1 || doc % step != 0);
            let mut best = TopScores::new(most);
            for (at, block) in scores.chunks(size).enumerate() {
                best.scan(block, &bits, 7, (at * size) as u32);
            }
            let mut found = best.chosen(&Corpus::default());
            found.sort_unstable_by(|a, b| b.2.total_cmp(&a.2));
            let mut wanted: Vec<(usize, u32, f32)> = scores.iter().zip(0..).map(|(score, doc)| (7, doc, *score)).collect();
            wanted.retain(|(_, doc, score)| *score > 0.0 && bits.has(*doc));
            wanted.sort_unstable_by(|a, b| b.2.total_cmp(&a.2));
            wanted.truncate(most);
            prop_assert_eq!(found, wanted);
        }
    }
}
