//! Starting the agent. Between us and it stands one step of our own program, which ties its life to ours and
//! then becomes the agent: same process, nothing in between.

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

/// Why there is no agent.
#[derive(Debug)]
pub(crate) enum NoAgent {
    /// Its walls could not be built. Without them it is not let go.
    Unconfined(String),
    NotStarted(io::Error),
}

impl From<io::Error> for NoAgent {
    fn from(error: io::Error) -> NoAgent {
        NoAgent::NotStarted(error)
    }
}

/// `run` is the token by which hooks below it know whose they are.
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
        // What the terminal is, only those know who were started in it.
        env.retain(|(name, _)| name != "TERM");
        env.push(("TERM".to_owned(), Env::Real.text("TERM").unwrap_or_default()));
    }
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    if spawn.watch.screen == AgentTerminal::Pipes {
        return Ok(exec::start_piped(&us, &args, &spawn.dir, &env, spawn.stdin.as_deref())?);
    }
    let child = exec::start_in_terminal(&us, &args, &spawn.dir, &env)?;
    // The keyboard is the agent's now.
    tcsetpgrp(io::stdin(), Pid::from_child(&child)).map_err(io::Error::from)?;
    Ok(child)
}

/// Becomes the agent. Returns only if that fails.
pub fn become_agent(
    supervisor: i32,
    within: Option<(&Path, Option<u16>)>,
    argv: &[impl AsRef<OsStr>],
) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // It may have died before it could be said.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != supervisor) {
        return io::Error::new(io::ErrorKind::BrokenPipe, "the supervisor is gone");
    }
    // At a terminal, whoever reads before the keyboard is theirs is stopped for good.
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
