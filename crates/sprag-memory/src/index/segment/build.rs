//! Builds a segment from documents. Most of the time goes into analysing words.

use std::collections::HashMap;

use crate::document::Document;
use crate::index::analysis::simd::SimdWidth;
use crate::index::analysis::table::Table;
use crate::index::analysis::tokens;
use crate::index::analysis::word_ids::WordIds;
use crate::index::analysis::words::WordAnalysis;
use crate::index::segment::assembly::{Assembly, DocumentRow, quantised};
use crate::index::segment::bytes::{checksum, put_block, put_number, zigzag};
use crate::index::segment::postings::{FIELDS, Posting};
use crate::index::segment::{DocumentOrigin, META, card, uuid_bytes, write_label};

/// A document and its origin.
#[derive(Clone, Debug, Default)]
pub struct DocumentDraft {
    pub document: Document,
    pub origin: DocumentOrigin,
}

/// The limit on bytes of a field. The rest of a longer text is not indexed.
pub const FIELD: usize = 64 * 1024;
/// The limit on bytes of a summary in a card.
const SUMMARY: usize = 200;
const WHEN_NOT: usize = 400;
/// From this many documents on, feature detection of the processor pays off.
const MANY: usize = 64;
/// Longer words are encoded data, not language.
const WORD: usize = 200;
/// Longer paths and tags are cut.
const KEY: usize = 1000;

/// The prefix of a key: a file by its path, or a tag in lower case.
const FILE: u8 = b'f';
const TAG: u8 = b't';
/// The prefix of a whole name.
const NAME: u8 = b'n';

pub fn build(mut drafts: Vec<DocumentDraft>, table: &Table<'_>) -> Vec<u8> {
    keep_latest(&mut drafts);
    drafts.sort_by_key(|draft| (draft.origin.source, draft.origin.offset));
    let mut assembly = Assembly::default();
    let (mut terms, mut keys) = (Counted::default(), Counted::default());
    let breadth = if drafts.len() >= MANY { SimdWidth::known() } else { SimdWidth::default() };
    let mut words = WordAnalysis::new(table, breadth);
    let mut card = Vec::new();
    for (doc, draft) in drafts.iter().enumerate() {
        let doc = u32::try_from(doc).unwrap_or(u32::MAX);
        let document = &draft.document;
        let (lengths, vector) = words.count(document, doc, &mut terms, &mut keys);
        count_keys(document, doc, &mut keys);
        write_card(draft, &mut card);
        let (signs, bytes) = breadth.kept(&vector);
        let (signs, bytes) = (signs.map(u64::to_le_bytes), bytes.map(i8::cast_unsigned));
        assembly.document(&DocumentRow {
            lengths: lengths.map(quantised),
            meta: meta(draft),
            card: &card,
            id: &document.id,
            signs: signs.as_flattened(),
            vector: &bytes,
        });
    }
    drop(drafts);
    terms.lists(|term, list| assembly.term(term, list));
    keys.lists(|key, list| assembly.key(key, list));
    assembly.finish(table.id())
}

/// Keeps only the latest of texts with the same id.
fn keep_latest(drafts: &mut Vec<DocumentDraft>) {
    let mut latest: HashMap<&str, &DocumentOrigin> = HashMap::with_capacity(drafts.len());
    let mut is_unique = true;
    for draft in drafts.iter() {
        let known = latest.entry(&draft.document.id).or_insert(&draft.origin);
        is_unique &= std::ptr::eq(*known, &draft.origin);
        if draft.origin.rank() > known.rank() {
            *known = &draft.origin;
        }
    }
    if is_unique {
        return;
    }
    let kept: Vec<bool> =
        drafts.iter().map(|draft| std::ptr::eq(latest[draft.document.id.as_str()], &draft.origin)).collect();
    let mut kept = kept.into_iter();
    drafts.retain(|_| kept.next().unwrap_or(false));
}

fn count_keys(document: &Document, doc: u32, keys: &mut Counted) {
    let mut key = Vec::new();
    for file in &document.files {
        file_key(file, &mut key);
        let number = keys.number(&key);
        keys.count_once(number, doc);
    }
    for tag in &document.tags {
        tag_key(tag, &mut key);
        let number = keys.number(&key);
        keys.count_once(number, doc);
    }
}

/// The bytes of a name's checksum. Names are long and many, and no query needs their prefix, so a checksum
/// replaces them.
const NAME_BYTES: usize = 6;

pub fn name_key(name: &str, key: &mut Vec<u8>) {
    key.clear();
    key.push(NAME);
    key.extend_from_slice(&checksum(name.as_bytes()).to_be_bytes()[..NAME_BYTES]);
}

pub fn file_key(file: &str, key: &mut Vec<u8>) {
    let file = file.trim_start_matches("./");
    key.clear();
    key.push(FILE);
    key.extend_from_slice(cut(file, KEY).as_bytes());
}

pub fn tag_key(tag: &str, key: &mut Vec<u8>) {
    key.clear();
    key.push(TAG);
    key.extend_from_slice(cut(&tag.trim().to_lowercase(), KEY).as_bytes());
}

fn meta(draft: &DocumentDraft) -> [u8; META] {
    let seconds = (draft.document.at.millis() / 1000).clamp(0, i64::from(u32::MAX)) as u32;
    let mut meta = [0; META];
    meta[..4].copy_from_slice(&seconds.to_le_bytes());
    meta[4..6].copy_from_slice(&write_label(draft.document.label).to_le_bytes());
    meta[6..].copy_from_slice(&draft.origin.source.to_le_bytes());
    meta
}

fn write_card(draft: &DocumentDraft, out: &mut Vec<u8>) {
    let (document, origin) = (&draft.document, &draft.origin);
    out.clear();
    let uuid = uuid_bytes(&document.id);
    let later = origin.version.millis() - document.at.millis();
    let mut flags = 0;
    for (flag, is_set) in [
        (card::UUID, uuid.is_some()),
        (card::LATER, later != 0),
        (card::WHEN_NOT, !document.when_not.is_empty()),
    ] {
        if is_set {
            flags |= flag;
        }
    }
    out.push(flags);
    match uuid {
        Some(bytes) => out.extend(bytes),
        None => put_block(out, document.id.as_bytes()),
    }
    put_number(out, zigzag(document.at.millis()));
    if later != 0 {
        put_number(out, zigzag(later));
    }
    put_number(out, origin.offset);
    put_number(out, u64::from(origin.length));
    // A text without a summary shows its start.
    let shown = if document.summary.is_empty() { &document.detail } else { &document.summary };
    put_block(out, cut(shown.trim_start(), SUMMARY).as_bytes());
    if !document.when_not.is_empty() {
        put_block(out, cut(&document.when_not, WHEN_NOT).as_bytes());
    }
}

/// Cuts a text at a character boundary.
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Words by number, and all postings in the order of documents.
#[derive(Default)]
pub(crate) struct Counted {
    numbers: WordIds,
    /// The last posting, its document and the number of postings, for each word.
    last: Vec<LastWord>,
    postings: Vec<(u32, Posting)>,
}

#[derive(Clone, Copy, Default)]
struct LastWord {
    place: u32,
    doc: u32,
    count: u32,
}

impl Counted {
    pub(crate) fn number(&mut self, word: &[u8]) -> u32 {
        let number = self.numbers.get_or_add(word);
        if self.last.len() <= number as usize {
            self.last.push(LastWord::default());
        }
        number
    }

    /// Returns the numbers of the terms of a part of a word.
    pub(crate) fn of_part(&mut self, part: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        tokens::part_terms(part, &mut |term| {
            if term.len() <= WORD {
                numbers.push(self.number(term.as_bytes()));
            }
        });
        numbers
    }

    /// Counts terms and returns their number.
    pub(crate) fn count_all(&mut self, numbers: &[u32], doc: u32, field: usize) -> u32 {
        for &number in numbers {
            let tf = &mut self.posting(number, doc).tf[field];
            *tf = tf.saturating_add(1);
        }
        u32::try_from(numbers.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn count_once(&mut self, number: u32, doc: u32) {
        self.posting(number, doc).tf = [0, 0, 0, 1];
    }

    fn posting(&mut self, number: u32, doc: u32) -> &mut Posting {
        let last = &mut self.last[number as usize];
        if last.count == 0 || last.doc != doc {
            last.place = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
            last.doc = doc;
            last.count += 1;
            self.postings.push((number, Posting { doc, tf: [0; FIELDS] }));
        }
        &mut self.postings[last.place as usize].1
    }

    /// Passes every word in order with its postings.
    pub(crate) fn lists(self, mut take: impl FnMut(&[u8], &[Posting])) {
        let mut starts = Vec::with_capacity(self.last.len() + 1);
        let mut start = 0usize;
        for last in &self.last {
            starts.push(start);
            start += last.count as usize;
        }
        let mut lists = vec![Posting { doc: 0, tf: [0; FIELDS] }; self.postings.len()];
        let mut next = starts.clone();
        for (number, posting) in self.postings {
            let place = &mut next[number as usize];
            lists[*place] = posting;
            *place += 1;
        }
        for (number, word) in self.numbers.in_order() {
            let (from, to) = (starts[number as usize], next[number as usize]);
            if from < to {
                take(word, &lists[from..to]);
            }
        }
    }
}
