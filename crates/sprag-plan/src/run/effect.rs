//! The stage that an effect belongs to.

use crate::ids::StageId;
use crate::run::Run;
use crate::run::record::Effect;

/// Whose effect it is.
pub fn stage_of<'a>(run: &'a Run, effect: &'a Effect) -> Option<&'a StageId> {
    match effect {
        Effect::AddWorktree { stage, .. }
        | Effect::Setup { stage }
        | Effect::Check { stage, .. }
        | Effect::Review { stage, .. }
        | Effect::WriteBrief { stage, .. }
        | Effect::Spawn { stage }
        | Effect::Nudge { stage, .. }
        | Effect::Salvage { stage }
        | Effect::RemoveWorktree { stage }
        | Effect::Discard { stage, .. } => Some(stage),
        Effect::Interrupt { session } | Effect::Kill { session, .. } => run.sessions().get(session),
        Effect::Candidate { number, .. } | Effect::Gate { number, .. } | Effect::Land { number, .. } => {
            run.queue().find(*number).and_then(|entry| entry.whose.stage())
        }
        Effect::Restore { .. } | Effect::Promote { .. } | Effect::Notify { .. } => None,
    }
}
