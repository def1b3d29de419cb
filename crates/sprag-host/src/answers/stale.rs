//! The state of files that a call reads.

use sprag_govern::gates::stale::Question;
use sprag_govern::gates::stale::facts::StaleFacts;

use crate::answers::AnswerCx;
use crate::worktree::leases;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>) -> Option<StaleFacts> {
    leases::read_files(cx.world(), cx.input, cx.session, &question.files)
}
