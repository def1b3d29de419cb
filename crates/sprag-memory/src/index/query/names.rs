//! The signal of shared names: a query for `retry_budget` means exactly this name.

use super::Corpus;
use super::lexical::idf;
use crate::index::analysis::tokens;
use crate::index::segment::build;

pub(crate) struct NameTerms {
    names: Vec<NameTerm>,
    worth: f32,
}

struct NameTerm {
    worth: f32,
    /// Sorted documents for each segment.
    docs: Vec<Vec<u32>>,
}

/// The limit on names of one query.
const MOST: usize = 32;

impl NameTerms {
    pub(super) fn new(corpus: &Corpus<'_>, text: &str) -> NameTerms {
        let mut asked: Vec<String> = Vec::new();
        tokens::names(build::cut(text, build::FIELD), |name| {
            if asked.len() < MOST && !asked.iter().any(|known| known == name) {
                asked.push(name.to_owned());
            }
        });
        let count: u64 = corpus.shelves.iter().map(|shelf| u64::from(shelf.segment.count())).sum();
        let mut key = Vec::new();
        let mut names = Vec::with_capacity(asked.len());
        for name in &asked {
            build::name_key(name, &mut key);
            let docs: Vec<Vec<u32>> = corpus
                .shelves
                .iter()
                .map(|shelf| {
                    let postings = shelf.segment.key(&key);
                    postings.iter().flat_map(|postings| postings.iter()).map(|posting| posting.doc).collect()
                })
                .collect();
            let known: usize = docs.iter().map(Vec::len).sum();
            names.push(NameTerm { worth: idf(count, known as u64), docs });
        }
        NameTerms { worth: names.iter().map(|name| name.worth).sum(), names }
    }

    /// Returns the weighted share of matching names. `None`: the query has no names.
    pub(super) fn signal(&self, shelf: usize, doc: u32) -> Option<f32> {
        if self.names.is_empty() {
            return None;
        }
        let has = |name: &&NameTerm| name.docs[shelf].binary_search(&doc).is_ok();
        Some(self.names.iter().filter(has).map(|name| name.worth).sum::<f32>() / self.worth)
    }
}
