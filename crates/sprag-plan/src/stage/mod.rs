//! The states of a stage. Each state carries its data, and `transition` is the one relation between them.
//! It is total: an event that does not fit a state is ignored and reported as ignored.

pub mod command;
mod review;
pub mod state;
#[cfg(test)]
mod tests;
mod transition;
pub mod transition_table;
pub(crate) mod wire;
mod work;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::merge::merged_commit::MergedCommit;
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::Verified;
use crate::stage::command::StageCommand;
pub use review::{Dispute, ReviewQuestion, ReviewReason};
pub use transition::{FIXES, TRIES, Transition, transition};
pub use work::{
    Hold, LaunchState, Phase, QuestionSource, ReadyStage, Resolver, ReviewDemand, Reviewable, StageAttempt,
    StageConflict, StageWork, StartReason, Verification,
};

/// Cause of the failure of a stage, found from exit codes, streams and hooks, never from prose.
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
    /// Several agents in a row filled their contexts.
    Context,
    /// An agent or a person blocked the stage.
    Told,
    Unknown,
}

/// An event of a stage: written in the log, or made by the fold from a command or an outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum StageEvent {
    /// All dependencies are merged.
    Freed,
    Started {
        session: EffectKey,
        base: CommitId,
    },
    Asked {
        question: Text<1000>,
        source: QuestionSource,
    },
    Answered,
    /// The agent claims to be done.
    Claimed,
    /// The agent continues to change files.
    Resumed,
    ChecksFailed {
        report: Text<4000>,
    },
    /// The agent, or a new one, got the report.
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
    /// The handoff for the next agent was written.
    HandedOff {
        carry: Text<64>,
    },
    /// The agent is gone; `again` is the time of the next attempt, if there is one.
    Failed {
        failure: StageFailure,
        again: Option<Timestamp>,
    },
    /// The agent is gone through no fault of its own: this attempt continues later.
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
    /// Back in the merge queue.
    Queued {
        verified: Verified,
        entry: u64,
    },
    Raised {
        case: ReviewReason,
    },
    /// Others did the work.
    Overtaken,
    /// A person approves the merge of work that passed its checks.
    Approved {
        verified: Verified,
        entry: u64,
    },
    Command {
        by: Text<64>,
        command: StageCommand,
    },
    /// A person is asked about work or texts that only the fold knows.
    ReviewAsked {
        question: ReviewQuestion,
    },
    /// The plan changed: work that waits for a person is checked again.
    Outdated,
}
