//! Answers the questions of the gates, one file for each gate. An answer changes nothing.

pub(crate) mod commit;
mod completion;
mod delegation;
mod episodes;
mod integrity;
mod permission;
mod protection;
mod questions;
mod recall;
pub mod reflection;
mod review;
mod scope;
pub(crate) mod shared;
mod stale;
mod trace;

use std::cell::OnceCell;

use sprag_govern::decide;
use sprag_govern::event::Input;
use sprag_govern::gates::{Answers, Questions};
use sprag_govern::session::Session;
use sprag_govern::session_facts::SessionFacts;

use crate::world::{World, started_elsewhere};

/// The input of an answer: the world, the event, and plain facts of the session.
pub(crate) struct AnswerCx<'a> {
    world: &'a World<'a>,
    started_in: OnceCell<Option<World<'a>>>,
    pub(crate) input: &'a Input,
    pub(crate) session: &'a SessionFacts,
}

impl<'a> AnswerCx<'a> {
    pub(crate) fn new(world: &'a World<'a>, input: &'a Input, session: &'a SessionFacts) -> AnswerCx<'a> {
        AnswerCx { world, started_in: OnceCell::new(), input, session }
    }

    /// Returns the world of the event: the worktree that the agent is in.
    pub(crate) fn world(&self) -> &'a World<'a> {
        self.world
    }

    /// Returns the world of the session: the worktree where it started, even if its agent has left that
    /// worktree.
    pub(crate) fn session_world(&self) -> &World<'a> {
        let started_in = self.started_in.get_or_init(|| started_elsewhere(self.world, self.session));
        started_in.as_ref().unwrap_or(self.world)
    }
}

/// Finds all facts about one event.
pub(crate) fn gather(world: &World<'_>, input: &Input, session: &Session) -> Answers {
    let settings = &world.config.settings.govern;
    let cx = AnswerCx::new(world, input, &session.about);
    let shared = shared::find(decide::shared(session, input, settings), &cx);
    let questions = decide::ask(session, input, settings, &shared);
    let mut answers = Answers { shared, ..Answers::default() };
    answer(&questions, &cx, &mut answers);
    answers
}

/// Answers all questions about one event. The shared facts are known already.
pub(crate) fn answer(questions: &Questions, cx: &AnswerCx<'_>, answers: &mut Answers) {
    if let Some(question) = &questions.recall {
        answers.recall = recall::answer(question, cx);
    }
    if let Some(question) = &questions.episodes {
        answers.episodes = episodes::answer(question, cx);
    }
    if let Some(question) = &questions.questions {
        answers.questions = questions::answer(question, cx);
    }
    if let Some(question) = &questions.scope {
        answers.scope = scope::answer(question, cx, &answers.shared);
    }
    if let Some(question) = &questions.permission {
        answers.permission = permission::answer(question, cx);
    }
    if let Some(question) = &questions.delegation {
        answers.delegation = delegation::answer(question, cx);
    }
    if let Some(question) = &questions.protection {
        answers.protection = protection::answer(question, cx);
    }
    if let Some(question) = &questions.stale {
        answers.stale = stale::answer(question, cx);
    }
    if let Some(question) = &questions.trace {
        answers.trace = trace::answer(question, cx);
    }
    if let Some(question) = &questions.integrity {
        answers.integrity = integrity::answer(question, cx, &answers.shared);
    }
    if let Some(question) = &questions.commit {
        answers.commit = commit::answer(question, cx, &answers.shared);
    }
    if let Some(question) = &questions.completion {
        answers.completion = completion::answer(question, cx);
    }
    if let Some(question) = &questions.review {
        answers.review = review::answer(question, cx);
    }
    if let Some(question) = &questions.reflection {
        answers.reflection = reflection::answer(question, cx);
    }
}
