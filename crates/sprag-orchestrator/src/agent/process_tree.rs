//! An agent and all it started. Whatever loses its parent on the way becomes the supervisor's child, so nobody
//! slips out; what a dead supervisor could not end any more is found by the name of the session.

use std::io;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait, waitpid};

use sprag_base::result::Discard as _;
use sprag_host::sys::processes;
use sprag_plan::agent::exit::ExitStatus;

use crate::layout::SESSION_VARIABLE;

/// More than anything forks against a signal that cannot be caught.
const ROUNDS: usize = 200;

/// Takes notice of every child that has ended; says how the agent did, once it has.
pub(crate) fn reap(agent: Pid) -> io::Result<Option<ExitStatus>> {
    let mut found = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == agent => found = found.or(ended(status)),
            Ok(Some(_)) => {}
            Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(found),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ended(status: WaitStatus) -> Option<ExitStatus> {
    status.exit_status().map(ExitStatus::Code).or_else(|| status.terminating_signal().map(ExitStatus::Signal))
}

/// Who hears what is said to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalTarget {
    Group,
    /// The process we know only stands before the agent, and ends at once where the agent has time to.
    AllBelow,
}

/// Says it to the agent and what it started. Whoever is gone needs to hear nothing.
pub(crate) fn tell(agent: Pid, hears: SignalTarget, signal: Signal) {
    match hears {
        SignalTarget::Group => kill_process_group(agent, signal).unwrap_or_default(),
        SignalTarget::AllBelow => {
            let agent = u32::try_from(agent.as_raw_nonzero().get()).unwrap_or(0);
            for process in processes::below(agent) {
                processes::signal(process, signal);
            }
        }
    }
}

/// Ends everything below us: the agent is gone, and what it left behind goes too.
pub(crate) fn end_all(agent: Pid) -> io::Result<()> {
    tell(agent, SignalTarget::Group, Signal::KILL);
    let us = u32::try_from(getpid().as_raw_nonzero().get()).unwrap_or(0);
    for _ in 0..ROUNDS {
        let left = processes::below(us);
        if left.is_empty() {
            return Ok(());
        }
        for process in left.iter() {
            processes::signal(*process, Signal::KILL);
        }
        // Each of them ends in a moment, and is our child by then.
        for process in left {
            if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                waitpid(Some(pid), WaitOptions::empty())
                    .discard("a process further down is reaped by its parent");
            }
        }
    }
    Err(io::Error::other("what the agent started does not end"))
}

/// Ends what a dead supervisor's agent left, and says how many they were.
pub fn sweep(session: &str) -> usize {
    let mut swept = 0;
    for _ in 0..ROUNDS {
        let left = processes::with_variable(SESSION_VARIABLE, session);
        if left.is_empty() {
            break;
        }
        swept += left.len();
        for process in left.iter() {
            processes::signal(*process, Signal::KILL);
        }
    }
    swept
}
