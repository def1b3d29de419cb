//! Finding learnings for a caller. Here is the one place where the broker asks the memory.

use std::collections::BTreeSet;
use std::io;

use sprag_core::memory::fold::{Entry, Learnings};
use sprag_core::memory::learning::{Candidate, Category};

use super::Desk;
use crate::projections;

/// What is looked for.
pub struct Query {
    pub text: String,
    pub limit: usize,
    pub category: Option<Category>,
    pub tag: Option<String>,
    pub files: Vec<String>,
}

/// Of the query's words at least this share must be there.
const FLOOR: f32 = 0.3;

/// The best for this caller, best first.
pub fn found(desk: &Desk<'_>, query: &Query) -> io::Result<Vec<Entry>> {
    let learnings = projections::load::<Learnings>(&desk.world.store())?.state;
    let wanted = words(&query.text);
    let mut scored: Vec<(f32, &Entry)> = learnings
        .in_use()
        .filter(|entry| desk.caller.reads(&entry.learning))
        .filter(|entry| fits(&entry.learning.candidate, query))
        .map(|entry| (score(&entry.learning.candidate, &wanted, &query.files), entry))
        .filter(|(score, _)| *score >= FLOOR)
        .collect();
    // Newest first among equals: ids sort by time.
    scored
        .sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| other.learning.id.cmp(&one.learning.id)));
    Ok(scored.into_iter().take(query.limit).map(|(_, entry)| entry.clone()).collect())
}

fn fits(candidate: &Candidate, query: &Query) -> bool {
    let has_tag =
        |tag: &String| candidate.tags.iter().any(|known| known.as_str().eq_ignore_ascii_case(tag.trim()));
    query.category.is_none_or(|category| category == candidate.category)
        && query.tag.as_ref().is_none_or(has_tag)
}

/// The share of the wanted words it has; a file that is named counts as all of them.
fn score(candidate: &Candidate, wanted: &BTreeSet<String>, files: &[String]) -> f32 {
    if candidate.context_files.iter().any(|known| files.iter().any(|file| file == known.as_str())) {
        return 1.0;
    }
    let mut text = format!("{} {} {}", candidate.summary, candidate.detail, candidate.trigger.when);
    for tag in &candidate.tags {
        text.push(' ');
        text.push_str(tag.as_str());
    }
    let known = words(&text);
    let is_there =
        |word: &&String| known.iter().any(|known| known.starts_with(word.as_str()) || known == *word);
    let found = wanted.iter().filter(is_there).count();
    if wanted.is_empty() { 0.0 } else { found as f32 / wanted.len() as f32 }
}

fn words(text: &str) -> BTreeSet<String> {
    let all = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    all.filter(|word| word.chars().count() > 2).collect()
}
