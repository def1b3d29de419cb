//! Finding learnings for a caller. Here is the one place where the broker asks the memory.

use std::io;

use sprag_memory::index::query::fuse::Widths;
use sprag_memory::index::query::{FLOOR, Filter, IndexQuery};
use sprag_memory::learning::{Category, Learning};

use super::McpContext;
use crate::memory::index::{DocumentFilter, Memory, TailRead};

/// What is looked for.
pub(crate) struct Query {
    pub text: String,
    pub limit: usize,
    pub category: Option<Category>,
    pub tag: Option<String>,
    pub files: Vec<String>,
}

/// A learning that was found.
pub(crate) struct FoundLearning {
    pub learning: Learning,
    pub is_stale: bool,
}

/// Age and use move a score as far as they usually do.
const WIDTHS: Widths = Widths { recency: 1.0, usage: 1.0 };
/// Looked at for every one that is wanted: some may not be for the caller's eyes.
const SPARE: usize = 10;

/// The best for this caller, best first.
pub(crate) fn found(desk: &McpContext<'_>, query: &Query) -> io::Result<Vec<FoundLearning>> {
    let memory = Memory::open(&desk.world.places, TailRead::All)?;
    let question = IndexQuery {
        text: query.text.clone(),
        files: query.files.clone(),
        tags: Vec::new(),
        filter: Filter { category: query.category, tag: query.tag.clone(), ..Filter::default() },
        limit: query.limit * SPARE,
    };
    let answers = memory.ask(&question, DocumentFilter::InUse, WIDTHS, desk.now);
    let likely = answers.iter().take_while(|answer| answer.probability >= FLOOR);
    // What is no learning has nobody who may read it.
    let found = likely.filter_map(|answer| {
        let learning = memory.learning(answer).filter(|learning| desk.caller.reads(learning))?;
        Some(FoundLearning { learning, is_stale: answer.is_stale() })
    });
    Ok(found.take(query.limit).collect())
}
