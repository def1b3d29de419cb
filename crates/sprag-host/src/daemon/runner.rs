//! The loop: looks at the world, asks the core what is to be done, writes it down and does it, until nothing is left
//! that happens by itself. It waits for what happens and looks at nothing in between.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use sprag_core::plan::probe::Found;
use sprag_core::plan::reconcile::{Action, reconcile};
use sprag_core::plan::record::{Ended, Outcome, Progress, Recorded};
use sprag_core::plan::run::Run;
use sprag_core::plan::stage::{Commit, Failure, Key};
use sprag_core::plan::world::{Alive, Session, World};
use sprag_core::text::Text;
use sprag_core::time::Timestamp;

use super::jobs::{Ground, Job};
use super::log::Log;
use super::look;
use crate::disk::RealDisk;
use crate::env;
use crate::git::landing;
use crate::supervise;
use crate::supervise::site::Probe;

/// How often everything is looked at although nothing was heard.
const SWEEP: Duration = Duration::from_secs(30);

/// Something happened.
enum News {
    Outcome(Key, Outcome),
    /// A supervisor is gone.
    Over(Key),
}

/// How a run stands when nothing more happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Every stage is merged or skipped.
    Over,
    /// A person has to say something.
    Waits,
}

pub struct Runner<'a> {
    log: Log<'a>,
    ground: Ground,
    busy: BTreeSet<Key>,
    watched: BTreeSet<Key>,
    news: Receiver<News>,
    tell: Sender<News>,
    /// Told of every record.
    watch: &'a dyn Fn(&Recorded, &Run),
}

impl<'a> Runner<'a> {
    pub fn new(log: Log<'a>, ground: Ground, watch: &'a dyn Fn(&Recorded, &Run)) -> Runner<'a> {
        let (tell, news) = channel();
        Runner { log, ground, busy: BTreeSet::new(), watched: BTreeSet::new(), news, tell, watch }
    }

    pub fn run(mut self) -> io::Result<Rest> {
        loop {
            let now = env::now();
            let world = self.look()?;
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
            // What was written down may change what is to be done.
            if has_acted {
                self.hear_all()?;
                continue;
            }
            if let Some(rest) = self.rest(wake) {
                return Ok(rest);
            }
            self.wait(wake, now)?;
        }
    }

    /// Nothing is under way, and nothing begins by itself.
    fn rest(&self, wake: Option<Timestamp>) -> Option<Rest> {
        let run = self.log.run();
        let lives = run.sessions().keys().any(|session| run.ended(session).is_none());
        if wake.is_some() || !self.busy.is_empty() || lives {
            return None;
        }
        Some(if run.is_over() { Rest::Over } else { Rest::Waits })
    }

    fn begin(&mut self, key: Key, effect: sprag_core::plan::record::Effect) -> io::Result<()> {
        if !self.log.run().open().contains_key(&key) {
            let intent =
                Recorded::Intent { key: key.clone(), epoch: self.ground.epoch, effect: effect.clone() };
            self.note(&intent)?;
        }
        let job = Job::new(self.log.run(), &self.ground, key.clone(), effect);
        self.busy.insert(key);
        let tell = self.tell.clone();
        thread::spawn(move || {
            let outcome = job.run(&RealDisk);
            // Nobody listens any more when we are about to end.
            tell.send(News::Outcome(job.key, outcome)).unwrap_or_default();
        });
        Ok(())
    }

    fn note(&mut self, record: &Recorded) -> io::Result<()> {
        self.log.append(record)?;
        (self.watch)(record, self.log.run());
        Ok(())
    }

    fn wait(&mut self, wake: Option<Timestamp>, now: Timestamp) -> io::Result<()> {
        let until = wake.map_or(SWEEP, |at| {
            let millis = u64::try_from(at.millis() - now.millis()).unwrap_or(0).max(1);
            Duration::from_millis(millis).min(SWEEP)
        });
        match self.news.recv_timeout(until) {
            Ok(news) => self.hear(news)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.hear_all()
    }

    fn hear_all(&mut self) -> io::Result<()> {
        while let Ok(news) = self.news.try_recv() {
            self.hear(news)?;
        }
        Ok(())
    }

    fn hear(&mut self, news: News) -> io::Result<()> {
        match news {
            News::Outcome(key, outcome) => {
                self.busy.remove(&key);
                self.note(&Recorded::Outcome { key, outcome })
            }
            News::Over(session) => {
                self.watched.remove(&session);
                Ok(())
            }
        }
    }

    fn look(&mut self) -> io::Result<World> {
        let ground = self.ground.clone();
        // Git that cannot say it now is asked again at the next look.
        let trunk = landing::resolve(&ground.root, &ground.trunk()).ok();
        let mut world = World {
            busy: self.busy.clone(),
            room: u16::MAX,
            trunk: trunk.map(|trunk| Commit(Text::new(trunk.unwrap_or_default()))),
            target: look::target(&ground, self.log.run().target(), self.log.run().queue().trunk()).ok(),
            lost: look::lost(&ground, self.log.run()),
            ..World::default()
        };
        let run = self.log.run();
        for (key, effect) in run.open().iter().filter(|(key, _)| !self.busy.contains(*key)) {
            let found = look::found(&ground, run, key, effect).unwrap_or(Found::Nothing);
            world.found.insert(key.clone(), found);
        }
        let open: Vec<Key> = run.sessions().keys().filter(|key| run.ended(key).is_none()).cloned().collect();
        for session in open {
            if let Some(seen) = self.session(&session)? {
                world.sessions.insert(session, seen);
            }
        }
        Ok(world)
    }

    /// What a session's folder tells; `None` where nobody has taken it on yet.
    fn session(&mut self, key: &Key) -> io::Result<Option<Session>> {
        let site = self.ground.site(key);
        let ended = match site.probe()? {
            Probe::Running => {
                self.watch_over(key);
                return Ok(Some(Session::Alive(Alive::Working)));
            }
            Probe::Nothing => return Ok(None),
            Probe::Died => {
                supervise::sweep(&site.id());
                Ended::Failed { failure: Failure::Crash, progress: self.progress(key) }
            }
            Probe::Ended(exit) => Ended::of(&exit, self.log.run().killed(key), self.progress(key)),
        };
        Ok(Some(Session::Over(ended)))
    }

    /// Whether a session has committed anything since its worktree was made.
    fn progress(&self, session: &Key) -> Progress {
        let run = self.log.run();
        let Some(stage) = run.sessions().get(session) else { return Progress::Nothing };
        let base = run.standing(stage).and_then(|standing| standing.worktree.clone());
        let head = landing::resolve(&self.ground.worktree(stage), "HEAD").ok().flatten();
        match (head, base) {
            (Some(head), Some(base)) if head != base.0.as_str() => Progress::Committed,
            _ => Progress::Nothing,
        }
    }

    /// The end of a supervisor is heard of at once: its lock is free then.
    fn watch_over(&mut self, key: &Key) {
        if !self.watched.insert(key.clone()) {
            return;
        }
        let (site, tell, key) = (self.ground.site(key), self.tell.clone(), key.clone());
        thread::spawn(move || {
            site.wait().unwrap_or_default();
            tell.send(News::Over(key)).unwrap_or_default();
        });
    }
}
