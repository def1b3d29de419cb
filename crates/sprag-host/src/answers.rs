//! Answers to questions like the ones a call would put to the user.

use std::io;

use sprag_core::event::{Event, Input};
use sprag_core::memory::implicit::Words;
use sprag_core::memory::qa::{self, Answers, Kept, Match, SAME};
use sprag_core::text::Text;

use crate::projections;
use crate::walk::World;

/// Matches one question is given.
const MOST: usize = 8;

pub fn find(world: &World<'_>, input: &Input) -> io::Result<Vec<Match>> {
    let Event::ToolRequested { call } = &input.event else { return Ok(Vec::new()) };
    let answers = projections::load::<Answers>(&world.store())?.state;
    let mut found = Vec::new();
    for question in qa::questions(call) {
        let alike = answers.iter().map(|kept| compared(&question, kept)).filter(|it| it.score >= SAME);
        found.extend(alike.take(MOST));
    }
    Ok(found)
}

fn compared(question: &Text<1000>, kept: &Kept) -> Match {
    let (one, other) = (question.as_str(), kept.answered.question.as_str());
    let score = if qa::digest(one) == qa::digest(other) {
        1.0
    } else {
        Words::of([one]).overlap(&Words::of([other]))
    };
    // Evidence is hashed by whoever keeps an answer; none has any yet.
    let holds = kept.answered.evidence.is_empty();
    Match {
        question: question.clone(),
        kept: kept.clone(),
        score,
        differs: marks(one) != marks(other),
        holds,
    }
}

/// What makes two questions different however alike they are: numbers, names in capitals or with marks, and no.
fn marks(text: &str) -> Vec<String> {
    let is_mark = |word: &&str| {
        word.contains(|c: char| c.is_ascii_digit() || matches!(c, '/' | '_' | '.' | ':'))
            || ["not", "no", "never", "without", "don't"].contains(word)
    };
    let lower = text.to_lowercase();
    let words =
        lower.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'));
    let mut marks: Vec<String> = words.filter(is_mark).map(str::to_owned).collect();
    marks.sort();
    marks.dedup();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_numbers_and_a_no_make_another_question() {
        assert_eq!(marks("Which port does v2 use?"), marks("which port is used by v2"));
        for (one, other) in
            [("port of v1", "port of v2"), ("use tabs", "not use tabs"), ("in src/a", "in src/b")]
        {
            assert_ne!(marks(one), marks(other));
        }
    }
}
