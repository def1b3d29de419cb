//! Starting the agent. Between us and it stands one step of our own program, which ties its life to ours and
//! then becomes the agent: same process, nothing in between.

use std::ffi::OsStr;
use std::io;
use std::process::Child;

use rustix::process::{Pid, Signal, getpgrp, getpid, getppid, set_parent_process_death_signal};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::VARIABLE;
use super::site::{Site, Spawn};
use super::watch::Screen;
use crate::env::Env;
use crate::exec;
use crate::runs;

/// The flag by which our program is told to become an agent.
const AS_AGENT: &str = "--as-agent-of";

/// `run` is the token by which hooks below it know whose they are.
pub fn start(spawn: &Spawn, site: &Site, run: Option<&str>) -> io::Result<Child> {
    let us = std::env::current_exe()?;
    let supervisor = getpid().as_raw_nonzero().to_string();
    let mut args = vec!["supervise", AS_AGENT, &supervisor, "--"];
    args.extend(spawn.argv.iter().map(String::as_str));
    let id = site.id();
    let mut env: Vec<(&str, &str)> =
        spawn.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    env.push((VARIABLE, &id));
    env.extend(run.map(|run| (runs::VARIABLE, run)));
    if spawn.watch.screen == Screen::Pipes {
        return exec::start_piped(&us, &args, &spawn.dir, &env, spawn.stdin.as_deref());
    }
    // What the terminal is, only those know who were started in it.
    let term = Env::Real.text("TERM").unwrap_or_default();
    env.retain(|(name, _)| *name != "TERM");
    env.push(("TERM", &term));
    let child = exec::start_in_terminal(&us, &args, &spawn.dir, &env)?;
    // The keyboard is the agent's now.
    tcsetpgrp(io::stdin(), Pid::from_child(&child))?;
    Ok(child)
}

/// Becomes the agent. Returns only if that fails.
pub fn become_agent(supervisor: i32, argv: &[impl AsRef<OsStr>]) -> io::Error {
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
    exec::become_program(argv)
}
