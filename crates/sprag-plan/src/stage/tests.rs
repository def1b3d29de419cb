//! All pairs of states and events.

use std::collections::{BTreeMap, BTreeSet};

use super::transition_table::{TransitionRow, happenings, moves, states, verification, work};
use super::*;
use crate::stage::state::StageState;

#[test]
fn these_moves_there_are_and_no_others() {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for TransitionRow { from, to, .. } in moves() {
        found.entry(from).or_default().insert(to);
    }
    let told: Vec<String> = found
        .into_iter()
        .map(|(from, to)| format!("{from} > {}", to.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    assert_eq!(
        told,
        [
            "asking > blocked, handing off, ready, running, skipped",
            "blocked > ready, skipped",
            "conflicted > blocked, merging, ready, review, skipped",
            "failing > blocked, ready, review, running, skipped",
            "handing off > blocked, ready, skipped",
            "merge held > merging, ready, review, skipped",
            "merging > conflicted, done, merge held, ready, skipped",
            "ready > blocked, running, skipped",
            "review > blocked, failing, merging, ready, running, skipped",
            "running > asking, blocked, failing, handing off, merging, ready, review, skipped",
            "waiting > ready, skipped",
        ]
    );
}

#[test]
fn every_state_is_come_to() {
    let to: BTreeSet<&str> = moves().iter().map(|it| it.to).collect();
    let never: Vec<&str> = states().iter().map(StageState::name).filter(|name| !to.contains(name)).collect();
    assert_eq!(never, ["waiting"], "waiting is the first state");
}

#[test]
fn what_is_over_stays_so() {
    let merged = MergedCommit::landed(CommitId(Text::new("c")), CommitId(Text::new("t")));
    for stage in
        [StageState::Done { merged }, StageState::Skipped { by: Text::new("p"), why: Text::new("w") }]
    {
        assert!(stage.is_over());
        assert!(
            happenings().iter().all(|happened| transition(&stage, happened, Hold::No) == Transition::Ignored)
        );
    }
}

#[test]
fn checks_send_back_three_times() {
    let mut stage = StageState::Running(work(verification()));
    let mut sent = 0;
    while let Transition::To(failing) =
        transition(&stage, &StageEvent::ChecksFailed { report: Text::new("red") }, Hold::No)
    {
        let session = EffectKey(Text::new("r/s/1/1"));
        let Transition::To(again) = transition(&failing, &StageEvent::SentBack { session }, Hold::No) else {
            break;
        };
        let Transition::To(claimed) = transition(&again, &StageEvent::Claimed, Hold::No) else { break };
        stage = claimed;
        sent += 1;
    }
    assert_eq!(sent, FIXES);
}
