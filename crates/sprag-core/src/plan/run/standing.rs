//! Where a stage stands in a run: its state, and what was done for it that no state tells.

use super::super::record::Brief;
use super::super::stage::{Cause, Commit, Failure, Happened, Key, Stage, Verified};

#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub stage: Stage,
    /// What its worktree was made from, while there is one.
    pub worktree: Option<Commit>,
    /// How often one was made.
    pub worktrees: u32,
    pub is_set_up: bool,
    /// What has to hold before it held.
    pub is_looked_over: bool,
    /// It was chosen, and its agent is about to start.
    pub is_preparing: bool,
    pub is_briefed: bool,
    /// What its next agent is told.
    pub brief: Brief,
    /// The last agent it has had. Nobody follows it before it is gone.
    pub session: Option<Key>,
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
    /// Changes of its state, and after how many of them somebody was told.
    pub moves: u32,
    pub notified: u32,
    /// Why it was red when merged, until it is good again.
    pub red: Option<Cause>,
    /// What ended the agent before, if that was a failure.
    pub failed: Option<Failure>,
}

impl Standing {
    pub fn new(stage: Stage) -> Standing {
        Standing {
            stage,
            worktree: None,
            worktrees: 0,
            is_set_up: false,
            is_looked_over: false,
            is_preparing: false,
            is_briefed: false,
            brief: Brief::Stage,
            session: None,
            spawns: 0,
            claims: 0,
            crashes: 0,
            unchanged: 0,
            verified: None,
            is_salvaged: false,
            moves: 0,
            notified: 0,
            red: None,
            failed: None,
        }
    }

    /// Takes the next state, and drops what belonged to the one before.
    pub(super) fn enter(&mut self, to: Stage, what: &Happened) {
        self.brief = match (&self.stage, &to) {
            (Stage::MergeHeld { .. }, Stage::Ready(_)) => Brief::Merge,
            (_, Stage::Conflicted { .. }) => Brief::MergeConflict,
            (Stage::Waiting { .. }, Stage::Ready(_)) => Brief::Stage,
            (_, Stage::Ready(turn)) if turn.carry.is_some() => Brief::Stage,
            (_, Stage::Ready(_) | Stage::Failing { .. }) => Brief::Recovery,
            _ => self.brief,
        };
        match what {
            // A person has looked: what went wrong before counts no more.
            Happened::Told(_) => (self.crashes, self.unchanged) = (0, 0),
            Happened::Green { .. } | Happened::Queued { .. } => self.unchanged = 0,
            _ => {}
        }
        match (&self.stage, &to) {
            (Stage::MergeHeld { cause, .. }, _) => self.red = Some(cause.clone()),
            (_, Stage::Merging { .. }) => self.red = None,
            _ => {}
        }
        self.failed = match what {
            Happened::Failed { failure, .. } => Some(*failure),
            _ => None,
        };
        self.is_preparing = false;
        self.is_briefed = false;
        self.moves += 1;
        self.stage = to;
    }

    /// An agent is at work for it, or about to be.
    pub fn is_active(&self) -> bool {
        match &self.stage {
            Stage::Running(_) | Stage::Failing { .. } | Stage::HandingOff { .. } => true,
            Stage::Conflicted { resolver, .. } => resolver.is_some() || self.is_preparing,
            Stage::Ready(_) => self.is_preparing,
            Stage::Waiting { .. }
            | Stage::Asking { .. }
            | Stage::Merging { .. }
            | Stage::MergeHeld { .. }
            | Stage::Review { .. }
            | Stage::Blocked { .. }
            | Stage::Skipped { .. }
            | Stage::Done { .. } => false,
        }
    }
}
