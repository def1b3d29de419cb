//! One agent's keeper: `sprag supervise` starts the agent of one session, outlives the daemon, keeps what it
//! prints, ends it when it must end, and leaves behind nothing of it but a record of how it went. What it
//! does not survive itself, its agent does not survive either: the kernel sees to that.

mod activity;
mod open_prompts;
pub mod output;
mod output_log;
mod process_tree;
mod start;
pub mod tmux;
mod transcript;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper, setsid};

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_host::purpose::{Purpose, PurposeGuard};
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::locations::{self, UserLocations};
use sprag_host::sys::{human, processes};
use sprag_plan::agent::activity::{AgentActivity, AgentTrouble};
use sprag_plan::agent::exit::{EndedBy, Exit, ExitStatus};
use sprag_plan::sandbox::SandboxBackend;

use crate::coordination::{LeaseTerm, LocalQueue, SessionLease, SessionQueue as _, WorkerLimits};
pub use crate::sandbox::steps;
use crate::session_dir::{self, SessionDir, SpawnRequest, SupervisorSignal};
use activity::ActivityReader;
use output_log::Streams;
use process_tree::SignalTarget;
pub use process_tree::sweep;
use start::NoAgent;
pub use start::become_agent;

/// How often children that others left to us are taken notice of.
const LOOK: Duration = Duration::from_secs(5);

/// What became of a call to supervise.
#[derive(Debug, PartialEq, Eq)]
pub enum Supervised {
    /// The agent has run, or could not, and the record says which.
    Ended(Exit),
    /// Somebody else does, or did: a session is never run twice.
    Taken,
    /// Its folder was cleared away meanwhile: the agent was ended, and nobody will hear how it went.
    Lost,
}

/// Whoever waits for it is told by `taken` once the session counts as started.
pub fn supervise(dir: &Path, disk: &dyn Disk, taken: impl FnOnce()) -> io::Result<Supervised> {
    let site = SessionDir::at(dir);
    let queue = LocalQueue::around(&site, disk);
    let Some((spawn, mut lease)) = queue.claim(WorkerLimits { session: &site.id() })? else {
        return Ok(Supervised::Taken);
    };
    taken();
    setsid().discard("it fails only where this process leads a group already");
    set_child_subreaper(Some(getpid()))?;
    let began = Instant::now();
    let kept = match prove(&spawn) {
        Ok(()) => keep(&site, &spawn, &mut lease, disk),
        Err(why) => Ok(SupervisorReport::refused(&why)),
    };
    let kept = match kept {
        Ok(kept) => kept,
        Err(error) => {
            lease.give_up();
            return Err(error);
        }
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let exit =
        Exit { v: 1, ended: kept.ended, by: kept.by, at: env::now(), millis, seen: kept.seen.map(Box::new) };
    match lease.done(&exit)? {
        LeaseTerm::Held => Ok(Supervised::Ended(exit)),
        LeaseTerm::Lost => Ok(Supervised::Lost),
    }
}

/// An agent that starts elsewhere than it was sent works at what is somebody else's.
fn prove(spawn: &SpawnRequest) -> Result<(), String> {
    let (top, _) =
        locations::worktree_of(&spawn.dir).ok_or(format!("`{}` is no worktree", spawn.dir.display()))?;
    if top != spawn.worktree {
        return Err(format!("`{}` belongs to `{}`", spawn.dir.display(), top.display()));
    }
    let branch = locations::branch_of(&spawn.worktree).unwrap_or_default();
    if branch == spawn.branch {
        Ok(())
    } else {
        Err(format!("`{}` is on `{branch}`, not on `{}`", spawn.worktree.display(), spawn.branch))
    }
}

/// An agent that was told to end, and when it is made to.
struct KillTimer {
    by: EndedBy,
    killed_at: Instant,
}

/// How it went.
struct SupervisorReport {
    ended: ExitStatus,
    by: EndedBy,
    seen: Option<AgentActivity>,
}

impl SupervisorReport {
    fn refused(why: &str) -> SupervisorReport {
        SupervisorReport {
            ended: ExitStatus::Refused { why: Text::new(why) },
            by: EndedBy::Itself,
            seen: None,
        }
    }
}

/// On record for as long as the agent lives, so that hooks and commands below it know whose they are, and that no
/// person sits there.
fn register<'d>(spawn: &SpawnRequest, disk: &'d dyn Disk) -> io::Result<Option<PurposeGuard<'d>>> {
    let (Some(stage), Some(user)) = (&spawn.watch.stage, UserLocations::find(&Env::Real)) else {
        return Ok(None);
    };
    if let Some(us) = processes::this_process() {
        human::remember(&user, disk, us)?;
    }
    PurposeGuard::begin(&user, disk, Purpose::Stage { stage: stage.clone() }).map(Some)
}

/// Starts the agent and stays until it and all it started are gone.
fn keep(
    site: &SessionDir,
    spawn: &SpawnRequest,
    lease: &mut impl SessionLease,
    disk: &dyn Disk,
) -> io::Result<SupervisorReport> {
    let words = site.listen()?;
    let run = match register(spawn, disk) {
        Ok(run) => run,
        Err(error) => return Ok(SupervisorReport::refused(&format!("it cannot be put on record: {error}"))),
    };
    let mut started = match start::start(spawn, site, run.as_ref().map(|run| run.token.as_str())) {
        Ok(started) => started,
        Err(NoAgent::Unconfined(why)) => {
            let ended = ExitStatus::Unconfined { why: Text::new(&why) };
            return Ok(SupervisorReport { ended, by: EndedBy::Itself, seen: None });
        }
        Err(NoAgent::NotStarted(error)) => {
            let program = spawn.argv.first().map_or("", String::as_str);
            return Ok(SupervisorReport::refused(&format!("`{program}` cannot be started: {error}")));
        }
    };
    let agent = Pid::from_child(&started);
    site.note_agent(disk, started.id())?;
    remember(agent, disk);
    let hears = match spawn.confined.as_ref().map(|confined| confined.by) {
        Some(SandboxBackend::Bubblewrap) => SignalTarget::AllBelow,
        Some(SandboxBackend::Landlock) | None => SignalTarget::Group,
    };
    let handle = pidfd_open(agent, PidfdFlags::empty())?;
    let mut streams = Streams::new(&mut started, site);
    let mut eyes = ActivityReader::new(&spawn.watch, site);
    let began = Instant::now();
    let deadline = began + Duration::from_secs(spawn.seconds);
    let spent = spawn.watch.allowance.seconds.map(|seconds| began + Duration::from_secs(seconds));
    let grace = Duration::from_secs(spawn.grace);
    let mut ending: Option<KillTimer> = None;
    let mut is_told = false;
    let ended = loop {
        if let Some(ended) = process_tree::reap(agent)? {
            break ended;
        }
        let now = Instant::now();
        let reason = if is_told {
            Some(EndedBy::Told)
        } else if eyes.is_over_budget() || spent.is_some_and(|spent| now >= spent) {
            Some(EndedBy::Budget)
        } else {
            (now >= deadline).then_some(EndedBy::Deadline)
        };
        let until = match (&ending, reason) {
            (None, Some(by)) => {
                process_tree::tell(agent, hears, Signal::TERM);
                ending = Some(KillTimer { by, killed_at: now + grace });
                now + grace
            }
            (None, None) => spent.map_or(deadline, |spent| spent.min(deadline)),
            (Some(ending), _) if now >= ending.killed_at => {
                process_tree::tell(agent, SignalTarget::Group, Signal::KILL);
                now + LOOK
            }
            (Some(ending), _) => ending.killed_at,
        };
        let patience = until.saturating_duration_since(now).min(LOOK);
        wait(&streams, &handle, &words, eyes.patience(now).map_or(patience, |first| first.min(patience)))?;
        streams.read_available(|said| eyes.on_output(said));
        eyes.write_if_due(site, disk);
        match session_dir::heard(&words) {
            Some(SupervisorSignal::Interrupt) => process_tree::tell(agent, hears, Signal::INT),
            Some(SupervisorSignal::Stop) => is_told = true,
            None => {}
        }
        // Who asked for it would find that nobody has it, and ask somebody else: two agents in one worktree.
        is_told |= lease.renew()? == LeaseTerm::Lost;
    };
    process_tree::end_all(agent)?;
    streams.read_available(|said| eyes.on_output(said));
    let by = ending.map_or(EndedBy::Itself, |ending| ending.by);
    let seen = eyes.close(site, disk, (by == EndedBy::Budget).then_some(AgentTrouble::Budget));
    Ok(SupervisorReport { ended, by, seen })
}

/// Whatever is below it is no person. Its hooks would say so themselves, but not from behind a wall.
fn remember(agent: Pid, disk: &dyn Disk) {
    let process = u32::try_from(agent.as_raw_nonzero().get()).ok().and_then(processes::find_process);
    if let (Some(user), Some((process, _))) = (UserLocations::find(&Env::Real), process) {
        human::remember(&user, disk, process)
            .discard("commands of a person are still refused without a terminal");
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
