//! Replaces the plan of a run. Results for the earlier plan count if the new plan asks for the same; other
//! work is checked again.

use std::collections::BTreeSet;

use sprag_base::digest::Digest;

use super::Run;
use crate::ids::StageId;
use crate::run::effect::{Effect, QueueStep, StageStep};
use crate::spec::Plan;
use crate::stage::StageEvent;
use crate::stage::state::StageState;

impl Run {
    pub(super) fn amend(&mut self, plan: &Plan, digest: &Digest) {
        let before = std::mem::replace(&mut self.plan.current, plan.clone());
        self.plan.digest = *digest;
        self.keep_bases();
        self.drop_stages();
        self.take_stages();
        let changed = self.changed_since(&before);
        self.look_anew(&changed);
        let is_gated_as =
            before.head.gates == self.plan().head.gates && before.head.sandbox == self.plan().head.sandbox;
        let is_queued =
            |stage: &StageId| self.queue.entries().iter().any(|entry| entry.whose.stage() == Some(stage));
        if !is_gated_as || changed.iter().any(is_queued) {
            self.gate_anew();
        }
    }

    /// Returns the stages whose work has to meet other requirements than before.
    fn changed_since(&self, before: &Plan) -> BTreeSet<StageId> {
        let is_changed = |id: &&StageId| {
            let both = before.find(id.as_str()).zip(self.plan().find(id.as_str()));
            both.is_some_and(|(before, now)| !now.is_verified_as(before))
        };
        self.entries.keys().filter(is_changed).cloned().collect()
    }

    fn look_anew(&mut self, changed: &BTreeSet<StageId>) {
        self.outdate(|effect| match effect {
            Effect::Stage { stage, step: StageStep::Check { .. } | StageStep::Review(_) } => {
                changed.contains(stage)
            }
            _ => false,
        });
        for id in changed {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            entry.state.verification_mut().into_iter().for_each(|it| it.reviewable = None);
            if matches!(&entry.state, StageState::Review { question, .. } if question.verified().is_some()) {
                self.apply_event(id, &StageEvent::Outdated);
            }
        }
    }

    /// Discards the results of the whole queue: candidates behind a changed stage were tested together with
    /// it. Cached passes of unchanged checks are kept.
    fn gate_anew(&mut self) {
        self.outdate(|effect| matches!(effect, Effect::Queue { step: QueueStep::Test { .. }, .. }));
        let landing = self.open().find_map(|effect| match effect {
            Effect::Queue { number, step: QueueStep::Land { .. } } => Some(*number),
            _ => None,
        });
        self.queue.check_anew(landing);
    }

    fn outdate(&mut self, is_outdated: impl Fn(&Effect) -> bool) {
        for open in self.effects.values_mut().filter(|open| is_outdated(&open.effect)) {
            open.is_outdated = true;
        }
    }
}
