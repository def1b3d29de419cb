//! Merges commits of others on the target like the work of stages. If they conflict, Sprag adds a stage
//! that resolves the conflict.

use sprag_base::text::Text;

use super::{Run, StageCounters, StageEntry};
use crate::ids::{CommitId, StageId};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::queue::{QueueOwner, Verified};
use crate::run::record::TargetHeld;
use crate::run::stuck_ref::StuckRef;
use crate::run::target_stage::TargetStage;
use crate::stage::StageEvent;
use crate::stage::state::StageState;

/// The branch that merged work goes to, as far as the run knows it, and the references that the run moves.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetState {
    /// The commit of the target when Sprag last moved or merged it.
    pub known: CommitId,
    /// The commit of others that is being merged.
    pub foreign: Option<CommitId>,
    pub held: Option<TargetHeld>,
    /// Stages that resolve conflicts with commits of others, the oldest first.
    pub(super) stages: Vec<TargetStage>,
    pub promotions: u32,
    /// Number of times that the trunk was restored.
    pub restorations: u32,
    pub stuck: Option<StuckRef>,
}

impl TargetState {
    pub(super) fn new(trunk: &CommitId) -> TargetState {
        TargetState {
            known: trunk.clone(),
            foreign: None,
            held: None,
            stages: Vec::new(),
            promotions: 0,
            restorations: 0,
            stuck: None,
        }
    }
}

impl Run {
    pub(super) fn take_foreign(&mut self, head: &CommitId) {
        self.queue.withdraw(&QueueOwner::Target);
        self.target.foreign = Some(head.clone());
        self.target.held = None;
        let verified =
            Verified { attempt: 0, head: head.clone(), tree: head.clone(), base: self.target.known.clone() };
        self.queue.offer(QueueOwner::Target, verified);
    }

    /// Applies the result of merging commits of others. If the merge fails, the target is not moved until
    /// it changes.
    pub(super) fn merged_foreign(&mut self, what: StageEvent) {
        let Some(head) = self.target.foreign.clone() else { return };
        match what {
            StageEvent::Landed { .. } => {
                self.target.known = head;
                self.target.foreign = None;
                self.overtake();
            }
            StageEvent::Conflicted { paths, .. } => {
                self.resolve(&head, &paths);
                self.target.held = Some(TargetHeld::Conflicted { head, paths });
            }
            StageEvent::MergeFailed { cause } => {
                let report = match cause {
                    MergeFailure::Red { report } => report,
                    MergeFailure::Pair { with } => {
                        Text::new(format!("checks fail together with `{}`", with.as_str()))
                    }
                };
                self.target.held = Some(TargetHeld::Red { head, report });
            }
            _ => {}
        }
    }

    /// Begins a stage that merges both sides. There is one such stage at a time, because the next one
    /// builds on its result.
    fn resolve(&mut self, head: &CommitId, paths: &[Text<400>]) {
        if self.resolving().is_some() {
            return;
        }
        let base = TargetStage::new(self, self.target.stages.len() + 1, head, paths);
        let Some((base, plan)) = base.and_then(|base| {
            let plan = self.plan().with_stage(base.spec.clone())?;
            Some((base, plan))
        }) else {
            return;
        };
        let stage = base.stage(self.queue.trunk(), paths.to_vec());
        let counters = StageCounters { moves: 1, ..StageCounters::default() };
        let entry = StageEntry { counters, ..StageEntry::new(stage) };
        self.entries.insert(base.spec.id.clone(), entry);
        self.target.stages.push(base);
        self.plan.current = plan;
        self.take_stages();
    }

    /// Returns the active stage that resolves a conflict, if there is one.
    fn resolving(&self) -> Option<StageId> {
        let id = &self.target.stages.last()?.spec.id;
        let is_over = self.entries.get(id).is_none_or(|entry| entry.state.is_over());
        (!is_over).then(|| id.clone())
    }

    /// Ends the resolving stage after someone merged both sides on the target.
    fn overtake(&mut self) {
        if let Some(id) = self.resolving() {
            self.queue.withdraw(&QueueOwner::Stage(id.clone()));
            self.apply_event(&id, &StageEvent::Overtaken);
        }
    }

    /// Updates the target after a resolving stage has landed: the target can follow, or has moved and is
    /// read again.
    pub(super) fn resolved(&mut self, id: &StageId) {
        let is_done = |entry: &StageEntry| matches!(entry.state, StageState::Done { .. });
        let Some(owed) = self.owed(id).cloned().filter(|_| self.entries.get(id).is_some_and(is_done)) else {
            return;
        };
        self.target.known = owed;
        if !self.queue.entries().iter().any(|entry| entry.whose == QueueOwner::Target) {
            (self.target.foreign, self.target.held) = (None, None);
        }
    }

    /// Keeps the resolving stages when the plan changes.
    pub(super) fn keep_bases(&mut self) {
        for base in &self.target.stages {
            if let Some(plan) = self.plan().with_stage(base.spec.clone()) {
                self.plan.current = plan;
            }
        }
    }
}
