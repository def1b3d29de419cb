//! What would lie between machines if there were several: the log of a run, the queue of sessions that somebody is to
//! keep, and the lease under which somebody keeps one. Behind them are files of one machine: [`Files`] and [`LocalQueue`].
//! Whatever takes their place has to hold what `tests/conformance.rs` asks of them; what fences is never the lease, but
//! the reign and the attempt in an offer, the place in a log and the commit a reference is moved from.
//!
//! [`Files`]: crate::run_log

pub(crate) mod local;
#[cfg(test)]
mod tests;

use std::io;

use sprag_base::time::Timestamp;
use sprag_host::sys::disk::Disk;
use sprag_plan::agent::exit::Exit;
use sprag_plan::run::record::RunRecord;

use crate::layout::RunLayout;
use crate::session_dir::{SessionProbe, SpawnRequest};
pub use local::{HeldSession, LocalQueue};

/// A place in a log: where a record ends. A later one is larger, and nothing else follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition(pub u64);

impl LogPosition {
    /// Before the first record.
    pub const START: LogPosition = LogPosition(0);
}

/// Records by the plan they are about, in one order that everybody sees.
pub trait RunLogBackend {
    /// What this returns for is there for ever. With an expectation it is written only where nothing was since.
    fn append(
        &self,
        subject: &str,
        record: &RunRecord,
        at: Timestamp,
        expect: Option<LogPosition>,
    ) -> Result<LogPosition, NotAppended>;

    /// Every record after a place; says where the last one ends.
    fn read(
        &self,
        subject: &str,
        from: LogPosition,
        take: &mut dyn FnMut(RunRecord, Timestamp),
    ) -> io::Result<LogPosition>;
}

#[derive(Debug)]
pub enum NotAppended {
    /// Somebody else has written since: who expected otherwise has no say before it has read that.
    Stale,
    /// It is there or it is not. Tried again with the same expectation it is never there twice.
    Unknown(io::Error),
}

impl From<io::Error> for NotAppended {
    fn from(error: io::Error) -> NotAppended {
        NotAppended::Unknown(error)
    }
}

/// Sessions that were asked for and that somebody is to keep. Each is taken once, whoever asks and however often:
/// what comes after it has another name.
pub trait SessionQueue {
    type Lease: SessionLease;

    /// Asks for a session; once more, as long as nobody has it, is the same.
    fn offer(&self, session: &str, spawn: &SpawnRequest) -> io::Result<SessionOffer>;

    /// What of it this worker can take on; `None`: somebody else has it, or who asked for it has no say any more.
    fn claim(&self, caps: WorkerLimits<'_>) -> io::Result<Option<(SpawnRequest, Self::Lease)>>;

    /// How a session stands, for who asked for it.
    fn probe(&self, session: &str) -> io::Result<SessionProbe>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOffer {
    Open,
    /// Somebody has it, or had.
    Taken,
    /// A later reign has begun than the one that asks.
    Old,
}

/// What a worker can take on. One of this machine is started for one session, and takes that or none.
#[derive(Clone, Copy, Debug)]
pub struct WorkerLimits<'a> {
    pub session: &'a str,
}

/// Held by whoever keeps a session.
pub trait SessionLease {
    /// The reign that asked for it.
    fn epoch(&self) -> u64;

    /// To be asked again and again: who has lost it ends what it keeps.
    fn renew(&mut self) -> io::Result<LeaseTerm>;

    /// How the session went; nobody hears it from one who has lost it.
    fn done(self, exit: &Exit) -> io::Result<LeaseTerm>;

    /// There will be no such word. The session counts as cut short.
    fn give_up(self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseTerm {
    Held,
    Lost,
}

impl RunLayout {
    /// Where sessions are asked for.
    pub fn queue<'d>(&self, disk: &'d dyn Disk) -> LocalQueue<'d> {
        LocalQueue::new(&self.run, disk)
    }
}
