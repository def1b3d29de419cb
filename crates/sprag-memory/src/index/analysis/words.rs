//! Analyses the words of documents while an index is built: terms, names and vector pieces. Analysis costs
//! more than counting, and texts repeat few words, so each word is analysed once and cached.

use crate::document::Document;
use crate::index::analysis::simd::SimdWidth;
use crate::index::analysis::table::{DIMS, Summing, Table, Vector};
use crate::index::analysis::word_table::{KnownWord, WordMeaning, WordTable};
use crate::index::analysis::{pieces, tokens};
use crate::index::segment::build::{Counted, FIELD, cut, name_key};
use crate::index::segment::postings::FIELDS;

/// The number of words to look up together.
const AT_ONCE: usize = 32;
/// The field of tags. Tags yield no names and no vector pieces.
const TAGS: usize = 1;

pub(crate) struct WordAnalysis<'t> {
    table: Table<'t>,
    /// Whole words.
    words: WordTable,
    /// Parts of names. Names are many, but their parts are few. A common word is skipped as a word, but not
    /// as a part.
    parts: WordTable,
    summing: Summing<'t>,
    /// Pieces of the current document.
    pieces: Vec<u32>,
}

impl<'t> WordAnalysis<'t> {
    pub(crate) fn new(table: &Table<'t>, breadth: SimdWidth) -> WordAnalysis<'t> {
        WordAnalysis {
            table: *table,
            words: WordTable::default(),
            parts: WordTable::default(),
            summing: Summing::new(table, breadth),
            pieces: Vec::new(),
        }
    }

    /// Counts the words of a document. Returns the lengths of its fields and its vector.
    pub(crate) fn count(
        &mut self,
        document: &Document,
        doc: u32,
        terms: &mut Counted,
        keys: &mut Counted,
    ) -> ([u32; FIELDS], Vector) {
        let mut lengths = [0; FIELDS];
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        let mut all = Counting { doc, terms, keys, pieces };
        lengths[0] = self.text(&document.summary, 0, &mut all);
        for tag in &document.tags {
            lengths[TAGS] += self.text(tag, TAGS, &mut all);
        }
        lengths[2] = self.text(&document.when, 2, &mut all);
        lengths[3] = self.text(&document.detail, 3, &mut all);
        self.pieces = all.pieces;
        let vector = self.summing.sum(&mut self.pieces).unwrap_or([0.0; DIMS]);
        (lengths, vector)
    }

    fn text(&mut self, text: &str, field: usize, all: &mut Counting<'_>) -> u32 {
        let text = cut(text, FIELD);
        // A control character is dropped inside a word, so the fast path could join two words.
        let is_plain = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        // No early exit, so that the compiler can vectorise the loop.
        if !text.bytes().fold(true, |all, byte| all & is_plain(byte)) {
            return count_text(text, &self.table, field, all, |_| {});
        }
        let mut runs = AsciiRuns { text, at: 0 };
        let mut some: Vec<KnownWord<'_>> = Vec::with_capacity(AT_ONCE);
        let mut length = 0;
        loop {
            some.clear();
            some.extend(runs.by_ref().take(AT_ONCE));
            if some.is_empty() {
                return length;
            }
            self.words.expect(&some);
            length += some.iter().map(|run| self.run(*run, field, all)).sum::<u32>();
        }
    }

    fn run(&mut self, run: KnownWord<'_>, field: usize, all: &mut Counting<'_>) -> u32 {
        if let Some(known) = self.words.get(run) {
            return all.count_meaning(known, field);
        }
        match plain_name(run.text) {
            Some(name) => self.name(run.text, &name, field, all),
            None => count_text(run.text, &self.table, field, all, |meaning| self.words.keep(run, meaning)),
        }
    }

    /// Counts a name by its parts.
    fn name(&mut self, run: &str, name: &str, field: usize, all: &mut Counting<'_>) -> u32 {
        let mut length = 0;
        tokens::each_part(run, |part| {
            let word = KnownWord::new(part);
            if let Some(known) = self.parts.get(word) {
                length += all.count_meaning(known, field);
                return;
            }
            let mut pieces = Vec::new();
            pieces::each(part, &self.table, |piece| pieces.push(piece));
            let meaning = WordMeaning { terms: &all.terms.of_part(part), names: &[], pieces: &pieces };
            length += all.count_meaning(meaning, field);
            self.parts.keep(word, meaning);
        });
        if field != TAGS {
            let number = all.name(name);
            all.keys.count_once(number, all.doc);
        }
        length
    }
}

/// Counts any text without the cache.
fn count_text(
    text: &str,
    table: &Table<'_>,
    field: usize,
    all: &mut Counting<'_>,
    keep: impl FnOnce(WordMeaning<'_>),
) -> u32 {
    let (mut terms, mut names, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    tokens::each_word(text, |word| {
        if !tokens::is_left_out(word) {
            tokens::each_part(word, |part| terms.extend(all.terms.of_part(part)));
        }
        names.extend(tokens::name(word).map(|name| all.name(&name)));
    });
    pieces::each(text, table, |piece| pieces.push(piece));
    let meaning = WordMeaning { terms: &terms, names: &names, pieces: &pieces };
    keep(meaning);
    all.count_meaning(meaning, field)
}

/// The counters of the current document.
struct Counting<'c> {
    doc: u32,
    terms: &'c mut Counted,
    keys: &'c mut Counted,
    pieces: Vec<u32>,
}

impl Counting<'_> {
    /// Counts a word and returns its number of terms.
    fn count_meaning(&mut self, meaning: WordMeaning<'_>, field: usize) -> u32 {
        if field != TAGS {
            meaning.names.iter().for_each(|name| self.keys.count_once(*name, self.doc));
            self.pieces.extend_from_slice(meaning.pieces);
        }
        self.terms.count_all(meaning.terms, self.doc, field)
    }

    fn name(&mut self, name: &str) -> u32 {
        let mut key = Vec::with_capacity(8);
        name_key(name, &mut key);
        self.keys.number(&key)
    }
}

/// Bytes that belong to a word.
static INSIDE: [bool; 256] = {
    let mut inside = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        inside[byte] =
            (byte as u8).is_ascii_alphanumeric() || byte == b'_' as usize || byte == b'\'' as usize;
        byte += 1;
    }
    inside
};

/// The words of an ASCII text.
struct AsciiRuns<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for AsciiRuns<'t> {
    type Item = KnownWord<'t>;

    fn next(&mut self) -> Option<KnownWord<'t>> {
        let bytes = self.text.as_bytes();
        let is_inside = |byte: &u8| INSIDE[usize::from(*byte)];
        let from = self.at + bytes[self.at..].iter().position(is_inside)?;
        let to =
            bytes[from..].iter().position(|byte| !is_inside(byte)).map_or(bytes.len(), |size| from + size);
        self.at = to;
        Some(KnownWord::new(&self.text[from..to]))
    }
}

/// Returns the name if it has only letters and several parts. Digits are excluded, because terms and pieces
/// split them differently.
fn plain_name(run: &str) -> Option<String> {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_joined =
        |pair: &[u8]| pair[0] == b'_' || (pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let bytes = run.as_bytes();
    let may_be = bytes.windows(2).any(is_joined) && bytes.iter().all(is_letter);
    may_be.then(|| tokens::name(run)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::analysis::table::built_in;
    use crate::index::analysis::tokens;

    proptest! {
        #[test]
        fn a_word_that_is_known_comes_to_what_it_came_to(
            text in proptest::collection::vec("[a-zA-Z]{1,6}|[a-z]{2,5}_[a-z]{2,5}|[a-z]{1,4}[A-Z]{1,3}[a-z]{1,4}|[A-Za-z0-9_']{1,20}|the|don't|é|缓存|\u{1}|[ .,/\n]{1,2}", 0..40)
        ) {
            let text = text.concat();
            let table = built_in();
            let mut words = WordAnalysis::new(&table, SimdWidth::known());
            let (mut terms, mut keys) = (Counted::default(), Counted::default());
            let document = Document { detail: text.clone(), ..Document::default() };
            let first = words.count(&document, 0, &mut terms, &mut keys);
            let second = words.count(&document, 1, &mut terms, &mut keys);
            prop_assert_eq!(first, second);

            let (mut by_term, mut count) = (std::collections::BTreeMap::new(), 0u32);
            tokens::terms(&text, |term| {
                *by_term.entry(term.as_bytes().to_vec()).or_insert(0u8) += 1;
                count += 1;
            });
            prop_assert_eq!(first.0[3], count);
            let mut found = std::collections::BTreeMap::new();
            terms.lists(|term, list| {
                assert!(list.len() == 2 && list[0].tf == list[1].tf);
                found.insert(term.to_vec(), list[0].tf[3]);
            });
            prop_assert_eq!(found, by_term);

            let mut named = std::collections::BTreeSet::new();
            tokens::names(&text, |name| {
                let mut key = Vec::new();
                name_key(name, &mut key);
                named.insert(key);
            });
            let mut found = std::collections::BTreeSet::new();
            keys.lists(|key, _| {
                found.insert(key.to_vec());
            });
            prop_assert_eq!(found, named);
            prop_assert_eq!(first.1, table.embed(&text).unwrap_or([0.0; DIMS]));
        }
    }
}
