//! Where a stage stands in a run: its state, and what was done for it that no state tells.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;

use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::Verified;
use crate::run::effect::{BriefKind, ReviewDemand};
use crate::spec::client::ClientName;
use crate::spec::values::Slug;
use crate::stage::command::StageCommand;
use crate::stage::state::StageState;
use crate::stage::{ReadyStage, StageEvent, StageFailure};

/// A check that is said to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    pub check: Text<300>,
    pub why: Text<1000>,
}

/// What a person has answered, and what that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// `None`: nobody had asked.
    pub to: Option<Text<1000>>,
    pub text: Text<2000>,
}

/// What was found good, and who is to look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewable {
    pub head: CommitId,
    pub tree: CommitId,
    pub by: ClientName,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StageEntry {
    pub stage: StageState,
    /// What its worktree was made from, while there is one.
    pub worktree: Option<CommitId>,
    /// How often one was made.
    pub worktrees: u32,
    pub is_set_up: bool,
    /// What has to hold before it held.
    pub is_looked_over: bool,
    /// It was chosen, and its agent is about to start.
    pub is_preparing: bool,
    pub is_briefed: bool,
    /// Briefs that were written.
    pub briefs: u32,
    /// What its next agent is told.
    pub brief: BriefKind,
    /// The last agent it has had. Nobody follows it before it is gone.
    pub session: Option<EffectKey>,
    /// Agents it has had.
    pub spawns: u32,
    /// Claims that were looked at.
    pub claims: u32,
    /// Crashes in a row without a commit.
    pub crashes: u8,
    /// Claims in a row that came with no change.
    pub unchanged: u8,
    /// What was found good and waits for a person.
    pub verified: Option<Verified>,
    pub is_salvaged: bool,
    /// Its worktree could not be kept or taken away, and is somebody's who looks.
    pub is_left: bool,
    /// Changes of its state, and after how many of them somebody was told.
    pub moves: u32,
    pub notified: u32,
    /// The agent that has said it is done, of those that resolve a conflict.
    pub claimed: Option<EffectKey>,
    /// It was asked by a word: that its agent is at work does not mean that it was answered.
    pub is_asked: bool,
    /// What people have answered, and how many of them an agent was told.
    pub answers: Vec<PersonAnswer>,
    pub told: usize,
    /// Tasks that are done.
    pub ticked: BTreeSet<Slug>,
    pub outputs: BTreeMap<Slug, Text<2000>>,
    pub dispute: Option<Dispute>,
    /// Checks that were given up because somebody disputed them.
    pub waived: Vec<Text<300>>,
    /// Why its own checks count no more.
    pub bypass: Option<Text<300>>,
    /// Which verdict on it will do.
    pub sought: ReviewDemand,
    /// What its checks were good for, until somebody else has looked at it.
    pub reviewable: Option<Reviewable>,
    /// Why it was blocked, in the words of whoever did; or why nobody has reviewed it.
    pub why: Option<Text<300>>,
    /// What is in its worktree is to go before anything else.
    pub is_resetting: bool,
    /// Why it was red when merged, until it is good again.
    pub red: Option<MergeFailure>,
    /// Agents that handed over since a person last had a say.
    pub handoffs: u32,
    /// What was red of the last try to resolve its conflict.
    pub unresolved: Option<Text<4000>>,
    /// What ended the agent before, if that was a failure.
    pub failed: Option<StageFailure>,
    /// A person says: nobody new is started for it, and it is not merged.
    pub is_held: bool,
}

impl StageEntry {
    pub fn new(stage: StageState) -> StageEntry {
        StageEntry {
            stage,
            worktree: None,
            worktrees: 0,
            is_set_up: false,
            is_looked_over: false,
            is_preparing: false,
            is_briefed: false,
            briefs: 0,
            brief: BriefKind::Stage,
            session: None,
            spawns: 0,
            claims: 0,
            crashes: 0,
            unchanged: 0,
            verified: None,
            is_salvaged: false,
            is_left: false,
            moves: 0,
            notified: 0,
            claimed: None,
            is_asked: false,
            answers: Vec::new(),
            told: 0,
            ticked: BTreeSet::new(),
            outputs: BTreeMap::new(),
            dispute: None,
            waived: Vec::new(),
            bypass: None,
            sought: ReviewDemand::Any,
            reviewable: None,
            why: None,
            is_resetting: false,
            red: None,
            handoffs: 0,
            unresolved: None,
            failed: None,
            is_held: false,
        }
    }

    /// What a person says about that which comes next holds whatever the stage is doing.
    pub(super) fn update_hold(&mut self, what: &StageEvent) {
        match what {
            StageEvent::Command { command: StageCommand::Hold, .. } => self.is_held = !self.stage.is_over(),
            StageEvent::Command { command: StageCommand::Release, .. } => self.is_held = false,
            _ => {}
        }
    }

    /// Takes the next state, and drops what belonged to the one before.
    pub(super) fn enter_state(&mut self, to: StageState, what: &StageEvent) {
        let is_told = matches!(what, StageEvent::Command { .. } | StageEvent::Approved { .. });
        if let StageEvent::Approved { .. }
        | StageEvent::Command {
            command:
                StageCommand::Retry
                | StageCommand::Resume { .. }
                | StageCommand::Reset
                | StageCommand::Skip { .. },
            ..
        } = what
        {
            self.is_held = false;
        }
        let to = match to {
            StageState::Ready(turn) => StageState::Ready(ReadyStage { is_held: self.is_held, ..turn }),
            to => to,
        };
        if !matches!(to, StageState::Review { .. }) {
            self.verified = None;
        }
        if !matches!(to, StageState::Blocked { .. }) {
            self.why = None;
        }
        if is_told {
            self.handoffs = 0;
        }
        if !matches!(to, StageState::Conflicted { .. }) {
            self.unresolved = None;
        }
        self.brief = match (&self.stage, &to) {
            (StageState::MergeHeld { .. }, StageState::Ready(_)) => BriefKind::Merge,
            // Whoever tries it again is told the same.
            (StageState::Conflicted { .. } | StageState::Review { .. }, StageState::Conflicted { .. }) => {
                self.brief
            }
            (_, StageState::Conflicted { .. }) => BriefKind::MergeConflict,
            (StageState::Waiting { .. }, StageState::Ready(_)) => BriefKind::Stage,
            (_, StageState::Ready(turn)) if turn.carry.is_some() => BriefKind::Stage,
            (_, StageState::Ready(_) | StageState::Failing { .. }) => BriefKind::Recovery,
            _ => self.brief,
        };
        match what {
            StageEvent::Command { command: StageCommand::Reset, .. } => {
                (self.crashes, self.unchanged, self.verified) = (0, 0, None);
                self.ticked.clear();
                self.outputs.clear();
                self.is_resetting = self.worktree.is_some();
                self.brief = BriefKind::Stage;
            }
            // A person has looked: what went wrong before counts no more.
            _ if is_told => (self.crashes, self.unchanged) = (0, 0),
            StageEvent::ChecksPassed { .. } | StageEvent::Queued { .. } => self.unchanged = 0,
            _ => {}
        }
        match (&self.stage, &to) {
            (StageState::MergeHeld { cause, .. }, _) => self.red = Some(cause.clone()),
            (_, StageState::Merging { .. }) => self.red = None,
            _ => {}
        }
        self.failed = match what {
            StageEvent::Failed { failure, .. } => Some(*failure),
            _ => None,
        };
        self.is_preparing = false;
        self.is_asked = false;
        self.reviewable = None;
        self.sought = ReviewDemand::Any;
        self.claimed = match (&to, what) {
            (
                StageState::Conflicted { resolver, .. },
                StageEvent::Command { command: StageCommand::Verify, .. },
            ) => resolver.clone(),
            _ => None,
        };
        self.is_briefed = false;
        self.moves += 1;
        self.stage = to;
    }

    /// Something was done for it that a plan without it would leave behind.
    pub fn is_begun(&self) -> bool {
        let is_idle = matches!(
            self.stage,
            StageState::Waiting { .. } | StageState::Ready(_) | StageState::Skipped { .. }
        );
        !is_idle || self.worktrees > 0 || self.is_preparing
    }

    /// An answer that no agent was told.
    pub fn untold(&self) -> Option<&str> {
        self.answers.get(self.told).map(|answer| answer.text.as_str())
    }

    /// Somebody has answered this, though its agent may not have heard yet.
    pub fn is_answered(&self, question: &Text<1000>) -> bool {
        self.answers.last().is_some_and(|last| last.to.as_ref() == Some(question))
    }

    /// An agent is at work for it, or about to be.
    pub fn is_active(&self) -> bool {
        match &self.stage {
            StageState::Running(_) | StageState::Failing { .. } | StageState::HandingOff { .. } => true,
            StageState::Conflicted { resolver, .. } => resolver.is_some() || self.is_preparing,
            StageState::Ready(_) => self.is_preparing,
            StageState::Waiting { .. }
            | StageState::Asking { .. }
            | StageState::Merging { .. }
            | StageState::MergeHeld { .. }
            | StageState::Review { .. }
            | StageState::Blocked { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. } => false,
        }
    }
}
