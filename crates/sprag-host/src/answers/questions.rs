//! Answers to questions like the ones a call would put to the user.

use std::io;

use sprag_base::text::Text;
use sprag_govern::event::{Event, Input};
use sprag_memory::answers::{AnsweredQuestions, KnownAnswer, Match, SAME};
use sprag_memory::index::analysis::table::{self, Table};
use sprag_memory::index::dedup;

use crate::store::projections;
use crate::world::World;

/// Matches one question is given.
const MOST: usize = 8;

pub(crate) fn find(world: &World<'_>, input: &Input) -> io::Result<Vec<Match>> {
    let Event::ToolRequested { call } = &input.event else { return Ok(Vec::new()) };
    let table = table::built_in();
    let answers = projections::load::<AnsweredQuestions>(&world.store())?.state;
    let mut found = Vec::new();
    for question in sprag_govern::gates::questions::questions(call) {
        let alike =
            answers.iter().map(|kept| compared(&question, kept, &table)).filter(|it| it.score >= SAME);
        found.extend(alike.take(MOST));
    }
    Ok(found)
}

fn compared(question: &Text<1000>, kept: &KnownAnswer, table: &Table<'_>) -> Match {
    let alike = dedup::similar(question.as_str(), kept.answered.question.as_str(), table);
    // Evidence is hashed by whoever keeps an answer; none has any yet.
    let holds = kept.answered.evidence.is_empty();
    Match {
        question: question.clone(),
        kept: kept.clone(),
        score: alike.score,
        differs: alike.differs.is_some(),
        holds,
    }
}
