//! Estimates how long stages take, from this run and earlier runs of the plan. Later durations count more.
//! The estimates only decide the order of starts, so they may be rough.

use std::collections::BTreeMap;

use crate::ids::StageId;
use crate::run::target_stage::is_base;
use crate::run::timed::Timed;
use crate::spec::{Plan, StageKind, StageSpec};
use crate::stage::state::StageState;

/// Seconds for a stage without any known duration.
pub const UNKNOWN: u64 = 600;
/// Tenths by which the last duration counts against all earlier ones.
const WEIGHT: u64 = 3;

/// Durations in seconds, as moving averages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    kinds: BTreeMap<&'static str, u64>,
    /// Durations of single stages; an earlier run may have had the same stage.
    stages: BTreeMap<StageId, u64>,
}

impl Durations {
    /// Records the seconds from the first step of a stage to its merge.
    pub fn took(&mut self, spec: &StageSpec, seconds: u64) {
        // Stages for commits of others are not foreseeable, so they do not count.
        if is_base(&spec.id) {
            return;
        }
        let kind = self.kinds.entry(name(spec.kind)).or_insert(seconds);
        *kind = averaged(*kind, seconds);
        let stage = self.stages.entry(spec.id.clone()).or_insert(seconds);
        *stage = averaged(*stage, seconds);
    }

    /// Records all merged stages of a run in the order of their ends.
    pub fn saw(&mut self, run: &Timed) {
        let merged = run.run().entries().filter(|(_, it)| matches!(it.state, StageState::Done { .. }));
        let mut ended: Vec<_> = merged.filter_map(|(id, _)| Some((run.span(id)?.ended?, id))).collect();
        ended.sort();
        for (_, id) in ended {
            self.saw_stage(run, id);
        }
    }

    /// Records one merged stage of a run.
    pub fn saw_stage(&mut self, run: &Timed, id: &StageId) {
        let Some(spec) = run.run().plan().find(id.as_str()) else { return };
        if let Some((begun, ended)) = run.span(id).and_then(|span| Some((span.begun, span.ended?))) {
            self.took(spec, u64::try_from(ended.seconds_since(begun)).unwrap_or(0));
        }
    }

    /// Returns the estimated duration of each stage of a plan, in the order of the plan.
    pub fn estimate_stages(&self, plan: &Plan) -> Vec<u64> {
        let of = |spec: &StageSpec| {
            let known = self.stages.get(&spec.id).or_else(|| self.kinds.get(name(spec.kind)));
            // At least 1 s, so that a stage ranks before the stages that depend on it.
            known.copied().unwrap_or(UNKNOWN).max(1)
        };
        plan.stages().iter().map(of).collect()
    }
}

fn averaged(before: u64, now: u64) -> u64 {
    (before.saturating_mul(10 - WEIGHT).saturating_add(now.saturating_mul(WEIGHT))) / 10
}

fn name(kind: StageKind) -> &'static str {
    kind.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, started};

    #[test]
    fn what_was_seen_last_counts_most_and_what_is_not_known_is_guessed() {
        let mut stages = plan(&[("a", "", "a"), ("b", "", "b"), ("c", "", "c")]);
        stages["stages"][2]["type"] = serde_json::json!("knowledge");
        let run = started(stages);
        let a = run.plan().find("a").unwrap();
        let mut durations = Durations::default();
        assert_eq!(durations.estimate_stages(run.plan()), [UNKNOWN; 3]);
        durations.took(a, 100);
        assert_eq!(durations.estimate_stages(run.plan()), [100, 100, UNKNOWN]);
        durations.took(a, 200);
        durations.took(run.plan().find("b").unwrap(), 0);
        assert_eq!(
            durations.estimate_stages(run.plan()),
            [130, 1, UNKNOWN],
            "the duration of the stage counts before that of its kind"
        );
        (0..50).for_each(|_| durations.took(a, u64::MAX));
        assert!(durations.estimate_stages(run.plan())[0] > 1000);
    }
}
