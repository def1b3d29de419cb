//! The directory of one session: spawn request, claim, lock and exit record. Each file exists or not, so a
//! new daemon can tell the state of the session.

pub mod limits;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use sprag_base::result::Discard as _;
use sprag_govern::session_facts::Process;
use sprag_host::store::lock_within;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::processes;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::agent::exit::Exit;
use sprag_plan::ids::EffectKey;
use sprag_plan::sandbox::SandboxPolicy;

use super::session_dir::limits::AgentLimits;
use crate::layout::RunLayout;
use crate::lock;

/// Longer than a check of the lock takes.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum size of a session file.
const BYTES: u64 = 1024 * 1024;

/// The program that the supervisor starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRequest {
    pub v: u32,
    /// The epoch of the requesting daemon; requests of a replaced daemon are refused.
    pub epoch: u64,
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub worktree: PathBuf,
    /// The working directory in the worktree.
    pub dir: PathBuf,
    pub branch: String,
    /// Time limit in seconds.
    pub seconds: u64,
    /// Seconds between the stop signal and the kill.
    pub grace: u64,
    pub stdin: Option<PathBuf>,
    #[serde(default)]
    pub watch: AgentLimits,
    /// The sandbox policy; `None` without a sandbox, and in requests of older daemons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<SandboxPolicy>,
}

/// The part of a spawn request that sets up a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    pub worktree: PathBuf,
    /// The working directory in the worktree.
    pub dir: PathBuf,
    pub confined: Option<SandboxPolicy>,
}

/// The terminal of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalPane {
    /// The tmux server, for `tmux -L`.
    pub server: String,
    /// The name of the tmux session.
    pub name: String,
}

/// The state of a session by its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionProbe {
    /// At most requested; no supervisor claimed it.
    Nothing,
    Running,
    Ended(Exit),
    /// Claimed, but the supervisor died without an exit record.
    Died,
}

/// A signal to a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorSignal {
    /// Like Ctrl-C at the keyboard.
    Interrupt,
    Stop,
}

sprag_base::names! { const ALL, fn text(SupervisorSignal): Interrupt = "interrupt", Stop = "stop" }

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireResult {
    Ours,
    Taken,
}

/// The lock of a session, held until the supervisor ends.
#[derive(Debug)]
pub struct SupervisorLock {
    file: File,
}

impl SupervisorLock {
    /// Reports whether the lock file still exists. After its removal other processes would see no lock.
    pub fn is_there(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() > 0)
    }
}

impl Drop for SupervisorLock {
    fn drop(&mut self) {
        // A child that is just starting has a copy of the file, so closing it is not enough.
        self.file.unlock().discard("the kernel releases the lock with the last copy");
    }
}

#[derive(Clone, Debug)]
pub struct SessionDir {
    dir: PathBuf,
}

impl SessionDir {
    pub fn at(dir: &Path) -> SessionDir {
        SessionDir { dir: dir.to_path_buf() }
    }

    /// Returns the name of the session.
    pub fn id(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Waits until no supervisor holds the lock.
    pub fn wait(&self) -> io::Result<()> {
        self.lock_file()?.lock_shared()
    }

    pub fn out(&self) -> PathBuf {
        self.dir.join("out.log")
    }

    pub fn err(&self) -> PathBuf {
        self.dir.join("err.log")
    }

    /// Writes the request for a session.
    pub fn ask(&self, disk: &dyn Disk, spawn: &SpawnRequest) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        disk::replace(disk, &self.dir.join("spawn.json"), &json(spawn)?)
    }

    pub fn spawn(&self) -> io::Result<SpawnRequest> {
        read(&self.dir.join("spawn.json"))
    }

    /// Writes the sandbox policy for a command that is not a session.
    pub fn wall_in(&self, disk: &dyn Disk, kept: &SandboxRequest) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        disk::replace_derived(disk, &self.dir.join("spawn.json"), &json(kept)?)
    }

    pub fn walls(&self) -> io::Result<SandboxRequest> {
        read(&self.dir.join("spawn.json"))
    }

    /// Returns the latest epoch; 0 for a directory outside a folder of runs.
    pub fn epoch(&self) -> io::Result<u64> {
        self.dir.parent().and_then(Path::parent).map_or(Ok(0), lock::last)
    }

    /// Takes the lock; returns `None` if another process holds it.
    pub fn lock(&self) -> io::Result<Option<SupervisorLock>> {
        let file = self.lock_file()?;
        // Each check of the lock holds it briefly.
        Ok(lock_within(&file, LOOK)?.then_some(SupervisorLock { file }))
    }

    fn lock_file(&self) -> io::Result<File> {
        disk::append_regular(&self.dir.join("lock"))
    }

    /// Claims the session. From here on it counts as started.
    pub fn claim(&self, disk: &dyn Disk) -> io::Result<AcquireResult> {
        let path = self.dir.join("claim");
        let file = match File::options().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(AcquireResult::Taken),
            Err(error) => return Err(error),
        };
        let us = processes::this_process().ok_or(io::ErrorKind::Unsupported)?;
        disk.append(&file, &json(&us)?)?;
        disk.sync(&file)?;
        disk::sync_parent(disk, &path)?;
        Ok(AcquireResult::Ours)
    }

    /// Reports whether the session counts as started.
    pub fn is_claimed(&self) -> bool {
        self.dir.join("claim").exists()
    }

    /// Returns the supervisor's process, alive or not.
    pub fn keeper(&self) -> Option<Process> {
        read(&self.dir.join("claim")).ok()
    }

    pub fn note_agent(&self, disk: &dyn Disk, pid: u32) -> io::Result<()> {
        match processes::find_process(pid) {
            Some((process, _)) => disk::replace_derived(disk, &self.dir.join("agent.json"), &json(&process)?),
            None => Ok(()),
        }
    }

    /// Returns the agent's process, once it was started.
    pub fn agent(&self) -> Option<Process> {
        read(&self.dir.join("agent.json")).ok()
    }

    /// Writes the activity of the agent. Not synced: after a crash the next output restores it.
    pub fn note_seen(&self, disk: &dyn Disk, seen: &AgentActivity) -> io::Result<()> {
        disk::replace_derived(disk, &self.dir.join("seen.json"), &json(seen)?)
    }

    pub fn seen(&self) -> Option<AgentActivity> {
        read(&self.dir.join("seen.json")).ok()
    }

    pub fn note_window(&self, disk: &dyn Disk, window: &TerminalPane) -> io::Result<()> {
        disk::replace_derived(disk, &self.dir.join("tmux.json"), &json(window)?)
    }

    /// Returns the terminal; `None` if the session has none.
    pub fn window(&self) -> Option<TerminalPane> {
        read(&self.dir.join("tmux.json")).ok()
    }

    pub fn leave(&self, disk: &dyn Disk, exit: &Exit) -> io::Result<()> {
        disk::replace(disk, &self.dir.join("exit.json"), &json(exit)?)
    }

    /// Writes the exit of a process without a supervisor. The claim is empty, because processes below the
    /// daemon are not its agents.
    pub fn leave_unkept(&self, disk: &dyn Disk, exit: &Exit) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        self.leave(disk, exit)?;
        disk::replace(disk, &self.dir.join("claim"), b"")
    }

    pub fn probe(&self) -> io::Result<SessionProbe> {
        // The lock is held from before the claim until after the exit record. Checked in this order, no state
        // is missed.
        let is_claimed = self.is_claimed();
        if self.dir.join("lock").exists() && self.is_held()? {
            return Ok(SessionProbe::Running);
        }
        if !is_claimed {
            return Ok(SessionProbe::Nothing);
        }
        match read(&self.dir.join("exit.json")) {
            Ok(exit) => Ok(SessionProbe::Ended(exit)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SessionProbe::Died),
            Err(error) => Err(error),
        }
    }

    fn is_held(&self) -> io::Result<bool> {
        match self.lock_file()?.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(fs::TryLockError::WouldBlock) => Ok(true),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Opens the socket on which the supervisor receives signals.
    pub fn listen(&self) -> io::Result<UnixDatagram> {
        let dir = File::open(&self.dir)?;
        fs::remove_file(self.dir.join("words")).discard("a leftover socket makes the bind below fail");
        let socket = UnixDatagram::bind(through(&dir))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Wakes the daemon of this folder, if one runs.
    pub fn ring(&self) {
        let Some(run) = self.dir.parent().and_then(Path::parent) else { return };
        let Ok(dir) = File::open(run) else { return };
        let bell = UnixDatagram::unbound().and_then(|bell| bell.set_nonblocking(true).map(|()| bell));
        bell.and_then(|bell| bell.send_to(b"look", bell_in(&dir)).map(drop))
            .discard("the daemon also checks at each round");
    }

    pub fn tell(&self, word: SupervisorSignal) -> io::Result<()> {
        let dir = File::open(&self.dir)?;
        UnixDatagram::unbound()?.send_to(word.text().as_bytes(), through(&dir)).map(drop)
    }
}

/// Opens the socket on which supervisors wake the daemon.
pub fn bell(run: &Path) -> io::Result<UnixDatagram> {
    let dir = File::open(run)?;
    fs::remove_file(run.join("bell")).discard("a leftover socket makes the bind below fail");
    UnixDatagram::bind(bell_in(&dir))
}

fn bell_in(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/bell", dir.as_raw_fd()))
}

/// Returns a short path through the open folder, because socket paths have a length limit.
fn through(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/words", dir.as_raw_fd()))
}

/// Receives a signal, if a known one has arrived.
pub fn heard(socket: &UnixDatagram) -> Option<SupervisorSignal> {
    let mut buffer = [0; 64];
    let count = socket.recv(&mut buffer).ok()?;
    SupervisorSignal::ALL.into_iter().find(|word| word.text().as_bytes() == &buffer[..count])
}

fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(io::Error::other)
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    serde_json::from_str(&disk::read_small(path, BYTES)?).map_err(io::Error::other)
}

/// Returns the directory of a session.
pub fn site_of(run: &Path, session: &EffectKey) -> SessionDir {
    SessionDir::at(&run.join("s").join(session.0.as_str().replace('/', ".")))
}

impl RunLayout {
    pub fn site(&self, session: &EffectKey) -> SessionDir {
        site_of(&self.run, session)
    }
}
