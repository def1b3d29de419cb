//! The queue of one machine: a folder for each session, and a supervisor that the daemon starts for it. The
//! lease is the lock of the folder. The kernel releases the lock when the supervisor dies.

use std::io;
use std::path::{Path, PathBuf};

use sprag_host::sys::disk::Disk;
use sprag_plan::agent::exit::Exit;

use super::{LeaseTerm, SessionLease, SessionOffer, SessionQueue, WorkerLimits};
use crate::session_dir::{AcquireResult, SessionDir, SessionProbe, SpawnRequest, SupervisorLock};

pub struct LocalQueue<'d> {
    /// The folder of all sessions.
    folder: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> LocalQueue<'d> {
    /// Returns the queue of the runs in this folder.
    pub fn new(run: &Path, disk: &'d dyn Disk) -> LocalQueue<'d> {
        LocalQueue { folder: run.join("s"), disk }
    }

    /// Returns the queue that contains this session.
    pub fn around(site: &SessionDir, disk: &'d dyn Disk) -> LocalQueue<'d> {
        LocalQueue { folder: site.dir().parent().unwrap_or(Path::new("")).to_path_buf(), disk }
    }

    fn site(&self, session: &str) -> SessionDir {
        SessionDir::at(&self.folder.join(session))
    }
}

impl<'d> SessionQueue for LocalQueue<'d> {
    type Lease = HeldSession<'d>;

    fn offer(&self, session: &str, spawn: &SpawnRequest) -> io::Result<SessionOffer> {
        let site = self.site(session);
        if site.epoch()? > spawn.epoch {
            return Ok(SessionOffer::Old);
        }
        // The lock does not count: a supervisor of an earlier epoch may hold it briefly until it finds a
        // newer epoch.
        if site.is_claimed() {
            return Ok(SessionOffer::Taken);
        }
        site.ask(self.disk, spawn)?;
        Ok(SessionOffer::Open)
    }

    fn claim(&self, caps: WorkerLimits<'_>) -> io::Result<Option<(SpawnRequest, HeldSession<'d>)>> {
        let site = self.site(caps.session);
        let Some(lock) = site.lock()? else { return Ok(None) };
        let spawn = site.spawn()?;
        if site.epoch()? > spawn.epoch || site.claim(self.disk)? == AcquireResult::Taken {
            return Ok(None);
        }
        let epoch = spawn.epoch;
        Ok(Some((spawn, HeldSession { site, lock, epoch, disk: self.disk })))
    }

    fn probe(&self, session: &str) -> io::Result<SessionProbe> {
        self.site(session).probe()
    }
}

/// A session that this process supervises.
pub struct HeldSession<'d> {
    site: SessionDir,
    lock: SupervisorLock,
    epoch: u64,
    disk: &'d dyn Disk,
}

impl SessionLease for HeldSession<'_> {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Checks that the lock file still exists. No one can take the lock from a living process, but a removed
    /// session directory makes the session look free.
    fn renew(&mut self) -> io::Result<LeaseTerm> {
        self.tenure()
    }

    fn done(self, exit: &Exit) -> io::Result<LeaseTerm> {
        if self.tenure()? == LeaseTerm::Held {
            self.site.leave(self.disk, exit)?;
            return Ok(LeaseTerm::Held);
        }
        Ok(LeaseTerm::Lost)
    }

    fn give_up(self) {
        drop(self.lock);
    }
}

impl HeldSession<'_> {
    fn tenure(&self) -> io::Result<LeaseTerm> {
        Ok(if self.lock.is_there()? { LeaseTerm::Held } else { LeaseTerm::Lost })
    }
}
