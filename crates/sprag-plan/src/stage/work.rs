//! What the states of a stage carry while work is prepared, done and checked.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::StageFailure;
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::Verified;
use crate::spec::client::ClientName;

/// Whether a person says that no new agent starts and that nothing is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    No,
    Yes,
}

/// The try at a stage, with the merge failure it has to repair, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageAttempt {
    /// From 1; 0 where nothing was tried.
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

/// Why the next agent starts. The kind of its brief follows from this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartReason {
    First,
    /// The agent before left this for the next one.
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
    /// Its brief is written as well.
    Briefed,
}

/// A stage that an agent works at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageWork {
    pub attempt: StageAttempt,
    pub session: EffectKey,
    /// The commit that the work started from.
    pub base: CommitId,
    pub phase: Phase,
    /// How often checks have sent it back.
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
    /// The agent says that it is done, and Sprag checks it.
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

/// Which verdict on a change will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDemand {
    /// Also one that was given before.
    #[default]
    Any,
    /// A person wants another one.
    Another,
}

/// Work that passed its checks, and who reviews it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewable {
    pub head: CommitId,
    pub tree: CommitId,
    pub by: ClientName,
}

/// How a question of an agent came to Sprag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionSource {
    /// Its client shows it, and goes on once it is answered.
    #[default]
    Prompt,
    /// By a command: that its agent is at work does not mean that it was answered.
    Command,
}

/// A stage whose work does not merge.
#[derive(Clone, Debug, PartialEq)]
pub struct StageConflict {
    pub verified: Verified,
    pub against: CommitId,
    pub paths: Vec<Text<400>>,
    pub resolver: Option<Resolver>,
    pub tries: u8,
    /// The failed checks of the last try to resolve it.
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
    /// The command `complete` was given: the work is checked whatever becomes of the agent.
    pub has_claimed: bool,
    pub verification: Verification,
}

impl Resolver {
    pub fn new(session: EffectKey) -> Resolver {
        Resolver { session, has_claimed: false, verification: Verification::default() }
    }
}
