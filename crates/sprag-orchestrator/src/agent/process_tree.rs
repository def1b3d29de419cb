//! An agent and all processes that it started. The supervisor is a subreaper, so processes that lose their
//! parent become its children. `sweep` finds processes of a dead supervisor by the session variable.

use std::io;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait, waitpid};

use sprag_base::result::Discard as _;
use sprag_host::sys::processes;
use sprag_plan::agent::exit::ExitStatus;

use crate::layout::SESSION_VARIABLE;

/// More rounds than any process can fork against `SIGKILL`.
const ROUNDS: usize = 200;

/// Reaps every child that has ended; returns the exit status of the agent once it has ended.
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

/// The processes that receive a signal for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalTarget {
    Group,
    /// `bwrap` wraps the agent and would end at once, so the processes below it get the signal.
    AllBelow,
}

/// Sends a signal to the agent and the processes it started. Ignores processes that are gone.
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

/// Kills every process below the supervisor after the agent has ended.
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
        // Each process ends soon and is a child of this process by then.
        for process in left {
            if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                waitpid(Some(pid), WaitOptions::empty())
                    .discard("a process further down is reaped by its parent");
            }
        }
    }
    Err(io::Error::other("processes of the agent do not end"))
}

/// Kills the processes that the agent of a dead supervisor left; returns their number.
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
