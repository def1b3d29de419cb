//! Decides the next actions of a run from its records and the observed world. Each action is complete: it
//! leaves no choice open. If everything is already under way, there is no action.

pub mod budget;
pub mod durations;
pub mod observed;
pub mod recovery;
mod schedule;
mod sessions;
pub mod settle;
#[cfg(test)]
mod tests;
pub mod waiting;

use std::collections::BTreeSet;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::ids::{EffectKey, StageId};
use super::merge::queue::QueueWant;
use super::reconcile::observed::{LoopMode, Observed, TargetBranch};
use super::reconcile::recovery::{EffectResolution, resolve};
use super::reconcile::schedule::{Schedule, schedule};
use super::run::effect::{
    BriefKind, CheckPhase, Effect, EffectOutcome, NudgeTopic, OpenEffect, QueueStep, RefStep, ReviewJob,
    StageStep, Timeliness,
};
use super::run::record::{BudgetOwner, RunRecord, TargetHeld, key};
use super::run::waiting::StartBlocker;
use super::run::{Run, StageCounters, StageEntry, Worktree, nearly_key, open_tasks};
use super::sentences;
use super::spec::{StageKind, StageSpec};
use super::stage::state::StageState;
use super::stage::{
    FIXES, LaunchState, Phase, ReviewReason, Reviewable, StageConflict, StageEvent, StageFailure,
    StartReason, TRIES, Verification,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write this record unchanged.
    Record(RunRecord),
    /// Record the effect as begun under this key, do it, and record its outcome.
    Do { key: EffectKey, effect: Effect },
    /// Nothing changes automatically before this time.
    WakeAt(Timestamp),
}

pub fn reconcile(run: &Run, world: &Observed, now: Timestamp) -> Vec<Action> {
    let mut next = Reconciler { run, world, now, actions: Vec::new(), done: BTreeSet::new() };
    if let LoopMode::Stopping { .. } = world.mode {
        next.send_home();
        return next.actions;
    }
    next.resume();
    next.sessions();
    next.queue();
    for spec in run.plan().stages() {
        if let Some(entry) = run.entry(&spec.id) {
            next.stage(spec, entry);
        }
    }
    let schedule = schedule(run, world, now);
    for id in &schedule.start {
        next.prepare(id);
    }
    next.promote();
    next.budgets();
    next.stuck();
    next.wake(&schedule);
    next.actions
}

struct Reconciler<'a> {
    run: &'a Run,
    world: &'a Observed,
    now: Timestamp,
    actions: Vec<Action>,
    /// Keys of effects that this pass has started.
    done: BTreeSet<EffectKey>,
}

impl Reconciler<'_> {
    fn act(&mut self, key: EffectKey, effect: Effect) {
        // A begun effect is not started again: its job, or an observation, reports the outcome.
        if self.run.effect(&key).is_none() && self.done.insert(key.clone()) {
            self.actions.push(Action::Do { key, effect });
        }
    }

    fn happened(&mut self, stage: &StageId, what: StageEvent) {
        self.actions.push(Action::Record(RunRecord::Happened { stage: stage.clone(), what }));
    }

    fn key(&self, stage: &StageId, entry: &StageEntry, step: &str) -> EffectKey {
        key(&self.run.id, stage.as_str(), entry.state.attempt(), step)
    }

    /// Resolves effects that were begun and have no running job.
    fn resume(&mut self) {
        for (key, open) in self.run.effects() {
            let effect = &open.effect;
            if self.world.busy.contains(key) {
                continue;
            }
            let Some(found) = self.world.found.get(key) else { continue };
            match resolve(effect, found) {
                EffectResolution::Done(outcome) => {
                    self.actions.push(Action::Record(RunRecord::Outcome { key: key.clone(), outcome }));
                }
                // The effect was not begun after all, and its stage no longer needs it.
                EffectResolution::Again if self.is_unwanted(open) => {
                    let why = Text::new(sentences::NOT_BEGUN);
                    let outcome = EffectOutcome::Failed { failure: StageFailure::Told, why };
                    self.actions.push(Action::Record(RunRecord::Outcome { key: key.clone(), outcome }));
                }
                EffectResolution::Again => {
                    self.actions.push(Action::Do { key: key.clone(), effect: effect.clone() });
                }
            }
        }
    }

    fn is_unwanted(&self, open: &OpenEffect) -> bool {
        match self.run.timeliness(open) {
            Timeliness::Outdated => true,
            Timeliness::Late => open.effect.is_bound_to_state(),
            Timeliness::InTime => false,
        }
    }

    fn queue(&mut self) {
        // While a landing is under way, the cause of a moved trunk is not known.
        let is_landing = self.is_landing();
        let to = self.run.queue().trunk();
        if !is_landing && self.world.trunk.as_ref().is_some_and(|trunk| trunk != to) {
            let key = key(&self.run.id, "-", 0, &format!("restore.{}", self.run.target().restorations));
            return self.act(key, Effect::Refs(RefStep::RestoreTrunk { to: to.clone() }));
        }
        for want in self.run.queue().wants() {
            let (number, step) = match want {
                QueueWant::Make { number, on, head } => (number, QueueStep::Make { on, head }),
                QueueWant::Check { number, commit, tree } => (number, QueueStep::Test { commit, tree }),
                QueueWant::Land { number, from, to } => (number, QueueStep::Land { from, to }),
            };
            let Some(entry) = self.run.queue().find(number) else { continue };
            let name = format!("queue.{number}.{}", entry.tries);
            let whose = entry.whose.stage().map_or("-", StageId::as_str);
            let key = key(&self.run.id, whose, entry.verified.attempt, &name);
            self.act(key, Effect::Queue { number, step });
        }
    }

    fn is_landing(&self) -> bool {
        self.run.open().any(Effect::is_landing)
    }

    fn stage(&mut self, spec: &StageSpec, entry: &StageEntry) {
        let (id, counters) = (&spec.id, &entry.counters);
        if entry.worktree.base().is_some() && self.world.lost.contains(id) {
            return self.lost(id, entry);
        }
        match &entry.state {
            StageState::Waiting { .. } | StageState::Merging { .. } => {}
            StageState::Ready(_) if entry.worktree.is_discarding() => self.prepare(id),
            StageState::Ready(_) if entry.state.is_preparing() => self.prepare(id),
            StageState::Ready(_) => {}
            StageState::Running(work) => match &work.phase {
                Phase::Working => self.at_work(spec, entry, &work.session),
                Phase::Verifying(verification) => self.verify(id, entry, verification),
            },
            StageState::Asking { work, .. } => self.asking(spec, entry, &work.session),
            StageState::HandingOff { work, .. } => {
                if self.is_gone(&work.session) {
                    let key = self.key(id, entry, &format!("handoff.{}", entry.counters.spawns));
                    self.act(key, StageStep::Salvage.for_stage(id));
                } else {
                    self.end(&work.session)
                }
            }
            StageState::Failing { work, report, .. } if work.fixes < FIXES => match self
                .is_gone(&work.session)
            {
                true if entry.is_held() => {
                    self.happened(id, StageEvent::Raised { case: ReviewReason::OnHold })
                }
                // A limit of the account also applies to the next agent.
                true if self.run.held(id).is_some_and(|until| until > self.now) => {}
                true if entry.state.is_preparing() => self.prepare(id),
                // The stage waits for a free slot.
                true => {}
                false => {
                    let key = self.key(id, entry, &format!("nudge.{}.{}", counters.spawns, counters.claims));
                    let (session, text) = (work.session.clone(), report.clone());
                    let nudge = StageStep::Nudge { session, text, topic: NudgeTopic::Report };
                    self.act(key, nudge.for_stage(id));
                }
            },
            StageState::Failing { .. } => {
                self.happened(id, StageEvent::Raised { case: ReviewReason::TooManyFixes })
            }
            StageState::Conflicted(StageConflict { resolver: Some(resolver), .. }) => {
                self.resolving(id, entry, resolver)
            }
            StageState::Conflicted(_) if entry.is_held() => {
                self.happened(id, StageEvent::Raised { case: ReviewReason::OnHold });
            }
            StageState::Conflicted(conflict) => match conflict.tries < TRIES {
                true if entry.state.is_preparing() => self.prepare(id),
                true => {}
                false => self.happened(id, StageEvent::Raised { case: ReviewReason::ConflictUnresolved }),
            },
            StageState::MergeFailed { verified, .. } => {
                if verified.attempt <= u32::from(spec.retries) {
                    let again = Some(self.now);
                    self.happened(id, StageEvent::Failed { failure: StageFailure::Conflict, again });
                } else {
                    self.happened(id, StageEvent::Raised { case: ReviewReason::MergeFailed })
                }
            }
            StageState::Review { .. } | StageState::Blocked { .. } => {}
            StageState::Done { .. } | StageState::Skipped { .. } => self.clear_away(id, entry),
        }
        if entry.needs_person() && counters.notified < counters.moves {
            let key = self.key(id, entry, &format!("notify.{}", counters.moves));
            let text = Text::new(sentences::needs_person(id, &entry.state));
            self.act(key, Effect::Notify { about: Some(spec.id.clone()), text });
        }
    }

    /// Does the next step towards a working agent.
    fn prepare(&mut self, id: &StageId) {
        let (Some(spec), Some(entry)) = (self.run.plan().find(id.as_str()), self.run.entry(id)) else {
            return;
        };
        if self.is_under_way(id) {
            return;
        }
        // Two agents in one worktree would change each other's files.
        if let Some(session) = entry.session.as_ref().filter(|session| !self.is_gone(session)) {
            return self.end(session);
        }
        let StageCounters { worktrees, briefs, spawns, .. } = entry.counters;
        let (name, step) = match &entry.worktree {
            Worktree::Discarding { .. } => {
                (format!("discard.{worktrees}"), StageStep::Discard { number: worktrees })
            }
            Worktree::Absent => {
                let base = self.run.queue().trunk().clone();
                (format!("worktree.{worktrees}"), StageStep::AddWorktree { base })
            }
            Worktree::Present { setup, .. } if !setup.is_set_up && !spec.setup.is_empty() => {
                (format!("setup.{worktrees}"), StageStep::Setup)
            }
            Worktree::Present { setup, .. }
                if !setup.is_checked && spawns == 0 && !spec.before_stage.is_empty() =>
            {
                (format!("before.{worktrees}"), StageStep::Check { phase: CheckPhase::Before })
            }
            _ if entry.state.launch() != Some(LaunchState::Briefed) => {
                let kind = self.brief_kind(spec, &entry.state);
                (format!("brief.{briefs}"), StageStep::WriteBrief { kind })
            }
            _ => (format!("spawn.{spawns}"), StageStep::Spawn),
        };
        let key = self.key(id, entry, &name);
        self.act(key, step.for_stage(id));
    }

    fn brief_kind(&self, spec: &StageSpec, state: &StageState) -> BriefKind {
        let owed = self.run.owed(&spec.id);
        match state {
            StageState::Conflicted(conflict) if owed == Some(&conflict.against) => BriefKind::BaseConflict,
            StageState::Conflicted(_) => BriefKind::MergeConflict,
            StageState::Ready(ready) => match &ready.reason {
                StartReason::MergeFailed => BriefKind::Merge,
                StartReason::Retry { .. } | StartReason::Recovery => BriefKind::Recovery,
                StartReason::First | StartReason::Handoff { .. } | StartReason::Reset => match spec.kind {
                    _ if owed.is_some() => BriefKind::BaseConflict,
                    StageKind::Knowledge => BriefKind::Knowledge,
                    _ => BriefKind::Stage,
                },
            },
            _ => BriefKind::Recovery,
        }
    }

    /// Reports whether a step of the stage uses its worktree, perhaps for an earlier state. Its outcome is
    /// recorded first: an agent may be about to start there, and the worktree must not be removed or given
    /// to another agent.
    fn is_under_way(&self, id: &StageId) -> bool {
        self.run.open().any(|effect| effect.occupies(id))
    }

    /// Makes a lost worktree again, once its agent is gone.
    fn lost(&mut self, id: &StageId, entry: &StageEntry) {
        // Outcomes of begun effects are recorded first: an agent may be about to start.
        if self.run.open().any(|effect| effect.stage(self.run) == Some(id)) {
            return;
        }
        match entry.session.as_ref().filter(|session| !self.is_gone(session)) {
            Some(session) => self.end(session),
            None => self.actions.push(Action::Record(RunRecord::WorktreeLost { stage: id.clone() })),
        }
    }

    fn verify(&mut self, id: &StageId, entry: &StageEntry, verification: &Verification) {
        let open = open_tasks(self.run, id);
        if !open.is_empty() && matches!(entry.state, StageState::Running(_)) {
            let report = sentences::open_tasks(&open);
            return self.happened(id, StageEvent::ChecksFailed { report: Text::new(report) });
        }
        if self.is_under_way(id) {
            return;
        }
        if let Some(Reviewable { head, tree, by }) = verification.reviewable.clone() {
            let key = self.key(id, entry, &format!("review.{}", entry.counters.claims));
            let job = ReviewJob { head, tree, by, since: self.now, demand: verification.demand };
            return self.act(key, StageStep::Review(job).for_stage(id));
        }
        let key = self.key(id, entry, &format!("claim.{}", entry.counters.claims));
        self.act(key, StageStep::Check { phase: CheckPhase::Claim }.for_stage(id));
    }

    /// Salvages and removes the worktree of a finished stage once no agent uses it.
    fn clear_away(&mut self, id: &StageId, entry: &StageEntry) {
        let is_in_use = entry.session.as_ref().is_some_and(|session| !self.is_gone(session));
        if entry.worktree.is_settled() || is_in_use || self.is_under_way(id) {
            return;
        }
        let (name, step) = match entry.worktree {
            Worktree::Salvaged { .. } => ("remove", StageStep::RemoveWorktree),
            _ => ("salvage", StageStep::Salvage),
        };
        let key = self.key(id, entry, &format!("{name}.{}", entry.counters.worktrees));
        self.act(key, step.for_stage(id));
    }

    fn promote(&mut self) {
        let trunk = self.run.queue().trunk();
        let held = |why: TargetHeld| {
            let is_known = self.run.target().held.as_ref() == Some(&why);
            (!is_known).then_some(Action::Record(RunRecord::TargetHeld { why }))
        };
        let action = match &self.world.target {
            Some(TargetBranch::Behind(target)) if target != trunk => {
                let key = key(&self.run.id, "-", 0, &format!("promote.{}", self.run.target().promotions));
                return self.act(key, Effect::Refs(RefStep::Promote { to: trunk.clone() }));
            }
            // Earlier commits of others may be landing; they stay in the queue until then.
            Some(TargetBranch::Ahead(_)) if self.is_landing() => None,
            Some(TargetBranch::Ahead(head)) if self.run.target().foreign.as_ref() != Some(head) => {
                Some(Action::Record(RunRecord::Foreign { head: head.clone() }))
            }
            Some(TargetBranch::Rewritten(now)) => held(TargetHeld::Rewritten { now: now.clone() }),
            Some(TargetBranch::Gone) => held(TargetHeld::Gone),
            Some(TargetBranch::Behind(_) | TargetBranch::CheckedOut(_) | TargetBranch::Ahead(_)) | None => {
                None
            }
        };
        self.actions.extend(action);
    }

    /// Records each nearly used budget once and notifies a person.
    fn budgets(&mut self) {
        let known = &self.run.limits().budgets;
        for of in self.world.nearly.iter().filter(|of| !known.contains_key(of)) {
            self.actions.push(Action::Record(RunRecord::Nearly { of: of.clone() }));
        }
        for (of, _) in known.iter().filter(|(_, is_notified)| !**is_notified) {
            let (about, whose) = match of {
                BudgetOwner::Run => (None, String::new()),
                BudgetOwner::Stage(stage) => (Some(stage.clone()), format!("stage `{}`: ", stage.as_str())),
            };
            let text = Text::new(format!("{whose}{}", sentences::nearly(of)));
            self.act(nearly_key(&self.run.id, of), Effect::Notify { about, text });
        }
    }

    /// Notifies a person who can remove the lock or grant write access.
    fn stuck(&mut self) {
        if let Some(stuck) = self.run.target().stuck.as_ref().filter(|stuck| !stuck.is_notified)
            && let Some(told) = stuck.message()
        {
            let (key, text) = (stuck.key(&self.run.id), Text::new(told));
            self.act(key, Effect::Notify { about: None, text });
        }
    }

    fn wake(&mut self, schedule: &Schedule) {
        let times = schedule.held.values().filter_map(|held| match held {
            StartBlocker::Until(at) | StartBlocker::Account(at) | StartBlocker::Breaker(at) => Some(*at),
            StartBlocker::Told | StartBlocker::Slots | StartBlocker::Group | StartBlocker::Exclusive => None,
        });
        let failing =
            self.run.entries().filter(|(_, entry)| matches!(entry.state, StageState::Failing { .. }));
        let accounts = failing.filter_map(|(id, _)| self.run.held(id));
        let next = times.chain(accounts).filter(|at| *at > self.now).min();
        self.actions.extend(next.map(Action::WakeAt));
    }
}
