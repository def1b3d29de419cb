//! The intents of the repository, and changes outside them.

use sprag_govern::facts::SharedFacts;
use sprag_govern::gates::scope::Question;
use sprag_intent::ScopeFacts;

use crate::answers::AnswerCx;
use crate::intents;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>, shared: &SharedFacts) -> Option<ScopeFacts> {
    let mut facts = intents::gather_scope_facts(cx.world(), cx.input, question.holders_of.as_ref())?;
    let started = cx.session_world().places.worktree.as_deref();
    if let Some(started) = started.filter(|started| cx.world().places.worktree.as_deref() != Some(started)) {
        facts.roots.extend(intents::roots(started));
    }
    if let (Some(windows), Some(changes)) = (&question.strays_in, &shared.changes) {
        facts.strays = intents::strays(cx.session_world(), windows, changes);
    }
    Some(facts)
}
