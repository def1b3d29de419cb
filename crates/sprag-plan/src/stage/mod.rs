//! The states of a stage. Each carries its data, and `transition` is the one relation between them: total, so that an
//! event that means nothing in a state leaves it unchanged and says so.

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

/// Why a stage cannot continue. Found from exit codes, streams and hooks, never from prose.
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
#[derive(Clone, Debug, PartialEq)]
pub enum StageEvent {
    /// All it builds on is merged.
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
    /// A person is asked about work or words that the fold knows.
    ReviewAsked {
        question: ReviewQuestion,
    },
    /// The plan asks for something else: work that waits for a person is checked again.
    Outdated,
}
