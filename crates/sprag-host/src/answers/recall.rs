//! Learnings that may help with the present event.

use sprag_govern::gates::recall::Question;
use sprag_memory::recall::Recalled;

use crate::answers::AnswerCx;
use crate::memory::recall;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>) -> Option<Recalled> {
    recall::recall_learnings(cx.world(), question, cx.input.at)
}
