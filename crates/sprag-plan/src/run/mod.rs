//! A run of a plan, folded from its records.

mod allowed;
pub mod amend;
mod apply_amendment;
mod apply_command;
mod apply_outcome;
pub mod command;
pub mod effect;
mod notices;
pub mod record;
pub(crate) mod retry;
mod stage_entry;
pub mod stuck_ref;
mod target_commits;
pub mod target_stage;
pub mod timed;
pub mod waiting;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::ids::{CommitId, EffectKey, StageId};
use super::merge::queue::{MergeQueue, QueueExit, QueueOwner};
use super::run::effect::{Effect, KillReason, NudgeTopic, OpenEffect, SessionSignal, StageStep, Timeliness};
use super::run::record::{BudgetOwner, RunRecord, SessionOutcome};
use super::spec::client::StageClient;
use super::spec::scope_overlap::{ScopeShape, overlaps};
use super::spec::{MergeMode, Plan};
use super::stage::state::StageState;
use super::stage::{LaunchState, StageEvent, Transition, transition};
pub use apply_command::open_tasks;
pub use notices::nearly_key;
pub use stage_entry::{PersonAnswer, StageCounters, StageEntry, Worktree};
pub use target_commits::TargetState;

/// Candidates that are made before the first has landed.
const DEPTH: usize = 3;

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: Text<64>,
    plan: RunPlan,
    epoch: u64,
    entries: BTreeMap<StageId, StageEntry>,
    queue: MergeQueue,
    /// Effects that were begun and have no outcome yet.
    effects: BTreeMap<EffectKey, OpenEffect>,
    sessions: BTreeMap<EffectKey, SessionRecord>,
    target: TargetState,
    limits: RunLimits,
}

/// The present plan of the run.
#[derive(Clone, Debug, PartialEq)]
struct RunPlan {
    current: Plan,
    /// Digest of the plan as written, before checks were waived.
    digest: Digest,
    /// Pairs of stages that may change the same file and do not wait for each other: their indexes in the
    /// plan, the smaller first.
    near: BTreeSet<(usize, usize)>,
}

/// The session of one agent.
#[derive(Clone, Debug, PartialEq)]
struct SessionRecord {
    stage: StageId,
    end: Option<(SessionOutcome, Timestamp)>,
    is_interrupted: bool,
    nudged: BTreeSet<NudgeTopic>,
    killed: Option<KillReason>,
}

impl SessionRecord {
    fn new(stage: &StageId) -> SessionRecord {
        let (end, nudged, killed) = (None, BTreeSet::new(), None);
        SessionRecord { stage: stage.clone(), end, is_interrupted: false, nudged, killed }
    }
}

/// Limits that delay agents, and budgets that are nearly used up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLimits {
    /// Clients whose account must not be used before this time.
    accounts: BTreeMap<String, Timestamp>,
    /// Crashes of all stages since the last good end.
    pub crashes: Vec<Timestamp>,
    /// Budgets that are mostly used, and whether a person was notified.
    pub budgets: BTreeMap<BudgetOwner, bool>,
}

/// Pairs that are kept: they only decide the order of starts, so some may be left out.
const NEAR: usize = 100_000;

impl Run {
    /// Folds records into a run; `None` if they do not begin with the start of a run.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> Option<Run> {
        let mut records = records.into_iter();
        let mut run = Run::begin(records.next()?)?;
        records.for_each(|record| run.apply(record));
        Some(run)
    }

    fn begin(record: &RunRecord) -> Option<Run> {
        let RunRecord::Started { run, plan, trunk, digest } = record else { return None };
        let mut run = Run {
            id: run.clone(),
            plan: RunPlan { current: (**plan).clone(), digest: *digest, near: BTreeSet::new() },
            epoch: 0,
            entries: BTreeMap::new(),
            queue: MergeQueue::new(trunk.clone(), DEPTH),
            effects: BTreeMap::new(),
            sessions: BTreeMap::new(),
            target: TargetState::new(trunk),
            limits: RunLimits::default(),
        };
        run.take_stages();
        Some(run)
    }

    /// Applies a record. A record that does not fit changes nothing.
    pub fn apply(&mut self, record: &RunRecord) {
        match record {
            RunRecord::Started { .. } => {}
            RunRecord::Amended { plan, digest, .. } => self.amend(plan, digest),
            RunRecord::Happened { stage, what } => self.apply_event(stage, what),
            RunRecord::Ended { stage, session, at, ended } => self.end(stage, session, *at, ended),
            RunRecord::EffectBegun { key, epoch, effect } => {
                self.epoch = self.epoch.max(*epoch);
                let entry = effect.stage(self).and_then(|stage| self.entries.get(stage));
                let moves = entry.map(|entry| entry.counters.moves);
                let open = || OpenEffect { effect: effect.clone(), moves, is_outdated: false };
                self.effects.entry(key.clone()).or_insert_with(open);
                self.record_start(key, effect);
            }
            RunRecord::Outcome { key, outcome } => {
                if let Some(open) = self.effects.remove(key) {
                    apply_outcome::apply(self, key, &open, outcome);
                }
            }
            RunRecord::WorktreeLost { stage } => {
                if let Some(entry) = self.entries.get_mut(stage) {
                    entry.worktree.lose();
                }
            }
            RunRecord::Foreign { head } => self.take_foreign(head),
            RunRecord::TargetHeld { why } => self.target.held = Some(why.clone()),
            RunRecord::Nearly { of } => {
                self.limits.budgets.entry(of.clone()).or_insert(false);
            }
            RunRecord::StageCommand { stage, by, command } => apply_command::apply(self, stage, by, command),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan.current
    }

    /// Returns the digest of the plan as written.
    pub fn digest(&self) -> &Digest {
        &self.plan.digest
    }

    pub fn queue(&self) -> &MergeQueue {
        &self.queue
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn entry(&self, stage: &StageId) -> Option<&StageEntry> {
        self.entries.get(stage)
    }

    /// Sets the entry of a stage, for tests that begin in the middle of a run.
    #[cfg(test)]
    pub(crate) fn stand(&mut self, stage: &StageId, entry: StageEntry) {
        self.entries.insert(stage.clone(), entry);
    }

    pub fn entries(&self) -> impl Iterator<Item = (&StageId, &StageEntry)> {
        self.entries.iter()
    }

    /// Returns the effects that were begun and have no outcome yet.
    pub fn effects(&self) -> &BTreeMap<EffectKey, OpenEffect> {
        &self.effects
    }

    pub fn effect(&self, key: &EffectKey) -> Option<&Effect> {
        self.effects.get(key).map(|open| &open.effect)
    }

    pub fn open(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values().map(|open| &open.effect)
    }

    /// Returns whether the outcome of an effect still counts.
    pub fn timeliness(&self, open: &OpenEffect) -> Timeliness {
        let entry = open.effect.stage(self).and_then(|stage| self.entries.get(stage));
        match entry.map(|entry| entry.counters.moves).zip(open.moves) {
            _ if open.is_outdated => Timeliness::Outdated,
            Some((now, begun)) if now != begun => Timeliness::Late,
            _ => Timeliness::InTime,
        }
    }

    pub fn sessions(&self) -> impl Iterator<Item = (&EffectKey, &StageId)> {
        self.sessions.iter().map(|(key, session)| (key, &session.stage))
    }

    /// Returns the sessions of which no end is known.
    pub fn live_sessions(&self) -> impl Iterator<Item = (&EffectKey, &StageId)> {
        self.sessions().filter(|(key, _)| self.ended(key).is_none())
    }

    pub fn stage_of(&self, session: &EffectKey) -> Option<&StageId> {
        self.sessions.get(session).map(|session| &session.stage)
    }

    pub fn ended(&self, session: &EffectKey) -> Option<&(SessionOutcome, Timestamp)> {
        self.sessions.get(session)?.end.as_ref()
    }

    /// Reports whether a session got a message of that kind.
    pub fn is_nudged(&self, session: &EffectKey, about: NudgeTopic) -> bool {
        self.sessions.get(session).is_some_and(|session| session.nudged.contains(&about))
    }

    pub fn is_interrupted(&self, session: &EffectKey) -> bool {
        self.sessions.get(session).is_some_and(|session| session.is_interrupted)
    }

    /// Returns the reason why Sprag ended a session, if it did.
    pub fn killed(&self, session: &EffectKey) -> Option<KillReason> {
        self.sessions.get(session)?.killed
    }

    pub fn target(&self) -> &TargetState {
        &self.target
    }

    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// Returns the commit of others that the work of a stage has to contain, if the stage exists for that.
    pub fn owed(&self, stage: &StageId) -> Option<&CommitId> {
        self.target.stages.iter().find(|base| base.spec.id == *stage).map(|base| &base.owed)
    }

    /// Reports whether two stages, by their indexes in the plan, may change the same file.
    pub fn are_near(&self, one: usize, other: usize) -> bool {
        self.plan.near.contains(&(one.min(other), one.max(other)))
    }

    /// Returns the time until which the account of the client of a stage must not be used.
    pub fn held(&self, stage: &StageId) -> Option<Timestamp> {
        self.limits.accounts.get(&account(&self.plan.current.find(stage.as_str())?.agent.client)).copied()
    }

    /// Returns who approves the merge of a stage.
    fn merging(&self, stage: &StageId) -> MergeMode {
        self.plan.current.find(stage.as_str()).map_or(MergeMode::Person, |spec| spec.merge)
    }

    /// Reports whether every stage is merged or skipped.
    pub fn is_over(&self) -> bool {
        self.entries.values().all(|entry| entry.state.is_over())
    }

    /// Removes stages that are no longer in the plan, and waived checks.
    fn drop_stages(&mut self) {
        let plan = &self.plan.current;
        self.entries.retain(|id, entry| plan.find(id.as_str()).is_some() || entry.is_begun());
        let ids: Vec<StageId> = self.entries.keys().cloned().collect();
        for id in ids.iter() {
            apply_command::relax(self, id);
        }
    }

    /// Returns the merged stages with their commits.
    pub fn merged(&self) -> impl Iterator<Item = (&StageId, &CommitId)> {
        self.entries.iter().filter_map(|(id, entry)| match &entry.state {
            StageState::Done { merged } => Some((id, merged.commit())),
            _ => None,
        })
    }

    /// Reports whether the run is over and nothing is left to clean up.
    pub fn is_settled(&self) -> bool {
        self.is_over()
            && self.effects.is_empty()
            && self.entries.values().all(|entry| entry.worktree.is_settled())
    }

    /// Adds new stages of the plan and recomputes who waits for whom.
    fn take_stages(&mut self) {
        for spec in self.plan.current.stages() {
            let waiting = StageState::Waiting { on: spec.dependencies.clone() };
            self.entries.entry(spec.id.clone()).or_insert_with(|| StageEntry::new(waiting));
        }
        let scopes: Vec<ScopeShape> =
            self.plan.current.stages().iter().map(|spec| ScopeShape::new(&spec.scope)).collect();
        let near = overlaps(&scopes, self.plan.current.graph(), NEAR).pairs;
        self.plan.near = near.into_iter().map(|overlap| (overlap.one, overlap.other)).collect();
        let ids: Vec<StageId> = self.plan.current.stages().iter().map(|spec| spec.id.clone()).collect();
        for id in ids.iter() {
            self.recheck_waiting(id);
        }
    }

    /// Recomputes the stages that a stage waits for.
    fn recheck_waiting(&mut self, id: &StageId) {
        let Some(spec) = self.plan.current.find(id.as_str()) else { return };
        let is_done = |need: &StageId| {
            matches!(self.entries.get(need), Some(StageEntry { state: StageState::Done { .. }, .. }))
        };
        let on: Vec<StageId> = spec.dependencies.iter().filter(|need| !is_done(need)).cloned().collect();
        let Some(entry) = self.entries.get_mut(id) else { return };
        if !matches!(entry.state, StageState::Waiting { .. }) {
            return;
        }
        if on.is_empty() {
            self.apply_event(id, &StageEvent::Freed);
        } else {
            entry.state = StageState::Waiting { on };
        }
    }

    fn apply_event(&mut self, id: &StageId, what: &StageEvent) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let result = transition(&entry.state, what, entry.hold);
        entry.update_hold(what);
        let Transition::To(to) = result else { return };
        let is_done = matches!(to, StageState::Done { .. });
        entry.set_state(to, what);
        if is_done {
            let place = self.plan.current.place(id.as_str());
            let wanted: Vec<StageId> = place
                .map(|place| self.plan.current.graph().wanted_by(place))
                .unwrap_or_default()
                .iter()
                .map(|place| self.plan.current.stages()[*place].id.clone())
                .collect();
            for id in wanted.iter() {
                self.recheck_waiting(id);
            }
        }
    }

    /// Applies the exits of queue entries to their stages.
    fn apply_queue_exits(&mut self, left: Vec<QueueExit>) {
        for left in left {
            let (whose, what) = match left {
                QueueExit::Landed { whose, merged } => (whose, StageEvent::Landed { merged }),
                QueueExit::Conflicted { whose, against, paths } => {
                    (whose, StageEvent::Conflicted { against, paths })
                }
                QueueExit::Red { whose, cause } => (whose, StageEvent::MergeFailed { cause }),
            };
            match whose {
                QueueOwner::Stage(stage) => {
                    self.apply_event(&stage, &what);
                    self.resolved(&stage);
                }
                QueueOwner::Target => self.merged_foreign(what),
            }
        }
    }

    fn record_start(&mut self, key: &EffectKey, effect: &Effect) {
        match effect {
            Effect::Stage { stage, step } => {
                match step {
                    StageStep::Spawn => drop(self.sessions.insert(key.clone(), SessionRecord::new(stage))),
                    StageStep::Nudge { session, topic, .. } => {
                        if let Some(session) = self.sessions.get_mut(session) {
                            session.nudged.insert(*topic);
                        }
                    }
                    _ => {}
                }
                if let Some(entry) = self.entries.get_mut(stage).filter(|_| step.is_preparation())
                    && !entry.state.is_preparing()
                {
                    entry.state.set_launch(LaunchState::Preparing);
                }
            }
            Effect::Session { session, step } => {
                let Some(session) = self.sessions.get_mut(session) else { return };
                match step {
                    SessionSignal::Kill { reason } => session.killed = Some(*reason),
                    SessionSignal::Interrupt => session.is_interrupted = true,
                }
            }
            Effect::Notify { .. } if self.notified(key) => {}
            Effect::Notify { about, .. } => {
                if let Some(entry) = about.as_ref().and_then(|stage| self.entries.get_mut(stage)) {
                    entry.counters.notified = entry.counters.moves;
                }
            }
            Effect::Queue { .. } | Effect::Refs(_) => {}
        }
    }

    fn end(&mut self, stage: &StageId, session: &EffectKey, at: Timestamp, ended: &SessionOutcome) {
        let record = self.sessions.entry(session.clone()).or_insert_with(|| SessionRecord::new(stage));
        if record.end.is_some() {
            return;
        }
        record.end = Some((ended.clone(), at));
        if let Some(entry) = self.entries.get_mut(stage) {
            entry.counters.crashes = retry::crashes(entry.counters.crashes, ended);
        }
        match ended {
            SessionOutcome::Well => self.limits.crashes.clear(),
            SessionOutcome::Failed { failure, .. } if retry::is_retried(*failure) => {
                self.limits.crashes.push(at);
                // Crashes beyond the limit of the breaker add nothing.
                if self.limits.crashes.len() > retry::STORM {
                    self.limits.crashes.remove(0);
                }
            }
            SessionOutcome::RateLimited { until } => {
                if let Some(spec) = self.plan.current.find(stage.as_str()) {
                    let held = self.limits.accounts.entry(account(&spec.agent.client)).or_insert(*until);
                    *held = (*until).max(*held);
                }
            }
            SessionOutcome::Failed { .. } | SessionOutcome::ContextFull | SessionOutcome::Stopped => {}
        }
    }
}

/// Returns the name of the account whose limits a client uses.
fn account(client: &StageClient) -> String {
    match client {
        StageClient::Known(known) => known.name().to_owned(),
        StageClient::Command { command, .. } => command.first().map(ToString::to_string).unwrap_or_default(),
    }
}
