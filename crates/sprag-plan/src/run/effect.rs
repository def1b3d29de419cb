//! Effects: the actions of a run, in groups that share a subject. Each effect is idempotent, or an
//! observation finds that it is done.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::Run;
use crate::ids::{CommitId, EffectKey, StageId};
use crate::spec::client::ClientName;
use crate::stage::{ReviewDemand, StageFailure};

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Stage {
        stage: StageId,
        step: StageStep,
    },
    Session {
        session: EffectKey,
        step: SessionSignal,
    },
    Queue {
        number: u64,
        step: QueueStep,
    },
    Refs(RefStep),
    /// A message for a person; `None` if it is about the whole run.
    Notify {
        about: Option<StageId>,
        text: Text<300>,
    },
}

/// A step for one stage.
#[derive(Clone, Debug, PartialEq)]
pub enum StageStep {
    AddWorktree {
        base: CommitId,
    },
    Setup,
    Check {
        phase: CheckPhase,
    },
    /// A reviewer who is not the author reviews work that passed its checks.
    Review(ReviewJob),
    WriteBrief {
        kind: BriefKind,
    },
    /// The key of this effect is the name of the session.
    Spawn,
    /// Sends a message to an agent at its next boundary.
    Nudge {
        session: EffectKey,
        text: Text<4000>,
        topic: NudgeTopic,
    },
    /// Records the work and commits uncommitted changes.
    Salvage,
    RemoveWorktree,
    /// The stage starts again: its worktree and branch are kept under another name and removed.
    Discard {
        number: u32,
    },
}

/// The work to review and its reviewer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewJob {
    pub head: CommitId,
    pub tree: CommitId,
    pub by: ClientName,
    pub since: Timestamp,
    pub demand: ReviewDemand,
}

/// A step for the agent of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SessionSignal {
    Interrupt,
    /// Ends the agent and all its child processes.
    Kill {
        reason: KillReason,
    },
}

/// A step for an entry of the merge queue.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueStep {
    Make { on: CommitId, head: CommitId },
    Test { commit: CommitId, tree: CommitId },
    Land { from: CommitId, to: CommitId },
}

/// A step for a reference of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub enum RefStep {
    /// Someone moved the trunk, which only Sprag may move.
    RestoreTrunk {
        to: CommitId,
    },
    Promote {
        to: CommitId,
    },
}

/// An effect that was begun.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenEffect {
    pub effect: Effect,
    /// The number of moves of its stage at its start, if it has a stage.
    pub(super) moves: Option<u32>,
    /// The plan changed since the start and asks for something else.
    pub(super) is_outdated: bool,
}

/// Whether the outcome of an effect still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeliness {
    InTime,
    /// The stage has moved since the start.
    Late,
    /// The plan asks for something else now.
    Outdated,
}

impl StageStep {
    /// Reports whether the step prepares an agent.
    pub(super) fn is_preparation(&self) -> bool {
        matches!(
            self,
            StageStep::AddWorktree { .. }
                | StageStep::Setup
                | StageStep::WriteBrief { .. }
                | StageStep::Spawn
        )
    }

    pub fn for_stage(self, stage: &StageId) -> Effect {
        Effect::Stage { stage: stage.clone(), step: self }
    }
}

impl Effect {
    /// Returns the stage that the effect is about.
    pub fn stage<'a>(&'a self, run: &'a Run) -> Option<&'a StageId> {
        match self {
            Effect::Stage { stage, .. } => Some(stage),
            Effect::Session { session, .. } => run.stage_of(session),
            Effect::Queue { number, .. } => run.queue().find(*number).and_then(|entry| entry.whose.stage()),
            Effect::Refs(_) | Effect::Notify { .. } => None,
        }
    }

    /// Returns the step if the effect belongs to this stage.
    pub fn step_of(&self, id: &StageId) -> Option<&StageStep> {
        match self {
            Effect::Stage { stage, step } if stage == id => Some(step),
            _ => None,
        }
    }

    /// Reports whether the effect uses the worktree of the stage.
    pub fn occupies(&self, stage: &StageId) -> bool {
        self.step_of(stage).is_some_and(|step| !matches!(step, StageStep::Nudge { .. }))
    }

    /// Reports whether the effect counts only in the state in which it was begun. Other effects are facts
    /// about a worktree.
    pub fn is_bound_to_state(&self) -> bool {
        matches!(
            self,
            Effect::Stage {
                step: StageStep::Check { phase: CheckPhase::Claim }
                    | StageStep::Review(_)
                    | StageStep::WriteBrief { .. }
                    | StageStep::Spawn,
                ..
            }
        )
    }

    /// Reports whether the effect moves a reference that others use.
    pub fn moves_ref(&self) -> bool {
        matches!(self, Effect::Refs(_)) || self.is_landing()
    }

    pub fn is_landing(&self) -> bool {
        matches!(self, Effect::Queue { step: QueueStep::Land { .. }, .. })
    }

    pub fn is_spawn(&self) -> bool {
        matches!(self, Effect::Stage { step: StageStep::Spawn, .. })
    }
}

/// Subject of a message to an agent at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeTopic {
    /// Failed checks of its work.
    #[default]
    Report,
    /// The answer of a person.
    Answer,
    /// The context fills: the agent should write notes.
    Notes,
    /// The context has reached its limit: the agent should hand over.
    Handoff,
}

/// Reason why Sprag ends an agent; the supervisor records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillReason {
    /// The agent has nothing left to do.
    Over,
    Wedged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPhase {
    /// Before the first agent starts, on the unchanged base.
    Before,
    /// On a claim of an agent.
    Claim,
}

/// Kind of a brief; each kind has a separate text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BriefKind {
    Stage,
    Knowledge,
    Recovery,
    Merge,
    MergeConflict,
    BaseConflict,
}

/// Outcome of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EffectOutcome {
    Done,
    /// The worktree exists and is based on this commit.
    Worktree {
        base: CommitId,
    },
    /// The checks passed on exactly this tree.
    Green {
        head: CommitId,
        tree: CommitId,
    },
    /// The checks passed, and a review is due.
    Reviewable {
        head: CommitId,
        tree: CommitId,
        by: ClientName,
    },
    /// The checks passed, and the review did not take place.
    Unreviewed {
        head: CommitId,
        tree: CommitId,
        why: Text<300>,
    },
    Red {
        report: Text<4000>,
    },
    /// There is no change, or uncommitted files are left.
    Unchanged,
    Spawned,
    Salvaged {
        carry: Text<64>,
    },
    Made {
        commit: CommitId,
        tree: CommitId,
    },
    Conflicted {
        paths: Vec<Text<400>>,
    },
    /// The trunk was moved meanwhile.
    Elsewhere {
        trunk: CommitId,
    },
    Failed {
        failure: StageFailure,
        why: Text<300>,
    },
}
