//! What was found out about the world before a decision: who is alive, what git says, what is being done.

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
    /// Effects that somebody of ours is at.
    pub busy: BTreeSet<EffectKey>,
    /// What a look at the effects showed that were begun and that nobody is at.
    pub found: BTreeMap<EffectKey, EffectTrace>,
    /// Sessions as their supervisors tell of them.
    pub sessions: BTreeMap<EffectKey, AgentSession>,
    /// Stages whose worktree is not there although nobody of ours took it away.
    pub lost: BTreeSet<StageId>,
    /// How many agents the machine has room for.
    pub room: u16,
    /// Where the trunk is, if that was looked at.
    pub trunk: Option<CommitId>,
    /// How the target stands to the trunk, if that was looked at.
    pub target: Option<TargetBranch>,
    /// Budgets of which most is used.
    pub nearly: BTreeSet<BudgetOwner>,
    /// How long stages take, as far as that was seen.
    pub durations: Durations,
    pub mode: LoopMode,
}

/// Whether the daemon runs the plan or comes to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopMode {
    #[default]
    Running,
    /// Nothing new is begun, and agents end.
    Stopping {
        how: StopMode,
        /// The signal that the daemon got, if it got one.
        signal: Option<i32>,
    },
}

/// What becomes of agents when the daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    /// Agents are told to end, and have a moment for it.
    Home,
    Kill,
}

/// The branch that merged work goes to, and that is everybody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetBranch {
    /// All of it is in the trunk, and it may be moved.
    Behind(CommitId),
    /// The same, and it is checked out: a person moves it.
    CheckedOut(CommitId),
    /// It has commits that the trunk does not have.
    Ahead(CommitId),
    /// It does not have any more what it had.
    Rewritten(CommitId),
    Gone,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AgentSession {
    Alive(AgentSign),
    Over(SessionOutcome),
}

/// What an agent at work shows.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSign {
    Working,
    Asking {
        question: Text<1000>,
    },
    /// It has said that it is done, and waits for what comes of it.
    Claiming,
    /// It works, and there is something to be told about how full its context is, in per cent.
    Filling {
        about: NudgeTopic,
        percent: u8,
    },
    /// Its context is used up as far as it may be.
    Full,
    /// No sign of life of any kind.
    Wedged,
}
