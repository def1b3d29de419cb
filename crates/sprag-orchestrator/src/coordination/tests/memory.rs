//! A log and a queue that somebody else keeps, behind a network: messages get lost on the way there and on the way back,
//! and a lease runs out while its holder lives and cannot know.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use sprag_base::time::Timestamp;
use sprag_plan::agent::exit::Exit;
use sprag_plan::run::record::Recorded;

use super::conformance::{Fleet, Trouble};
use crate::coordination::{Caps, Lease, Log, NotAppended, Offered, Queue, Seq, Tenure};
use crate::session_dir::{Probe, Spawn};

#[derive(Clone, Default)]
pub struct Network(Arc<Mutex<Kept>>);

/// What the others keep.
#[derive(Default)]
struct Kept {
    epoch: u64,
    /// Numbers are given over all subjects, so that one subject has gaps.
    next: u64,
    records: BTreeMap<String, Vec<(Seq, Recorded, Timestamp)>>,
    sessions: BTreeMap<String, Session>,
    trouble: Option<Trouble>,
}

enum Session {
    Open(Box<Spawn>),
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
    fn log(&self) -> impl Log {
        self.clone()
    }

    fn queue(&self) -> impl Queue {
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

impl Log for Network {
    fn append(
        &self,
        subject: &str,
        record: &Recorded,
        at: Timestamp,
        expect: Option<Seq>,
    ) -> Result<Seq, NotAppended> {
        let mut kept = self.kept();
        let trouble = kept.trouble.take();
        let lost = || NotAppended::Unknown(io::ErrorKind::TimedOut.into());
        if let Some(Trouble::Lost | Trouble::Torn) = trouble {
            return Err(lost());
        }
        let next = Seq(kept.next + 1);
        let records = kept.records.entry(subject.to_owned()).or_default();
        let last = records.last().map_or(Seq::START, |(seq, ..)| *seq);
        if expect.is_some_and(|expect| expect != last) {
            return Err(NotAppended::Stale);
        }
        records.push((next, record.clone(), at));
        kept.next = next.0;
        if trouble == Some(Trouble::AnswerLost) { Err(lost()) } else { Ok(next) }
    }

    fn read(&self, subject: &str, from: Seq, take: &mut dyn FnMut(Recorded, Timestamp)) -> io::Result<Seq> {
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

impl Queue for Network {
    type Lease = Leased;

    fn offer(&self, session: &str, spawn: &Spawn) -> io::Result<Offered> {
        let mut kept = self.kept();
        if kept.epoch > spawn.epoch {
            return Ok(Offered::Old);
        }
        match kept.sessions.get(session) {
            None | Some(Session::Open(_)) => {
                kept.sessions.insert(session.to_owned(), Session::Open(Box::new(spawn.clone())));
                Ok(Offered::Open)
            }
            Some(Session::Held | Session::Ended(_) | Session::Died) => Ok(Offered::Taken),
        }
    }

    fn take(&self, caps: Caps<'_>) -> io::Result<Option<(Spawn, Leased)>> {
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

    fn look(&self, session: &str) -> io::Result<Probe> {
        Ok(match self.kept().sessions.get(session) {
            None | Some(Session::Open(_)) => Probe::Nothing,
            Some(Session::Held) => Probe::Running,
            Some(Session::Ended(exit)) => Probe::Ended(exit.clone()),
            Some(Session::Died) => Probe::Died,
        })
    }
}

pub struct Leased {
    network: Network,
    session: String,
    epoch: u64,
}

impl Leased {
    fn end(&self, end: Session) -> Tenure {
        match self.network.kept().sessions.get_mut(&self.session) {
            Some(session @ Session::Held) => {
                *session = end;
                Tenure::Held
            }
            Some(_) | None => Tenure::Lost,
        }
    }
}

impl Lease for Leased {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn renew(&mut self) -> io::Result<Tenure> {
        Ok(self.end(Session::Held))
    }

    fn done(self, exit: &Exit) -> io::Result<Tenure> {
        Ok(self.end(Session::Ended(exit.clone())))
    }

    fn give_up(self) {
        self.end(Session::Died);
    }
}
