//! Words in common: BM25F, where a word counts by how rare it is, by the fields it is in and by how long
//! those are. The frequent words of a long question say little and cost most; they are only looked up
//! for documents that are candidates anyway.

use super::{Corpus, Weights, chosen};
use crate::assembly::length_of;
use crate::bits::Bits;
use crate::postings::{FIELDS, Postings};

/// Documents that are thought of beside those there are. In a small store every word is rare, and one that
/// nobody has used yet would count as much as all others together.
const OTHERS: u64 = 200;
/// Documents from which on it says something that a word is in none.
const ENOUGH: f32 = 100.0;

pub struct Lexical<'a> {
    terms: Vec<Term<'a>>,
    /// Terms before this one are read in full.
    in_full: usize,
    /// What a field of a length adds to a term's weight.
    norms: Box<[[f32; 256]; FIELDS]>,
    k1: f32,
    best: f32,
    count: u64,
}

struct Term<'a> {
    /// How rare it is, as often as the question says it.
    worth: f32,
    /// In each segment.
    postings: Vec<Option<Postings<'a>>>,
}

/// What the documents of one segment have of the question.
pub struct Scores(Vec<f32>);

impl<'a> Lexical<'a> {
    pub fn new(corpus: &Corpus<'a>, words: &[(String, u32)], weights: &Weights) -> Lexical<'a> {
        let count: u64 = corpus.shelves.iter().map(|shelf| u64::from(shelf.segment.count())).sum();
        let mut terms: Vec<(u64, &String, Term<'a>)> = Vec::with_capacity(words.len());
        for (word, said) in words {
            let postings: Vec<_> = corpus.shelves.iter().map(|shelf| shelf.segment.term(word)).collect();
            let docs = postings.iter().flatten().map(|list| u64::from(list.count)).sum();
            terms.push((docs, word, Term { worth: idf(count + OTHERS, docs) * *said as f32, postings }));
        }
        // The rarest first, and by themselves where they are equally rare.
        terms.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        terms.truncate(weights.terms);
        let mut read = 0;
        let in_full = terms.iter().take_while(|(docs, ..)| {
            let is_first = read == 0;
            read += docs;
            is_first || read <= weights.postings
        });
        let in_full = in_full.count();
        let terms: Vec<Term<'a>> = terms.into_iter().map(|(_, _, term)| term).collect();
        let best = terms.iter().map(|term| term.worth).sum();
        Lexical { in_full, norms: norms(corpus, weights), k1: weights.k1, best, count, terms }
    }

    /// For all documents of a segment, as far as terms are read in full.
    pub fn scores(&self, corpus: &Corpus<'_>, shelf: usize) -> Scores {
        let segment = &corpus.shelves[shelf].segment;
        let mut scores = Scores(vec![0.0; segment.count() as usize]);
        for term in &self.terms[..self.in_full] {
            for posting in term.postings[shelf].iter().flat_map(|postings| postings.iter()) {
                let weight = self.weight(term, posting.tf, segment.lengths(posting.doc));
                scores.add(posting.doc, weight);
            }
        }
        scores
    }

    /// Adds what candidates have of the other terms; they are in order.
    pub fn complete(&self, corpus: &Corpus<'_>, shelf: usize, docs: &[u32], scores: &mut Scores) {
        let segment = &corpus.shelves[shelf].segment;
        for term in &self.terms[self.in_full..] {
            let Some(postings) = &term.postings[shelf] else { continue };
            postings.among(docs, |at, tf| {
                let weight = self.weight(term, tf, segment.lengths(docs[at]));
                scores.add(docs[at], weight);
            });
        }
    }

    #[inline]
    fn weight(&self, term: &Term<'_>, tf: [u8; FIELDS], lengths: [u8; FIELDS]) -> f32 {
        let mut sum = 0.0;
        for field in 0..FIELDS {
            sum += f32::from(tf[field]) * self.norms[field][usize::from(lengths[field])];
        }
        term.worth * sum / (self.k1 + sum)
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Share of the question in words that no document has.
    pub fn unknown(&self) -> f32 {
        let is_unknown = |term: &&Term<'_>| term.postings.iter().all(Option::is_none);
        let unknown: f32 = self.terms.iter().filter(is_unknown).map(|term| term.worth).sum();
        if self.best > 0.0 { unknown / self.best * (1.0 - self.few()) } else { 0.0 }
    }

    /// Near 1 where there are few documents, near 0 where there are many.
    pub fn few(&self) -> f32 {
        ENOUGH / (self.count as f32 + ENOUGH)
    }

    /// Of the best score the question could get.
    pub fn coverage(&self, scores: &Scores, doc: u32) -> f32 {
        let score = scores.0.get(doc as usize).copied().unwrap_or(0.0);
        if self.best > 0.0 { score / self.best } else { 0.0 }
    }
}

impl Scores {
    #[inline]
    fn add(&mut self, doc: u32, weight: f32) {
        if let Some(sum) = self.0.get_mut(doc as usize) {
            *sum += weight;
        }
    }
}

pub fn idf(count: u64, docs: u64) -> f32 {
    let (count, docs) = (count as f64, docs.min(count) as f64);
    (1.0 + (count - docs + 0.5) / (docs + 0.5)).ln() as f32
}

fn norms(corpus: &Corpus<'_>, weights: &Weights) -> Box<[[f32; 256]; FIELDS]> {
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

/// The best of all segments by what was read in full.
pub fn best(corpus: &Corpus<'_>, scores: &[Scores], filtered: &[Bits], most: usize) -> Vec<(usize, u32)> {
    let mut found: Vec<(f32, usize, u32)> = Vec::new();
    for (shelf, (scores, bits)) in scores.iter().zip(filtered).enumerate() {
        for (group, weights) in scores.0.chunks(32).enumerate() {
            // Most documents have nothing of the question; to see that for many at once is quick.
            if !weights.iter().fold(false, |any, weight| any | (*weight > 0.0)) {
                continue;
            }
            for (at, &weight) in weights.iter().enumerate() {
                let doc = (group * 32 + at) as u32;
                if weight > 0.0 && bits.has(doc) {
                    found.push((weight, shelf, doc));
                }
            }
        }
    }
    let place = |&(_, shelf, doc): &(f32, usize, u32)| (shelf, doc);
    if found.len() <= most || most == 0 {
        return found.iter().take(most).map(place).collect();
    }
    let (_, &mut (last, ..), _) = found.select_nth_unstable_by(most - 1, |a, b| b.0.total_cmp(&a.0));
    let mut best: Vec<_> = found.iter().filter(|found| found.0 > last).map(place).collect();
    let equal: Vec<_> = found.iter().filter(|found| found.0 == last).map(place).collect();
    best.extend(chosen(corpus, equal, most - best.len()));
    best
}
