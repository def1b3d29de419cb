//! Why a stage is not further: every one that is not over has a reason.

use sprag_base::time::Timestamp;

use super::observed::World;
use super::schedule::schedule;
use crate::ids::StageId;
use crate::run::Run;
use crate::run::effect::stage_of;
use crate::run::waiting::Why;
use crate::stage::Stage;

/// For every stage that is not over. `None` for one: nobody knows, which is a mistake of ours.
pub fn why(run: &Run, world: &World, now: Timestamp) -> Vec<(StageId, Option<Why>)> {
    let held = schedule(run, world, now);
    let mut found = Vec::new();
    for (id, standing) in run.standings().filter(|(_, standing)| !standing.stage.is_over()) {
        let doing =
            || run.open().iter().find(|(_, effect)| stage_of(run, effect) == Some(id)).map(|(key, _)| key);
        let why = match &standing.stage {
            Stage::Waiting { on } => (!on.is_empty()).then(|| Why::Waits { on: on.clone() }),
            Stage::Asking { .. } => Some(Why::Asked),
            Stage::Review { case, .. } => Some(Why::Reviewed { case: *case }),
            Stage::Blocked { failure, .. } => Some(Why::Blocked { failure: *failure }),
            Stage::Merging { entry, .. } => {
                let is_in = run.queue().entries().iter().any(|known| known.number == *entry);
                is_in.then_some(Why::Queued { entry: *entry })
            }
            Stage::Ready(_)
            | Stage::Running(_)
            | Stage::HandingOff { .. }
            | Stage::Failing { .. }
            | Stage::Conflicted { .. }
            | Stage::MergeHeld { .. }
            | Stage::Skipped { .. }
            | Stage::Done { .. } => None,
        };
        let why = why.or_else(|| doing().map(|key| Why::Doing { key: key.clone() }));
        let why = why.or_else(|| held.held.get(id).cloned().map(Why::Held));
        let why = why.or_else(|| match (&standing.stage, standing.stage.session()) {
            (Stage::Merging { .. } | Stage::Waiting { .. }, _) => None,
            (_, Some(session)) if run.ended(session).is_none() => {
                Some(Why::Agent { session: session.clone() })
            }
            (_, _) => Some(Why::Next),
        });
        found.push((id.clone(), why));
    }
    found
}
