//! Known fixes for commands that failed before.

use sprag_govern::gates::episodes::Question;
use sprag_memory::episode::FailurePatterns;

use crate::answers::AnswerCx;
use crate::store::{Store, projections};

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>) -> Option<FailurePatterns> {
    let episodes = projections::load::<FailurePatterns>(&Store::at(&cx.world().places.store));
    episodes.ok().map(|folded| folded.state)
}
