//! The state of a stage with the name, mark and colour for screens. A mark or a colour never says more than
//! the name.

use serde::{Deserialize, Serialize};

use crate::run::StageEntry;
use crate::stage::state::StageState;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateLabel {
    Waiting,
    Ready,
    /// Ready, but on hold by a person.
    Held,
    Running,
    /// The agent claims to be done, and Sprag checks it.
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

/// The urgency of a state at first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateTone {
    Running,
    Done,
    Blocked,
    Waiting,
    Ready,
    Warning,
}

sprag_base::names! {
    pub const ALL, pub fn name(StateLabel):
    Waiting = "waiting", Ready = "ready", Held = "held", Running = "running", Verifying = "verifying",
    Asking = "asking", HandingOff = "handing off", Failing = "failing", Merging = "merging",
    Conflicted = "conflicted", MergeHeld = "merge held", Review = "review", Blocked = "blocked",
    Skipped = "skipped", Done = "done"
}

impl StateLabel {
    pub fn from_entry(entry: &StageEntry) -> StateLabel {
        match &entry.state {
            StageState::Waiting { .. } => StateLabel::Waiting,
            StageState::Ready(_) if entry.is_held() => StateLabel::Held,
            StageState::Ready(_) => StateLabel::Ready,
            StageState::Running(work) if work.phase.is_verifying() => StateLabel::Verifying,
            StageState::Running(_) => StateLabel::Running,
            StageState::Asking { .. } => StateLabel::Asking,
            StageState::HandingOff { .. } => StateLabel::HandingOff,
            StageState::Failing { .. } => StateLabel::Failing,
            StageState::Merging { .. } => StateLabel::Merging,
            StageState::Conflicted(_) => StateLabel::Conflicted,
            StageState::MergeFailed { .. } => StateLabel::MergeHeld,
            StageState::Review { .. } => StateLabel::Review,
            StageState::Blocked { .. } => StateLabel::Blocked,
            StageState::Skipped { .. } => StateLabel::Skipped,
            StageState::Done { .. } => StateLabel::Done,
        }
    }

    pub fn icon(self) -> char {
        match self {
            StateLabel::Waiting => '○',
            StateLabel::Ready => '◎',
            StateLabel::Held => '‖',
            StateLabel::Running => '●',
            StateLabel::Verifying => '◉',
            StateLabel::Asking => '?',
            StateLabel::HandingOff => '»',
            StateLabel::Failing => '!',
            StateLabel::Merging => '◆',
            StateLabel::Conflicted => '≠',
            StateLabel::MergeHeld => '◇',
            StateLabel::Review => '?',
            StateLabel::Blocked => '✗',
            StateLabel::Skipped => '-',
            StateLabel::Done => '✓',
        }
    }

    pub fn tone(self) -> StateTone {
        match self {
            StateLabel::Waiting | StateLabel::Skipped => StateTone::Waiting,
            StateLabel::Ready => StateTone::Ready,
            StateLabel::Running | StateLabel::Verifying | StateLabel::Merging => StateTone::Running,
            StateLabel::Held
            | StateLabel::HandingOff
            | StateLabel::Failing
            | StateLabel::Conflicted
            | StateLabel::MergeHeld => StateTone::Warning,
            StateLabel::Asking | StateLabel::Review | StateLabel::Blocked => StateTone::Blocked,
            StateLabel::Done => StateTone::Done,
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, StateLabel::Skipped | StateLabel::Done)
    }

    /// Reports whether the stage waits for a person.
    pub fn is_a_persons(self) -> bool {
        matches!(self, StateLabel::Asking | StateLabel::Review | StateLabel::Blocked | StateLabel::Held)
    }
}
