//! Paths that agents may not change, and paths that a call would write.

use sprag_govern::gates::protection::{Answer, Question};

use crate::answers::AnswerCx;
use crate::worktree::protect::list;

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>) -> Answer {
    let (world, input) = (cx.world(), cx.input);
    let ours = list::ours(&world.places);
    Answer {
        guarded: list::places(world, input, &ours),
        agents: list::agents(world, input),
        written: list::written(input),
        ours,
    }
}
