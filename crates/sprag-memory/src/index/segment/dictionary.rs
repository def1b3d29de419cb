//! A sorted dictionary of words with the position of their postings. Neighbours share a prefix, so only the
//! difference is stored; every sixteenth word is complete, for binary search.

use crate::index::segment::bytes::{ByteReader, put_block, put_number, u32_at};

const BLOCK: usize = 16;
/// The limit on a word. A damaged file may claim any length.
const LONGEST: usize = 4096;

#[derive(Default)]
pub(crate) struct DictionaryWriter {
    entries: Vec<u8>,
    starts: Vec<u8>,
    count: usize,
    last: Vec<u8>,
    /// The start of the next word's postings.
    offset: u64,
}

/// The entry of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictionaryEntry {
    /// The number of documents with the word.
    pub docs: u32,
    pub offset: usize,
    pub length: usize,
}

impl DictionaryWriter {
    /// Adds a word with the size of its postings. Words must come in order.
    pub(super) fn add(&mut self, word: &[u8], docs: u32, length: u64) {
        if self.count.is_multiple_of(BLOCK) {
            self.starts.extend(u32::try_from(self.entries.len()).unwrap_or(u32::MAX).to_le_bytes());
            put_number(&mut self.entries, self.offset);
            put_block(&mut self.entries, word);
        } else {
            let shared = self.last.iter().zip(word).take_while(|(a, b)| a == b).count();
            put_number(&mut self.entries, shared as u64);
            put_block(&mut self.entries, &word[shared..]);
        }
        put_number(&mut self.entries, u64::from(docs));
        put_number(&mut self.entries, length);
        self.offset += length;
        self.count += 1;
        word.clone_into(&mut self.last);
    }

    /// Returns the starts of the blocks, and the blocks.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.starts, self.entries)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    starts: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Dictionary<'a> {
    pub fn new(starts: &'a [u8], entries: &'a [u8]) -> Dictionary<'a> {
        Dictionary { starts, entries }
    }

    pub fn find(&self, word: &[u8]) -> Option<DictionaryEntry> {
        let mut found = None;
        self.from(word, |known, entry| {
            found = (known == word).then_some(entry);
            false
        });
        found
    }

    /// Passes the words from this one on, until `take` returns `false`.
    pub fn from(&self, word: &[u8], mut take: impl FnMut(&[u8], DictionaryEntry) -> bool) {
        let first = self.block_of(word);
        for block in first..self.starts.len() / 4 {
            let Some(mut walk) = BlockWalk::at(self, block) else { return };
            while let Some(entry) = walk.step() {
                if walk.word.as_slice() >= word && !take(&walk.word, entry) {
                    return;
                }
            }
        }
    }

    pub fn iter(&self) -> DictionaryWords<'a> {
        DictionaryWords { dictionary: *self, block: 0, walk: BlockWalk::at(self, 0) }
    }

    /// Returns the last block whose first word is not after this one.
    fn block_of(&self, word: &[u8]) -> usize {
        let (mut low, mut high) = (0, (self.starts.len() / 4).saturating_sub(1));
        while low < high {
            let middle = (low + high).div_ceil(2);
            match self.first_of(middle) {
                Some(first) if first <= word => low = middle,
                _ => high = middle - 1,
            }
        }
        low
    }

    fn first_of(&self, block: usize) -> Option<&'a [u8]> {
        let mut reader = self.reader(block)?;
        reader.number()?;
        reader.block()
    }

    fn reader(&self, block: usize) -> Option<ByteReader<'a>> {
        let start = u32_at(self.starts, block * 4)? as usize;
        let end = u32_at(self.starts, block * 4 + 4).map_or(self.entries.len(), |end| end as usize);
        Some(ByteReader::new(self.entries.get(start..end)?))
    }
}

/// A cursor over the words of one block.
struct BlockWalk<'a> {
    reader: ByteReader<'a>,
    offset: usize,
    word: Vec<u8>,
    is_first: bool,
}

impl<'a> BlockWalk<'a> {
    fn at(dictionary: &Dictionary<'a>, block: usize) -> Option<BlockWalk<'a>> {
        let mut reader = dictionary.reader(block)?;
        let offset = reader.size()?;
        Some(BlockWalk { reader, offset, word: Vec::with_capacity(32), is_first: true })
    }

    fn step(&mut self) -> Option<DictionaryEntry> {
        if self.reader.is_done() {
            return None;
        }
        let shared = if self.is_first { 0 } else { self.reader.size()? };
        self.is_first = false;
        let rest = self.reader.block()?;
        if shared > self.word.len() || shared + rest.len() > LONGEST {
            return None;
        }
        self.word.truncate(shared);
        self.word.extend_from_slice(rest);
        let docs = u32::try_from(self.reader.number()?).ok()?;
        let length = self.reader.size()?;
        let entry = DictionaryEntry { docs, offset: self.offset, length };
        self.offset = self.offset.checked_add(length)?;
        Some(entry)
    }
}

/// A cursor over all words in order.
pub struct DictionaryWords<'a> {
    dictionary: Dictionary<'a>,
    block: usize,
    walk: Option<BlockWalk<'a>>,
}

impl DictionaryWords<'_> {
    pub fn word(&self) -> &[u8] {
        self.walk.as_ref().map_or(&[], |walk| &walk.word)
    }

    /// Moves to the next word; `None` at the end.
    pub fn step(&mut self) -> Option<DictionaryEntry> {
        loop {
            if let Some(entry) = self.walk.as_mut()?.step() {
                return Some(entry);
            }
            self.block += 1;
            self.walk = BlockWalk::at(&self.dictionary, self.block);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_word_is_found_and_no_other(words in proptest::collection::btree_set("[a-c]{0,5}", 0..80), other in "[a-c]{0,5}") {
            let mut writer = DictionaryWriter::default();
            let mut offset = 0;
            let mut wanted = Vec::new();
            for (at, word) in words.iter().enumerate() {
                writer.add(word.as_bytes(), at as u32, at as u64 + 1);
                wanted.push(DictionaryEntry { docs: at as u32, offset, length: at + 1 });
                offset += at + 1;
            }
            let (starts, entries) = writer.finish();
            let dictionary = Dictionary::new(&starts, &entries);
            for (word, entry) in words.iter().zip(&wanted) {
                prop_assert_eq!(dictionary.find(word.as_bytes()), Some(*entry));
            }
            prop_assert_eq!(dictionary.find(other.as_bytes()).is_some(), words.contains(&other));
            let mut from = Vec::new();
            dictionary.from(other.as_bytes(), |word, _| { from.push(String::from_utf8(word.to_vec()).unwrap()); true });
            prop_assert_eq!(from, words.range(other.clone()..).cloned().collect::<Vec<_>>());
            let (mut all, mut iter) = (Vec::new(), dictionary.iter());
            while let Some(entry) = iter.step() { all.push(entry); }
            prop_assert_eq!(all, wanted);
        }

        #[test]
        fn any_bytes_end(starts in proptest::collection::vec(any::<u8>(), 0..40), entries in proptest::collection::vec(any::<u8>(), 0..200)) {
            let dictionary = Dictionary::new(&starts, &entries);
            let _entry = dictionary.find(b"word");
            let mut iter = dictionary.iter();
            while iter.step().is_some() {}
        }
    }
}
