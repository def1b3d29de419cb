//! One agent's keeper: `sprag supervise` starts the agent of one session, outlives the daemon, keeps what it
//! prints, ends it when it must end, and leaves behind nothing of it but a record of how it went. What it
//! does not survive itself, its agent does not survive either: the kernel sees to that.

mod agent;
mod family;
pub mod sandbox;
pub mod site;
mod streams;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper, setsid};
use sprag_core::plan::exit::{By, Ended, Exit};
use sprag_core::plan::sandbox::Wall;
use sprag_core::text::Text;

use crate::disk::Disk;
use crate::env::{self, Env};
use crate::person;
use crate::places::{self, UserPlaces};
use crate::processes;

use agent::NoAgent;
pub use agent::become_agent;
use family::Hears;
pub use family::sweep;
use site::{Claim, Site, Spawn, Word};
use streams::Streams;

/// Names the session to everything its agent starts.
pub const VARIABLE: &str = "SPRAG_SESSION";
/// How often children that others left to us are taken notice of.
const LOOK: Duration = Duration::from_secs(5);

/// What became of a call to supervise.
#[derive(Debug, PartialEq, Eq)]
pub enum Supervised {
    /// The agent has run, or could not, and the record says which.
    Ended(Exit),
    /// Somebody else does, or did: a session is never run twice.
    Taken,
}

/// Whoever waits for it is told by `taken` once the session counts as started.
pub fn supervise(dir: &Path, disk: &dyn Disk, taken: impl FnOnce()) -> io::Result<Supervised> {
    let site = Site::at(dir);
    let Some(_for_life) = site.lock()? else {
        return Ok(Supervised::Taken);
    };
    let spawn = site.spawn()?;
    if site.epoch()? > spawn.epoch || site.claim(disk)? == Claim::Taken {
        return Ok(Supervised::Taken);
    }
    taken();
    // Fails where we lead a group already, which does as well.
    setsid().map(drop).unwrap_or_default();
    set_child_subreaper(Some(getpid()))?;
    let began = Instant::now();
    let (ended, by) = match prove(&spawn) {
        Ok(()) => keep(&site, &spawn, disk)?,
        Err(why) => (Ended::Refused { why: Text::new(&why) }, By::Itself),
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let exit = Exit { v: 1, ended, by, at: env::now(), millis };
    site.leave(disk, &exit)?;
    Ok(Supervised::Ended(exit))
}

/// An agent that starts elsewhere than it was sent works at what is somebody else's.
fn prove(spawn: &Spawn) -> Result<(), String> {
    let (top, _) =
        places::worktree_of(&spawn.dir).ok_or(format!("`{}` is no worktree", spawn.dir.display()))?;
    if top != spawn.worktree {
        return Err(format!("`{}` belongs to `{}`", spawn.dir.display(), top.display()));
    }
    let branch = places::branch_of(&spawn.worktree).unwrap_or_default();
    match branch == spawn.branch {
        true => Ok(()),
        false => Err(format!("`{}` is on `{branch}`, not on `{}`", spawn.worktree.display(), spawn.branch)),
    }
}

/// An agent that was told to end, and when it is made to.
struct Ending {
    by: By,
    killed_at: Instant,
}

/// Starts the agent and stays until it and all it started are gone.
fn keep(site: &Site, spawn: &Spawn, disk: &dyn Disk) -> io::Result<(Ended, By)> {
    let words = site.listen()?;
    let mut started = match agent::start(spawn, site) {
        Ok(started) => started,
        Err(NoAgent::Unconfined(why)) => {
            return Ok((Ended::Unconfined { why: Text::new(&why) }, By::Itself));
        }
        Err(NoAgent::NotStarted(error)) => {
            let program = spawn.argv.first().map_or("", String::as_str);
            let why = format!("`{program}` cannot be started: {error}");
            return Ok((Ended::Refused { why: Text::new(&why) }, By::Itself));
        }
    };
    let agent = Pid::from_child(&started);
    site.note_agent(disk, started.id())?;
    remember(agent, disk);
    let hears = match spawn.confined.as_ref().map(|confined| confined.by) {
        Some(Wall::Bubblewrap) => Hears::AllBelow,
        Some(Wall::Landlock) | None => Hears::Group,
    };
    let handle = pidfd_open(agent, PidfdFlags::empty())?;
    let mut streams = Streams::new(&mut started, site);
    let deadline = Instant::now() + Duration::from_secs(spawn.seconds);
    let grace = Duration::from_secs(spawn.grace);
    let mut ending: Option<Ending> = None;
    let mut is_told = false;
    let ended = loop {
        if let Some(ended) = family::reap(agent)? {
            break ended;
        }
        let now = Instant::now();
        let until = match &ending {
            None if is_told || now >= deadline => {
                family::tell(agent, hears, Signal::TERM);
                let by = if is_told { By::Told } else { By::Deadline };
                ending = Some(Ending { by, killed_at: now + grace });
                now + grace
            }
            None => deadline,
            Some(ending) if now >= ending.killed_at => {
                family::tell(agent, Hears::Group, Signal::KILL);
                now + LOOK
            }
            Some(ending) => ending.killed_at,
        };
        wait(&streams, &handle, &words, until.saturating_duration_since(now).min(LOOK))?;
        streams.take();
        match site::heard(&words) {
            Some(Word::Interrupt) => family::tell(agent, hears, Signal::INT),
            Some(Word::Stop) => is_told = true,
            None => {}
        }
    };
    family::end_all(agent)?;
    streams.take();
    Ok((ended, ending.map_or(By::Itself, |ending| ending.by)))
}

/// Whatever is below it is no person. Its hooks would say so themselves, but not from behind a wall.
fn remember(agent: Pid, disk: &dyn Disk) {
    let process = u32::try_from(agent.as_raw_nonzero().get()).ok().and_then(processes::look);
    if let (Some(user), Some((process, _))) = (UserPlaces::find(&Env::Real), process) {
        person::remember(&user, disk, process).unwrap_or_default();
    }
}

/// Until the agent ends, prints or somebody speaks.
fn wait(streams: &Streams, agent: &OwnedFd, words: &UnixDatagram, patience: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
    let mut watched = streams.watched();
    watched.push(PollFd::new(agent, PollFlags::IN));
    watched.push(PollFd::new(words, PollFlags::IN));
    match poll(&mut watched, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
