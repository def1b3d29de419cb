//! Records the ends of agents while no daemon runs their plan. Nothing is begun. A command for a stage is
//! then judged without agents that are gone.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;

use super::observed::{AgentSession, Observed};
use super::{Action, reconcile};
use crate::ids::EffectKey;
use crate::run::Run;
use crate::run::record::RunRecord;

/// Returns the records to write; after they are applied there may be more. `sessions` holds all sessions
/// without a known end.
pub fn settle(run: &Run, sessions: &BTreeMap<EffectKey, AgentSession>, now: Timestamp) -> Vec<RunRecord> {
    let world = Observed { sessions: sessions.clone(), ..Observed::default() };
    let records = reconcile(run, &world, now).into_iter().filter_map(|action| match action {
        Action::Record(record) => Some(record),
        Action::Do { .. } | Action::WakeAt(_) => None,
    });
    records.filter(|record| is_of_the_gone(run, record)).collect()
}

/// Reports whether a record is about agents that are gone. Only the daemon judges live agents.
fn is_of_the_gone(run: &Run, record: &RunRecord) -> bool {
    match record {
        RunRecord::Ended { .. } => true,
        RunRecord::Happened { stage, .. } => run
            .entry(stage)
            .is_some_and(|entry| entry.state.session().is_none_or(|session| run.ended(session).is_some())),
        RunRecord::Started { .. }
        | RunRecord::Amended { .. }
        | RunRecord::EffectBegun { .. }
        | RunRecord::Outcome { .. }
        | RunRecord::WorktreeLost { .. }
        | RunRecord::Foreign { .. }
        | RunRecord::TargetHeld { .. }
        | RunRecord::Nearly { .. }
        | RunRecord::StageCommand { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StageId;
    use crate::reconcile::observed::AgentSign;
    use crate::run::effect::{EffectOutcome, StageStep};
    use crate::run::record::{SessionOutcome, key};
    use crate::stage::state::StageState;
    use crate::testing::{begin, commit, now, plan, started};

    fn at_work() -> (Run, EffectKey) {
        let mut run = started(plan(&[("a", "", "x")]));
        begin(&mut run, "a");
        let made = key(&run.id, "a", 1, "worktree.0");
        run.apply(&RunRecord::Outcome { key: made, outcome: EffectOutcome::Worktree { base: commit("t") } });
        let session = key(&run.id, "a", 1, "spawn.0");
        let effect = StageStep::Spawn.for_stage(&StageId::new("a"));
        run.apply(&RunRecord::EffectBegun { key: session.clone(), epoch: 1, effect });
        run.apply(&RunRecord::Outcome { key: session.clone(), outcome: EffectOutcome::Spawned });
        (run, session)
    }

    #[test]
    fn who_is_gone_is_at_work_no_more_and_who_lives_is() {
        let (mut run, session) = at_work();
        let of = |state: AgentSession| BTreeMap::from([(session.clone(), state)]);
        assert_eq!(settle(&run, &of(AgentSession::Alive(AgentSign::Working)), now()), []);
        let gone = of(AgentSession::Over(SessionOutcome::Stopped));
        for _ in 0..2 {
            let records = settle(&run, &gone, now());
            assert_eq!(records.len(), 1);
            for record in records.iter() {
                run.apply(record);
            }
        }
        assert_eq!(settle(&run, &gone, now()), []);
        let stage = &run.entry(&StageId::new("a")).unwrap().state;
        assert!(matches!(stage, StageState::Ready(ready) if ready.attempt.number == 1), "{stage:?}");
        assert!(run.effects().is_empty(), "no effect was begun");
    }
}
