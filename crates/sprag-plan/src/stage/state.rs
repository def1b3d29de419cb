//! The state of a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::ids::{CommitId, EffectKey, StageId};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::merged_commit::MergedCommit;
use crate::merge::queue::Verified;
use crate::stage::{ReadyStage, ReviewReason, StageFailure, StageWork};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StageState {
    /// Something it builds on is not merged yet.
    Waiting {
        on: Vec<StageId>,
    },
    Ready(ReadyStage),
    Running(StageWork),
    /// Its agent has asked a person something.
    Asking {
        work: StageWork,
        question: Text<1000>,
    },
    /// Its agent's context is full, and the next one is told where it was.
    HandingOff {
        work: StageWork,
        why: Text<300>,
    },
    /// Its checks have failed, and its agent is to mend it.
    Failing {
        work: StageWork,
        report: Text<4000>,
    },
    Merging {
        verified: Verified,
        entry: u64,
    },
    Conflicted {
        verified: Verified,
        against: CommitId,
        paths: Vec<Text<400>>,
        resolver: Option<EffectKey>,
        tries: u8,
    },
    /// Merged with what is there it is red.
    MergeHeld {
        verified: Verified,
        cause: MergeFailure,
    },
    /// A person decides.
    Review {
        case: ReviewReason,
        back: Box<StageState>,
    },
    Blocked {
        attempt: u32,
        failure: StageFailure,
    },
    Skipped {
        by: Text<64>,
        why: Text<300>,
    },
    Done {
        merged: MergedCommit,
    },
}

impl StageState {
    /// How often it was tried, this time included.
    pub fn attempt(&self) -> u32 {
        match self {
            StageState::Waiting { .. } | StageState::Skipped { .. } | StageState::Done { .. } => 0,
            StageState::Ready(turn) => turn.attempt,
            StageState::Running(work)
            | StageState::Asking { work, .. }
            | StageState::HandingOff { work, .. }
            | StageState::Failing { work, .. } => work.attempt,
            StageState::Merging { verified, .. }
            | StageState::Conflicted { verified, .. }
            | StageState::MergeHeld { verified, .. } => verified.attempt,
            StageState::Review { back, .. } => back.attempt(),
            StageState::Blocked { attempt, .. } => *attempt,
        }
    }

    /// The agent at work, if one is.
    pub fn session(&self) -> Option<&EffectKey> {
        match self {
            StageState::Running(work)
            | StageState::Asking { work, .. }
            | StageState::HandingOff { work, .. }
            | StageState::Failing { work, .. } => Some(&work.session),
            StageState::Conflicted { resolver, .. } => resolver.as_ref(),
            StageState::Review { back, .. } => back.session(),
            StageState::Waiting { .. }
            | StageState::Ready(_)
            | StageState::Merging { .. }
            | StageState::MergeHeld { .. }
            | StageState::Blocked { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. } => None,
        }
    }

    /// Nothing changes it any more.
    pub fn is_over(&self) -> bool {
        matches!(self, StageState::Skipped { .. } | StageState::Done { .. })
    }

    /// Nothing happens before a person says something.
    pub fn is_a_persons(&self) -> bool {
        match self {
            StageState::Asking { .. } | StageState::Review { .. } | StageState::Blocked { .. } => true,
            StageState::Ready(turn) => turn.is_held,
            _ => false,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            StageState::Waiting { .. } => "waiting",
            StageState::Ready(_) => "ready",
            StageState::Running(_) => "running",
            StageState::Asking { .. } => "asking",
            StageState::HandingOff { .. } => "handing off",
            StageState::Failing { .. } => "failing",
            StageState::Merging { .. } => "merging",
            StageState::Conflicted { .. } => "conflicted",
            StageState::MergeHeld { .. } => "merge held",
            StageState::Review { .. } => "review",
            StageState::Blocked { .. } => "blocked",
            StageState::Skipped { .. } => "skipped",
            StageState::Done { .. } => "done",
        }
    }
}
