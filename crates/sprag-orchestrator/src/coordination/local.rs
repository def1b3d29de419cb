//! The queue of one machine: a folder for each session, and a supervisor that the daemon starts for it. The lease is the
//! lock of the folder, which the kernel holds for as long as the supervisor lives and takes back when it dies.

use std::io;
use std::path::{Path, PathBuf};

use sprag_host::sys::disk::Disk;
use sprag_plan::agent::exit::Exit;

use super::{Caps, Lease, Offered, Queue, Tenure};
use crate::session_dir::{Claim, Lock, Probe, Site, Spawn};

pub struct Local<'d> {
    /// Of all sessions.
    folder: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> Local<'d> {
    /// The queue of the runs in this folder.
    pub fn of(run: &Path, disk: &'d dyn Disk) -> Local<'d> {
        Local { folder: run.join("s"), disk }
    }

    /// The queue that has the folder of this session.
    pub fn around(site: &Site, disk: &'d dyn Disk) -> Local<'d> {
        Local { folder: site.dir().parent().unwrap_or(Path::new("")).to_path_buf(), disk }
    }

    fn site(&self, session: &str) -> Site {
        Site::at(&self.folder.join(session))
    }
}

impl<'d> Queue for Local<'d> {
    type Lease = Held<'d>;

    fn offer(&self, session: &str, spawn: &Spawn) -> io::Result<Offered> {
        let site = self.site(session);
        if site.epoch()? > spawn.epoch {
            return Ok(Offered::Old);
        }
        // Not the lock: one of an earlier reign may hold it only to find that it has no say.
        if site.is_claimed() {
            return Ok(Offered::Taken);
        }
        site.ask(self.disk, spawn)?;
        Ok(Offered::Open)
    }

    fn take(&self, caps: Caps<'_>) -> io::Result<Option<(Spawn, Held<'d>)>> {
        let site = self.site(caps.session);
        let Some(lock) = site.lock()? else { return Ok(None) };
        let spawn = site.spawn()?;
        if site.epoch()? > spawn.epoch || site.claim(self.disk)? == Claim::Taken {
            return Ok(None);
        }
        let epoch = spawn.epoch;
        Ok(Some((spawn, Held { site, lock, epoch, disk: self.disk })))
    }

    fn look(&self, session: &str) -> io::Result<Probe> {
        self.site(session).probe()
    }
}

/// A session that this process keeps.
pub struct Held<'d> {
    site: Site,
    lock: Lock,
    epoch: u64,
    disk: &'d dyn Disk,
}

impl Lease for Held<'_> {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Nothing takes a lock from a process that lives. But whoever clears its folder away lets the session look as if
    /// nobody had it.
    fn renew(&mut self) -> io::Result<Tenure> {
        self.tenure()
    }

    fn done(self, exit: &Exit) -> io::Result<Tenure> {
        if self.tenure()? == Tenure::Held {
            self.site.leave(self.disk, exit)?;
            return Ok(Tenure::Held);
        }
        Ok(Tenure::Lost)
    }

    fn give_up(self) {
        drop(self.lock);
    }
}

impl Held<'_> {
    fn tenure(&self) -> io::Result<Tenure> {
        Ok(if self.lock.is_there()? { Tenure::Held } else { Tenure::Lost })
    }
}
