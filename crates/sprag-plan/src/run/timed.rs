//! A run with its times. Decisions never depend on the times of records, so a run stores none; screens need
//! them.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;

use super::Run;
use super::effect::{Effect, StageStep};
use super::record::RunRecord;
use crate::ids::{EffectKey, StageId};

/// A run, and the times that screens show.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    run: Run,
    pub began: Timestamp,
    /// The time of the last record.
    pub moved: Timestamp,
    stages: BTreeMap<StageId, StageTimes>,
    sessions: BTreeMap<EffectKey, Timestamp>,
}

/// The time from the first step of a stage to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageTimes {
    pub begun: Timestamp,
    pub ended: Option<Timestamp>,
}

impl Timed {
    /// Begins a timed run; `None` if the record does not start a run.
    pub fn begin(record: &RunRecord, at: Timestamp) -> Option<Timed> {
        let run = Run::fold([record])?;
        Some(Timed { run, began: at, moved: at, stages: BTreeMap::new(), sessions: BTreeMap::new() })
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn into_run(self) -> Run {
        self.run
    }

    pub fn span(&self, stage: &StageId) -> Option<StageTimes> {
        self.stages.get(stage).copied()
    }

    /// Returns the time when the agent of a session was requested.
    pub fn session(&self, session: &EffectKey) -> Option<Timestamp> {
        self.sessions.get(session).copied()
    }

    pub fn apply(&mut self, record: &RunRecord, at: Timestamp) {
        // The stage is found before, because an outcome removes the effect that names it.
        let stage = self.stage_of(record).cloned();
        self.run.apply(record);
        // A clock that was set back does not make a record older than the one before it.
        let at = at.max(self.moved);
        self.moved = at;
        if let RunRecord::EffectBegun { key, effect, .. } = record
            && effect.is_spawn()
        {
            self.sessions.entry(key.clone()).or_insert(at);
        }
        let Some(stage) = stage else { return };
        let is_over = self.run.entry(&stage).is_some_and(|entry| entry.state.is_over());
        let is_work = matches!(record, RunRecord::EffectBegun { effect, .. } if is_work(effect));
        if is_work || is_over {
            let span = self.stages.entry(stage).or_insert(StageTimes { begun: at, ended: None });
            if is_over { span.ended = span.ended.or(Some(at)) } else { span.ended = None }
        }
    }

    fn stage_of<'a>(&'a self, record: &'a RunRecord) -> Option<&'a StageId> {
        match record {
            RunRecord::Happened { stage, .. } | RunRecord::Ended { stage, .. } => Some(stage),
            RunRecord::EffectBegun { effect, .. } => effect.stage(&self.run),
            RunRecord::Outcome { key, .. } => self.run.effect(key)?.stage(&self.run),
            _ => None,
        }
    }
}

/// Reports whether an effect counts as the beginning of a stage.
fn is_work(effect: &Effect) -> bool {
    matches!(effect, Effect::Stage { step: StageStep::AddWorktree { .. } | StageStep::Spawn, .. })
}

#[cfg(test)]
mod tests {
    use sprag_base::text::Text;

    use super::*;
    use crate::stage::StageEvent;
    use crate::stage::command::StageCommand;
    use crate::testing::{begin, commit, now, plan, start};

    #[test]
    fn a_stage_takes_from_what_is_first_done_for_it_to_its_end() {
        let mut timed = Timed::begin(&start(plan(&[("a", "", "a/**"), ("b", "a", "b/**")])), now()).unwrap();
        let a = StageId::new("a");
        let at = |seconds| now().plus_seconds(seconds);
        assert_eq!(timed.span(&a), None);
        let effect = StageStep::AddWorktree { base: commit("t") }.for_stage(&a);
        let key = EffectKey(Text::new("r/a/1/worktree.0"));
        timed.apply(&RunRecord::EffectBegun { key, epoch: 1, effect }, at(5));
        assert_eq!(timed.span(&a), Some(StageTimes { begun: at(5), ended: None }));
        let spawn = StageStep::Spawn.for_stage(&a);
        let key = EffectKey(Text::new("r/a/1/spawn.0"));
        timed.apply(&RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect: spawn }, at(9));
        assert_eq!((timed.session(&key), timed.moved), (Some(at(9)), at(9)));
        let failed = StageEvent::Failed { failure: crate::stage::StageFailure::Setup, again: None };
        timed.apply(&RunRecord::Happened { stage: a.clone(), what: failed }, at(10));
        let skip = StageEvent::Command {
            by: Text::new("u"),
            command: StageCommand::Skip { why: Text::new("no need") },
        };
        timed.apply(&RunRecord::Happened { stage: a.clone(), what: skip }, at(3));
        assert_eq!(
            timed.span(&a),
            Some(StageTimes { begun: at(5), ended: Some(at(10)) }),
            "time never runs backwards"
        );
    }

    #[test]
    fn the_run_within_is_the_run() {
        let started = start(plan(&[("a", "", "a/**")]));
        let mut run = Run::fold([&started]).unwrap();
        begin(&mut run, "a");
        let mut timed = Timed::begin(&started, now()).unwrap();
        let effect = StageStep::AddWorktree { base: commit("t") }.for_stage(&StageId::new("a"));
        let key = crate::run::record::key(&run.id, "a", 1, "worktree.0");
        timed.apply(&RunRecord::EffectBegun { key, epoch: 1, effect }, now());
        assert_eq!(*timed.run(), run);
    }
}
