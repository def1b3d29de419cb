//! The interface that several machines would share: the log of a run, the queue of sessions, and the lease
//! under which a worker runs a session. Today files of one machine implement it: [`Files`] and
//! [`LocalQueue`].
//!
//! Another implementation must pass `tests/conformance.rs`. The lease alone never protects against two
//! writers. The epoch and the attempt in an offer do, and so do the position in a log and the commit that a
//! reference is moved from.
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

/// A position in a log: the end of a record. Later positions are larger; the difference has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition(pub u64);

impl LogPosition {
    /// The position before the first record.
    pub const START: LogPosition = LogPosition(0);
}

/// Records of each plan, in one order that is the same for all readers.
pub trait RunLogBackend {
    /// Appends a record. After success the record is durable. With `expect` it is written only if that
    /// position is still the end of the log.
    fn append(
        &self,
        subject: &str,
        record: &RunRecord,
        at: Timestamp,
        expect: Option<LogPosition>,
    ) -> Result<LogPosition, NotAppended>;

    /// Passes every record after a position to `take`; returns the end of the last record.
    fn read(
        &self,
        subject: &str,
        from: LogPosition,
        take: &mut dyn FnMut(RunRecord, Timestamp),
    ) -> io::Result<LogPosition>;
}

#[derive(Debug)]
pub enum NotAppended {
    /// Another writer appended in between; the caller must read its records first.
    Stale,
    /// The record may have been written or not. A retry with the same expectation never writes it twice.
    Unknown(io::Error),
}

impl From<io::Error> for NotAppended {
    fn from(error: io::Error) -> NotAppended {
        NotAppended::Unknown(error)
    }
}

/// Sessions that were requested and wait for a worker. Each session is claimed at most once; a later session
/// has another name.
pub trait SessionQueue {
    type Lease: SessionLease;

    /// Requests a session. Repeating the request has no effect while no worker has claimed the session.
    fn offer(&self, session: &str, spawn: &SpawnRequest) -> io::Result<SessionOffer>;

    /// Claims the session for a worker. Returns `None` if another worker has it, or if the request has an old
    /// epoch.
    fn claim(&self, caps: WorkerLimits<'_>) -> io::Result<Option<(SpawnRequest, Self::Lease)>>;

    /// Returns the state of a session.
    fn probe(&self, session: &str) -> io::Result<SessionProbe>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOffer {
    Open,
    /// A worker has or had the session.
    Taken,
    /// A later epoch than that of the request has begun.
    Old,
}

/// The sessions that a worker can claim. A worker of this machine is started for exactly one session.
#[derive(Clone, Copy, Debug)]
pub struct WorkerLimits<'a> {
    pub session: &'a str,
}

/// The lease of a worker on a session.
pub trait SessionLease {
    /// Returns the epoch of the request.
    fn epoch(&self) -> u64;

    /// Checks the lease. Workers call this repeatedly, and a worker that lost the lease stops its agent.
    fn renew(&mut self) -> io::Result<LeaseTerm>;

    /// Records the exit of the session; records nothing if the lease is lost.
    fn done(self, exit: &Exit) -> io::Result<LeaseTerm>;

    /// Ends the lease without an exit record. The session counts as died.
    fn give_up(self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseTerm {
    Held,
    Lost,
}

impl RunLayout {
    /// Returns the queue of sessions.
    pub fn queue<'d>(&self, disk: &'d dyn Disk) -> LocalQueue<'d> {
        LocalQueue::new(&self.run, disk)
    }
}
