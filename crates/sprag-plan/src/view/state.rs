//! The state of a stage as screens name, mark and colour it. A mark or a colour never says more than the name.

use serde::{Deserialize, Serialize};

use crate::stage::{Phase, Stage};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Waiting,
    Ready,
    /// Ready, and a person says not yet.
    Held,
    Running,
    /// Its agent says that it is done, and Sprag looks.
    Verifying,
    Asking,
    HandingOff,
    Failing,
    Merging,
    Conflicted,
    MergeHeld,
    Review,
    Blocked,
    Skipped,
    Done,
}

/// What a state comes to for somebody who glances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Running,
    Done,
    Blocked,
    Waiting,
    Ready,
    Warning,
}

impl State {
    pub const ALL: [State; 15] = [
        State::Waiting,
        State::Ready,
        State::Held,
        State::Running,
        State::Verifying,
        State::Asking,
        State::HandingOff,
        State::Failing,
        State::Merging,
        State::Conflicted,
        State::MergeHeld,
        State::Review,
        State::Blocked,
        State::Skipped,
        State::Done,
    ];

    pub fn of(stage: &Stage) -> State {
        match stage {
            Stage::Waiting { .. } => State::Waiting,
            Stage::Ready(turn) if turn.is_held => State::Held,
            Stage::Ready(_) => State::Ready,
            Stage::Running(work) if work.phase == Phase::Verify => State::Verifying,
            Stage::Running(_) => State::Running,
            Stage::Asking { .. } => State::Asking,
            Stage::HandingOff { .. } => State::HandingOff,
            Stage::Failing { .. } => State::Failing,
            Stage::Merging { .. } => State::Merging,
            Stage::Conflicted { .. } => State::Conflicted,
            Stage::MergeHeld { .. } => State::MergeHeld,
            Stage::Review { .. } => State::Review,
            Stage::Blocked { .. } => State::Blocked,
            Stage::Skipped { .. } => State::Skipped,
            Stage::Done { .. } => State::Done,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Ready => "ready",
            State::Held => "held",
            State::Running => "running",
            State::Verifying => "verifying",
            State::Asking => "asking",
            State::HandingOff => "handing off",
            State::Failing => "failing",
            State::Merging => "merging",
            State::Conflicted => "conflicted",
            State::MergeHeld => "merge held",
            State::Review => "review",
            State::Blocked => "blocked",
            State::Skipped => "skipped",
            State::Done => "done",
        }
    }

    pub fn icon(self) -> char {
        match self {
            State::Waiting => '○',
            State::Ready => '◎',
            State::Held => '‖',
            State::Running => '●',
            State::Verifying => '◉',
            State::Asking => '?',
            State::HandingOff => '»',
            State::Failing => '!',
            State::Merging => '◆',
            State::Conflicted => '≠',
            State::MergeHeld => '◇',
            State::Review => '?',
            State::Blocked => '✗',
            State::Skipped => '-',
            State::Done => '✓',
        }
    }

    pub fn tone(self) -> Tone {
        match self {
            State::Waiting | State::Skipped => Tone::Waiting,
            State::Ready => Tone::Ready,
            State::Running | State::Verifying | State::Merging => Tone::Running,
            State::Held | State::HandingOff | State::Failing | State::Conflicted | State::MergeHeld => {
                Tone::Warning
            }
            State::Asking | State::Review | State::Blocked => Tone::Blocked,
            State::Done => Tone::Done,
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, State::Skipped | State::Done)
    }

    /// Nothing happens before a person says something.
    pub fn is_a_persons(self) -> bool {
        matches!(self, State::Asking | State::Review | State::Blocked | State::Held)
    }
}
