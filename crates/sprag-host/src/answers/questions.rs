//! Stored answers to questions that resemble the questions of a call.

use sprag_base::text::Text;
use sprag_govern::gates::questions::Question;
use sprag_memory::answers::{AnsweredQuestions, KnownAnswer, Match, SAME};
use sprag_memory::index::analysis::table::{self, Table};
use sprag_memory::index::dedup;

use crate::answers::AnswerCx;
use crate::store::projections;

/// Maximum number of matches for one question.
const MOST: usize = 8;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>) -> Vec<Match> {
    let Ok(answers) = projections::load::<AnsweredQuestions>(&cx.world().store()) else {
        return Vec::new();
    };
    let table = table::built_in();
    let mut found = Vec::new();
    for text in &question.texts {
        let alike =
            answers.state.iter().map(|kept| compared(text, kept, &table)).filter(|it| it.score >= SAME);
        found.extend(alike.take(MOST));
    }
    found
}

fn compared(question: &Text<1000>, kept: &KnownAnswer, table: &Table<'_>) -> Match {
    let alike = dedup::similar(question.as_str(), kept.answered.question.as_str(), table);
    // An answer with evidence needs a hash check, and no stored answer has evidence yet.
    let holds = kept.answered.evidence.is_empty();
    Match {
        question: question.clone(),
        kept: kept.clone(),
        score: alike.score,
        differs: alike.differs.is_some(),
        holds,
    }
}
