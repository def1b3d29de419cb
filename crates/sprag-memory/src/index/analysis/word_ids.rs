//! Numbers for all words of a build. A short word is its own key, so that a comparison reads no other memory.

use std::collections::HashMap;

use crate::index::analysis::hasher::WordHashState;

#[derive(Debug, Default)]
pub(crate) struct WordIds {
    short: HashMap<u128, u32, WordHashState>,
    long: HashMap<Box<[u8]>, u32, WordHashState>,
    /// All words in one buffer, and the end of each.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl WordIds {
    /// Returns the number of a word; adds a new word.
    pub(crate) fn get_or_add(&mut self, word: &[u8]) -> u32 {
        let next = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        let number = match short(word) {
            Some(key) => *self.short.entry(key).or_insert(next),
            None => match self.long.get(word) {
                Some(number) => *number,
                None => *self.long.entry(word.into()).or_insert(next),
            },
        };
        if number == next {
            self.text.extend_from_slice(word);
            self.ends.push(self.text.len());
        }
        number
    }

    /// Returns every word with its number, sorted by word.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let words = starts.zip(&self.ends).map(|(from, to)| &self.text[from..*to]);
        let mut words: Vec<(u64, u32, &[u8])> =
            words.zip(0..).map(|(word, number)| (first_bytes(word), number, word)).collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.2.cmp(b.2)));
        words.into_iter().map(|(_, number, word)| (number, word))
    }
}

/// Packs a word and its length into one number. `None` for a longer word, which is rare.
pub(crate) fn short(word: &[u8]) -> Option<u128> {
    let size = word.len();
    // Reads the start and the end, which may overlap. Copying each byte would take most of the time.
    let bytes: u128 = match size {
        0 => 0,
        1..4 => {
            let at = |place: usize| u128::from(word[place]) << (8 * place);
            at(0) | at(size / 2) | at(size - 1)
        }
        4..8 => {
            let (first, last) = (word.first_chunk()?, word.last_chunk()?);
            u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << (8 * (size - 4))
        }
        8..16 => {
            let (first, last) = (word.first_chunk()?, word.last_chunk()?);
            u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (size - 8))
        }
        _ => return None,
    };
    Some(bytes | (size as u128) << 120)
}

/// Returns the first bytes for sorting. Most words differ there, so the rest is rarely compared.
fn first_bytes(word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(word).for_each(|(byte, known)| *byte = *known);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_word_has_one_number(words in proptest::collection::vec("[a-c\\x00]{0,20}", 0..60)) {
            let mut numbers = WordIds::default();
            let given: Vec<u32> = words.iter().map(|word| numbers.get_or_add(word.as_bytes())).collect();
            let known: BTreeMap<&[u8], u32> =
                words.iter().zip(&given).map(|(word, number)| (word.as_bytes(), *number)).collect();
            let found: Vec<(&[u8], u32)> = numbers.in_order().map(|(number, word)| (word, number)).collect();
            prop_assert_eq!(&found, &known.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(words.iter().map(|word| numbers.get_or_add(word.as_bytes())).collect::<Vec<_>>(), given);
        }

        #[test]
        fn a_short_word_is_its_bytes_and_its_length(word in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(&word).for_each(|(byte, known)| *byte = *known);
            bytes[15] = word.len() as u8;
            prop_assert_eq!(short(&word), (word.len() < 16).then(|| u128::from_le_bytes(bytes)));
        }
    }
}
