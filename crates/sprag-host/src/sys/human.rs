//! Telling a person from an agent. Some commands are a person's: they need a terminal, and they
//! refuse below a process that calls our hooks. Such processes are known from the hooks they
//! called, by number and start time, not by name.

use std::fs;
use std::io::IsTerminal as _;

use sprag_govern::session_facts::Process;

use crate::sys::disk::{self, Disk};
use crate::sys::locations::UserLocations;
use crate::sys::processes::find_process;

/// Why this is not taken for a person.
#[derive(Debug, PartialEq, Eq)]
pub enum NotHuman {
    NoTerminal,
    BelowAgent { pid: u32 },
}

pub fn check(user: Option<&UserLocations>) -> Result<(), NotHuman> {
    check_not_agent(user)?;
    if std::io::stdin().is_terminal() { Ok(()) } else { Err(NotHuman::NoTerminal) }
}

/// For what a script of the user's may do, but no agent.
pub fn check_not_agent(user: Option<&UserLocations>) -> Result<(), NotHuman> {
    let agent = user.and_then(|user| ancestors().into_iter().find(|process| is_recorded(user, process)));
    match agent {
        Some(agent) => Err(NotHuman::BelowAgent { pid: agent.pid }),
        None => Ok(()),
    }
}

/// The same, by the clients of these sessions: what the environment says plays no part in it.
pub fn check_not_below(clients: &[Process]) -> Result<(), NotHuman> {
    match ancestors().into_iter().find(|process| clients.contains(process)) {
        Some(agent) => Err(NotHuman::BelowAgent { pid: agent.pid }),
        None => Ok(()),
    }
}

/// The client that called this hook: our parent, or the one above a shell that only starts us. A
/// person who tries a hook from their own shell is no client.
pub fn client_process() -> Option<Process> {
    let parent = parent_id()?;
    let client = match shell(parent) {
        Shell::No => parent,
        Shell::RunsOneLine => find_process(parent)?.1,
        Shell::Other => return None,
    };
    find_process(client).map(|(process, _)| process)
}

pub fn parent_id() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

/// Remembers a client's process for as long as the machine may hand out its number.
pub fn remember(user: &UserLocations, disk: &dyn Disk, client: Process) -> std::io::Result<()> {
    let dir = user.state.join("agents");
    disk.make_dirs(&dir)?;
    // Written in place: half a number is no process, and a rename would cost more than all the rest.
    let path = dir.join(client.pid.to_string());
    let file = disk::write_regular(&path)?;
    disk.append(&file, client.start.to_string().as_bytes())
}

/// Forgets processes that are gone, and says how many.
pub fn sweep(user: &UserLocations, disk: &dyn Disk) -> std::io::Result<usize> {
    let Ok(entries) = fs::read_dir(user.state.join("agents")) else {
        return Ok(0);
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let pid: Option<u32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let lives = pid.and_then(find_process).is_some_and(|(process, _)| is_recorded(user, &process));
        if !lives {
            disk.remove(&entry.path())?;
            swept += 1;
        }
    }
    Ok(swept)
}

fn is_recorded(user: &UserLocations, process: &Process) -> bool {
    let path = user.state.join("agents").join(process.pid.to_string());
    disk::read_small(&path, 4096).is_ok_and(|start| start.trim() == process.start.to_string())
}

pub fn ancestors() -> Vec<Process> {
    let mut found = Vec::new();
    let mut next = parent_id();
    // The bound is against a process table that changes under our eyes.
    while let Some((process, parent)) = next.and_then(find_process) {
        found.push(process);
        next = (parent >= 1 && found.len() < 64).then_some(parent);
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
enum Shell {
    No,
    /// As clients start hooks without an exec form.
    RunsOneLine,
    Other,
}

fn shell(pid: u32) -> Shell {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return Shell::No;
    };
    let mut words = line.split(|&byte| byte == 0);
    let program = words.next().unwrap_or_default().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let name = program.strip_prefix(b"-").unwrap_or(program);
    if ![&b"sh"[..], b"bash", b"dash", b"zsh", b"ksh", b"fish"].contains(&name) {
        return Shell::No;
    }
    match words.next() {
        Some(flag) if flag.starts_with(b"-") && flag.contains(&b'c') => Shell::RunsOneLine,
        _ => Shell::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_ancestors_can_be_found() {
        let own = find_process(std::process::id()).unwrap();
        assert_eq!(Some(own.1), parent_id());
        assert_eq!(ancestors().first().map(|process| process.pid), parent_id());
    }
}
