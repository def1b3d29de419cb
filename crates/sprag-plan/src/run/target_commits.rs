//! What others put on the target: it is merged like everything, and where it does not merge, a stage of ours sees to it.

use sprag_base::text::Text;

use super::{Run, StageCounters, StageEntry};
use crate::ids::{CommitId, StageId};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::{QueueOwner, Verified};
use crate::run::record::TargetHeld;
use crate::run::target_stage::TargetStage;
use crate::stage::StageEvent;
use crate::stage::state::StageState;

impl Run {
    pub(super) fn take_foreign(&mut self, head: &CommitId) {
        self.queue.withdraw(&QueueOwner::Target);
        self.foreign = Some(head.clone());
        self.target_held = None;
        let verified =
            Verified { attempt: 0, head: head.clone(), tree: head.clone(), base: self.target.clone() };
        self.queue.offer(QueueOwner::Target, verified);
    }

    /// What became of commits that others put on the target. What does not go is held against the target, and not
    /// asked again before that is somewhere else.
    pub(super) fn merged_foreign(&mut self, what: StageEvent) {
        let Some(head) = self.foreign.clone() else { return };
        match what {
            StageEvent::Landed { .. } => {
                self.target = head;
                self.foreign = None;
                self.overtake();
            }
            StageEvent::Conflicted { paths, .. } => {
                self.resolve(&head, &paths);
                self.target_held = Some(TargetHeld::Conflicted { head, paths });
            }
            StageEvent::MergeFailed { cause } => {
                let report = match cause {
                    MergeFailure::Red { report } => report,
                    MergeFailure::Pair { with } => {
                        Text::new(format!("red together with `{}`", with.as_str()))
                    }
                };
                self.target_held = Some(TargetHeld::Red { head, report });
            }
            _ => {}
        }
    }

    /// Begins a stage that merges both sides; one at a time, since the next one builds on what this one makes.
    fn resolve(&mut self, head: &CommitId, paths: &[Text<400>]) {
        if self.resolving().is_some() {
            return;
        }
        let base = TargetStage::new(self, self.bases.len() + 1, head, paths);
        let Some((base, plan)) = base.and_then(|base| {
            let plan = self.plan.with_stage(base.spec.clone())?;
            Some((base, plan))
        }) else {
            return;
        };
        let stage = base.stage(self.queue.trunk(), paths.to_vec());
        let counters = StageCounters { moves: 1, ..StageCounters::default() };
        let entry = StageEntry { counters, ..StageEntry::new(stage) };
        self.entries.insert(base.spec.id.clone(), entry);
        self.bases.push(base);
        self.plan = plan;
        self.take_stages();
    }

    /// The stage of ours that is not over, if there is one.
    fn resolving(&self) -> Option<StageId> {
        let id = &self.bases.last()?.spec.id;
        let is_over = self.entries.get(id).is_none_or(|entry| entry.state.is_over());
        (!is_over).then(|| id.clone())
    }

    /// Somebody has merged both sides on the target: there is nothing left to resolve.
    fn overtake(&mut self) {
        if let Some(id) = self.resolving() {
            self.queue.withdraw(&QueueOwner::Stage(id.clone()));
            self.apply_event(&id, &StageEvent::Overtaken);
        }
    }

    /// A stage of ours may have landed: then the target can follow, or has moved on and is looked at again.
    pub(super) fn resolved(&mut self, id: &StageId) {
        let is_done = |entry: &StageEntry| matches!(entry.state, StageState::Done { .. });
        let Some(owed) = self.owed(id).cloned().filter(|_| self.entries.get(id).is_some_and(is_done)) else {
            return;
        };
        self.target = owed;
        if !self.queue.entries().iter().any(|entry| entry.whose == QueueOwner::Target) {
            (self.foreign, self.target_held) = (None, None);
        }
    }

    /// Another plan has the same stages of ours.
    pub(super) fn keep_bases(&mut self) {
        for base in &self.bases {
            if let Some(plan) = self.plan.with_stage(base.spec.clone()) {
                self.plan = plan;
            }
        }
    }
}
