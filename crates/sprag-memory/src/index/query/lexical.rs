//! The signal of shared words, BM25F: a word counts by its rarity, its fields and their length. Frequent
//! words of a long query say little and cost most, so they are looked up only for documents that are
//! candidates anyway.

use super::top::TopScores;
use super::{Corpus, RankWeights, SegmentShelf};
use crate::index::segment::SegmentSection;
use crate::index::segment::assembly::length_of;
use crate::index::segment::bits::Bits;
use crate::index::segment::postings::{FIELDS, Iter, Postings, SHAPES, TermCounts};

/// Virtual documents added to the count. In a small memory every word is rare; without this a new word would
/// outweigh all others.
const OTHERS: u64 = 200;
/// From about this many documents on, a word that no document has is a signal.
const ENOUGH: f32 = 100.0;

pub(crate) struct Lexical<'a> {
    terms: Vec<QueryTerm<'a>>,
    /// Terms before this index are read in full.
    in_full: usize,
    /// The norm of a field by its length.
    norms: Box<Norms>,
    k1: f32,
    best: f32,
    count: u64,
}

struct QueryTerm<'a> {
    /// The rarity of the term, times its count in the query.
    worth: f32,
    /// The postings for each segment.
    postings: Vec<Option<Postings<'a>>>,
    /// The score of the term in a single field, by shape and field length. Only for frequent terms, where a
    /// lookup is faster than the computation.
    alone: Option<Box<SingleTermScore>>,
}

type SingleTermScore = [[f32; 256]; SHAPES.len()];

/// A term in at least this many documents is frequent.
const FREQUENT: u64 = 4096;
/// The number of documents to score together, so that their data stays in the cache.
const BLOCK: usize = 16 * 1024;

/// Data of consecutive documents.
#[derive(Default)]
struct ScoreBlock {
    lengths: Vec<u8>,
    scores: Vec<f32>,
}

/// A document with its score.
pub(super) type Scored = (u32, f32);

impl<'a> Lexical<'a> {
    pub(super) fn new(corpus: &Corpus<'a>, words: &[(String, u32)], weights: &RankWeights) -> Lexical<'a> {
        let count: u64 = corpus.shelves.iter().map(|shelf| u64::from(shelf.segment.count())).sum();
        let mut terms: Vec<(u64, &String, QueryTerm<'a>)> = Vec::with_capacity(words.len());
        for (word, said) in words {
            let postings: Vec<_> = corpus.shelves.iter().map(|shelf| shelf.segment.term(word)).collect();
            let docs = postings.iter().flatten().map(|list| u64::from(list.count)).sum();
            let worth = idf(count + OTHERS, docs) * *said as f32;
            terms.push((docs, word, QueryTerm { worth, postings, alone: None }));
        }
        // Rarest first; terms of equal rarity in alphabetical order.
        terms.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        terms.truncate(weights.terms);
        let mut read = 0;
        let in_full = terms.iter().take_while(|(docs, ..)| {
            let is_first = read == 0;
            read += docs;
            is_first || read <= weights.postings
        });
        let in_full = in_full.count();
        let norms = norms(corpus, weights);
        for (_, _, term) in terms[..in_full].iter_mut().filter(|(docs, ..)| *docs >= FREQUENT) {
            term.alone = Some(alone(term.worth, &norms, weights.k1));
        }
        let terms: Vec<QueryTerm<'a>> = terms.into_iter().map(|(_, _, term)| term).collect();
        let best = terms.iter().map(|term| term.worth).sum();
        Lexical { in_full, norms, k1: weights.k1, best, count, terms }
    }

    /// Scores the known candidates and the best other documents, by the terms that are read in full. Returns
    /// a sorted list for each segment.
    pub(super) fn scored(
        &self,
        corpus: &Corpus<'_>,
        filtered: &[Bits],
        known: Vec<Vec<u32>>,
        most: usize,
    ) -> Vec<Vec<Scored>> {
        let mut best = TopScores::new(most);
        let mut scored = Vec::with_capacity(known.len());
        let mut block = ScoreBlock::default();
        for (shelf, mut docs) in known.into_iter().enumerate() {
            docs.sort_unstable();
            docs.dedup();
            let mut docs: Vec<Scored> = docs.into_iter().map(|doc| (doc, 0.0)).collect();
            self.read(&corpus.shelves[shelf], shelf, &mut block, &mut docs, |first, scores| {
                best.scan(scores, &filtered[shelf], shelf, first);
            });
            scored.push(docs);
        }
        for (shelf, doc, score) in best.chosen(corpus) {
            scored[shelf].push((doc, score));
        }
        for docs in &mut scored {
            docs.sort_unstable_by_key(|(doc, _)| *doc);
            docs.dedup_by_key(|(doc, _)| *doc);
        }
        scored
    }

    /// Scores all documents of a segment block by block, and the known ones among them.
    fn read(
        &self,
        shelf: &SegmentShelf<'_>,
        number: usize,
        block: &mut ScoreBlock,
        known: &mut [Scored],
        mut look: impl FnMut(u32, &[f32]),
    ) {
        let in_full = self.terms[..self.in_full].iter();
        let mut lists: Vec<(&QueryTerm<'_>, Iter<'_>)> =
            in_full.filter_map(|term| Some((term, term.postings[number].as_ref()?.iter()))).collect();
        if lists.is_empty() {
            return;
        }
        let mut known = known.iter_mut().peekable();
        for (mapped, first) in shelf.segment.section(SegmentSection::Lengths).chunks(BLOCK * FIELDS).zip(0..)
        {
            let first = first * BLOCK;
            block.lengths.resize(mapped.len(), 0);
            let is_read = shelf.read(SegmentSection::Lengths, first * FIELDS, &mut block.lengths);
            let (lengths, _) = if is_read { &block.lengths } else { mapped }.as_chunks::<FIELDS>();
            block.scores.clear();
            block.scores.resize(lengths.len(), 0.0);
            let scores = &mut block.scores;
            let (first, end) = (first as u32, (first + lengths.len()) as u32);
            for (term, list) in &mut lists {
                list.below(end, |doc, times| {
                    let at = (doc - first) as usize;
                    scores[at] += self.added(term, times, lengths[at]);
                });
            }
            while let Some((doc, score)) = known.next_if(|(doc, _)| *doc < end) {
                *score = scores[(*doc - first) as usize];
            }
            look(first, scores);
        }
    }

    /// Adds the scores of the other terms to the candidates, which are sorted.
    pub(super) fn complete(&self, corpus: &Corpus<'_>, shelf: usize, docs: &mut [Scored]) {
        let segment = &corpus.shelves[shelf].segment;
        for term in &self.terms[self.in_full..] {
            let Some(postings) = &term.postings[shelf] else { continue };
            let numbers: Vec<u32> = docs.iter().map(|(doc, _)| *doc).collect();
            postings.among(numbers, |at, tf| {
                let (doc, score) = &mut docs[at];
                *score += weight(term.worth, tf, segment.lengths(*doc), &self.norms, self.k1);
            });
        }
    }

    #[inline(always)]
    fn added(&self, term: &QueryTerm<'_>, times: TermCounts, lengths: [u8; FIELDS]) -> f32 {
        if let (TermCounts::Shape(shape), Some(alone)) = (times, &term.alone)
            && let Some(field) = ONLY_FIELD[usize::from(shape)]
        {
            return alone[usize::from(shape)][usize::from(lengths[field])];
        }
        weight(term.worth, times.tf(), lengths, &self.norms, self.k1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the share of the query in words that no document has.
    pub(super) fn unknown(&self) -> f32 {
        let is_unknown = |term: &&QueryTerm<'_>| term.postings.iter().all(Option::is_none);
        let unknown: f32 = self.terms.iter().filter(is_unknown).map(|term| term.worth).sum();
        if self.best > 0.0 { unknown / self.best * (1.0 - self.few()) } else { 0.0 }
    }

    /// Returns a value near 1 for few documents and near 0 for many.
    pub(super) fn few(&self) -> f32 {
        ENOUGH / (self.count as f32 + ENOUGH)
    }

    /// Returns the share of the best possible score of the query.
    pub(super) fn coverage(&self, score: f32) -> f32 {
        if self.best > 0.0 { score / self.best } else { 0.0 }
    }
}

type Norms = [[f32; 256]; FIELDS];

#[inline]
fn weight(worth: f32, tf: [u8; FIELDS], lengths: [u8; FIELDS], norms: &Norms, k1: f32) -> f32 {
    let mut sum = 0.0;
    for field in 0..FIELDS {
        sum += f32::from(tf[field]) * norms[field][usize::from(lengths[field])];
    }
    worth * sum / (k1 + sum)
}

/// The field of a shape that has only one field.
const ONLY_FIELD: [Option<usize>; SHAPES.len()] = {
    let mut only = [None; SHAPES.len()];
    let mut shape = 0;
    while shape < SHAPES.len() {
        let (mut field, mut fields) = (0, 0);
        while field < FIELDS {
            if SHAPES[shape][field] > 0 {
                only[shape] = Some(field);
                fields += 1;
            }
            field += 1;
        }
        if fields > 1 {
            only[shape] = None;
        }
        shape += 1;
    }
    only
};

fn alone(worth: f32, norms: &Norms, k1: f32) -> Box<SingleTermScore> {
    let mut alone = Box::new([[0.0; 256]; SHAPES.len()]);
    for (shape, known) in alone.iter_mut().enumerate() {
        let Some(field) = ONLY_FIELD[shape] else { continue };
        for (length, known) in (0..=255).zip(known) {
            // Other fields add nothing, whatever their length.
            let mut lengths = [0; FIELDS];
            lengths[field] = length;
            *known = weight(worth, SHAPES[shape], lengths, norms, k1);
        }
    }
    alone
}

pub(crate) fn idf(count: u64, docs: u64) -> f32 {
    let (count, docs) = (count as f64, docs.min(count) as f64);
    (1.0 + (count - docs + 0.5) / (docs + 0.5)).ln() as f32
}

fn norms(corpus: &Corpus<'_>, weights: &RankWeights) -> Box<Norms> {
    let mut totals = [(0u64, 0u64); FIELDS];
    for shelf in &corpus.shelves {
        for (total, (length, filled)) in totals.iter_mut().zip(shelf.segment.totals()) {
            total.0 = total.0.saturating_add(length);
            total.1 += u64::from(filled);
        }
    }
    let mut norms = Box::new([[0f32; 256]; FIELDS]);
    for (field, norm) in norms.iter_mut().enumerate() {
        let (length, filled) = totals[field];
        let average = (length as f64 / filled.max(1) as f64).max(1.0) as f32;
        for (quantised, norm) in (0..=255).zip(norm.iter_mut()) {
            let share = length_of(quantised) as f32 / average;
            *norm = weights.fields[field] / (1.0 - weights.b + weights.b * share);
        }
    }
    norms
}
