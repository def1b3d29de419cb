//! Scores how similar two statements are: the mean of vector similarity, shared stems and shared letter
//! triples. None of them notices a changed number or a `not`. So separate guards check such differences, and
//! a statement that differs there is never rejected automatically.

mod guards;

use std::collections::HashSet;

use crate::index::analysis::table::{Table, Vector, cosine};
use crate::index::analysis::tokens;
pub use guards::Differs;

/// From this score on, the second statement is rejected.
pub const REJECT: f32 = 0.72;
/// From this score on, the author must decide about the two statements.
pub const SIMILAR: f32 = 0.49;

/// The factor for the score of two statements that a guard separates.
const APART: f32 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplication {
    Reject,
    Similar,
    Distinct,
}

sprag_base::names! { pub fn name(Duplication): Reject = "reject", Similar = "similar", Distinct = "distinct" }

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    pub score: f32,
    pub verdict: Duplication,
    /// The guard that separates two statements.
    pub differs: Option<Differs>,
}

/// A statement prepared for many comparisons.
pub struct PreparedStatement {
    vector: Option<Vector>,
    stems: HashSet<String>,
    triples: HashSet<[char; 3]>,
    guards: guards::Marks,
}

impl PreparedStatement {
    pub fn new(text: &str, table: &Table<'_>) -> PreparedStatement {
        let mut stems = HashSet::new();
        tokens::terms(text, |term| {
            stems.insert(term.to_owned());
        });
        PreparedStatement {
            vector: table.embed(text),
            stems,
            triples: triples(text),
            guards: guards::Marks::from_text(text),
        }
    }

    pub fn compare(&self, other: &PreparedStatement, table: &Table<'_>) -> Similarity {
        let meaning = match (&self.vector, &other.vector) {
            (Some(a), Some(b)) => table.calibrated(cosine(a, b)),
            (None, None) => 1.0,
            _ => 0.0,
        };
        let views = meaning + shared(&self.stems, &other.stems) + shared(&self.triples, &other.triples);
        let differs = self.guards.differ(&other.guards);
        let score = views / 3.0 * if differs.is_some() { APART } else { 1.0 };
        let verdict = match score {
            score if score >= REJECT && differs.is_none() => Duplication::Reject,
            score if score >= SIMILAR => Duplication::Similar,
            _ => Duplication::Distinct,
        };
        Similarity { score, verdict, differs }
    }
}

pub fn similar(a: &str, b: &str, table: &Table<'_>) -> Similarity {
    PreparedStatement::new(a, table).compare(&PreparedStatement::new(b, table), table)
}

/// Returns the share of common elements. Two empty sets are equal.
fn shared<T: Eq + std::hash::Hash>(a: &HashSet<T>, b: &HashSet<T>) -> f32 {
    let both = a.intersection(b).count();
    let all = a.len() + b.len() - both;
    if all == 0 { 1.0 } else { both as f32 / all as f32 }
}

/// Returns all triples of neighbouring characters, in lower case with single spaces.
fn triples(text: &str) -> HashSet<[char; 3]> {
    let mut line = vec![' '];
    for c in tokens::folded(text).chars() {
        match c.is_alphanumeric() {
            true => line.push(c),
            false if line.last() != Some(&' ') => line.push(' '),
            false => {}
        }
    }
    if line.last() != Some(&' ') {
        line.push(' ');
    }
    line.windows(3).map(|triple| [triple[0], triple[1], triple[2]]).collect()
}
