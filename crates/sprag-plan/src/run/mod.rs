//! A run of a plan: the fold of its records, and nothing that cannot be folded again.

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
use super::run::effect::{Effect, KillReason, NudgeTopic, SessionStep, StageStep};
use super::run::record::{BudgetOwner, RunRecord, SessionOutcome, TargetHeld};
use super::run::stuck_ref::StuckRef;
use super::run::target_stage::TargetStage;
use super::spec::client::StageClient;
use super::spec::scope_overlap::{ScopeShape, overlaps};
use super::spec::{MergeMode, Plan};
use super::stage::state::StageState;
use super::stage::{LaunchState, StageEvent, Transition, transition};
pub use apply_command::open_tasks;
pub use notices::nearly_key;
pub use stage_entry::{PersonAnswer, StageCounters, StageEntry, Worktree};

/// Candidates that are made before the first has landed.
const DEPTH: usize = 3;

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: Text<64>,
    plan: Plan,
    epoch: u64,
    entries: BTreeMap<StageId, StageEntry>,
    queue: MergeQueue,
    /// How many effects each entry of the queue has had.
    tries: BTreeMap<u64, u32>,
    /// Begun, and nobody has said what came of it.
    open: BTreeMap<EffectKey, Effect>,
    /// After how many moves of its stage each of them was begun.
    since: BTreeMap<EffectKey, u32>,
    /// Looks at work that were begun by a plan which asked for something else.
    outdated: BTreeSet<EffectKey>,
    /// Whose each session is.
    sessions: BTreeMap<EffectKey, StageId>,
    ended: BTreeMap<EffectKey, (SessionOutcome, Timestamp)>,
    interrupted: BTreeSet<EffectKey>,
    /// What sessions were told.
    nudged: BTreeSet<(EffectKey, NudgeTopic)>,
    killed: BTreeMap<EffectKey, KillReason>,
    /// Clients whose account may not be used before then.
    held: BTreeMap<String, Timestamp>,
    /// Of all stages, since one has gone well.
    crashes: Vec<Timestamp>,
    promotions: u32,
    /// How often the trunk was put back.
    restorations: u32,
    /// Where the target was when we last had to do with it.
    target: CommitId,
    /// What others put on it and what is being merged.
    foreign: Option<CommitId>,
    target_held: Option<TargetHeld>,
    /// Stages of ours that merge what others put on it and what does not go by itself, the oldest first.
    bases: Vec<TargetStage>,
    /// Stages that may change the same file and do not wait for each other, by their places in the plan; the
    /// smaller first.
    near: BTreeSet<(usize, usize)>,
    /// Budgets of which most is used, and whether somebody was notified.
    nearly: BTreeMap<BudgetOwner, bool>,
    stuck: Option<StuckRef>,
    /// Of the plan as it was written, before checks of it were given up.
    digest: Digest,
}

/// Pairs of those that are kept: it is about who goes first, so that a few may be forgotten.
const NEAR: usize = 100_000;

impl Run {
    /// `None`: they do not begin with the start of a run.
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
            plan: (**plan).clone(),
            epoch: 0,
            entries: BTreeMap::new(),
            queue: MergeQueue::new(trunk.clone(), DEPTH),
            tries: BTreeMap::new(),
            open: BTreeMap::new(),
            since: BTreeMap::new(),
            outdated: BTreeSet::new(),
            sessions: BTreeMap::new(),
            ended: BTreeMap::new(),
            interrupted: BTreeSet::new(),
            nudged: BTreeSet::new(),
            killed: BTreeMap::new(),
            held: BTreeMap::new(),
            crashes: Vec::new(),
            promotions: 0,
            restorations: 0,
            target: trunk.clone(),
            foreign: None,
            target_held: None,
            bases: Vec::new(),
            near: BTreeSet::new(),
            nearly: BTreeMap::new(),
            stuck: None,
            digest: *digest,
        };
        run.take_stages();
        Some(run)
    }

    /// Total: what means nothing here changes nothing.
    pub fn apply(&mut self, record: &RunRecord) {
        match record {
            RunRecord::Started { .. } => {}
            RunRecord::Amended { plan, digest, .. } => self.amend(plan, digest),
            RunRecord::Happened { stage, what } => self.apply_event(stage, what),
            RunRecord::Ended { stage, session, at, ended } => self.end(stage, session, *at, ended),
            RunRecord::EffectBegun { key, epoch, effect } => {
                self.epoch = self.epoch.max(*epoch);
                self.open.insert(key.clone(), effect.clone());
                let entry = effect.stage(self).and_then(|stage| self.entries.get(stage));
                if let Some(moves) = entry.map(|entry| entry.counters.moves) {
                    self.since.entry(key.clone()).or_insert(moves);
                }
                self.record_start(key, effect);
            }
            RunRecord::Outcome { key, outcome } => {
                if let Some(effect) = self.open.remove(key) {
                    apply_outcome::apply(self, key, &effect, outcome);
                    self.since.remove(key);
                    self.outdated.remove(key);
                }
            }
            RunRecord::WorktreeLost { stage } => {
                if let Some(entry) = self.entries.get_mut(stage) {
                    entry.worktree.lose();
                }
            }
            RunRecord::Foreign { head } => self.take_foreign(head),
            RunRecord::TargetHeld { why } => self.target_held = Some(why.clone()),
            RunRecord::Nearly { of } => {
                self.nearly.entry(of.clone()).or_insert(false);
            }
            RunRecord::StageCommand { stage, by, command } => apply_command::apply(self, stage, by, command),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Of the plan as it was written.
    pub fn digest(&self) -> &Digest {
        &self.digest
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

    /// For tests that begin in the middle.
    #[cfg(test)]
    pub(crate) fn stand(&mut self, stage: &StageId, entry: StageEntry) {
        self.entries.insert(stage.clone(), entry);
    }

    pub fn entries(&self) -> impl Iterator<Item = (&StageId, &StageEntry)> {
        self.entries.iter()
    }

    pub fn open(&self) -> &BTreeMap<EffectKey, Effect> {
        &self.open
    }

    /// Its stage has moved since it was begun, or is looked at by another plan: it was begun for what is no more.
    pub fn is_late(&self, key: &EffectKey, effect: &Effect) -> bool {
        let entry = effect.stage(self).and_then(|stage| self.entries.get(stage));
        let has_moved = entry
            .is_some_and(|entry| self.since.get(key).is_some_and(|moves| *moves != entry.counters.moves));
        has_moved || self.outdated.contains(key)
    }

    /// What comes of it is no answer to what the plan asks by now.
    pub fn is_outdated(&self, key: &EffectKey) -> bool {
        self.outdated.contains(key)
    }

    pub fn tries(&self, number: u64) -> u32 {
        self.tries.get(&number).copied().unwrap_or(0)
    }

    pub fn sessions(&self) -> &BTreeMap<EffectKey, StageId> {
        &self.sessions
    }

    pub fn ended(&self, session: &EffectKey) -> Option<&(SessionOutcome, Timestamp)> {
        self.ended.get(session)
    }

    /// Whether a session was told anything of that kind.
    pub fn is_nudged(&self, session: &EffectKey, about: NudgeTopic) -> bool {
        self.nudged.contains(&(session.clone(), about))
    }

    pub fn is_interrupted(&self, session: &EffectKey) -> bool {
        self.interrupted.contains(session)
    }

    /// Why a session was ended by us, if it was.
    pub fn killed(&self, session: &EffectKey) -> Option<KillReason> {
        self.killed.get(session).copied()
    }

    pub fn promotions(&self) -> u32 {
        self.promotions
    }

    pub fn restorations(&self) -> u32 {
        self.restorations
    }

    pub fn target(&self) -> &CommitId {
        &self.target
    }

    pub fn foreign(&self) -> Option<&CommitId> {
        self.foreign.as_ref()
    }

    pub fn target_held(&self) -> Option<&TargetHeld> {
        self.target_held.as_ref()
    }

    /// What somebody put on the target and the work of a stage has to have, if it is there for that.
    pub fn owed(&self, stage: &StageId) -> Option<&CommitId> {
        self.bases.iter().find(|base| base.spec.id == *stage).map(|base| &base.owed)
    }

    /// Budgets of which most is used, and whether somebody was notified.
    /// A reference that git does not move.
    pub fn stuck(&self) -> Option<&StuckRef> {
        self.stuck.as_ref()
    }

    pub fn nearly(&self) -> &BTreeMap<BudgetOwner, bool> {
        &self.nearly
    }

    pub fn crashes(&self) -> &[Timestamp] {
        &self.crashes
    }

    /// Whether two stages, by their places in the plan, may change the same file.
    pub fn are_near(&self, one: usize, other: usize) -> bool {
        self.near.contains(&(one.min(other), one.max(other)))
    }

    /// Until when the account of a stage's client may not be used.
    pub fn held(&self, stage: &StageId) -> Option<Timestamp> {
        self.held.get(&account(&self.plan.find(stage.as_str())?.agent.client)).copied()
    }

    /// Who says that a stage is merged.
    fn merging(&self, stage: &StageId) -> MergeMode {
        self.plan.find(stage.as_str()).map_or(MergeMode::Person, |spec| spec.merge)
    }

    /// Every stage is merged or skipped.
    pub fn is_over(&self) -> bool {
        self.entries.values().all(|entry| entry.state.is_over())
    }

    /// Stages that are not in the plan any more, and checks that were given up.
    fn drop_stages(&mut self) {
        let plan = &self.plan;
        self.entries.retain(|id, entry| plan.find(id.as_str()).is_some() || entry.is_begun());
        let ids: Vec<StageId> = self.entries.keys().cloned().collect();
        ids.iter().for_each(|id| apply_command::relax(self, id));
    }

    /// Stages that count as merged, and as which commit.
    pub fn merged(&self) -> impl Iterator<Item = (&StageId, &CommitId)> {
        self.entries.iter().filter_map(|(id, entry)| match &entry.state {
            StageState::Done { merged } => Some((id, merged.commit())),
            _ => None,
        })
    }

    /// And nothing of it is left to be cleared away.
    pub fn is_settled(&self) -> bool {
        self.is_over()
            && self.open.is_empty()
            && self.entries.values().all(|entry| entry.worktree.is_settled())
    }

    /// New stages of the plan, and who waits for whom by now.
    fn take_stages(&mut self) {
        for spec in self.plan.stages() {
            let waiting = StageState::Waiting { on: spec.dependencies.clone() };
            self.entries.entry(spec.id.clone()).or_insert_with(|| StageEntry::new(waiting));
        }
        let scopes: Vec<ScopeShape> =
            self.plan.stages().iter().map(|spec| ScopeShape::new(&spec.scope)).collect();
        let near = overlaps(&scopes, self.plan.graph(), NEAR).pairs;
        self.near = near.into_iter().map(|overlap| (overlap.one, overlap.other)).collect();
        let ids: Vec<StageId> = self.plan.stages().iter().map(|spec| spec.id.clone()).collect();
        ids.iter().for_each(|id| self.recheck_waiting(id));
    }

    /// Looks again at what a stage waits for.
    fn recheck_waiting(&mut self, id: &StageId) {
        let Some(spec) = self.plan.find(id.as_str()) else { return };
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
            let place = self.plan.place(id.as_str());
            let wanted: Vec<StageId> = place
                .map(|place| self.plan.graph().wanted_by(place))
                .unwrap_or_default()
                .iter()
                .map(|place| self.plan.stages()[*place].id.clone())
                .collect();
            wanted.iter().for_each(|id| self.recheck_waiting(id));
        }
    }

    /// What became of entries of the queue.
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
                    StageStep::Spawn => drop(self.sessions.insert(key.clone(), stage.clone())),
                    StageStep::Nudge { session, topic, .. } => {
                        self.nudged.insert((session.clone(), *topic));
                    }
                    _ => {}
                }
                if let Some(entry) = self.entries.get_mut(stage).filter(|_| step.is_preparation()) {
                    if !entry.state.is_preparing() {
                        entry.state.set_launch(LaunchState::Preparing);
                    }
                }
            }
            Effect::Session { session, step: SessionStep::Kill { reason } } => {
                self.killed.insert(session.clone(), *reason);
            }
            Effect::Session { session, step: SessionStep::Interrupt } => {
                self.interrupted.insert(session.clone());
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
        if self.ended.contains_key(session) {
            return;
        }
        self.ended.insert(session.clone(), (ended.clone(), at));
        if let Some(entry) = self.entries.get_mut(stage) {
            entry.counters.crashes = retry::crashes(entry.counters.crashes, ended);
        }
        match ended {
            SessionOutcome::Well => self.crashes.clear(),
            SessionOutcome::Failed { failure, .. } if retry::is_retried(*failure) => {
                self.crashes.push(at);
                // More than a storm of them says no more.
                if self.crashes.len() > retry::STORM {
                    self.crashes.remove(0);
                }
            }
            SessionOutcome::RateLimited { until } => {
                if let Some(spec) = self.plan.find(stage.as_str()) {
                    let held = self.held.entry(account(&spec.agent.client)).or_insert(*until);
                    *held = (*until).max(*held);
                }
            }
            SessionOutcome::Failed { .. } | SessionOutcome::ContextFull | SessionOutcome::Stopped => {}
        }
    }
}

/// Whose limits a client runs into.
fn account(client: &StageClient) -> String {
    match client {
        StageClient::Known(known) => known.name().to_owned(),
        StageClient::Command { command, .. } => command.first().map(ToString::to_string).unwrap_or_default(),
    }
}
