//! Why a stage is not further: every one that is not over has a reason.

use sprag_base::time::Timestamp;

use super::record::Effect;
use super::run::Run;
use super::schedule::{Held, schedule};
use super::stage::{Case, Failure, Key, Stage, StageId};
use super::world::World;

#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// What it builds on is not merged.
    Waits {
        on: Vec<StageId>,
    },
    Held(Held),
    /// Something is being done for it.
    Doing {
        key: Key,
    },
    /// An agent is at work.
    Agent {
        session: Key,
    },
    /// Others are before it in the queue.
    Queued {
        entry: u64,
    },
    /// A person is asked.
    Asked,
    Reviewed {
        case: Case,
    },
    Blocked {
        failure: Failure,
    },
    /// The next look at it changes that.
    Next,
}

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
