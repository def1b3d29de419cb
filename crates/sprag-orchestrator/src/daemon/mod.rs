//! The daemon loop: observes the world, asks `reconcile` for the next actions, records them and executes
//! them, until nothing can start automatically. Between rounds it waits for events.

pub mod clean;
pub mod land;
pub mod orphans;
pub mod repair;
mod repo_watch;
mod signals;
pub mod start_run;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::Duration;
use std::{io, thread};

use rustix::process::Signal;

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::{env, processes};
use sprag_plan::agent::activity::BudgetSpent;
use sprag_plan::agent::liveness::Liveness;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::reconcile::observed::{AgentSession, AgentSign, LoopMode, Observed, StopMode};
use sprag_plan::reconcile::recovery::EffectTrace;
use sprag_plan::reconcile::{Action, reconcile};
use sprag_plan::run::Run;
use sprag_plan::run::command::CommandSender;
use sprag_plan::run::effect::Effect;
use sprag_plan::run::record::{BudgetOwner, RunRecord};

use super::coordination::SessionQueue as _;
use super::daemon::repo_watch::RepoWatch;
use super::jobs::Job;
use super::layout::RunLayout;
use super::observe::context_usage::ContextMonitor;
use super::observe::durations::DurationHistory;
use super::observe::heartbeat::HeartbeatMonitor;
use super::observe::ref_cache::RefCache;
use super::observe::{self, session_exits};
use super::run_log::RunLog;
use super::socket::protocol::DaemonReply;
use super::socket::requests::{self, LoopRequest, PendingRequest};
use super::socket::server;
use super::socket::subscribers::Subscribers;
use super::view::BoardWriter;
use crate::agent;
use crate::session_dir::{self, SessionDir, SessionProbe};
use crate::socket::loop_event::{LoopEvent, RunEnd};

/// How often the loop observes the world without an event.
const SWEEP: Duration = Duration::from_secs(30);

/// The limits and the end condition of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunMode {
    /// Maximum number of agents at once, whatever the plan allows.
    pub slots: u16,
    pub until: Until,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until nothing can start automatically.
    Rest,
    /// Until all is merged or someone stops the run; meanwhile the run waits for people.
    Over,
}

/// A stage whose state changed.
#[derive(Clone, Debug)]
pub struct StageChange {
    pub stage: StageId,
    pub state: &'static str,
    pub attempt: u32,
}

pub struct DaemonLoop<'a> {
    log: RunLog<'a>,
    ground: RunLayout,
    busy: BTreeSet<EffectKey>,
    watched: BTreeSet<EffectKey>,
    vitals: HeartbeatMonitor,
    lengths: DurationHistory,
    filling: ContextMonitor,
    glance: RefCache,
    news: Receiver<LoopEvent>,
    tell: Sender<LoopEvent>,
    manner: RunMode,
    board: Arc<Subscribers>,
    mode: LoopMode,
    /// Called on a signal with the resulting way to stop.
    heed: &'a dyn Fn(StopMode),
    /// Clients that wait for the check results of a stage.
    waiting: Vec<(StageId, SyncSender<DaemonReply>)>,
    /// Requests of agents whose start is not recorded yet.
    early: Vec<PendingRequest>,
    /// The state of each stage that was reported last.
    shown: BTreeMap<StageId, &'static str>,
    /// Called for every record, with the changed stages.
    watch: &'a dyn Fn(&RunRecord, &Run, &[StageChange]),
    keeper: BoardWriter,
}

impl<'a> DaemonLoop<'a> {
    pub fn new(
        log: RunLog<'a>,
        ground: RunLayout,
        manner: RunMode,
        watch: &'a dyn Fn(&RunRecord, &Run, &[StageChange]),
    ) -> DaemonLoop<'a> {
        let (tell, news) = channel();
        let lengths = DurationHistory::read(&ground.run, &ground.plan, log.timed());
        listen(&ground, &tell);
        DaemonLoop {
            log,
            glance: RefCache::new(&ground),
            ground,
            busy: BTreeSet::new(),
            watched: BTreeSet::new(),
            vitals: HeartbeatMonitor::default(),
            lengths,
            filling: ContextMonitor::default(),
            news,
            tell,
            manner,
            board: Arc::default(),
            mode: LoopMode::Running,
            heed: &|_| (),
            waiting: Vec::new(),
            early: Vec::new(),
            shown: BTreeMap::new(),
            watch,
            keeper: BoardWriter::default(),
        }
    }

    /// Sets the callback for signals.
    pub fn heeding(self, heed: &'a dyn Fn(StopMode)) -> DaemonLoop<'a> {
        DaemonLoop { heed, ..self }
    }

    /// Runs the loop to its end. Calls `ready` once the socket accepts requests.
    pub fn run(mut self, ready: impl FnOnce()) -> io::Result<RunEnd> {
        signals::listen(&self.tell);
        let footing = RepoWatch::new(&self.ground.root, &self.ground.run)?;
        footing.watch(&self.tell);
        let _open = server::open(&self.ground, self.board.clone(), self.tell.clone())?;
        ready();
        match self.go_on(&footing) {
            Err(_) if !footing.is_there() => Ok(self.end(RunEnd::Gone)),
            ended => ended,
        }
    }

    fn go_on(&mut self, footing: &RepoWatch) -> io::Result<RunEnd> {
        loop {
            if !footing.is_there() {
                return Ok(self.end(RunEnd::Gone));
            }
            let now = env::now();
            let (world, died) = self.observe()?;
            for session in &died {
                agent::sweep(session);
            }
            let actions = reconcile(self.log.run(), &world, now);
            let mut wake = None;
            let mut has_acted = false;
            for action in actions {
                match action {
                    Action::Record(record) => {
                        self.note(&record)?;
                        has_acted = true;
                    }
                    Action::Do { key, effect } => {
                        has_acted = true;
                        self.begin(key, effect)?;
                    }
                    Action::WakeAt(at) => wake = Some(at),
                }
            }
            // The new records may change the next actions.
            if has_acted {
                self.hear_all()?;
                continue;
            }
            let rest = self.rest(&world, wake);
            self.board.rest(rest);
            match (rest, self.manner.until) {
                (Some(RunEnd::Over | RunEnd::Stopped | RunEnd::Interrupted { .. } | RunEnd::Gone), _)
                | (Some(RunEnd::Waits), Until::Rest) => {
                    return Ok(self.end(rest.expect("matched above")));
                }
                (Some(RunEnd::Waits), Until::Over) | (None, _) => {}
            }
            if let LoopMode::Stopping { how: StopMode::Kill, .. } = self.mode {
                self.kill_all();
            }
            self.wait(wake, now)?;
        }
    }

    /// Returns how the run ends if nothing runs and nothing can start automatically.
    fn rest(&self, world: &Observed, wake: Option<Timestamp>) -> Option<RunEnd> {
        let run = self.log.run();
        if let LoopMode::Stopping { signal, .. } = self.mode {
            let lives = world.sessions.values().any(|session| matches!(session, AgentSession::Alive(_)));
            // An agent that is starting right now would be cut off.
            let is_starting = |key| run.effect(key).is_some_and(Effect::is_spawn);
            let starts = self.busy.iter().any(is_starting);
            let stopped = signal.map_or(RunEnd::Stopped, |signal| RunEnd::Interrupted { signal });
            return (!lives && !starts).then_some(stopped);
        }
        let lives = run.live_sessions().next().is_some();
        if wake.is_some() || !self.busy.is_empty() || lives {
            return None;
        }
        Some(if run.is_over() { RunEnd::Over } else { RunEnd::Waits })
    }

    /// Ends the loop and kills the processes below the daemon. The next daemon runs interrupted checks again.
    fn end(&mut self, rest: RunEnd) -> RunEnd {
        if rest == RunEnd::Gone {
            // The session directories are gone, so signals cannot reach the supervisors.
            let run = self.log.run();
            for (session, _) in run.live_sessions() {
                agent::sweep(&self.ground.site(session).id());
            }
        }
        if let RunEnd::Stopped | RunEnd::Interrupted { .. } | RunEnd::Gone = rest {
            let left = processes::below(std::process::id());
            for process in left {
                processes::signal(process, Signal::KILL);
            }
        }
        rest
    }

    /// Kills all agents. Their supervisors end the rest and write the exit records.
    fn kill_all(&self) {
        let run = self.log.run();
        for (session, _) in run.live_sessions() {
            if let Some(agent) = self.ground.site(session).agent() {
                processes::signal(agent, Signal::KILL);
            }
        }
    }

    fn asked(&mut self, asked: PendingRequest) -> io::Result<()> {
        // The agent sent its request before the record of its start arrived.
        if let CommandSender::Agent { session } = &asked.speaker
            && self.log.run().effect(session).is_some()
        {
            self.early.push(asked);
            return Ok(());
        }
        let PendingRequest { speaker, ask, reply } = asked;
        // A client that hung up needs no answer.
        let answer = |answer| reply.try_send(answer).unwrap_or_default();
        if let LoopRequest::Stop { how } = ask {
            let signal = match self.mode {
                LoopMode::Stopping { signal, .. } => signal,
                LoopMode::Running => None,
            };
            self.mode = LoopMode::Stopping { how, signal };
            answer(DaemonReply::Done);
            return Ok(());
        }
        match requests::record(self.log.run(), &speaker, &ask) {
            Err(refused) => answer(refused),
            Ok(record) => {
                // Registered before the record is written, so that the client gets the changes of that record
                // too.
                match (&record, &ask) {
                    (RunRecord::StageCommand { stage, .. }, LoopRequest::Say { said, .. })
                        if said.wants_verdict() =>
                    {
                        self.waiting.push((stage.clone(), reply.clone()));
                    }
                    _ => answer(requests::heard(self.log.run(), &record)),
                }
                self.note(&record)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, key: EffectKey, effect: Effect) -> io::Result<()> {
        if self.log.run().effect(&key).is_none() {
            let intent =
                RunRecord::EffectBegun { key: key.clone(), epoch: self.ground.epoch, effect: effect.clone() };
            self.note(&intent)?;
        }
        let job = Job::new(self.log.run(), &self.ground, key.clone(), effect);
        self.busy.insert(key);
        let tell = self.tell.clone();
        thread::spawn(move || {
            let outcome = job.run(&RealDisk);
            tell.send(LoopEvent::Outcome(job.key, outcome)).discard("no receiver once the daemon ends");
        });
        Ok(())
    }

    fn note(&mut self, record: &RunRecord) -> io::Result<()> {
        self.log.append(record)?;
        let changes = self.changes();
        if changes.iter().any(|it| self.log.run().entry(&it.stage).is_some_and(|it| it.state.is_over())) {
            self.lengths.add(self.log.timed());
        }
        (self.watch)(record, self.log.run(), &changes);
        self.board.say(changes.iter().map(|it| format!("{} {}", it.stage.as_str(), it.state)));
        let run = self.log.run();
        self.waiting.retain(|(stage, reply)| match requests::verdict(run, stage) {
            None => true,
            Some(verdict) => {
                reply
                    .try_send(DaemonReply::Verdict(verdict))
                    .discard("a client that hung up needs no verdict");
                false
            }
        });
        Ok(())
    }

    /// Returns every stage whose state differs from the last reported one.
    fn changes(&mut self) -> Vec<StageChange> {
        let mut changes = Vec::new();
        for (id, entry) in self.log.run().entries() {
            let state = entry.state.name();
            if self.shown.get(id) != Some(&state) {
                self.shown.insert(id.clone(), state);
                changes.push(StageChange { stage: id.clone(), state, attempt: entry.state.attempt() });
            }
        }
        changes
    }

    fn wait(&mut self, wake: Option<Timestamp>, now: Timestamp) -> io::Result<()> {
        let until = wake.map_or(SWEEP, |at| {
            let millis = u64::try_from(at.millis() - now.millis()).unwrap_or(0).max(1);
            Duration::from_millis(millis).min(SWEEP)
        });
        let until = self.keeper.keep(&self.log, &self.ground.run, now).map_or(until, |due| due.min(until));
        match self.news.recv_timeout(until) {
            Ok(news) => self.handle_event(news)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.hear_all()
    }

    fn hear_all(&mut self) -> io::Result<()> {
        while let Ok(news) = self.news.try_recv() {
            self.handle_event(news)?;
        }
        Ok(())
    }

    fn handle_event(&mut self, news: LoopEvent) -> io::Result<()> {
        match news {
            LoopEvent::Outcome(key, outcome) => {
                self.busy.remove(&key);
                self.note(&RunRecord::Outcome { key, outcome })?;
                std::mem::take(&mut self.early).into_iter().try_for_each(|asked| self.asked(asked))
            }
            LoopEvent::Asked(asked) => self.asked(asked),
            LoopEvent::Over(session) => {
                self.watched.remove(&session);
                self.vitals.forget(&session);
                self.filling.forget(&session);
                Ok(())
            }
            LoopEvent::Rung => Ok(()),
            LoopEvent::Signal(signal) => {
                // A second signal means that the user does not want to wait.
                let how = match self.mode {
                    LoopMode::Stopping { .. } => StopMode::Kill,
                    LoopMode::Running => StopMode::Home,
                };
                self.mode = LoopMode::Stopping { how, signal: Some(signal) };
                (self.heed)(how);
                Ok(())
            }
        }
    }

    /// Returns the observed world, and the sessions whose supervisor died without an exit record. Changes
    /// nothing.
    fn observe(&mut self) -> io::Result<(Observed, Vec<String>)> {
        let ground = self.ground.clone();
        let mut world = Observed {
            busy: self.busy.clone(),
            room: self.manner.slots,
            mode: self.mode,
            trunk: self.glance.trunk(&ground),
            target: self.glance.target(
                &ground,
                &self.log.run().target().known,
                self.log.run().queue().trunk(),
            ),
            lost: observe::lost(&ground, self.log.run()),
            durations: self.lengths.all().clone(),
            ..Observed::default()
        };
        let run = self.log.run();
        for (key, open) in run.effects().iter().filter(|(key, _)| !self.busy.contains(*key)) {
            let effect = &open.effect;
            let found = observe::found(&ground, run, key, effect).unwrap_or(EffectTrace::Nothing);
            world.found.insert(key.clone(), found);
        }
        let open: Vec<EffectKey> = run.live_sessions().map(|(key, _)| key.clone()).collect();
        let mut died = Vec::new();
        for session in open {
            world.nearly.extend(self.nearly(&session));
            if let Some(seen) = self.session(&session, &mut died)? {
                world.sessions.insert(session, seen);
            }
        }
        Ok((world, died))
    }

    /// Returns the state of a session by its directory; `None` if no supervisor has claimed it yet.
    fn session(&mut self, key: &EffectKey, died: &mut Vec<String>) -> io::Result<Option<AgentSession>> {
        let site = self.ground.site(key);
        let probe = self.ground.queue(&RealDisk).probe(&site.id())?;
        match &probe {
            SessionProbe::Running => {
                self.watch_over(key);
                return Ok(Some(AgentSession::Alive(self.alive(key, &site))));
            }
            SessionProbe::Died => died.push(site.id()),
            SessionProbe::Nothing | SessionProbe::Ended(_) => {}
        }
        Ok(session_exits::ended(&self.ground.root, self.log.run(), key, &probe).map(AgentSession::Over))
    }

    /// Returns the budgets that a session reports as nearly used up.
    fn nearly(&self, session: &EffectKey) -> Vec<BudgetOwner> {
        let seen = self.ground.site(session).seen().map(|seen| seen.nearly).unwrap_or_default();
        let stage = self.log.run().stage_of(session);
        let of = |spent: &BudgetSpent| match spent {
            BudgetSpent::OfRun => Some(BudgetOwner::Run),
            BudgetSpent::OfStage => stage.cloned().map(BudgetOwner::Stage),
        };
        seen.iter().filter_map(of).collect()
    }

    /// Returns the sign of life of an agent whose supervisor lives.
    fn alive(&mut self, key: &EffectKey, site: &SessionDir) -> AgentSign {
        let seen = site.seen();
        let stage = self.log.run().stage_of(key);
        let spec = stage.and_then(|stage| self.log.run().plan().find(stage.as_str()));
        let told =
            spec.zip(seen.as_ref()).and_then(|(spec, seen)| self.filling.check(key, spec, seen, env::now()));
        if let Some(told) = told {
            return told;
        }
        if let Some(question) = seen.as_ref().and_then(|seen| seen.asks.clone()) {
            return AgentSign::Asking { question };
        }
        let Some(worktree) = stage.map(|stage| self.ground.worktree(stage)) else {
            return AgentSign::Working;
        };
        match self.vitals.check(key, site, seen.as_ref(), &worktree, env::now()) {
            Liveness::Working | Liveness::Suspect => AgentSign::Working,
            Liveness::Wedged => AgentSign::Wedged,
        }
    }

    /// Sends an event as soon as the supervisor ends, which releases its lock.
    fn watch_over(&mut self, key: &EffectKey) {
        if !self.watched.insert(key.clone()) {
            return;
        }
        let (site, tell, key) = (self.ground.site(key), self.tell.clone(), key.clone());
        thread::spawn(move || {
            site.wait().discard("the loop probes the session anyway");
            tell.send(LoopEvent::Over(key)).discard("no receiver once the daemon ends");
        });
    }
}

/// Wakes the loop when a supervisor rings. Without the bell, the next round finds the changes.
fn listen(ground: &RunLayout, tell: &Sender<LoopEvent>) {
    let Ok(bell) = session_dir::bell(&ground.run) else { return };
    let tell = tell.clone();
    thread::spawn(move || {
        let mut word = [0; 8];
        while bell.recv(&mut word).is_ok() && tell.send(LoopEvent::Rung).is_ok() {}
    });
}
