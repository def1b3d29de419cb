//! Starting the agent. Between us and it stands one step of our own program, which ties its life to ours and
//! then becomes the agent: same process, nothing in between.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use super::VARIABLE;
use super::site::{Site, Spawn};

/// The flag by which our program is told to become an agent.
const AS_AGENT: &str = "--as-agent-of";

#[expect(
    clippy::disallowed_methods,
    reason = "an agent is no program that is waited for: it has no cap and no reader"
)]
pub fn start(spawn: &Spawn, site: &Site) -> io::Result<Child> {
    let us = std::env::current_exe()?;
    let input = match &spawn.stdin {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    };
    Command::new(us)
        .args(["supervise", AS_AGENT, &getpid().as_raw_nonzero().to_string(), "--"])
        .args(&spawn.argv)
        .current_dir(&spawn.dir)
        .env_clear()
        .envs(spawn.env.iter().map(|(name, value)| (name, value)))
        .env(VARIABLE, site.id())
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Becomes the agent. Returns only if that fails.
#[expect(clippy::disallowed_methods, reason = "no process is started: this one becomes another program")]
pub fn become_agent(supervisor: i32, argv: &[impl AsRef<OsStr>]) -> io::Error {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // It may have died before it could be said.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != supervisor) {
        return io::Error::new(io::ErrorKind::BrokenPipe, "the supervisor is gone");
    }
    match argv.split_first() {
        Some((program, args)) => Command::new(program).args(args).exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}
