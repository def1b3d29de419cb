//! The entry of a stage in a run: its state, and the data that outlives a state.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;

use crate::ids::{CommitId, EffectKey};
use crate::spec::values::Slug;
use crate::stage::command::StageCommand;
use crate::stage::state::StageState;
use crate::stage::{Hold, StageEvent};

/// Answers that are kept for one stage.
const MAX_ANSWERS: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub struct StageEntry {
    pub state: StageState,
    pub worktree: Worktree,
    /// The last agent. No other agent starts before it is gone.
    pub session: Option<EffectKey>,
    pub hold: Hold,
    pub waivers: Waivers,
    pub results: StageResults,
    pub answers: PersonAnswers,
    pub counters: StageCounters,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Worktree {
    #[default]
    Absent,
    Present {
        base: CommitId,
        setup: WorktreeSetup,
    },
    /// The stage starts again: the worktree and its branch are removed first. Someone may have deleted the
    /// worktree; the branch still exists.
    Discarding {
        base: Option<CommitId>,
    },
    Salvaged {
        base: CommitId,
    },
    /// The worktree could not be salvaged or removed; a person has to inspect it.
    Left {
        base: CommitId,
    },
}

/// Steps that were done in a worktree before its first agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorktreeSetup {
    pub is_set_up: bool,
    /// The checks of `before_stage` passed.
    pub is_checked: bool,
}

impl Worktree {
    /// Returns the commit that the worktree was made from, while there is a worktree.
    pub fn base(&self) -> Option<&CommitId> {
        match self {
            Worktree::Absent => None,
            Worktree::Present { base, .. } | Worktree::Salvaged { base } | Worktree::Left { base } => {
                Some(base)
            }
            Worktree::Discarding { base } => base.as_ref(),
        }
    }

    pub fn is_discarding(&self) -> bool {
        matches!(self, Worktree::Discarding { .. })
    }

    /// Reports whether nothing is left to be cleared away.
    pub fn is_settled(&self) -> bool {
        matches!(self, Worktree::Left { .. }) || self.base().is_none()
    }

    pub(super) fn start_discard(&mut self) {
        if let Some(base) = self.base().cloned() {
            *self = Worktree::Discarding { base: Some(base) };
        }
    }

    /// Records that someone deleted the worktree.
    pub(super) fn lose(&mut self) {
        *self = match self {
            Worktree::Discarding { .. } => Worktree::Discarding { base: None },
            _ => Worktree::Absent,
        };
    }

    /// Returns the setup steps while the worktree is in use.
    pub(super) fn setup_mut(&mut self) -> Option<&mut WorktreeSetup> {
        match self {
            Worktree::Present { setup, .. } => Some(setup),
            _ => None,
        }
    }
}

/// Checks that do not count for a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waivers {
    /// Checks that a person waived after a dispute.
    pub checks: Vec<Text<300>>,
    /// The reason why all checks of the stage are bypassed.
    pub bypass: Option<Text<300>>,
}

/// Results that the agents of a stage reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageResults {
    pub done_tasks: BTreeSet<Slug>,
    pub outputs: BTreeMap<Slug, Text<2000>>,
}

/// Answers of people, and how many of them were delivered to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonAnswers {
    pub all: Vec<PersonAnswer>,
    pub delivered: usize,
}

/// An answer of a person, and its question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// `None` if no agent asked.
    pub to: Option<Text<1000>>,
    pub text: Text<2000>,
}

impl PersonAnswers {
    pub(super) fn keep(&mut self, to: Option<Text<1000>>, text: Text<2000>) {
        if self.all.len() < MAX_ANSWERS {
            self.all.push(PersonAnswer { to, text });
        }
    }

    /// Returns the next answer that no agent has received.
    pub fn undelivered(&self) -> Option<&str> {
        self.all.get(self.delivered).map(|answer| answer.text.as_str())
    }

    /// Reports whether the last answer is for this question; the agent may not have received it yet.
    pub fn has_answer_to(&self, question: &Text<1000>) -> bool {
        self.all.last().is_some_and(|last| last.to.as_ref() == Some(question))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageCounters {
    /// Worktrees that were made.
    pub worktrees: u32,
    /// Briefs that were written.
    pub briefs: u32,
    /// Agents that were started.
    pub spawns: u32,
    /// Claims that were checked.
    pub claims: u32,
    /// Changes of state, and their number at the last notification of a person.
    pub moves: u32,
    pub notified: u32,
    /// Agents that handed over since a person last gave a command.
    pub handoffs: u32,
    /// Crashes in a row without a commit.
    pub crashes: u8,
    /// Claims in a row without a change.
    pub unchanged: u8,
}

impl StageEntry {
    pub fn new(state: StageState) -> StageEntry {
        StageEntry {
            state,
            worktree: Worktree::Absent,
            session: None,
            hold: Hold::No,
            waivers: Waivers::default(),
            results: StageResults::default(),
            answers: PersonAnswers::default(),
            counters: StageCounters::default(),
        }
    }

    /// Sets the next state; data of the earlier state is dropped with it.
    pub(super) fn set_state(&mut self, to: StageState, event: &StageEvent) {
        let counters = &mut self.counters;
        match event {
            // A person has decided: earlier failures no longer count.
            StageEvent::Command { .. } | StageEvent::Approved { .. } | StageEvent::Outdated => {
                (counters.handoffs, counters.crashes, counters.unchanged) = (0, 0, 0);
            }
            StageEvent::ChecksPassed { .. } | StageEvent::Queued { .. } => counters.unchanged = 0,
            _ => {}
        }
        match event {
            StageEvent::Command { command: StageCommand::Reset, .. } => {
                self.results = StageResults::default();
                self.worktree.start_discard();
                self.hold = Hold::No;
            }
            StageEvent::Approved { .. }
            | StageEvent::Command {
                command: StageCommand::Retry | StageCommand::Resume { .. } | StageCommand::Skip { .. },
                ..
            } => self.hold = Hold::No,
            _ => {}
        }
        self.counters.moves += 1;
        self.state = to;
    }

    /// Sets or ends a hold in any state.
    pub(super) fn update_hold(&mut self, event: &StageEvent) {
        match event {
            StageEvent::Command { command: StageCommand::Hold, .. } if !self.state.is_over() => {
                self.hold = Hold::Yes;
            }
            StageEvent::Command { command: StageCommand::Hold | StageCommand::Release, .. } => {
                self.hold = Hold::No;
            }
            _ => {}
        }
    }

    pub fn is_held(&self) -> bool {
        self.hold == Hold::Yes
    }

    /// Reports whether nothing happens before a person gives a command.
    pub fn needs_person(&self) -> bool {
        match &self.state {
            StageState::Asking { .. } | StageState::Review { .. } | StageState::Blocked { .. } => true,
            StageState::Ready(_) => self.is_held(),
            _ => false,
        }
    }

    /// Reports whether work exists that would be left behind if the plan dropped the stage.
    pub fn is_begun(&self) -> bool {
        let is_idle = matches!(
            self.state,
            StageState::Waiting { .. } | StageState::Ready(_) | StageState::Skipped { .. }
        );
        !is_idle || self.counters.worktrees > 0 || self.state.is_preparing()
    }

    /// Reports whether an agent works for the stage, or is about to.
    pub fn is_active(&self) -> bool {
        match &self.state {
            StageState::Running(_) | StageState::Failing { .. } | StageState::HandingOff { .. } => true,
            StageState::Conflicted(conflict) => conflict.resolver.is_some() || self.state.is_preparing(),
            StageState::Ready(_) => self.state.is_preparing(),
            StageState::Waiting { .. }
            | StageState::Asking { .. }
            | StageState::Merging { .. }
            | StageState::MergeFailed { .. }
            | StageState::Review { .. }
            | StageState::Blocked { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. } => false,
        }
    }
}
