//! What a stage of a plan is doing. Each state carries what belongs to it, and `step` is the one relation
//! between them: total, so that what means nothing in a state leaves it as it is and says so.

pub mod command;
pub mod state;
#[cfg(test)]
mod tests;
mod transition;
pub mod transition_table;
mod wire;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::merge::merged_commit::MergedCommit;
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::Verified;
use crate::stage::command::StageCommand;
use crate::stage::wire::WireEvent;
pub use transition::{FIXES, TRIES, Transition, transition};

/// A stage that may start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyStage {
    /// From 1.
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
    /// What the agent before left for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry: Option<Text<64>>,
}

/// A stage that an agent works at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageWork {
    pub attempt: u32,
    pub session: EffectKey,
    /// What it started from.
    pub base: CommitId,
    pub phase: Phase,
    /// How often checks have sent it back.
    pub fixes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Work,
    /// The agent says that it is done, and Sprag looks.
    Verify,
}

/// Why a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The plan says that a person merges.
    Merge,
    /// Sent back too often.
    Checks,
    /// A check is said to be wrong.
    Disputed,
    /// Nothing was changed, or something was left over.
    NoChange,
    /// Files nobody may touch were touched.
    Protected,
    Conflict,
    Red,
    /// A person holds what comes next.
    Held,
    /// Its checks are good, and nobody but its author has looked at it.
    Unreviewed,
}

/// Why a stage cannot go on. Found from exit codes, streams and hooks, never from prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageFailure {
    Crash,
    Timeout,
    Overload,
    Wedged,
    Auth,
    Sandbox,
    Setup,
    Budget,
    Conflict,
    /// One agent after the other has filled its context.
    Context,
    /// A person said so.
    Told,
    Unknown,
}

/// Something that happened to a stage: written in the log, or made by the fold from a command or an outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "WireEvent")]
pub enum StageEvent {
    /// All it builds on is merged.
    Freed,
    Started {
        session: EffectKey,
        base: CommitId,
    },
    Asked {
        question: Text<1000>,
    },
    Answered,
    /// The agent says that it is done.
    Claimed,
    /// The agent wants to change something more.
    Resumed,
    ChecksFailed {
        report: Text<4000>,
    },
    /// The report was handed to its agent, or to a new one.
    SentBack {
        session: EffectKey,
    },
    ChecksPassed {
        verified: Verified,
        entry: u64,
    },
    ContextFull {
        why: Text<300>,
    },
    /// What the next agent needs was written down.
    HandedOff {
        carry: Text<64>,
    },
    /// The agent is gone; it may be tried again then.
    Failed {
        failure: StageFailure,
        again: Option<Timestamp>,
    },
    /// The agent is gone for no fault of its own: this attempt continues later.
    Paused {
        until: Option<Timestamp>,
    },
    Conflicted {
        against: CommitId,
        paths: Vec<Text<400>>,
    },
    ResolverStarted {
        session: EffectKey,
    },
    ResolverFailed,
    MergeFailed {
        cause: MergeFailure,
    },
    Landed {
        merged: MergedCommit,
    },
    /// Another place in the queue.
    Queued {
        verified: Verified,
        entry: u64,
    },
    Raised {
        case: ReviewReason,
    },
    /// Its work is done by somebody else.
    Overtaken,
    /// A person wants the work merged that passed its checks.
    Approved {
        verified: Verified,
        entry: u64,
    },
    Command {
        by: Text<64>,
        command: StageCommand,
    },
}
