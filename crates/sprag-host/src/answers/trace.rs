//! Changes that have no record yet.

use sprag_govern::gates::trace::Question;
use sprag_trace::finding::TraceFindings;

use crate::answers::AnswerCx;
use crate::trace;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>) -> Option<TraceFindings> {
    match question {
        Question::Call => trace::trace_call(cx.world(), cx.input, cx.session),
        Question::Commit { since } => {
            trace::trace_commit(cx.session_world(), cx.input, cx.session, since.as_ref())
        }
        Question::Stop { since, judged } => {
            trace::trace_stop(cx.session_world(), cx.input, cx.session, since.as_ref(), *judged)
        }
    }
}
