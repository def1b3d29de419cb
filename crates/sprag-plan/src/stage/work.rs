//! Data of the states of a stage while work is prepared, done and checked.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::StageFailure;
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::Verified;
use crate::spec::client::ClientName;

/// Whether a person put the stage on hold: no new agent starts, and nothing is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    No,
    Yes,
}

/// An attempt at a stage, with the merge failure that it has to fix, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageAttempt {
    /// From 1; 0 before the first attempt.
    pub number: u32,
    pub merge_failure: Option<MergeFailure>,
}

impl StageAttempt {
    pub fn numbered(number: u32) -> StageAttempt {
        StageAttempt { number, merge_failure: None }
    }

    pub(super) fn next(self) -> StageAttempt {
        StageAttempt { number: self.number + 1, ..self }
    }
}

/// A stage that may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyStage {
    pub attempt: StageAttempt,
    pub not_before: Option<Timestamp>,
    pub reason: StartReason,
    pub launch: LaunchState,
}

impl ReadyStage {
    pub fn new(attempt: StageAttempt, reason: StartReason) -> ReadyStage {
        ReadyStage { attempt, not_before: None, reason, launch: LaunchState::Idle }
    }
}

/// Reason for the start of the next agent. It decides the kind of the brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartReason {
    First,
    /// The previous agent left this handoff.
    Handoff {
        carry: Text<64>,
    },
    Retry {
        failure: StageFailure,
    },
    MergeFailed,
    Recovery,
    Reset,
}

/// How far the start of an agent is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchState {
    Idle,
    /// The stage was chosen, and its agent is about to start.
    Preparing,
    /// The brief is written, too.
    Briefed,
}

/// A stage with an agent at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageWork {
    pub attempt: StageAttempt,
    pub session: EffectKey,
    /// The commit that the work started from.
    pub base: CommitId,
    pub phase: Phase,
    /// Number of times that checks sent the work back.
    pub fixes: u8,
}

impl StageWork {
    pub(super) fn in_phase(&self, phase: Phase) -> StageWork {
        StageWork { phase, ..self.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Working,
    /// The agent claims to be done, and Sprag checks it.
    Verifying(Verification),
}

impl Phase {
    pub fn is_verifying(&self) -> bool {
        matches!(self, Phase::Verifying(_))
    }
}

/// The check of a claim: which review counts, and the checked commit that waits for its review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    pub demand: ReviewDemand,
    pub reviewable: Option<Reviewable>,
}

/// Which review of a change counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDemand {
    /// Also an earlier one.
    #[default]
    Any,
    /// A person demands a new one.
    Another,
}

/// Work that passed its checks, and its reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewable {
    pub head: CommitId,
    pub tree: CommitId,
    pub by: ClientName,
}

/// How Sprag learned of a question of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionSource {
    /// The client shows it, and continues once it is answered.
    #[default]
    Prompt,
    /// A command: an active agent does not mean that the question was answered.
    Command,
}

/// A stage whose work conflicts with the trunk.
#[derive(Clone, Debug, PartialEq)]
pub struct StageConflict {
    pub verified: Verified,
    pub against: CommitId,
    pub paths: Vec<Text<400>>,
    pub resolver: Option<Resolver>,
    pub tries: u8,
    /// The failed checks of the last resolution.
    pub last_report: Option<Text<4000>>,
    pub launch: LaunchState,
}

impl StageConflict {
    pub fn new(verified: Verified, against: CommitId, paths: Vec<Text<400>>) -> StageConflict {
        StageConflict {
            verified,
            against,
            paths,
            resolver: None,
            tries: 0,
            last_report: None,
            launch: LaunchState::Idle,
        }
    }
}

/// The agent that resolves a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    pub session: EffectKey,
    /// The agent gave `complete`: the work is checked even if the agent fails later.
    pub has_claimed: bool,
    pub verification: Verification,
}

impl Resolver {
    pub fn new(session: EffectKey) -> Resolver {
        Resolver { session, has_claimed: false, verification: Verification::default() }
    }
}
