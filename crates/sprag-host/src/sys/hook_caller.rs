//! Identifies the process that calls a hook. A script of the agent can send events that look like those of the
//! client, so an event counts only if the client of the session sent it.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::{fs, io};

use sprag_govern::event::Input;
use sprag_govern::session_facts::{ClientChannel, Process, SeenClient, SessionFacts, StdinKind};

use crate::sys::human;
use crate::sys::locations::UserLocations;
use crate::sys::processes::{self, find_process};

/// The sender of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookCaller {
    /// The client of the session. The value is set if the session does not know this process yet.
    Client(Option<SeenClient>),
    /// Another process, by its id.
    Foreign(u32),
}

/// Compares the caller of this hook with the client that the session knows.
pub(crate) fn identify(input: &Input, session: &SessionFacts, user: Option<&UserLocations>) -> HookCaller {
    let parent = parent_id().unwrap_or_default();
    let Some(known) = session.client else {
        return HookCaller::Client(client_process().map(see));
    };
    if known.pid == parent {
        return by_channel(known, session);
    }
    let found = client_process();
    if found == Some(known) {
        return by_channel(known, session);
    }
    let pid = found.map_or(parent, |found| found.pid);
    // A process of another namespace cannot see whether the client is alive.
    let is_elsewhere = session.channel.is_some_and(|channel| channel.namespace != namespace());
    if is_elsewhere || processes::is_alive(known) {
        return HookCaller::Foreign(pid);
    }
    // The client is gone, and another one resumes its session. An agent cannot resume the session of another
    // agent; Sprag starts the sessions of stages below an agent.
    let is_of_agent = input.stage.is_none() && is_below_agent(found, user);
    if is_of_agent { HookCaller::Foreign(pid) } else { HookCaller::Client(found.map(see)) }
}

fn by_channel(known: Process, session: &SessionFacts) -> HookCaller {
    match session.channel {
        Some(channel) if channel.stdin == stdin_kind(known) => HookCaller::Client(None),
        Some(_) => HookCaller::Foreign(known.pid),
        None => HookCaller::Client(Some(see(known))),
    }
}

fn see(process: Process) -> SeenClient {
    SeenClient { process, channel: ClientChannel { stdin: stdin_kind(process), namespace: namespace() } }
}

/// Reports whether a client is above this process, other than the one that called the hook.
fn is_below_agent(caller: Option<Process>, user: Option<&UserLocations>) -> bool {
    let is_other = |process: &Process| Some(*process) != caller;
    user.is_some_and(|user| {
        human::ancestors()
            .iter()
            .filter(|process| is_other(process))
            .any(|process| human::is_recorded(user, process))
    })
}

/// Returns the client that called this hook: the parent, or the process above a shell that only starts the
/// hook. A person who tries a hook in an interactive shell is not a client.
pub(crate) fn client_process() -> Option<Process> {
    let parent = parent_id()?;
    let client = match shell(parent) {
        Shell::No => parent,
        Shell::StartsHook => find_process(parent)?.1,
        Shell::Other => return None,
    };
    find_process(client).map(|(process, _)| process)
}

pub(crate) fn parent_id() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

#[derive(Debug, PartialEq, Eq)]
enum Shell {
    No,
    /// Clients start hooks like this unless they use exec.
    StartsHook,
    /// An interactive shell, a script, or a command line that gives the hook its payload.
    Other,
}

fn shell(pid: u32) -> Shell {
    fs::read(format!("/proc/{pid}/cmdline")).map_or(Shell::No, |line| shell_of(&line))
}

fn shell_of(line: &[u8]) -> Shell {
    let mut words = line.split(|&byte| byte == 0);
    let program = words.next().unwrap_or_default().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let name = program.strip_prefix(b"-").unwrap_or(program);
    if ![&b"sh"[..], b"bash", b"dash", b"zsh", b"ksh", b"fish"].contains(&name) {
        return Shell::No;
    }
    let is_one_line = words.next().is_some_and(|flag| flag.starts_with(b"-") && flag.contains(&b'c'));
    // A client writes the payload to the shell itself.
    let gives_payload = words.any(|word| word.iter().any(|byte| b"|<".contains(byte)));
    if is_one_line && !gives_payload { Shell::StartsHook } else { Shell::Other }
}

/// Returns the kind of the standard input. The kernel names the creator of a socket pair, so no other process
/// can imitate the socket of a client.
fn stdin_kind(client: Process) -> StdinKind {
    let Ok(found) = stdin_metadata() else { return StdinKind::Other };
    let kind = found.file_type();
    if kind.is_socket() {
        let peer = rustix::net::sockopt::socket_peercred(io::stdin()).ok();
        let creator = peer.and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok());
        if creator == Some(client.pid) { StdinKind::ClientSocket } else { StdinKind::Socket }
    } else if kind.is_fifo() || found.nlink() == 0 {
        // Some clients use a file without a name instead of a pipe.
        StdinKind::Pipe
    } else if kind.is_file() {
        StdinKind::File
    } else {
        StdinKind::Other
    }
}

fn stdin_metadata() -> io::Result<fs::Metadata> {
    use std::os::fd::AsFd as _;
    fs::File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

/// Returns the number of the namespace of process ids, or 0 where there is none.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shell_that_starts_the_hook_and_nothing_else_is_skipped() {
        let of = |words: &[&str]| shell_of(words.join("\0").as_bytes());
        assert_eq!(of(&["/bin/sh", "-c", "sprag hook claude"]), Shell::StartsHook);
        assert_eq!(of(&["bash", "-lc", "/home/me/bin/sprag hook codex"]), Shell::StartsHook);
        assert_eq!(of(&["bash", "-c", "cat event | sprag hook claude"]), Shell::Other);
        assert_eq!(of(&["bash", "-c", "sprag hook claude < event"]), Shell::Other);
        assert_eq!(of(&["bash", "./forge.sh"]), Shell::Other);
        assert_eq!(of(&["-zsh"]), Shell::Other);
        assert_eq!(of(&["node", "cli.js"]), Shell::No);
    }
}
