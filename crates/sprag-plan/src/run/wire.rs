//! Effects in the form of log lines: flat, and with the names that every version since 0.1 reads and
//! writes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::effect::{
    BriefKind, CheckPhase, Effect, KillReason, NudgeTopic, QueueStep, RefStep, ReviewJob, SessionSignal,
    StageStep,
};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::spec::client::ClientName;
use crate::stage::ReviewDemand;
use crate::stage::wire::wire;

wire! {
    Effect by "effect":
    AddWorktree { stage: StageId, base: CommitId } = { Effect::Stage { stage, step: StageStep::AddWorktree { base } } }
    Setup { stage: StageId } = { Effect::Stage { stage, step: StageStep::Setup } }
    Check { stage: StageId, #[serde(rename = "of")] phase: CheckPhase } =
        { Effect::Stage { stage, step: StageStep::Check { phase } } }
    Review {
        stage: StageId, head: CommitId, tree: CommitId, by: ClientName, since: Timestamp,
        #[serde(default, rename = "sought")] demand: ReviewDemand
    } = { Effect::Stage { stage, step: StageStep::Review(ReviewJob { head, tree, by, since, demand }) } }
    WriteBrief { stage: StageId, #[serde(rename = "brief")] kind: BriefKind } =
        { Effect::Stage { stage, step: StageStep::WriteBrief { kind } } }
    Spawn { stage: StageId } = { Effect::Stage { stage, step: StageStep::Spawn } }
    Nudge {
        stage: StageId, session: EffectKey, text: Text<4000>, #[serde(default, rename = "about")] topic: NudgeTopic
    } = { Effect::Stage { stage, step: StageStep::Nudge { session, text, topic } } }
    Interrupt { session: EffectKey } = { Effect::Session { session, step: SessionSignal::Interrupt } }
    Kill { session: EffectKey, #[serde(rename = "because")] reason: KillReason } =
        { Effect::Session { session, step: SessionSignal::Kill { reason } } }
    Salvage { stage: StageId } = { Effect::Stage { stage, step: StageStep::Salvage } }
    Candidate { number: u64, on: CommitId, head: CommitId } =
        { Effect::Queue { number, step: QueueStep::Make { on, head } } }
    Gate { number: u64, commit: CommitId, tree: CommitId } =
        { Effect::Queue { number, step: QueueStep::Test { commit, tree } } }
    Land { number: u64, from: CommitId, to: CommitId } = { Effect::Queue { number, step: QueueStep::Land { from, to } } }
    Restore { to: CommitId } = { Effect::Refs(RefStep::RestoreTrunk { to }) }
    Promote { to: CommitId } = { Effect::Refs(RefStep::Promote { to }) }
    RemoveWorktree { stage: StageId } = { Effect::Stage { stage, step: StageStep::RemoveWorktree } }
    Notify {
        #[serde(rename = "stage", serialize_with = "write_about", deserialize_with = "read_about")]
        about: Option<StageId>,
        text: Text<300>
    } = { Effect::Notify { about, text } }
    Discard { stage: StageId, number: u32 } = { Effect::Stage { stage, step: StageStep::Discard { number } } }
}

/// The name in place of a stage for the whole run.
const WHOLE_RUN: &str = "-";

fn write_about<S: Serializer>(about: &Option<StageId>, to: S) -> Result<S::Ok, S::Error> {
    about.as_ref().unwrap_or(&StageId::new(WHOLE_RUN)).serialize(to)
}

fn read_about<'de, D: Deserializer<'de>>(from: D) -> Result<Option<StageId>, D::Error> {
    let named = StageId::deserialize(from)?;
    Ok((named.as_str() != WHOLE_RUN).then_some(named))
}
