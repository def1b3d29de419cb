//! Results of the configured checks.

use std::path::Path;

use sprag_govern::gates::completion::{Answer, CheckRun};

use crate::answers::AnswerCx;
use crate::checks::session;

pub(super) fn answer(question: &CheckRun, cx: &AnswerCx<'_>) -> Answer {
    let dir = if cx.session.cwd.is_empty() { &cx.input.cwd } else { &cx.session.cwd };
    let results = session::run(cx.session_world(), Path::new(dir), *question, &|_| ());
    results.map_or(Answer::NotRun, Answer::Ran)
}
