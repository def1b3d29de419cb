//! A log and a queue behind a simulated network: requests and answers get lost, and a lease ends without its
//! holder's knowledge.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use sprag_base::time::Timestamp;
use sprag_plan::agent::exit::Exit;
use sprag_plan::run::record::RunRecord;

use super::conformance::{Fleet, Trouble};
use crate::coordination::{
    LeaseTerm, LogPosition, NotAppended, RunLogBackend, SessionLease, SessionOffer, SessionQueue,
    WorkerLimits,
};
use crate::session_dir::{SessionProbe, SpawnRequest};

#[derive(Clone, Default)]
pub(super) struct Network(Arc<Mutex<Kept>>);

/// The state on the other side of the network.
#[derive(Default)]
struct Kept {
    epoch: u64,
    /// Numbers are shared by all subjects, so that each subject has gaps.
    next: u64,
    records: BTreeMap<String, Vec<(LogPosition, RunRecord, Timestamp)>>,
    sessions: BTreeMap<String, Session>,
    trouble: Option<Trouble>,
}

enum Session {
    Open(Box<SpawnRequest>),
    Held,
    Ended(Exit),
    Died,
}

impl Network {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }
}

impl Fleet for Network {
    fn log(&self) -> impl RunLogBackend {
        self.clone()
    }

    fn queue(&self) -> impl SessionQueue {
        self.clone()
    }

    fn reign(&self) -> u64 {
        let mut kept = self.kept();
        kept.epoch += 1;
        kept.epoch
    }

    fn trouble(&self, trouble: Trouble) {
        self.kept().trouble = Some(trouble);
    }

    fn cut_off(&self, session: &str) {
        self.kept().sessions.insert(session.to_owned(), Session::Died);
    }
}

impl RunLogBackend for Network {
    fn append(
        &self,
        subject: &str,
        record: &RunRecord,
        at: Timestamp,
        expect: Option<LogPosition>,
    ) -> Result<LogPosition, NotAppended> {
        let mut kept = self.kept();
        let trouble = kept.trouble.take();
        let lost = || NotAppended::Unknown(io::ErrorKind::TimedOut.into());
        if let Some(Trouble::Lost | Trouble::Torn) = trouble {
            return Err(lost());
        }
        let next = LogPosition(kept.next + 1);
        let records = kept.records.entry(subject.to_owned()).or_default();
        let last = records.last().map_or(LogPosition::START, |(seq, ..)| *seq);
        if expect.is_some_and(|expect| expect != last) {
            return Err(NotAppended::Stale);
        }
        records.push((next, record.clone(), at));
        kept.next = next.0;
        if trouble == Some(Trouble::AnswerLost) { Err(lost()) } else { Ok(next) }
    }

    fn read(
        &self,
        subject: &str,
        from: LogPosition,
        take: &mut dyn FnMut(RunRecord, Timestamp),
    ) -> io::Result<LogPosition> {
        let kept = self.kept();
        let mut end = from;
        for (seq, record, at) in kept.records.get(subject).into_iter().flatten() {
            if *seq > from {
                take(record.clone(), *at);
                end = *seq;
            }
        }
        Ok(end)
    }
}

impl SessionQueue for Network {
    type Lease = Leased;

    fn offer(&self, session: &str, spawn: &SpawnRequest) -> io::Result<SessionOffer> {
        let mut kept = self.kept();
        if kept.epoch > spawn.epoch {
            return Ok(SessionOffer::Old);
        }
        match kept.sessions.get(session) {
            None | Some(Session::Open(_)) => {
                kept.sessions.insert(session.to_owned(), Session::Open(Box::new(spawn.clone())));
                Ok(SessionOffer::Open)
            }
            Some(Session::Held | Session::Ended(_) | Session::Died) => Ok(SessionOffer::Taken),
        }
    }

    fn claim(&self, caps: WorkerLimits<'_>) -> io::Result<Option<(SpawnRequest, Leased)>> {
        let mut kept = self.kept();
        let epoch = kept.epoch;
        let Some(session) = kept.sessions.get_mut(caps.session) else { return Ok(None) };
        let Session::Open(spawn) = &*session else { return Ok(None) };
        if epoch > spawn.epoch {
            return Ok(None);
        }
        let spawn = (**spawn).clone();
        *session = Session::Held;
        let lease = Leased { network: self.clone(), session: caps.session.to_owned(), epoch: spawn.epoch };
        Ok(Some((spawn, lease)))
    }

    fn probe(&self, session: &str) -> io::Result<SessionProbe> {
        Ok(match self.kept().sessions.get(session) {
            None | Some(Session::Open(_)) => SessionProbe::Nothing,
            Some(Session::Held) => SessionProbe::Running,
            Some(Session::Ended(exit)) => SessionProbe::Ended(exit.clone()),
            Some(Session::Died) => SessionProbe::Died,
        })
    }
}

pub(super) struct Leased {
    network: Network,
    session: String,
    epoch: u64,
}

impl Leased {
    fn end(&self, end: Session) -> LeaseTerm {
        match self.network.kept().sessions.get_mut(&self.session) {
            Some(session @ Session::Held) => {
                *session = end;
                LeaseTerm::Held
            }
            Some(_) | None => LeaseTerm::Lost,
        }
    }
}

impl SessionLease for Leased {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn renew(&mut self) -> io::Result<LeaseTerm> {
        Ok(self.end(Session::Held))
    }

    fn done(self, exit: &Exit) -> io::Result<LeaseTerm> {
        Ok(self.end(Session::Ended(exit.clone())))
    }

    fn give_up(self) {
        self.end(Session::Died);
    }
}
