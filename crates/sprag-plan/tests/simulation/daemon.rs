//! A daemon in a simulated world: it observes, records, acts, and dies at any time.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::reconcile::durations::Durations;
use sprag_plan::reconcile::observed::{AgentSession, AgentSign, LoopMode, Observed};
use sprag_plan::reconcile::recovery::EffectTrace;
use sprag_plan::reconcile::waiting::why;
use sprag_plan::reconcile::{Action, reconcile};
use sprag_plan::run::Run;
use sprag_plan::run::command::{CommandSender, authorize};
use sprag_plan::run::effect::{Effect, EffectOutcome, StageStep};
use sprag_plan::run::record::{BudgetOwner, RunRecord, SessionOutcome};
use sprag_plan::run::target_stage::is_base;
use sprag_plan::run::waiting::WaitingReason;
use sprag_plan::stage::command::{CommandRole, StageCommand};
use sprag_plan::stage::state::StageState;

use super::chance::Chance;
use super::scenario::Ends;
use super::truth::Truth;

/// Random commands in one run: a run with endless resets would not end.
const ANYTHING: u32 = 30;

pub(crate) struct Daemon {
    pub steps: u64,
    chance: Chance,
    now: Timestamp,
    truth: Truth,
    /// The records and the world, which survive the daemon.
    records: Vec<RunRecord>,
    run: Run,
    busy: BTreeMap<EffectKey, Effect>,
    found: BTreeMap<EffectKey, EffectTrace>,
    /// Keys with a recorded outcome.
    settled: BTreeSet<EffectKey>,
    words: u32,
    /// Random commands that were not asked for.
    anything: u32,
    patience: u32,
    deaths: u32,
}

impl Daemon {
    pub(crate) fn new(seed: u64) -> Daemon {
        let mut chance = Chance::new(seed);
        let plan = chance.plan();
        let patience = chance.below(20);
        let truth = Truth::new(&mut chance, &plan);
        let digest = plan.digest();
        let started = RunRecord::Started {
            run: Text::new("r"),
            plan: Box::new(plan),
            digest,
            trunk: truth.trunk.clone(),
        };
        let run = Run::fold([&started]).unwrap();
        Daemon {
            steps: 0,
            chance,
            now: Timestamp::from_millis(1_800_000_000_000),
            truth,
            records: vec![started],
            run,
            busy: BTreeMap::new(),
            found: BTreeMap::new(),
            settled: BTreeSet::new(),
            words: 0,
            anything: 0,
            patience: u32::try_from(patience).unwrap(),
            deaths: 0,
        }
    }

    /// Plays until nothing can happen any more.
    pub(crate) fn play(&mut self) {
        loop {
            self.steps += 1;
            assert!(self.steps < 60_000, "the run ends: {:#?}", self.states());
            let is_moved = self.decide();
            if !is_moved && self.busy.is_empty() && !self.is_somebody_alive() && !self.wake() && !self.say() {
                break;
            }
            match self.chance.below(100) {
                0..=44 => self.finish_one(),
                45..=84 => self.let_one_live(),
                85..=88 => self.now = self.now.plus_seconds(self.chance.below(200) as i64),
                89..=90 => {
                    self.say();
                }
                95..=96 => self.say_anything(),
                91 if self.chance.once_in(3) => self.die(),
                98 if self.is_resolving() && self.chance.once_in(2) => self.truth.merge_by_hand(),
                97 => self.use_up(),
                92 if self.chance.once_in(20) => self.truth.disturb(),
                94 if self.chance.once_in(20) => self.truth.delete_a_worktree(&mut self.chance),
                93 if self.chance.once_in(4) => self.truth.foreign(&mut self.chance),
                _ => {}
            }
        }
        self.is_well_ended();
    }

    fn write(&mut self, record: RunRecord) {
        if let RunRecord::Outcome { key, .. } = &record {
            assert!(self.settled.insert(key.clone()), "`{key:?}` is settled twice");
        }
        self.run.apply(&record);
        self.records.push(record);
    }

    fn world(&self) -> Observed {
        Observed {
            busy: self.busy.keys().cloned().collect(),
            found: self.found.clone(),
            sessions: self
                .truth
                .sessions
                .iter()
                .filter(|(key, _)| self.run.ended(key).is_none())
                .map(|(key, session)| (key.clone(), session.clone()))
                .collect(),
            lost: self.truth.deleted.clone(),
            room: 3,
            trunk: Some(self.truth.trunk.clone()),
            target: Some(self.truth.stands(self.run.queue().trunk())),
            durations: Durations::default(),
            nearly: self.truth.nearly.clone(),
            mode: LoopMode::Running,
        }
    }

    /// Marks most of a budget as used.
    fn use_up(&mut self) {
        let stage = self.chance.pick(self.run.plan().stages()).unwrap().id.clone();
        let owner = if self.chance.once_in(4) { BudgetOwner::Run } else { BudgetOwner::Stage(stage) };
        self.truth.nearly.insert(owner);
    }

    /// Observes and decides once. Returns whether there was anything to do.
    fn decide(&mut self) -> bool {
        let world = self.world();
        let actions = reconcile(&self.run, &world, self.now);
        if actions.is_empty() || self.chance.once_in(6) {
            self.has_reasons(&world, &actions);
        }
        let mut is_moved = false;
        for action in actions {
            match action {
                Action::WakeAt(at) => assert!(at > self.now, "the daemon is not woken without need"),
                Action::Record(record) => {
                    is_moved = true;
                    self.write(record);
                }
                Action::Do { key, effect } => {
                    is_moved = true;
                    self.found.remove(&key);
                    assert!(!self.busy.contains_key(&key), "`{key:?}` is under way already");
                    assert!(!self.settled.contains(&key), "`{key:?}` was done already");
                    self.leaves_nobody_behind(&effect);
                    self.write(RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect: effect.clone() });
                    self.busy.insert(key, effect);
                }
            }
            // The daemon may die after any record.
            if self.chance.once_in(150) {
                self.die();
                return true;
            }
        }
        is_moved
    }

    /// Checks that a worktree is removed only when no agent uses it or is about to.
    fn leaves_nobody_behind(&self, effect: &Effect) {
        let Effect::Stage {
            stage,
            step: StageStep::Discard { .. } | StageStep::RemoveWorktree | StageStep::Spawn,
        } = effect
        else {
            return;
        };
        let is_start = |known: &Effect| known.step_of(stage) == Some(&StageStep::Spawn);
        assert!(!self.busy.values().any(is_start), "an agent of `{}` is being started", stage.as_str());
        assert_eq!(self.truth.alive_of(stage), 0, "an agent of `{}` lives", stage.as_str());
    }

    /// Checks that every stage waits for a reason, and that no stage has two agents.
    fn has_reasons(&self, world: &Observed, actions: &[Action]) {
        for (id, why) in why(&self.run, world, self.now) {
            let why =
                why.unwrap_or_else(|| panic!("`{}` waits for no reason: {:#?}", id.as_str(), self.states()));
            let is_next = matches!(why, WaitingReason::Next);
            assert!(!is_next || !actions.is_empty(), "`{}` is next and nothing comes", id.as_str());
            assert!(self.truth.alive_of(&id) <= 1, "two agents at `{}`", id.as_str());
        }
    }

    /// Finishes one effect that is under way.
    fn finish_one(&mut self) {
        let keys: Vec<EffectKey> = self.busy.keys().cloned().collect();
        let Some(key) = self.chance.pick(&keys).cloned() else { return };
        let effect = self.busy[&key].clone();
        let outcome = self.truth.perform(&mut self.chance, &self.run, &key, &effect);
        if self.chance.once_in(100) {
            // The effect was done, but its outcome was lost.
            return self.die();
        }
        self.busy.remove(&key);
        self.write(RunRecord::Outcome { key, outcome });
    }

    fn let_one_live(&mut self) {
        let keys: Vec<EffectKey> = self.truth.sessions.keys().cloned().collect();
        let live: Vec<EffectKey> = keys
            .into_iter()
            .filter(|key| matches!(self.truth.sessions[key], AgentSession::Alive(_)))
            .collect();
        if let Some(key) = self.chance.pick(&live).cloned() {
            self.truth.live(&mut self.chance, &key, self.now);
        }
    }

    fn is_somebody_alive(&self) -> bool {
        self.truth.sessions.values().any(is_at_work)
    }

    fn is_resolving(&self) -> bool {
        self.run.entries().any(|(id, entry)| is_base(id) && !entry.state.is_over())
    }

    /// Moves the clock to the next event that happens automatically.
    fn wake(&mut self) -> bool {
        let next =
            reconcile(&self.run, &self.world(), self.now).into_iter().find_map(|action| match action {
                Action::WakeAt(at) => Some(at),
                Action::Record(_) | Action::Do { .. } => None,
            });
        self.now = next.unwrap_or(self.now);
        next.is_some()
    }

    /// Dies as by `kill -9`: some effects under way were done, and it is not known which.
    fn die(&mut self) {
        self.deaths += 1;
        for (key, effect) in std::mem::take(&mut self.busy) {
            if self.chance.once_in(2) && !is_done_already(&self.truth, &key, &effect) {
                let _lost: EffectOutcome = self.truth.perform(&mut self.chance, &self.run, &key, &effect);
            }
        }
        let folded = Run::fold(&self.records).unwrap();
        assert!(folded == self.run, "the records give another run");
        // The records are written and read back, as from a file.
        if self.deaths % 20 == 1 {
            let lines: Vec<String> =
                self.records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
            let read: Vec<RunRecord> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(Run::fold(&read).unwrap() == folded, "the records read back differ");
        }
        self.run = folded;
        let open = self.run.effects().iter();
        self.found = open.map(|(key, open)| (key.clone(), self.truth.probe(key, &open.effect))).collect();
    }

    /// Gives a command to one of the stages that wait for a person, a limited number of times.
    fn say(&mut self) -> bool {
        let waiting: Vec<StageId> =
            self.run.entries().filter(|(_, entry)| entry.needs_person()).map(|(id, _)| id.clone()).collect();
        let Some(id) = self.chance.pick(&waiting).cloned() else { return false };
        self.words += 1;
        let entry = self.run.entry(&id).unwrap().clone();
        let skip = StageCommand::Skip { why: Text::new("w") };
        let command = match &entry.state {
            StageState::Asking { work, .. } => {
                if let Some(session @ AgentSession::Alive(AgentSign::Asking { .. })) =
                    self.truth.sessions.get_mut(&work.session)
                {
                    *session = AgentSession::Alive(AgentSign::Working);
                }
                return true;
            }
            _ if self.words > self.patience => return false,
            StageState::Review { question, .. } => match (question.verified(), self.chance.below(5)) {
                (Some(_), 0..=2) => StageCommand::Merge,
                (_, 3) => StageCommand::Retry,
                (None, 0..=1) => StageCommand::Resume { answer: None },
                (_, _) => skip,
            },
            StageState::Ready(_) => StageCommand::Release,
            StageState::Blocked { .. } if self.chance.once_in(5) => skip,
            StageState::Blocked { .. } if self.chance.once_in(4) => {
                self.write(RunRecord::StageCommand {
                    stage: id,
                    by: Text::new("p"),
                    command: StageCommand::Reset,
                });
                return true;
            }
            _ => StageCommand::Retry,
        };
        self.write(RunRecord::StageCommand { stage: id, by: Text::new("p"), command });
        true
    }

    /// Gives a random command to any stage at any time.
    fn say_anything(&mut self) {
        let ids: Vec<StageId> = self.run.entries().map(|(id, _)| id.clone()).collect();
        let id = self.chance.pick(&ids).unwrap().clone();
        let words = [
            StageCommand::Reset,
            StageCommand::Reset,
            StageCommand::Hold,
            StageCommand::Release,
            StageCommand::Retry,
            StageCommand::Verify,
            StageCommand::Resume { answer: None },
            StageCommand::Block { why: Text::new("w") },
            StageCommand::Skip { why: Text::new("w") },
        ];
        let said = self.chance.pick(&words).unwrap().clone();
        // Commands that end a stage for good are rare.
        if matches!(said, StageCommand::Skip { .. } | StageCommand::Block { .. }) && !self.chance.once_in(4) {
            return;
        }
        if self.anything >= ANYTHING {
            return;
        }
        let person = CommandSender::Person { name: Text::new("p"), role: CommandRole::User };
        if let Ok(record) = authorize(&self.run, &person, &id, &said) {
            self.anything += 1;
            self.write(record);
        }
    }

    fn states(&self) -> Vec<(String, String)> {
        self.run.entries().map(|(id, entry)| (id.as_str().to_owned(), format!("{:?}", entry.state))).collect()
    }

    /// Checks that every stage is merged, skipped, or waits for a person or for such a stage.
    fn is_well_ended(&self) {
        let mut merged: Vec<CommitId> = Vec::new();
        for (id, entry) in self.run.entries() {
            match &entry.state {
                StageState::Done { merged: commit } => merged.push(commit.commit().clone()),
                StageState::Skipped { .. } => {}
                StageState::Waiting { on } => assert!(!on.is_empty()),
                _ => {
                    assert!(entry.needs_person(), "`{}` is left behind: {:#?}", id.as_str(), self.states())
                }
            }
            let is_over = entry.state.is_over();
            assert!(!is_over || !self.truth.has_tree(id), "the worktree of `{}` is left over", id.as_str());
            assert!(!is_over || self.truth.alive_of(id) == 0, "an agent of `{}` is left over", id.as_str());
        }
        let is_held = self.run.target().held.is_some();
        assert!(is_held || self.truth.target == self.truth.trunk, "the target has all merged work");
        assert!(is_held || !self.truth.is_rewritten, "a rewritten target waits for a person");
        assert_eq!(*self.run.queue().trunk(), self.truth.trunk);
        assert!(self.run.queue().entries().is_empty(), "the queue is empty");
        assert!(self.run.effects().is_empty(), "nothing is left open");
        self.truth.is_sound(&merged, &self.run);
    }

    pub(crate) fn ends(&self) -> Ends {
        let count = |fits: &dyn Fn(&StageState) -> bool| {
            u32::try_from(self.run.entries().filter(|(_, entry)| fits(&entry.state)).count()).unwrap()
        };
        let of_records = |fits: &dyn Fn(&RunRecord) -> bool| {
            u32::try_from(self.records.iter().filter(|record| fits(record)).count()).unwrap()
        };
        let outcome = |fits: fn(&EffectOutcome) -> bool| {
            of_records(&|record| matches!(record, RunRecord::Outcome { outcome, .. } if fits(outcome)))
        };
        let ended = |fits: fn(&SessionOutcome) -> bool| {
            of_records(&|record| matches!(record, RunRecord::Ended { ended, .. } if fits(ended)))
        };
        Ends {
            merged: count(&|stage| matches!(stage, StageState::Done { .. })),
            skipped: count(&|stage| matches!(stage, StageState::Skipped { .. })),
            persons: u32::try_from(self.run.entries().filter(|(_, entry)| entry.needs_person()).count())
                .unwrap(),
            resets: of_records(&|record| {
                matches!(record, RunRecord::StageCommand { command: StageCommand::Reset, .. })
            }),
            deaths: self.deaths,
            conflicts: outcome(|outcome| matches!(outcome, EffectOutcome::Conflicted { .. })),
            reds: outcome(|outcome| matches!(outcome, EffectOutcome::Red { .. })),
            limits: ended(|ended| matches!(ended, SessionOutcome::RateLimited { .. })),
            crashes: ended(|ended| matches!(ended, SessionOutcome::Failed { .. })),
            overtaken: count(
                &|stage| matches!(stage, StageState::Skipped { by, .. } if by.as_str() == "sprag"),
            ),
            resolved: u32::try_from(self.run.merged().filter(|(id, _)| is_base(id)).count()).unwrap(),
            foreign: of_records(&|record| matches!(record, RunRecord::Foreign { .. })),
            held: u32::from(self.run.target().held.is_some()),
        }
    }
}

/// Reports whether an effect was done already: workers of one daemon do not repeat a start.
fn is_done_already(truth: &Truth, key: &EffectKey, effect: &Effect) -> bool {
    effect.is_spawn() && truth.sessions.contains_key(key)
}

/// Reports whether an agent continues without a command.
pub(crate) fn is_at_work(session: &AgentSession) -> bool {
    matches!(session, AgentSession::Alive(AgentSign::Working | AgentSign::Filling { .. }))
}
