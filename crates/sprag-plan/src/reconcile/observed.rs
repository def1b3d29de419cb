//! Observed facts that a decision needs: live sessions, references of git and running jobs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use super::durations::Durations;
use super::recovery::EffectTrace;
use crate::ids::{CommitId, EffectKey, StageId};
use crate::run::effect::NudgeTopic;
use crate::run::record::{BudgetOwner, SessionOutcome};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Effects that a job of this daemon is doing.
    pub busy: BTreeSet<EffectKey>,
    /// Traces of effects that were begun and have no running job.
    pub found: BTreeMap<EffectKey, EffectTrace>,
    /// Sessions as their supervisors report them.
    pub sessions: BTreeMap<EffectKey, AgentSession>,
    /// Stages whose worktree is missing although Sprag did not remove it.
    pub lost: BTreeSet<StageId>,
    /// Number of agents that the machine has room for.
    pub room: u16,
    /// The commit of the trunk, if it was read.
    pub trunk: Option<CommitId>,
    /// The relation of the target to the trunk, if it was read.
    pub target: Option<TargetBranch>,
    /// Budgets that are mostly used.
    pub nearly: BTreeSet<BudgetOwner>,
    /// Known durations of stages.
    pub durations: Durations,
    pub mode: LoopMode,
}

/// Whether the daemon runs the plan or is stopping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopMode {
    #[default]
    Running,
    /// Nothing new is begun, and agents are ended.
    Stopping {
        how: StopMode,
        /// The signal that the daemon got, if it got one.
        signal: Option<i32>,
    },
}

/// The way in which agents end when the daemon stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// Agents get a request to end and some time for it.
    Home,
    Kill,
}

/// The branch that merged work is promoted to, and that others may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetBranch {
    /// The trunk contains all of it, and Sprag may move it.
    Behind(CommitId),
    /// The same, but it is checked out: a person has to move it.
    CheckedOut(CommitId),
    /// It has commits that the trunk lacks.
    Ahead(CommitId),
    /// It lacks commits that it had before.
    Rewritten(CommitId),
    Gone,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AgentSession {
    Alive(AgentSign),
    Over(SessionOutcome),
}

/// State of an agent at work.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSign {
    Working,
    Asking {
        question: Text<1000>,
    },
    /// The agent claims to be done and waits for the result.
    Claiming,
    /// The agent works and has to get a message about the use of its context, in percent.
    Filling {
        about: NudgeTopic,
        percent: u8,
    },
    /// The context is used up to its limit.
    Full,
    /// The agent shows no sign of life.
    Wedged,
}
