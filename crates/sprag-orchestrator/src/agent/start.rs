//! Starts the agent through one step of Sprag's own program. That step ties the agent's life to the
//! supervisor and then becomes the agent in the same process.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Signal, getpgrp, getppid, set_parent_process_death_signal};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use sprag_host::purpose;
use sprag_host::sys::env::Env;
use sprag_host::sys::exec;
use sprag_plan::sandbox::NetworkAccess;

use crate::layout::SESSION_VARIABLE;
use crate::sandbox::{self, steps};
use crate::session_dir::limits::AgentTerminal;
use crate::session_dir::{SessionDir, SpawnRequest};

/// The reason why no agent runs.
#[derive(Debug)]
pub(crate) enum NoAgent {
    /// The sandbox could not be set up, so the agent was not started.
    Unconfined(String),
    NotStarted(io::Error),
}

impl From<io::Error> for NoAgent {
    fn from(error: io::Error) -> NoAgent {
        NoAgent::NotStarted(error)
    }
}

/// Starts the agent; `run` is the token by which hooks below it find their stage.
pub(crate) fn start(spawn: &SpawnRequest, site: &SessionDir, run: Option<&str>) -> Result<Child, NoAgent> {
    let us = std::env::current_exe()?;
    let mut env = spawn.env.clone();
    let port = match spawn.confined.as_ref().map(|confined| &confined.reach) {
        Some(NetworkAccess::Hosts(hosts)) => Some(sandbox::proxy::listen(hosts.clone())?),
        Some(NetworkAccess::Anybody | NetworkAccess::Nobody) | None => None,
    };
    env.extend(port.into_iter().flat_map(sandbox::proxy::env));
    let words = steps(spawn.confined.is_some().then(|| site.dir()), port);
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    if spawn.confined.is_some() {
        sandbox::try_out(&us, &args, spawn).map_err(NoAgent::Unconfined)?;
    }
    args.extend(spawn.argv.iter().map(String::as_str));
    env.push((SESSION_VARIABLE.to_owned(), site.id()));
    env.extend(run.map(|run| (purpose::VARIABLE.to_owned(), run.to_owned())));
    if spawn.watch.screen == AgentTerminal::Terminal {
        // Only processes that were started in the terminal know its type.
        env.retain(|(name, _)| name != "TERM");
        env.push(("TERM".to_owned(), Env::Real.text("TERM").unwrap_or_default()));
    }
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    if spawn.watch.screen == AgentTerminal::Pipes {
        return Ok(exec::start_piped(&us, &args, &spawn.dir, &env, spawn.stdin.as_deref())?);
    }
    let child = exec::start_in_terminal(&us, &args, &spawn.dir, &env)?;
    // The agent reads the keyboard from now on.
    tcsetpgrp(io::stdin(), Pid::from_child(&child)).map_err(io::Error::from)?;
    Ok(child)
}

/// Replaces this process with the agent. Returns only on failure.
pub fn become_agent(
    supervisor: i32,
    within: Option<(&Path, Option<u16>)>,
    argv: &[impl AsRef<OsStr>],
) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // The supervisor may have died before the death signal was set.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != supervisor) {
        return io::Error::new(io::ErrorKind::BrokenPipe, "the supervisor is gone");
    }
    // At a terminal, a process that reads while it is in the background is stopped for good.
    while rustix::termios::isatty(io::stdin()) && tcgetpgrp(io::stdin()).is_ok_and(|group| group != getpgrp())
    {
        std::thread::yield_now();
    }
    match within.map(|(site, port)| sandbox::confine(&SessionDir::at(site), port, argv)) {
        None => exec::become_program(argv),
        Some(Ok(argv)) => exec::become_program(&argv),
        Some(Err(error)) => error,
    }
}
