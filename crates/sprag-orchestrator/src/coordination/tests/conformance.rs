//! Tests for every implementation of the coordination traits: exactly one of several competitors wins, no
//! acknowledged record is lost, and an old epoch has no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_plan::agent::exit::{EndedBy, Exit, ExitStatus};
use sprag_plan::ids::EffectKey;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::run::record::RunRecord;

use crate::coordination::{
    LeaseTerm, LogPosition, NotAppended, RunLogBackend, SessionLease, SessionOffer, SessionQueue,
    WorkerLimits,
};
use crate::session_dir::limits::AgentLimits;
use crate::session_dir::{SessionProbe, SpawnRequest};

/// The implementation under test, and the failures that a test can cause.
pub(super) trait Fleet: Sync {
    /// Returns the log as one of several processes sees it.
    fn log(&self) -> impl RunLogBackend;
    fn queue(&self) -> impl SessionQueue;
    /// Starts a new epoch and returns its number.
    fn reign(&self) -> u64;
    /// Makes the next append fail in this way.
    fn trouble(&self, trouble: Trouble);
    /// Ends the lease of a session while its holder lives.
    fn cut_off(&self, session: &str);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Lost,
    /// Only half of the record arrives, if the implementation can write halves.
    Torn,
    /// The record is written, but the writer gets no answer.
    AnswerLost,
}

/// Runs all tests, and random sequences of `steps` steps.
pub(super) fn conforms<F: Fleet>(fresh: impl Fn() -> F, steps: u32) {
    a_log_is_read_in_order_from_anywhere(&fresh());
    a_stale_expectation_writes_nothing(&fresh());
    of_writers_that_expect_the_same_one_wins(&fresh());
    for trouble in [Trouble::Lost, Trouble::Torn, Trouble::AnswerLost] {
        what_went_wrong_is_there_once_when_it_is_tried_again(&fresh(), trouble);
    }
    what_is_offered_twice_is_taken_once(&fresh());
    of_takers_at_once_one_has_it(&fresh());
    an_old_reign_has_no_say(&fresh());
    what_is_given_up_is_cut_short_and_nobody_elses(&fresh());
    who_is_cut_off_is_told_so_and_not_heard(&fresh());
    (1..=5).for_each(|seed| a_random_story_holds(&fresh(), seed, steps));
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

fn record(name: &str) -> RunRecord {
    RunRecord::Outcome { key: EffectKey(Text::new(name)), outcome: EffectOutcome::Done }
}

/// Returns the names of all records after a position, and the position of their end.
fn read(log: &impl RunLogBackend, subject: &str, from: LogPosition) -> (Vec<String>, LogPosition) {
    let mut names = Vec::new();
    let end = log.read(subject, from, &mut |record, at| {
        assert_eq!(at, now());
        let RunRecord::Outcome { key, .. } = record else { panic!("{record:?}") };
        names.push(key.0.to_string());
    });
    (names, end.unwrap())
}

fn spawn(epoch: u64) -> SpawnRequest {
    SpawnRequest {
        v: 1,
        epoch,
        argv: vec!["true".to_owned()],
        env: Vec::new(),
        worktree: "/".into(),
        dir: "/".into(),
        branch: "b".to_owned(),
        seconds: 1,
        grace: 0,
        stdin: None,
        watch: AgentLimits::default(),
        confined: None,
    }
}

fn exit(code: i32) -> Exit {
    Exit { v: 1, ended: ExitStatus::Code(code), by: EndedBy::Itself, at: now(), millis: 1, seen: None }
}

fn take<Q: SessionQueue>(queue: &Q, session: &str) -> Option<Q::Lease> {
    queue.claim(WorkerLimits { session }).unwrap().map(|(_, lease)| lease)
}

fn a_log_is_read_in_order_from_anywhere(fleet: &impl Fleet) {
    let log = fleet.log();
    assert_eq!(read(&log, "p", LogPosition::START), (vec![], LogPosition::START), "a new log is empty");
    let mut ends = vec![LogPosition::START];
    for name in ["a", "b", "c", "d"] {
        ends.push(log.append("p", &record(name), now(), ends.last().copied()).unwrap());
        log.append("q", &record("other"), now(), None).unwrap();
    }
    assert!(ends.is_sorted_by(|one, next| one < next), "{ends:?}");
    let another = fleet.log();
    for (at, end) in ends.iter().enumerate() {
        let rest: Vec<String> = ["a", "b", "c", "d"][at..].iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(read(&another, "p", *end), (rest, ends[4]));
    }
}

fn a_stale_expectation_writes_nothing(fleet: &impl Fleet) {
    let (one, other) = (fleet.log(), fleet.log());
    let first = one.append("p", &record("a"), now(), Some(LogPosition::START)).unwrap();
    let again = other.append("p", &record("b"), now(), Some(LogPosition::START));
    assert!(matches!(again, Err(NotAppended::Stale)), "a run is begun once: {again:?}");
    let second = other.append("p", &record("c"), now(), Some(first)).unwrap();
    let late = one.append("p", &record("d"), now(), Some(first));
    assert!(matches!(late, Err(NotAppended::Stale)), "{late:?}");
    let ahead = one.append("p", &record("e"), now(), Some(LogPosition(second.0 + 7)));
    assert!(matches!(ahead, Err(NotAppended::Stale)), "a log that became shorter is another log: {ahead:?}");
    assert_eq!(read(&one, "p", LogPosition::START), (vec!["a".to_owned(), "c".to_owned()], second));
}

fn of_writers_that_expect_the_same_one_wins(fleet: &impl Fleet) {
    const WRITERS: usize = 4;
    const EACH: usize = 5;
    let won: Vec<Vec<LogPosition>> = thread::scope(|scope| {
        let write = |writer: usize| {
            let log = fleet.log();
            let mut won = Vec::new();
            let mut end = LogPosition::START;
            while won.len() < EACH {
                match log.append("p", &record(&format!("{writer}.{}", won.len())), now(), Some(end)) {
                    Ok(seq) => {
                        end = seq;
                        won.push(seq);
                    }
                    Err(NotAppended::Stale) => end = read(&log, "p", end).1,
                    Err(NotAppended::Unknown(error)) => panic!("{error}"),
                }
            }
            won
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let (names, _) = read(&fleet.log(), "p", LogPosition::START);
    let places: BTreeSet<LogPosition> = won.into_iter().flatten().collect();
    assert_eq!((names.len(), places.len()), (WRITERS * EACH, WRITERS * EACH), "{names:?}");
    for writer in 0..WRITERS {
        let own: Vec<String> =
            names.iter().filter(|name| name.starts_with(&format!("{writer}."))).cloned().collect();
        let wanted: Vec<String> = (0..EACH).map(|at| format!("{writer}.{at}")).collect();
        assert_eq!(own, wanted, "each once, in the order of writing");
    }
}

fn what_went_wrong_is_there_once_when_it_is_tried_again(fleet: &impl Fleet, trouble: Trouble) {
    let log = fleet.log();
    let first = log.append("p", &record("a"), now(), Some(LogPosition::START)).unwrap();
    fleet.trouble(trouble);
    let lost = log.append("p", &record("b"), now(), Some(first));
    assert!(matches!(lost, Err(NotAppended::Unknown(_))), "{trouble:?}: {lost:?}");
    let end = match log.append("p", &record("b"), now(), Some(first)) {
        Ok(end) => end,
        Err(NotAppended::Stale) => read(&log, "p", first).1,
        Err(NotAppended::Unknown(error)) => panic!("{trouble:?}: {error}"),
    };
    let end = log.append("p", &record("c"), now(), Some(end)).unwrap();
    let (names, read_to) = read(&fleet.log(), "p", LogPosition::START);
    assert_eq!((names.join(" "), read_to), ("a b c".to_owned(), end), "{trouble:?}");
}

fn what_is_offered_twice_is_taken_once(fleet: &impl Fleet) {
    let (asks, works) = (fleet.queue(), fleet.queue());
    let epoch = fleet.reign();
    assert_eq!(asks.probe("s").unwrap(), SessionProbe::Nothing);
    for _ in 0..2 {
        assert_eq!(asks.offer("s", &spawn(epoch)).unwrap(), SessionOffer::Open);
    }
    let (taken, mut lease) = works.claim(WorkerLimits { session: "s" }).unwrap().unwrap();
    assert_eq!((taken, lease.epoch()), (spawn(epoch), epoch));
    assert_eq!(asks.offer("s", &spawn(epoch)).unwrap(), SessionOffer::Taken, "a late second offer");
    assert!(take(&fleet.queue(), "s").is_none());
    assert_eq!((asks.probe("s").unwrap(), lease.renew().unwrap()), (SessionProbe::Running, LeaseTerm::Held));
    assert_eq!(lease.done(&exit(3)).unwrap(), LeaseTerm::Held);
    assert_eq!(asks.probe("s").unwrap(), SessionProbe::Ended(exit(3)));
    assert_eq!(asks.offer("s", &spawn(epoch)).unwrap(), SessionOffer::Taken);
    assert!(take(&works, "s").is_none(), "a session is never run twice");
}

fn of_takers_at_once_one_has_it(fleet: &impl Fleet) {
    let epoch = fleet.reign();
    for round in 0..5 {
        let session = format!("s{round}");
        fleet.queue().offer(&session, &spawn(epoch)).unwrap();
        let (leases, taken) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            for taker in 0..8 {
                let (leases, session) = (leases.clone(), &session);
                scope.spawn(move || {
                    if let Some(lease) = take(&fleet.queue(), session) {
                        leases.send(taker).unwrap();
                        assert_eq!(lease.done(&exit(taker)).unwrap(), LeaseTerm::Held);
                    }
                });
            }
        });
        drop(leases);
        let winners: Vec<i32> = taken.iter().collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(fleet.queue().probe(&session).unwrap(), SessionProbe::Ended(exit(winners[0])));
    }
}

fn an_old_reign_has_no_say(fleet: &impl Fleet) {
    let queue = fleet.queue();
    let old = fleet.reign();
    queue.offer("asked", &spawn(old)).unwrap();
    queue.offer("kept", &spawn(old)).unwrap();
    let kept = take(&queue, "kept").unwrap();
    let new = fleet.reign();
    assert!(new > old);
    assert!(take(&queue, "asked").is_none(), "the epoch of the offer has ended");
    assert_eq!(queue.offer("asked", &spawn(old)).unwrap(), SessionOffer::Old);
    assert_eq!(queue.probe("asked").unwrap(), SessionProbe::Nothing);
    assert_eq!(queue.offer("asked", &spawn(new)).unwrap(), SessionOffer::Open);
    assert_eq!(take(&queue, "asked").unwrap().epoch(), new);
    // Sessions claimed before continue: the new daemon finds them.
    assert_eq!((queue.probe("kept").unwrap(), kept.epoch()), (SessionProbe::Running, old));
    assert_eq!(kept.done(&exit(0)).unwrap(), LeaseTerm::Held);
    assert_eq!(queue.probe("kept").unwrap(), SessionProbe::Ended(exit(0)));
}

fn what_is_given_up_is_cut_short_and_nobody_elses(fleet: &impl Fleet) {
    let queue = fleet.queue();
    let epoch = fleet.reign();
    queue.offer("s", &spawn(epoch)).unwrap();
    take(&queue, "s").unwrap().give_up();
    assert_eq!(queue.probe("s").unwrap(), SessionProbe::Died);
    assert_eq!(queue.offer("s", &spawn(epoch)).unwrap(), SessionOffer::Taken);
    assert!(take(&queue, "s").is_none(), "a later session has another name");
}

fn who_is_cut_off_is_told_so_and_not_heard(fleet: &impl Fleet) {
    let queue = fleet.queue();
    let epoch = fleet.reign();
    queue.offer("s", &spawn(epoch)).unwrap();
    let mut lease = take(&queue, "s").unwrap();
    fleet.cut_off("s");
    assert_eq!(lease.renew().unwrap(), LeaseTerm::Lost);
    assert_eq!(lease.done(&exit(0)).unwrap(), LeaseTerm::Lost);
    let seen = queue.probe("s").unwrap();
    assert!(matches!(seen, SessionProbe::Died | SessionProbe::Nothing), "{seen:?}");
}

/// A deterministic random number generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Runs random steps: two daemons that both write, and workers that claim and end sessions.
fn a_random_story_holds<F: Fleet>(fleet: &F, seed: u64, steps: u32) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (queue, log) = (fleet.queue(), fleet.log());
    let mut epoch = fleet.reign();
    // Two writers that both believe to be the only one.
    let mut known = [LogPosition::START; 2];
    let (mut acknowledged, mut doubtful) = (Vec::new(), BTreeSet::new());
    let mut leases = BTreeMap::new();
    let (mut asked, mut taken) = (BTreeMap::new(), BTreeSet::new());
    let mut over: BTreeMap<String, SessionProbe> = BTreeMap::new();
    for step in 0..steps {
        let session = format!("s{}", chance.below(1 + steps as usize / 10));
        match chance.below(10) {
            0..=3 => {
                let who = chance.below(2);
                if chance.below(4) == 0 {
                    let troubles = [Trouble::Lost, Trouble::Torn, Trouble::AnswerLost];
                    fleet.trouble(troubles[chance.below(3)]);
                }
                let name = format!("{who}.{step}");
                match log.append("p", &record(&name), now(), Some(known[who])) {
                    Ok(seq) => {
                        known[who] = seq;
                        acknowledged.push(name);
                    }
                    Err(NotAppended::Stale) => known[who] = read(&log, "p", known[who]).1,
                    Err(NotAppended::Unknown(_)) => {
                        doubtful.insert(name);
                    }
                }
            }
            4 => {
                let by = epoch - u64::from(chance.below(3) == 0);
                let offered = queue.offer(&session, &spawn(by)).unwrap();
                assert_eq!(offered == SessionOffer::Old, by < epoch, "seed {seed}, step {step}");
                if offered == SessionOffer::Open {
                    asked.insert(session, by);
                }
            }
            5 | 6 if !asked.contains_key(&session) => {}
            5 | 6 => {
                if let Some(lease) = take(&queue, &session) {
                    assert!(taken.insert(session.clone()), "seed {seed}: `{session}` is taken twice");
                    assert_eq!((lease.epoch(), asked[&session]), (epoch, epoch), "seed {seed}");
                    leases.insert(session, lease);
                }
            }
            7 => {
                if let Some(lease) = leases.remove(&session) {
                    assert_eq!(lease.done(&exit(0)).unwrap(), LeaseTerm::Held);
                    over.insert(session, SessionProbe::Ended(exit(0)));
                }
            }
            8 => {
                if let Some(lease) = leases.remove(&session) {
                    lease.give_up();
                    over.insert(session, SessionProbe::Died);
                }
            }
            _ if chance.below(4) == 0 => epoch = fleet.reign(),
            _ => {}
        }
    }
    for (session, mut lease) in leases {
        assert_eq!(queue.probe(&session).unwrap(), SessionProbe::Running, "seed {seed}");
        assert_eq!(lease.renew().unwrap(), LeaseTerm::Held, "seed {seed}");
    }
    for (session, end) in over.iter() {
        assert_eq!(queue.probe(session).unwrap(), *end, "seed {seed}");
    }
    let (names, _) = read(&fleet.log(), "p", LogPosition::START);
    let sure: Vec<&String> = names.iter().filter(|name| !doubtful.contains(*name)).collect();
    assert_eq!(
        sure,
        acknowledged.iter().collect::<Vec<_>>(),
        "seed {seed}: all acknowledged records, once, in order"
    );
    assert_eq!(
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
        "seed {seed}: no record occurs twice"
    );
}
