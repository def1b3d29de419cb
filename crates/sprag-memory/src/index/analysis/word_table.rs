//! A cache of analysed words, packed together, because memory access is the main cost. Several words are
//! prefetched at once, so that their memory accesses overlap.

use crate::index::analysis::hasher::WordHasher;
use crate::index::analysis::word_ids::short;

/// The limit on cached words.
const MOST: usize = 200_000;
/// The number of words to prefetch together.
const AT_ONCE: usize = 32;
/// The initial number of slots.
const FIRST: usize = 4096;

/// The result of analysing a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordMeaning<'m> {
    pub terms: &'m [u32],
    /// Keys of the names in the word.
    pub names: &'m [u32],
    pub pieces: &'m [u32],
}

/// A word with its short key, unless it is too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownWord<'w> {
    pub text: &'w str,
    short: Option<u128>,
}

impl<'w> KnownWord<'w> {
    pub(super) fn new(text: &'w str) -> KnownWord<'w> {
        KnownWord { text, short: short(text.as_bytes()) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct WordTable {
    /// The number of slots is a power of two, and at least half are free. A word is at its slot or after it,
    /// without a free slot between.
    places: Vec<WordSlot>,
    count: usize,
    numbers: Vec<u32>,
}

/// The position of a word's numbers, and their count by kind.
#[derive(Clone, Copy, Debug, Default)]
struct WordSlot {
    /// 0: the slot is free.
    word: u128,
    from: u32,
    terms: u8,
    names: u8,
    pieces: u8,
}

impl WordTable {
    /// Prefetches these words.
    pub(super) fn expect(&self, words: &[KnownWord<'_>]) {
        if self.places.is_empty() {
            return;
        }
        for words in words.chunks(AT_ONCE) {
            let mut homes = [0; AT_ONCE];
            for (home, word) in homes.iter_mut().zip(words) {
                *home = word.short.map_or(0, |word| self.home(word));
            }
            // The values do not matter; only the memory access does.
            std::hint::black_box(homes.map(|home| self.places[home].from));
        }
    }

    pub(super) fn get(&self, word: KnownWord<'_>) -> Option<WordMeaning<'_>> {
        let word = word.short.filter(|word| *word != 0)?;
        let place = self.places.get(self.find(word)?).filter(|place| place.word == word)?;
        let numbers = &self.numbers[place.from as usize..];
        let (terms, rest) = numbers.split_at(place.terms.into());
        let (names, rest) = rest.split_at(place.names.into());
        Some(WordMeaning { terms, names, pieces: &rest[..place.pieces.into()] })
    }

    /// Stores a word. Words that are too long or have too many numbers are analysed again each time.
    pub(super) fn keep(&mut self, word: KnownWord<'_>, meaning: WordMeaning<'_>) {
        let size = |numbers: &[u32]| u8::try_from(numbers.len()).ok();
        let sizes = (size(meaning.terms), size(meaning.names), size(meaning.pieces));
        let (Some(word), (Some(terms), Some(names), Some(pieces)), Ok(from)) =
            (word.short.filter(|word| *word != 0), sizes, u32::try_from(self.numbers.len()))
        else {
            return;
        };
        if self.count >= MOST {
            return;
        }
        if self.count * 2 >= self.places.len() {
            self.grow();
        }
        self.put(WordSlot { word, from, terms, names, pieces });
        self.count += 1;
        for numbers in [meaning.terms, meaning.names, meaning.pieces] {
            self.numbers.extend_from_slice(numbers);
        }
    }

    fn grow(&mut self) {
        let more = (self.places.len() * 2).max(FIRST);
        let before = std::mem::replace(&mut self.places, vec![WordSlot::default(); more]);
        before.into_iter().filter(|place| place.word != 0).for_each(|place| self.put(place));
    }

    fn put(&mut self, place: WordSlot) {
        if let Some(at) = self.find(place.word) {
            self.places[at] = place;
        }
    }

    /// Returns the slot of a word, or the free slot where it belongs.
    fn find(&self, word: u128) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let mut at = self.home(word);
        while self.places[at].word != 0 && self.places[at].word != word {
            at = (at + 1) & (self.places.len() - 1);
        }
        Some(at)
    }

    fn home(&self, word: u128) -> usize {
        WordHasher::hash_number(word) as usize & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_kept_comes_back(words in proptest::collection::vec("[a-d]{0,7}", 0..4000)) {
            let (mut known, mut wanted) = (WordTable::default(), HashMap::new());
            for (word, number) in words.iter().zip(0u32..) {
                if known.get(KnownWord::new(word)).is_none() {
                    known.keep(KnownWord::new(word), WordMeaning { terms: &[number], names: &[], pieces: &[number, 7] });
                    wanted.insert(word, number);
                }
            }
            known.expect(&words.iter().map(|word| KnownWord::new(word)).collect::<Vec<_>>());
            for (word, number) in wanted {
                let found = known.get(KnownWord::new(word)).map(|found| (found.terms.to_vec(), found.names.to_vec(), found.pieces.to_vec()));
                let kept = (!word.is_empty()).then(|| (vec![number], vec![], vec![number, 7]));
                prop_assert_eq!(found, kept, "{}", word);
            }
            prop_assert!(known.get(KnownWord::new("never")).is_none());
        }
    }
}
