//! Resolves effects that were begun and whose outcome is not known, from the traces that they left.

use sprag_base::text::Text;

use crate::ids::CommitId;
use crate::run::effect::{Effect, EffectOutcome, QueueStep, RefStep, SessionSignal, StageStep};

/// Trace of an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectTrace {
    /// No trace.
    Nothing,
    /// A worktree that descends from its base.
    Worktree { base: CommitId },
    /// An incomplete worktree. It is set aside when the effect is done again.
    HalfMade,
    /// The session existed: its lock is held, its exit is recorded, or its claim was swept.
    Session,
    /// The salvage commit exists already.
    Salvaged { carry: Text<64> },
    /// The commit of the trunk, and whether the trunk has the candidate.
    Trunk { at: CommitId, has: TrunkHas },
    /// The object that was to be removed is gone.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrunkHas {
    Candidate,
    Not,
}

/// Decision about an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectResolution {
    /// The effect is done, with this outcome.
    Done(EffectOutcome),
    /// The effect is done again under the same key.
    Again,
}

/// Decides from the trace that an effect left.
pub fn resolve(effect: &Effect, found: &EffectTrace) -> EffectResolution {
    use EffectResolution::{Again, Done};
    match (effect, found) {
        (Effect::Stage { step, .. }, found) => match (step, found) {
            (StageStep::AddWorktree { .. }, EffectTrace::Worktree { base }) => {
                Done(EffectOutcome::Worktree { base: base.clone() })
            }
            (StageStep::Spawn, EffectTrace::Session) => Done(EffectOutcome::Spawned),
            (StageStep::Salvage, EffectTrace::Salvaged { carry }) => {
                Done(EffectOutcome::Salvaged { carry: carry.clone() })
            }
            (StageStep::RemoveWorktree, EffectTrace::Gone) => Done(EffectOutcome::Done),
            _ => Again,
        },
        (Effect::Session { step: SessionSignal::Kill { .. }, .. }, EffectTrace::Gone) => {
            Done(EffectOutcome::Done)
        }
        (
            Effect::Queue { step: QueueStep::Land { .. }, .. } | Effect::Refs(RefStep::Promote { .. }),
            EffectTrace::Trunk { has: TrunkHas::Candidate, .. },
        ) => Done(EffectOutcome::Done),
        (
            Effect::Queue { step: QueueStep::Land { from, .. }, .. },
            EffectTrace::Trunk { at, has: TrunkHas::Not },
        ) if at != from => Done(EffectOutcome::Elsewhere { trunk: at.clone() }),
        // Doing these again gives the same result: the name of a candidate is fixed beforehand, checks are
        // bound to a tree, and the others are recognised by their keys.
        (Effect::Session { .. } | Effect::Queue { .. } | Effect::Refs(_) | Effect::Notify { .. }, _) => Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EffectKey, StageId};
    use crate::run::effect::{CheckPhase, KillReason};

    fn commit(name: &str) -> CommitId {
        CommitId(Text::new(name))
    }

    #[test]
    fn what_is_there_is_not_done_again() {
        let stage = || StageId::new("a");
        let session = || EffectKey(Text::new("r/a/1/spawn.0"));
        let land =
            || Effect::Queue { number: 1, step: QueueStep::Land { from: commit("old"), to: commit("new") } };
        let trunk = |at: &str, has| EffectTrace::Trunk { at: commit(at), has };
        let carry: Text<64> = Text::new("h");
        let add = || StageStep::AddWorktree { base: commit("b") }.for_stage(&stage());
        let kill =
            || Effect::Session { session: session(), step: SessionSignal::Kill { reason: KillReason::Over } };
        let done = EffectResolution::Done;
        for (effect, found, resolution) in [
            (
                add(),
                EffectTrace::Worktree { base: commit("b") },
                done(EffectOutcome::Worktree { base: commit("b") }),
            ),
            (add(), EffectTrace::HalfMade, EffectResolution::Again),
            (add(), EffectTrace::Nothing, EffectResolution::Again),
            (StageStep::Spawn.for_stage(&stage()), EffectTrace::Session, done(EffectOutcome::Spawned)),
            (StageStep::Spawn.for_stage(&stage()), EffectTrace::Nothing, EffectResolution::Again),
            (
                StageStep::Check { phase: CheckPhase::Claim }.for_stage(&stage()),
                EffectTrace::Nothing,
                EffectResolution::Again,
            ),
            (
                StageStep::Salvage.for_stage(&stage()),
                EffectTrace::Salvaged { carry: carry.clone() },
                done(EffectOutcome::Salvaged { carry }),
            ),
            (land(), trunk("new", TrunkHas::Candidate), done(EffectOutcome::Done)),
            (land(), trunk("later", TrunkHas::Candidate), done(EffectOutcome::Done)),
            (land(), trunk("old", TrunkHas::Not), EffectResolution::Again),
            (
                land(),
                trunk("foreign", TrunkHas::Not),
                done(EffectOutcome::Elsewhere { trunk: commit("foreign") }),
            ),
            (
                Effect::Refs(RefStep::Promote { to: commit("new") }),
                trunk("new", TrunkHas::Candidate),
                done(EffectOutcome::Done),
            ),
            (StageStep::RemoveWorktree.for_stage(&stage()), EffectTrace::Gone, done(EffectOutcome::Done)),
            (StageStep::RemoveWorktree.for_stage(&stage()), EffectTrace::Nothing, EffectResolution::Again),
            (kill(), EffectTrace::Gone, done(EffectOutcome::Done)),
            (kill(), EffectTrace::Nothing, EffectResolution::Again),
        ] {
            assert_eq!(resolve(&effect, &found), resolution, "{effect:?} {found:?}");
        }
    }
}
