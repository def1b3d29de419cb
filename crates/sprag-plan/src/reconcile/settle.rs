//! What the ends of agents come to while nobody runs their plan. Nothing is begun by it; but whoever says something of a
//! stage then is not judged by an agent that is gone.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;

use super::observed::{Session, World};
use super::{Action, reconcile};
use crate::ids::Key;
use crate::run::Run;
use crate::run::record::Recorded;

/// What is to be written down; once it is, there may be more. `sessions` are all that no end is known of.
pub fn settle(run: &Run, sessions: &BTreeMap<Key, Session>, now: Timestamp) -> Vec<Recorded> {
    let world = World { sessions: sessions.clone(), ..World::default() };
    let records = reconcile(run, &world, now).into_iter().filter_map(|action| match action {
        Action::Record(record) => Some(record),
        Action::Do { .. } | Action::WakeAt(_) => None,
    });
    records.filter(|record| is_of_the_gone(run, record)).collect()
}

/// What the living do is for those to judge who can hear them.
fn is_of_the_gone(run: &Run, record: &Recorded) -> bool {
    match record {
        Recorded::Ended { .. } => true,
        Recorded::Happened { stage, .. } => run.standing(stage).is_some_and(|standing| {
            standing.stage.session().is_none_or(|session| run.ended(session).is_some())
        }),
        Recorded::Started { .. }
        | Recorded::Amended { .. }
        | Recorded::Intent { .. }
        | Recorded::Outcome { .. }
        | Recorded::WorktreeLost { .. }
        | Recorded::Foreign { .. }
        | Recorded::TargetHeld { .. }
        | Recorded::Nearly { .. }
        | Recorded::Said { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StageId;
    use crate::reconcile::observed::Alive;
    use crate::run::record::{Effect, Ended, Outcome, key};
    use crate::stage::Stage;
    use crate::testing::{begin, commit, now, plan, started};

    fn at_work() -> (Run, Key) {
        let mut run = started(plan(&[("a", "", "x")]));
        begin(&mut run, "a");
        let made = key(&run.id, "a", 1, "worktree.0");
        run.apply(&Recorded::Outcome { key: made, outcome: Outcome::Worktree { base: commit("t") } });
        let session = key(&run.id, "a", 1, "spawn.0");
        let effect = Effect::Spawn { stage: StageId::new("a") };
        run.apply(&Recorded::Intent { key: session.clone(), epoch: 1, effect });
        run.apply(&Recorded::Outcome { key: session.clone(), outcome: Outcome::Spawned });
        (run, session)
    }

    #[test]
    fn who_is_gone_is_at_work_no_more_and_who_lives_is() {
        let (mut run, session) = at_work();
        let of = |state: Session| BTreeMap::from([(session.clone(), state)]);
        assert_eq!(settle(&run, &of(Session::Alive(Alive::Working)), now()), []);
        let gone = of(Session::Over(Ended::Stopped));
        for _ in 0..2 {
            let records = settle(&run, &gone, now());
            assert_eq!(records.len(), 1);
            records.iter().for_each(|record| run.apply(record));
        }
        assert_eq!(settle(&run, &gone, now()), []);
        let stage = &run.standing(&StageId::new("a")).unwrap().stage;
        assert!(matches!(stage, Stage::Ready(turn) if turn.attempt == 1), "{stage:?}");
        assert!(run.open().is_empty(), "and nothing was begun");
    }
}
