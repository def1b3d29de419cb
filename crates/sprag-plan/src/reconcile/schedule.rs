//! Chooses the stages that start next, and gives the reason for the others. The longest path starts first.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;
use sprag_intent::IntentSharing;

use super::durations::Durations;
use super::observed::Observed;
use crate::ids::StageId;
use crate::run::retry::{CrashBreaker, breaker};
use crate::run::waiting::StartBlocker;
use crate::run::{Run, StageEntry};
use crate::spec::StageSpec;
use crate::stage::state::StageState;
use crate::stage::{FIXES, TRIES};

/// Stages to start now, in this order, and the blockers of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub start: Vec<StageId>,
    pub held: BTreeMap<StageId, StartBlocker>,
}

pub(crate) fn schedule(run: &Run, world: &Observed, now: Timestamp) -> Schedule {
    let plan = run.plan();
    let mut schedule = Schedule::default();
    let mut active: Vec<&StageSpec> = plan.stages().iter().filter(|spec| has_place(run, spec)).collect();
    let breaker = breaker(&run.limits().crashes, plan.head.backoff, now);
    let slots = match breaker {
        CrashBreaker::HalfOpen => 1,
        CrashBreaker::Closed | CrashBreaker::Open { .. } => plan.head.slots.min(world.room),
    };
    for spec in by_rank(run, &world.durations, now) {
        let held =
            stopped(run, spec, breaker, now).or_else(|| crowded(run, spec, &active, usize::from(slots)));
        match held {
            Some(held) => {
                schedule.held.insert(spec.id.clone(), held);
            }
            None => {
                schedule.start.push(spec.id.clone());
                active.push(spec);
            }
        }
    }
    schedule
}

/// Returns all stages that could start, the most urgent first.
fn by_rank<'a>(run: &'a Run, durations: &Durations, now: Timestamp) -> Vec<&'a StageSpec> {
    let plan = run.plan();
    let ranks = plan.graph().ranks(&durations.estimate_stages(plan));
    let active: Vec<usize> =
        (0..plan.stages().len()).filter(|at| has_place(run, &plan.stages()[*at])).collect();
    let may_start = |spec: &StageSpec| match entry(run, spec).map(|entry| &entry.state) {
        Some(state @ StageState::Ready(_)) => !state.is_preparing(),
        Some(state @ StageState::Conflicted(conflict)) => {
            conflict.resolver.is_none() && conflict.tries < TRIES && !state.is_preparing()
        }
        Some(StageState::Failing { work, .. }) => work.fixes < FIXES && has_left(run, spec),
        _ => false,
    };
    let mut found: Vec<(usize, &StageSpec)> =
        plan.stages().iter().enumerate().filter(|(_, spec)| may_start(spec)).collect();
    found.sort_by_cached_key(|(at, spec)| {
        let is_late = stopped(run, spec, CrashBreaker::Closed, now).is_some();
        let is_near = active.iter().any(|other| run.are_near(*at, *other));
        let out = plan.graph().wanted_by(*at).len();
        // Nearly finished work goes before new work.
        let is_new = matches!(entry(run, spec).map(|it| &it.state), Some(StageState::Ready(_)));
        (is_late, is_new, is_near, std::cmp::Reverse(ranks[*at]), std::cmp::Reverse(out), spec.id.clone())
    });
    found.into_iter().map(|(_, spec)| spec).collect()
}

fn entry<'a>(run: &'a Run, spec: &StageSpec) -> Option<&'a StageEntry> {
    run.entry(&spec.id)
}

/// Reports whether the stage uses a slot: an agent works for it, or is about to.
fn has_place(run: &Run, spec: &StageSpec) -> bool {
    entry(run, spec).is_some_and(StageEntry::is_active) && !has_left(run, spec)
}

/// Reports whether the agent is gone while its work is checked or has failed checks. Checks may take long,
/// so the stage uses no slot meanwhile.
fn has_left(run: &Run, spec: &StageSpec) -> bool {
    entry(run, spec).is_some_and(|entry| match &entry.state {
        StageState::Running(work) => work.phase.is_verifying() && run.ended(&work.session).is_some(),
        StageState::Failing { work, .. } => !entry.state.is_preparing() && run.ended(&work.session).is_some(),
        _ => false,
    })
}

/// Returns a blocker that does not depend on other stages.
fn stopped(run: &Run, spec: &StageSpec, breaker: CrashBreaker, now: Timestamp) -> Option<StartBlocker> {
    if entry(run, spec).is_some_and(StageEntry::is_held) {
        return Some(StartBlocker::Told);
    }
    if let Some(StageState::Ready(turn)) = entry(run, spec).map(|entry| &entry.state)
        && let Some(until) = turn.not_before.filter(|until| *until > now)
    {
        return Some(StartBlocker::Until(until));
    }
    if let Some(until) = run.held(&spec.id).filter(|until| *until > now) {
        return Some(StartBlocker::Account(until));
    }
    match breaker {
        CrashBreaker::Open { until } => Some(StartBlocker::Breaker(until)),
        CrashBreaker::Closed | CrashBreaker::HalfOpen => None,
    }
}

fn crowded(run: &Run, spec: &StageSpec, active: &[&StageSpec], slots: usize) -> Option<StartBlocker> {
    let is_alone = |spec: &StageSpec| spec.sharing == IntentSharing::Exclusive;
    if !active.is_empty() && (is_alone(spec) || active.iter().any(|other| is_alone(other))) {
        return Some(StartBlocker::Exclusive);
    }
    if active.len() >= slots {
        return Some(StartBlocker::Slots);
    }
    let group = spec.parallel_group.as_ref()?;
    let is_of = |other: &&&StageSpec| other.parallel_group.as_ref().is_some_and(|of| of.name == group.name);
    let count = active.iter().filter(is_of).count();
    run.plan().group_max(&group.name).filter(|max| count >= usize::from(*max)).map(|_| StartBlocker::Group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{begin, now, plan, started};

    fn room(room: u16) -> Observed {
        Observed { room, ..Observed::default() }
    }

    fn starts(stages: &[(&str, &str, &str)], slots: u16) -> Vec<String> {
        let run = started(plan(stages));
        schedule(&run, &room(slots), now()).start.iter().map(|id| id.as_str().to_owned()).collect()
    }

    #[test]
    fn the_longest_way_is_begun_first_then_who_is_wanted_most() {
        let stages = [
            ("alone", "", "x/**"),
            ("wanted", "", "y/**"),
            ("long", "", "z/**"),
            ("mid", "long", "a/**"),
            ("end", "mid", "b/**"),
            ("one", "wanted", "c/**"),
            ("two", "wanted", "d/**"),
            ("three", "alone", "e/**"),
        ];
        assert_eq!(starts(&stages, 4), ["long", "wanted", "alone"]);
        assert_eq!(starts(&stages, 1), ["long"]);
    }

    #[test]
    fn the_way_that_takes_longest_by_time_is_begun_first() {
        let run = started(plan(&[
            ("deep", "", "a"),
            ("deeper", "deep", "b"),
            ("deepest", "deeper", "c"),
            ("slow", "", "d"),
        ]));
        let first = |world: &Observed| schedule(&run, world, now()).start[0].as_str().to_owned();
        let mut world = room(1);
        assert_eq!(first(&world), "deep", "of unknown durations, more stages take longer");
        for (id, seconds) in [("deep", 60), ("deeper", 60), ("deepest", 60), ("slow", 200)] {
            world.durations.took(run.plan().find(id).unwrap(), seconds);
        }
        assert_eq!(first(&world), "slow");
    }

    #[test]
    fn who_would_be_at_the_same_files_comes_last() {
        let mut run = started(plan(&[("a", "", "x/**"), ("b", "", "x/y"), ("c", "", "z")]));
        begin(&mut run, "a");
        let found = schedule(&run, &room(2), now());
        assert_eq!(found.start, [StageId::new("c")]);
        assert_eq!(found.held.get(&StageId::new("b")), Some(&StartBlocker::Slots));
    }

    #[test]
    fn groups_and_those_who_want_to_be_alone_wait() {
        let mut stages = plan(&[("a", "", "x"), ("b", "", "y"), ("c", "", "z")]);
        stages["stages"][0]["parallel_group"] = serde_json::json!({"name": "g", "max": 1});
        stages["stages"][1]["parallel_group"] = serde_json::json!({"name": "g"});
        let found = schedule(&started(stages.clone()), &room(4), now());
        assert_eq!(found.start, [StageId::new("a"), StageId::new("c")]);
        assert_eq!(found.held.get(&StageId::new("b")), Some(&StartBlocker::Group));
        stages["stages"][2]["sharing"] = serde_json::json!("exclusive");
        let found = schedule(&started(stages), &room(4), now());
        assert_eq!(found.start, [StageId::new("a")]);
        assert_eq!(found.held.get(&StageId::new("c")), Some(&StartBlocker::Exclusive));
    }
}
