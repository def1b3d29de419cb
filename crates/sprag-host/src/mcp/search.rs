//! Finds learnings for a caller. Only this file of the broker reads the memory.

use std::io;

use sprag_memory::index::query::fuse::Widths;
use sprag_memory::index::query::{FLOOR, Filter, IndexQuery};
use sprag_memory::learning::{Category, Learning};

use super::McpContext;
use crate::memory::index::{DocumentFilter, Memory, TailRead};

/// A search request.
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

/// Age and use have their usual influence on a score.
const WIDTHS: Widths = Widths { recency: 1.0, usage: 1.0 };
/// Candidates for each wanted result, because the caller may not read all of them.
const SPARE: usize = 10;

/// Returns the best learnings that this caller may read, best first.
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
    // Only learnings have readers, so other documents are left out.
    let found = likely.filter_map(|answer| {
        let learning = memory.learning(answer).filter(|learning| desk.caller.reads(learning))?;
        Some(FoundLearning { learning, is_stale: answer.is_stale() })
    });
    Ok(found.take(query.limit).collect())
}
