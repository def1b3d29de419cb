//! Effects as lines of a log have them: flat, and with the names that every version since 0.1 reads and writes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::effect::{
    BriefKind, CheckPhase, Effect, KillReason, NudgeTopic, QueueStep, RefStep, ReviewJob, SessionStep,
    StageStep,
};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::spec::client::ClientName;
use crate::stage::ReviewDemand;

/// Writes both directions from one table of rows. Each side of a row is a pattern and an expression.
macro_rules! both_ways {
    ($wire:ident, $type:ident: $({ $($written:tt)+ } = { $($meant:tt)+ })+) => {
        impl From<$type> for $wire {
            fn from(meant: $type) -> $wire {
                match meant {
                    $($($meant)+ => $($written)+,)+
                }
            }
        }

        impl From<$wire> for $type {
            fn from(written: $wire) -> $type {
                match written {
                    $($($written)+ => $($meant)+,)+
                }
            }
        }
    };
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub(super) enum WireEffect {
    AddWorktree {
        stage: StageId,
        base: CommitId,
    },
    Setup {
        stage: StageId,
    },
    Check {
        stage: StageId,
        #[serde(rename = "of")]
        phase: CheckPhase,
    },
    Review {
        stage: StageId,
        head: CommitId,
        tree: CommitId,
        by: ClientName,
        since: Timestamp,
        #[serde(default, rename = "sought")]
        demand: ReviewDemand,
    },
    WriteBrief {
        stage: StageId,
        #[serde(rename = "brief")]
        kind: BriefKind,
    },
    Spawn {
        stage: StageId,
    },
    Nudge {
        stage: StageId,
        session: EffectKey,
        text: Text<4000>,
        #[serde(default, rename = "about")]
        topic: NudgeTopic,
    },
    Interrupt {
        session: EffectKey,
    },
    Kill {
        session: EffectKey,
        #[serde(rename = "because")]
        reason: KillReason,
    },
    Salvage {
        stage: StageId,
    },
    Candidate {
        number: u64,
        on: CommitId,
        head: CommitId,
    },
    Gate {
        number: u64,
        commit: CommitId,
        tree: CommitId,
    },
    Land {
        number: u64,
        from: CommitId,
        to: CommitId,
    },
    Restore {
        to: CommitId,
    },
    Promote {
        to: CommitId,
    },
    RemoveWorktree {
        stage: StageId,
    },
    Notify {
        #[serde(rename = "stage", serialize_with = "write_about", deserialize_with = "read_about")]
        about: Option<StageId>,
        text: Text<300>,
    },
    Discard {
        stage: StageId,
        number: u32,
    },
}

both_ways! {
    WireEffect, Effect:
    { WireEffect::AddWorktree { stage, base } } = { Effect::Stage { stage, step: StageStep::AddWorktree { base } } }
    { WireEffect::Setup { stage } } = { Effect::Stage { stage, step: StageStep::Setup } }
    { WireEffect::Check { stage, phase } } = { Effect::Stage { stage, step: StageStep::Check { phase } } }
    { WireEffect::Review { stage, head, tree, by, since, demand } } =
        { Effect::Stage { stage, step: StageStep::Review(ReviewJob { head, tree, by, since, demand }) } }
    { WireEffect::WriteBrief { stage, kind } } = { Effect::Stage { stage, step: StageStep::WriteBrief { kind } } }
    { WireEffect::Spawn { stage } } = { Effect::Stage { stage, step: StageStep::Spawn } }
    { WireEffect::Nudge { stage, session, text, topic } } =
        { Effect::Stage { stage, step: StageStep::Nudge { session, text, topic } } }
    { WireEffect::Interrupt { session } } = { Effect::Session { session, step: SessionStep::Interrupt } }
    { WireEffect::Kill { session, reason } } = { Effect::Session { session, step: SessionStep::Kill { reason } } }
    { WireEffect::Salvage { stage } } = { Effect::Stage { stage, step: StageStep::Salvage } }
    { WireEffect::Candidate { number, on, head } } = { Effect::Queue { number, step: QueueStep::Make { on, head } } }
    { WireEffect::Gate { number, commit, tree } } =
        { Effect::Queue { number, step: QueueStep::Test { commit, tree } } }
    { WireEffect::Land { number, from, to } } = { Effect::Queue { number, step: QueueStep::Land { from, to } } }
    { WireEffect::Restore { to } } = { Effect::Refs(RefStep::RestoreTrunk { to }) }
    { WireEffect::Promote { to } } = { Effect::Refs(RefStep::Promote { to }) }
    { WireEffect::RemoveWorktree { stage } } = { Effect::Stage { stage, step: StageStep::RemoveWorktree } }
    { WireEffect::Notify { about, text } } = { Effect::Notify { about, text } }
    { WireEffect::Discard { stage, number } } = { Effect::Stage { stage, step: StageStep::Discard { number } } }
}

/// Stands for the whole run where a line names a stage.
const WHOLE_RUN: &str = "-";

fn write_about<S: Serializer>(about: &Option<StageId>, to: S) -> Result<S::Ok, S::Error> {
    about.as_ref().unwrap_or(&StageId::new(WHOLE_RUN)).serialize(to)
}

fn read_about<'de, D: Deserializer<'de>>(from: D) -> Result<Option<StageId>, D::Error> {
    let named = StageId::deserialize(from)?;
    Ok((named.as_str() != WHOLE_RUN).then_some(named))
}
