//! Searches documents over several segments as if they were one. Statistics cover all segments together, so
//! that the segment of a document does not change its rank.

use std::cmp::Ordering;

use sprag_base::time::Timestamp;

use crate::index::analysis::table::{DIMS, Table, Vector};
use crate::index::analysis::tokens;
use crate::index::analysis::vectors::{self, SIGNS};
use crate::index::query::fuse::QueryStats;
use crate::index::segment::bits::Bits;
use crate::index::segment::{DocumentCard, Segment, SegmentSection, build};
use crate::learning::{Category, LearningScope};

mod files;
pub mod fuse;
mod lexical;
mod names;
mod nearest;
pub mod select;
mod top;

/// The segments to search.
#[derive(Clone, Debug, Default)]
pub struct Corpus<'a> {
    pub shelves: Vec<SegmentShelf<'a>>,
}

/// A segment, and the documents of it that may be found.
#[derive(Clone, Debug)]
pub struct SegmentShelf<'a> {
    pub segment: Segment<'a>,
    pub open: Bits,
    /// A reader that bypasses the memory map.
    pub rows: Option<&'a dyn RowReader>,
    /// The owner of the segment. Segments of one owner never have two open texts with the same id.
    pub owner: Option<usize>,
}

/// Reads rows of a mapped segment without touching the map. A touched page stays in memory with its
/// neighbours. That costs much for single rows from many places, and for a scan of all rows.
pub trait RowReader: std::fmt::Debug {
    /// Fills `into` with bytes of a section from `from` on. Returns `false` if the caller must read the map.
    fn read(&self, section: SegmentSection, from: usize, into: &mut [u8]) -> bool;
}

impl<'a> SegmentShelf<'a> {
    /// Opens all documents of a segment.
    pub fn new(segment: Segment<'a>) -> SegmentShelf<'a> {
        SegmentShelf { open: Bits::all(segment.count()), segment, rows: None, owner: None }
    }

    fn cosine(&self, question: &Vector, doc: u32) -> f32 {
        let mut vector = [0; DIMS];
        if self.read(SegmentSection::Vectors, doc as usize * DIMS, &mut vector) {
            vectors::cosine(question, &vector)
        } else {
            vectors::cosine(question, self.segment.vector(doc))
        }
    }

    fn read(&self, section: SegmentSection, from: usize, into: &mut [u8]) -> bool {
        self.rows.is_some_and(|rows| rows.read(section, from, into))
    }
}

#[derive(Clone, Debug, Default)]
pub struct IndexQuery {
    pub text: String,
    /// Paths relative to the repository.
    pub files: Vec<String>,
    /// Words that describe the current work.
    pub tags: Vec<String>,
    pub filter: Filter,
    /// The limit on hits.
    pub limit: usize,
}

/// Conditions that every hit must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub scope: Option<LearningScope>,
    pub category: Option<Category>,
    pub tag: Option<String>,
    pub since: Option<Timestamp>,
}

/// Tuned parameters of the ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankWeights {
    /// Weights of summary, tags, trigger and detail.
    pub fields: [f32; 4],
    pub k1: f32,
    pub b: f32,
    /// The weight of a file in the same directory; the same file has 1.
    pub same_directory: f32,
    /// The limit on terms of a query, the rarest first.
    pub terms: usize,
    /// The limit on postings that are read in full. More frequent terms are looked up only for candidates.
    pub postings: u64,
    /// The number of candidates by words, and by vector.
    pub candidates: usize,
    pub fusion: fuse::SignalWeights,
}

pub const WEIGHTS: RankWeights = RankWeights {
    fields: [2.0, 2.0, 1.5, 1.0],
    k1: 1.5,
    b: 0.75,
    same_directory: 0.3,
    terms: 64,
    postings: 400_000,
    candidates: 300,
    fusion: fuse::WEIGHTS,
};

/// Hits below this probability are not shown by default.
pub const FLOOR: f32 = 0.40;

/// The signals of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// The share of the best possible score of the query.
    pub coverage: f32,
    /// The vector similarity of query and document.
    pub cosine: f32,
    pub files: f32,
    /// The share of the query's names that the document has; `None` if the query has none.
    pub names: Option<f32>,
}

impl Signals {
    /// Describes the signals in a few words.
    pub fn describe(&self) -> String {
        let mut told = format!("words {:.2}, meaning {:.2}", self.coverage, self.cosine);
        if self.files > 0.0 {
            told.push_str(&format!(", files {:.2}", self.files));
        }
        if let Some(names) = self.names {
            told.push_str(&format!(", names {names:.2}"));
        }
        told
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexHit<'a> {
    pub shelf: usize,
    pub doc: u32,
    pub card: DocumentCard<'a>,
    pub signals: Signals,
    /// The log-odds that this document answers the query.
    pub score: f32,
    pub probability: f32,
}

/// Returns the best hits first.
pub fn search<'a>(
    corpus: &Corpus<'a>,
    question: &IndexQuery,
    table: &Table<'_>,
    weights: &RankWeights,
) -> Vec<IndexHit<'a>> {
    let filtered: Vec<Bits> = corpus.shelves.iter().map(|shelf| filtered(shelf, &question.filter)).collect();
    let lexical = lexical::Lexical::new(corpus, &terms(question), weights);
    let names = names::NameTerms::new(corpus, &question.text);
    let files = files::FileTerms::new(corpus, &question.files, weights);
    let vector = table.embed(build::cut(&question.text, build::FIELD));

    let mut candidates: Vec<Vec<u32>> = vec![Vec::new(); corpus.shelves.len()];
    if let Some(vector) = &vector {
        for (shelf, doc) in nearest::nearest(corpus, vector, &filtered, weights.candidates) {
            candidates[shelf].push(doc);
        }
    }
    for (shelf, doc) in files.candidates(corpus, &filtered, weights.candidates) {
        candidates[shelf].push(doc);
    }

    let mut found = Vec::new();
    let scored = lexical.scored(corpus, &filtered, candidates, weights.candidates);
    for (number, mut docs) in scored.into_iter().enumerate() {
        lexical.complete(corpus, number, &mut docs);
        let shelf = &corpus.shelves[number];
        for (doc, score) in docs {
            let cosine = vector.as_ref().map_or(0.0, |vector| shelf.cosine(vector, doc));
            let signals = Signals {
                coverage: lexical.coverage(score),
                cosine,
                files: files.signal(number, doc),
                names: names.signal(number, doc),
            };
            found.push(ScoredDocument { shelf: number, doc, signals, score: 0.0 });
        }
    }
    let around = QueryStats {
        crowd: crowd(&found),
        unknown: lexical.unknown(),
        few: lexical.few(),
        is_wordless: lexical.is_empty() && vector.is_none(),
    };
    for found in found.iter_mut() {
        found.score = weights.fusion.score(&found.signals, &around);
    }
    ranked(corpus, found, question.limit)
}

/// Returns the coverage of the tenth best hit.
fn crowd(found: &[ScoredDocument]) -> f32 {
    const TENTH: usize = 9;
    let mut coverage: Vec<f32> = found.iter().map(|found| found.signals.coverage).collect();
    if coverage.len() <= TENTH {
        return 0.0;
    }
    *coverage.select_nth_unstable_by(TENTH, |a, b| b.total_cmp(a)).1
}

struct ScoredDocument {
    shelf: usize,
    doc: u32,
    signals: Signals,
    score: f32,
}

/// Returns at most `limit` hits, each id once with its latest text.
fn ranked<'a>(corpus: &Corpus<'a>, mut found: Vec<ScoredDocument>, limit: usize) -> Vec<IndexHit<'a>> {
    let card = |found: &ScoredDocument| corpus.shelves[found.shelf].segment.card(found.doc);
    found.sort_unstable_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| match (card(a), card(b)) {
            (Some(a), Some(b)) => b.at.cmp(&a.at).then_with(|| a.id.as_str().cmp(b.id.as_str())),
            _ => Ordering::Equal,
        })
    });
    let mut hits: Vec<IndexHit<'a>> = Vec::new();
    for found in found {
        if hits.len() >= limit {
            break;
        }
        let Some(card) = card(&found) else { continue };
        if !is_replaced(corpus, found.shelf, &card) {
            let ScoredDocument { shelf, doc, signals, score } = found;
            hits.push(IndexHit { shelf, doc, card, signals, score, probability: fuse::probability(score) });
        }
    }
    hits
}

/// Reports whether another segment has a later text of the same id.
fn is_replaced(corpus: &Corpus<'_>, shelf: usize, card: &DocumentCard<'_>) -> bool {
    let owner = corpus.shelves[shelf].owner;
    let is_other = |other: &SegmentShelf<'_>| owner.is_none() || other.owner != owner;
    let others =
        corpus.shelves.iter().enumerate().filter(|(number, other)| *number != shelf && is_other(other));
    others.into_iter().any(|(number, other)| {
        let doc = other.segment.by_id(card.id.as_str()).filter(|&doc| other.open.has(doc));
        let rank = doc.and_then(|doc| other.segment.card(doc)).map(|card| card.origin.rank());
        rank.is_some_and(|rank| (rank, number) > (card.origin.rank(), shelf))
    })
}

fn terms(question: &IndexQuery) -> Vec<(String, u32)> {
    let mut terms = tokens::query_terms(build::cut(&question.text, build::FIELD));
    for term in question.tags.iter().flat_map(|tag| tokens::query_terms(tag)) {
        if !terms.iter().any(|(known, _)| *known == term.0) {
            terms.push(term);
        }
    }
    terms
}

/// Returns the documents that may be found and pass the filter.
fn filtered(shelf: &SegmentShelf<'_>, filter: &Filter) -> Bits {
    let mut bits = shelf.open.clone();
    let segment = &shelf.segment;
    if filter.scope.is_some() || filter.category.is_some() {
        bits.keep(|doc| {
            segment.label(doc).is_some_and(|label| {
                filter.scope.is_none_or(|scope| scope == label.scope)
                    && filter.category.is_none_or(|category| category == label.category)
            })
        });
    }
    if let Some(since) = filter.since {
        let since = (since.millis() / 1000).clamp(0, i64::from(u32::MAX)) as u32;
        bits.keep(|doc| segment.seconds(doc) >= since);
    }
    if let Some(tag) = &filter.tag {
        let mut key = Vec::new();
        build::tag_key(tag, &mut key);
        let mut tagged = Bits::none(segment.count());
        for posting in segment.key(&key).iter().flat_map(|postings| postings.iter()) {
            tagged.set(posting.doc, true);
        }
        bits.keep(|doc| tagged.has(doc));
    }
    bits
}

/// A place with the sign bits of its text.
type QueryText = ([u8; SIGNS], (usize, u32));

/// Chooses at most `most` places by their content, so that the storage position does not matter. Ids decide
/// only between equal content, because reading an id loads a card into memory.
fn chosen(corpus: &Corpus<'_>, mut places: Vec<QueryText>, most: usize) -> Vec<(usize, u32)> {
    if places.len() > most {
        let id = |(shelf, doc): (usize, u32)| {
            let id = corpus.shelves[shelf].segment.id(doc);
            id.map(|id| id.as_str().to_owned())
        };
        places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id(a.1).cmp(&id(b.1))));
        places.truncate(most);
    }
    places.into_iter().map(|(_, place)| place).collect()
}

/// Chooses places whose sign bits are not loaded yet.
fn chosen_places(corpus: &Corpus<'_>, places: Vec<(usize, u32)>, most: usize) -> Vec<(usize, u32)> {
    if places.len() <= most {
        return places;
    }
    let saying = |(shelf, doc): (usize, u32)| {
        let mut signs = [0; SIGNS];
        let shelf_of = &corpus.shelves[shelf];
        if !shelf_of.read(SegmentSection::Signs, doc as usize * SIGNS, &mut signs) {
            let row = shelf_of.segment.row(SegmentSection::Signs, SIGNS, doc);
            signs = row.and_then(|row| row.try_into().ok()).unwrap_or(signs);
        }
        (signs, (shelf, doc))
    };
    chosen(corpus, places.into_iter().map(saying).collect(), most)
}
