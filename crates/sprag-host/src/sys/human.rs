//! Distinguishes a person from an agent. Commands for people only need a terminal, and refuse to run below a
//! process that calls Sprag's hooks. Hooks record such processes by id and start time, not by name.

use std::fs;
use std::io::IsTerminal as _;

use sprag_govern::session_facts::Process;

use crate::sys::disk::{self, Disk};
use crate::sys::hook_caller::{client_process, parent_id};
use crate::sys::locations::UserLocations;
use crate::sys::processes::find_process;

/// Reason why the caller does not count as a person.
#[derive(Debug, PartialEq, Eq)]
pub enum NotHuman {
    NoTerminal,
    BelowAgent { pid: u32 },
}

pub fn check(user: Option<&UserLocations>) -> Result<(), NotHuman> {
    check_not_agent(user)?;
    if std::io::stdin().is_terminal() { Ok(()) } else { Err(NotHuman::NoTerminal) }
}

/// Checks that no agent started this process. Scripts of the user pass.
pub fn check_not_agent(user: Option<&UserLocations>) -> Result<(), NotHuman> {
    match user.and_then(nearest_agent) {
        Some(agent) => Err(NotHuman::BelowAgent { pid: agent.pid }),
        None => Ok(()),
    }
}

/// Returns the agent that started this process, the nearest one if agents started each other.
pub fn nearest_agent(user: &UserLocations) -> Option<Process> {
    ancestors().into_iter().find(|process| is_recorded(user, process))
}

/// Checks that no client of these sessions started this process. The environment has no influence.
pub fn check_not_below(clients: &[Process]) -> Result<(), NotHuman> {
    match ancestors().into_iter().find(|process| clients.contains(process)) {
        Some(agent) => Err(NotHuman::BelowAgent { pid: agent.pid }),
        None => Ok(()),
    }
}

/// Records the process of a client, until `sweep` finds it gone.
pub fn remember(user: &UserLocations, disk: &dyn Disk, client: Process) -> std::io::Result<()> {
    let dir = user.state.join("agents");
    disk.make_dirs(&dir)?;
    // Written in place: a torn number matches no process, and a rename would cost more than all the rest.
    let path = dir.join(client.pid.to_string());
    let file = disk::write_regular(&path)?;
    disk.append(&file, client.start.to_string().as_bytes())
}

/// Removes records of ended processes. Returns their number.
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

pub(crate) fn is_recorded(user: &UserLocations, process: &Process) -> bool {
    let path = user.state.join("agents").join(process.pid.to_string());
    disk::read_small(&path, 4096).is_ok_and(|start| start.trim() == process.start.to_string())
}

/// Reports whether a recorded client runs, other than the one that called this hook.
pub fn is_other_agent_alive(user: &UserLocations) -> bool {
    let own = client_process();
    let entries = fs::read_dir(user.state.join("agents")).into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.any(|pid| {
        let found = find_process(pid).map(|(process, _)| process);
        found.is_some_and(|process| Some(process) != own && is_recorded(user, &process))
    })
}

pub fn ancestors() -> Vec<Process> {
    let mut found = Vec::new();
    let mut next = parent_id();
    // The limit protects against a process table that changes meanwhile.
    while let Some((process, parent)) = next.and_then(find_process) {
        found.push(process);
        next = (parent >= 1 && found.len() < 64).then_some(parent);
    }
    found
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
