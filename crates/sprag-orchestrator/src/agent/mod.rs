//! The supervisor: `sprag supervise` starts the agent of one session, outlives the daemon, stores the output,
//! stops the agent when necessary and writes an exit record. If the supervisor dies, the kernel kills the
//! agent.

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

/// How often the supervisor reaps children that lost their parent.
const LOOK: Duration = Duration::from_secs(5);

/// The result of a call to `supervise`.
#[derive(Debug, PartialEq, Eq)]
pub enum Supervised {
    /// The agent ran or could not start; the exit record says which.
    Ended(Exit),
    /// Another supervisor runs or ran this session; Sprag never runs a session twice.
    Taken,
    /// The session directory was removed meanwhile: the agent was stopped and no exit record was written.
    Lost,
}

/// Runs the agent of a session until it ends. Calls `taken` once the session counts as started.
pub fn supervise(dir: &Path, disk: &dyn Disk, taken: impl FnOnce()) -> io::Result<Supervised> {
    let site = SessionDir::at(dir);
    let queue = LocalQueue::around(&site, disk);
    let Some((spawn, mut lease)) = queue.claim(WorkerLimits { session: &site.id() })? else {
        return Ok(Supervised::Taken);
    };
    taken();
    setsid().discard("`setsid` fails only if this process already leads a group");
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

/// Checks that the agent starts in the requested worktree and branch; elsewhere it could change the work of
/// another stage.
fn prove(spawn: &SpawnRequest) -> Result<(), String> {
    let (top, _) =
        locations::worktree_of(&spawn.dir).ok_or(format!("`{}` is not a worktree", spawn.dir.display()))?;
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

/// An agent that received a stop signal, and the time at which the supervisor kills it.
struct KillTimer {
    by: EndedBy,
    killed_at: Instant,
}

/// The result of one supervised agent.
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

/// Registers the agent's stage while the agent lives. Hooks and commands below it then know their stage, and
/// that they do not belong to a person.
fn register<'d>(spawn: &SpawnRequest, disk: &'d dyn Disk) -> io::Result<Option<PurposeGuard<'d>>> {
    let (Some(stage), Some(user)) = (&spawn.watch.stage, UserLocations::find(&Env::Real)) else {
        return Ok(None);
    };
    if let Some(us) = processes::this_process() {
        human::remember(&user, disk, us)?;
    }
    PurposeGuard::begin(&user, disk, Purpose::Stage { stage: stage.clone() }).map(Some)
}

/// Starts the agent and waits until it and all processes that it started are gone.
fn keep(
    site: &SessionDir,
    spawn: &SpawnRequest,
    lease: &mut impl SessionLease,
    disk: &dyn Disk,
) -> io::Result<SupervisorReport> {
    let words = site.listen()?;
    let run = match register(spawn, disk) {
        Ok(run) => run,
        Err(error) => return Ok(SupervisorReport::refused(&format!("cannot register the agent: {error}"))),
    };
    let mut started = match start::start(spawn, site, run.as_ref().map(|run| run.token.as_str())) {
        Ok(started) => started,
        Err(NoAgent::Unconfined(why)) => {
            let ended = ExitStatus::Unconfined { why: Text::new(&why) };
            return Ok(SupervisorReport { ended, by: EndedBy::Itself, seen: None });
        }
        Err(NoAgent::NotStarted(error)) => {
            let program = spawn.argv.first().map_or("", String::as_str);
            return Ok(SupervisorReport::refused(&format!("cannot start `{program}`: {error}")));
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
        // The daemon would find the session free and start a second agent in the same worktree.
        is_told |= lease.renew()? == LeaseTerm::Lost;
    };
    process_tree::end_all(agent)?;
    streams.read_available(|said| eyes.on_output(said));
    let by = ending.map_or(EndedBy::Itself, |ending| ending.by);
    let seen = eyes.close(site, disk, (by == EndedBy::Budget).then_some(AgentTrouble::Budget));
    Ok(SupervisorReport { ended, by, seen })
}

/// Records that processes below the agent are not a person. Hooks in a sandbox cannot write that record
/// themselves.
fn remember(agent: Pid, disk: &dyn Disk) {
    let process = u32::try_from(agent.as_raw_nonzero().get()).ok().and_then(processes::find_process);
    if let (Some(user), Some((process, _))) = (UserLocations::find(&Env::Real), process) {
        human::remember(&user, disk, process)
            .discard("without a terminal, Sprag still refuses commands for people only");
    }
}

/// Waits until the agent ends, prints something or a signal for the supervisor arrives.
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
