//! Starting the agent. Between us and it stands one step of our own program, which ties its life to ours and
//! then becomes the agent: same process, nothing in between.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Signal, getpgrp, getpid, getppid, set_parent_process_death_signal};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use sprag_plan::sandbox::Reach;

use super::site::{Site, Spawn};
use super::watch::Screen;
use super::{VARIABLE, sandbox};
use crate::purpose;
use crate::sys::env::Env;
use crate::sys::exec;

/// The flag by which our program is told to become an agent.
const AS_AGENT: &str = "--as-agent-of";
/// And that its walls are on record in this folder.
const WITHIN: &str = "--within";
/// With the port of the go-between, where there is one.
const THROUGH: &str = "--through";

/// Why there is no agent.
#[derive(Debug)]
pub enum NoAgent {
    /// Its walls could not be built. Without them it is not let go.
    Unconfined(String),
    NotStarted(io::Error),
}

impl From<io::Error> for NoAgent {
    fn from(error: io::Error) -> NoAgent {
        NoAgent::NotStarted(error)
    }
}

/// What our program is told to become a program, within the walls that are on record in a folder.
pub fn steps(within: Option<&Path>, port: Option<u16>) -> Vec<String> {
    let mut words = vec!["supervise".to_owned(), AS_AGENT.to_owned(), getpid().as_raw_nonzero().to_string()];
    words.extend(within.into_iter().flat_map(|site| [WITHIN.to_owned(), site.display().to_string()]));
    words.extend(port.into_iter().flat_map(|port| [THROUGH.to_owned(), port.to_string()]));
    words.push("--".to_owned());
    words
}

/// `run` is the token by which hooks below it know whose they are.
pub fn start(spawn: &Spawn, site: &Site, run: Option<&str>) -> Result<Child, NoAgent> {
    let us = std::env::current_exe()?;
    let mut env = spawn.env.clone();
    let port = match spawn.confined.as_ref().map(|confined| &confined.reach) {
        Some(Reach::Hosts(hosts)) => Some(sandbox::proxy::listen(hosts.clone())?),
        Some(Reach::Anybody | Reach::Nobody) | None => None,
    };
    env.extend(port.into_iter().flat_map(sandbox::proxy::env));
    let words = steps(spawn.confined.is_some().then(|| site.dir()), port);
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    if spawn.confined.is_some() {
        sandbox::try_out(&us, &args, spawn).map_err(NoAgent::Unconfined)?;
    }
    args.extend(spawn.argv.iter().map(String::as_str));
    env.push((VARIABLE.to_owned(), site.id()));
    env.extend(run.map(|run| (purpose::VARIABLE.to_owned(), run.to_owned())));
    if spawn.watch.screen == Screen::Terminal {
        // What the terminal is, only those know who were started in it.
        env.retain(|(name, _)| name != "TERM");
        env.push(("TERM".to_owned(), Env::Real.text("TERM").unwrap_or_default()));
    }
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    if spawn.watch.screen == Screen::Pipes {
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
    match within.map(|(site, port)| sandbox::enter(&Site::at(site), port, argv)) {
        None => exec::become_program(argv),
        Some(Ok(argv)) => exec::become_program(&argv),
        Some(Err(error)) => error,
    }
}
