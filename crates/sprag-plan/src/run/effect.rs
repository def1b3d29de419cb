//! Effects: what is done for a run, in groups that share a subject. Doing one twice results in the same, or an
//! observation finds it done.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::Run;
use crate::ids::{CommitId, EffectKey, StageId};
use crate::spec::client::ClientName;
use crate::stage::{ReviewDemand, StageFailure};

/// Something to be done.
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
    /// A message for a person; `None`: it is about the whole run.
    Notify {
        about: Option<StageId>,
        text: Text<300>,
    },
}

/// Something that is done for one stage.
#[derive(Clone, Debug, PartialEq)]
pub enum StageStep {
    AddWorktree {
        base: CommitId,
    },
    Setup,
    Check {
        phase: CheckPhase,
    },
    /// Somebody who has not written it reviews work that passed its checks.
    Review(ReviewJob),
    WriteBrief {
        kind: BriefKind,
    },
    /// The session is called by the key of this effect.
    Spawn,
    /// Says something to an agent at its next boundary.
    Nudge {
        session: EffectKey,
        text: Text<4000>,
        topic: NudgeTopic,
    },
    /// Writes down what was done, and keeps what no commit has.
    Salvage,
    RemoveWorktree,
    /// The stage starts again: its worktree and its branch are kept under a name, and both go.
    Discard {
        number: u32,
    },
}

/// The work that is reviewed, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewJob {
    pub head: CommitId,
    pub tree: CommitId,
    pub by: ClientName,
    pub since: Timestamp,
    pub demand: ReviewDemand,
}

/// Something that is done to the agent of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SessionSignal {
    Interrupt,
    /// Ends the agent and all it has started.
    Kill {
        reason: KillReason,
    },
}

/// Something that is done for an entry of the merge queue.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueStep {
    Make { on: CommitId, head: CommitId },
    Test { commit: CommitId, tree: CommitId },
    Land { from: CommitId, to: CommitId },
}

/// Something that is done to a reference of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub enum RefStep {
    /// Somebody else has moved the trunk, which only Sprag moves.
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
    /// After how many moves of its stage it was begun, if it has a stage.
    pub(super) moves: Option<u32>,
    /// It was begun by a plan which asked for something else.
    pub(super) is_outdated: bool,
}

/// Whether the outcome of an effect still means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeliness {
    InTime,
    /// Its stage has moved since it was begun.
    Late,
    /// The plan asks for something else by now.
    Outdated,
}

impl StageStep {
    /// Reports whether it is a step on the way to an agent at work.
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

    /// Returns the step, if the effect is one of this stage.
    pub fn step_of(&self, id: &StageId) -> Option<&StageStep> {
        match self {
            Effect::Stage { stage, step } if stage == id => Some(step),
            _ => None,
        }
    }

    /// Reports whether it uses the worktree of the stage.
    pub fn occupies(&self, stage: &StageId) -> bool {
        self.step_of(stage).is_some_and(|step| !matches!(step, StageStep::Nudge { .. }))
    }

    /// Reports whether it means something only in the state it was begun in; the others are facts of a worktree.
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

    /// Reports whether it moves a reference that others use.
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

/// What an agent at work is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeTopic {
    /// What is red of its work.
    #[default]
    Report,
    /// What a person has answered.
    Answer,
    /// Its context fills: it should note what matters.
    Notes,
    /// Its context is as full as it may be: it should hand over.
    Handoff,
}

/// Why an agent is ended; its supervisor writes it down as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillReason {
    /// There is nothing for it to do.
    Over,
    Wedged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPhase {
    /// Before the first agent starts, on a base that nobody has touched.
    Before,
    /// What an agent says is done.
    Claim,
}

/// What an agent is told; each kind has a text of its own.
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

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EffectOutcome {
    Done,
    /// It is there, and stands on this.
    Worktree {
        base: CommitId,
    },
    /// What was claimed holds, as exactly this tree.
    Green {
        head: CommitId,
        tree: CommitId,
    },
    /// The checks hold, and somebody else is to look at it.
    Reviewable {
        head: CommitId,
        tree: CommitId,
        by: ClientName,
    },
    /// The checks hold, and nobody else has said what they think of it.
    Unreviewed {
        head: CommitId,
        tree: CommitId,
        why: Text<300>,
    },
    Red {
        report: Text<4000>,
    },
    /// Nothing was changed, or something is left over.
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
    /// The trunk is somewhere else by now.
    Elsewhere {
        trunk: CommitId,
    },
    Failed {
        failure: StageFailure,
        why: Text<300>,
    },
}
