//! Finds the reason why each unfinished stage waits.

use sprag_base::time::Timestamp;

use super::observed::Observed;
use super::schedule::schedule;
use crate::ids::StageId;
use crate::run::Run;
use crate::run::waiting::WaitingReason;
use crate::stage::state::StageState;

/// Returns the reason for every unfinished stage. `None` for a stage means a bug in Sprag.
pub fn why(run: &Run, world: &Observed, now: Timestamp) -> Vec<(StageId, Option<WaitingReason>)> {
    let held = schedule(run, world, now);
    let mut found = Vec::new();
    for (id, entry) in run.entries().filter(|(_, entry)| !entry.state.is_over()) {
        let doing =
            || run.effects().iter().find(|(_, open)| open.effect.stage(run) == Some(id)).map(|(key, _)| key);
        let why = match &entry.state {
            StageState::Waiting { on } => (!on.is_empty()).then(|| WaitingReason::Waits { on: on.clone() }),
            StageState::Asking { .. } => Some(WaitingReason::Asked),
            StageState::Review { question, .. } => Some(WaitingReason::Reviewed { case: question.reason() }),
            StageState::Blocked { failure, .. } => Some(WaitingReason::Blocked { failure: *failure }),
            StageState::Merging { entry, .. } => {
                let is_in = run.queue().entries().iter().any(|known| known.number == *entry);
                is_in.then_some(WaitingReason::Queued { entry: *entry })
            }
            StageState::Ready(_)
            | StageState::Running(_)
            | StageState::HandingOff { .. }
            | StageState::Failing { .. }
            | StageState::Conflicted(_)
            | StageState::MergeFailed { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. } => None,
        };
        let why = why.or_else(|| doing().map(|key| WaitingReason::Doing { key: key.clone() }));
        let why = why.or_else(|| held.held.get(id).cloned().map(WaitingReason::Held));
        let why = why.or_else(|| match (&entry.state, entry.state.session()) {
            (StageState::Merging { .. } | StageState::Waiting { .. }, _) => None,
            (_, Some(session)) if run.ended(session).is_none() => {
                Some(WaitingReason::Agent { session: session.clone() })
            }
            (_, _) => Some(WaitingReason::Next),
        });
        found.push((id.clone(), why));
    }
    found
}
