//! Identifies the process at the other end of a socket. The kernel reports its id. A process below a
//! supervisor is the agent of that session, whatever token it shows.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::{fs, io};

use sprag_govern::session_facts::Process;
use sprag_host::sys::{disk, processes};

use crate::layout::SESSION_VARIABLE;

/// Maximum number of parent processes to follow.
const DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub is_of_this_user: bool,
    /// The session of the process, by the name of its directory.
    pub session: Option<String>,
}

pub fn identify(stream: &UnixStream, run: &Path) -> io::Result<Peer> {
    let who = rustix::net::sockopt::socket_peercred(stream)?;
    let pid = u32::try_from(who.pid.as_raw_nonzero().get()).map_err(io::Error::other)?;
    Ok(Peer { is_of_this_user: who.uid == rustix::process::getuid(), session: session_of(run, pid) })
}

/// Returns the session of a process.
pub fn session_of(run: &Path, pid: u32) -> Option<String> {
    let line = line_of(pid);
    let supervised = sessions(run);
    let below = line.iter().find_map(|process| {
        supervised.iter().find(|(_, supervisor)| supervisor == process).map(|(id, _)| id.clone())
    });
    // If the supervisor is gone, only the session variable names the session.
    below.or_else(|| {
        let named = line.iter().find_map(|process| processes::variable_of(*process, SESSION_VARIABLE))?;
        let named = named.into_string().ok()?;
        supervised.into_iter().map(|(id, _)| id).find(|id| *id == named)
    })
}

/// Returns a process and its ancestors.
fn line_of(pid: u32) -> Vec<Process> {
    let mut line = Vec::new();
    let mut next = Some(pid);
    while let Some((process, parent)) = next.and_then(processes::find_process) {
        line.push(process);
        next = (parent >= 1 && line.len() < DEPTH).then_some(parent);
    }
    line
}

/// Returns all claimed sessions with their supervisors.
fn sessions(run: &Path) -> Vec<(String, Process)> {
    let folders = fs::read_dir(run.join("s")).into_iter().flatten().flatten();
    folders
        .filter_map(|folder| {
            let claim = disk::read_small(&folder.path().join("claim"), 1024).ok()?;
            Some((folder.file_name().into_string().ok()?, serde_json::from_str(&claim).ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use sprag_host::sys::processes;

    use super::*;

    #[test]
    fn who_is_below_a_supervisor_is_its_agent() {
        let dir = tempfile::tempdir().unwrap();
        let us = processes::this_process().unwrap();
        assert_eq!(session_of(dir.path(), us.pid), None);
        let (_, parent) = processes::find_process(us.pid).unwrap();
        let (parent, _) = processes::find_process(parent).unwrap();
        for (id, process) in [("other", Process { start: us.start + 1, ..us }), ("mine", parent)] {
            let folder = dir.path().join("s").join(id);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("claim"), serde_json::to_vec(&process).unwrap()).unwrap();
        }
        fs::create_dir_all(dir.path().join("s/broken")).unwrap();
        fs::write(dir.path().join("s/broken/claim"), "{").unwrap();
        assert_eq!(session_of(dir.path(), us.pid), Some("mine".to_owned()));
    }
}
