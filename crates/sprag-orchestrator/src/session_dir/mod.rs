//! The folder of one session: what was asked for, who took it on, and how it ended. Each of these is there or
//! not there, so a daemon that comes back finds out what was going on by looking.

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

/// Longer than a look at a lock takes.
const LOOK: Duration = Duration::from_millis(100);
/// Larger than any file of a session.
const BYTES: u64 = 1024 * 1024;

/// What the supervisor is to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRequest {
    pub v: u32,
    /// Which daemon asked for it: one that was replaced has no say any more.
    pub epoch: u64,
    pub argv: Vec<String>,
    /// All of its environment.
    pub env: Vec<(String, String)>,
    pub worktree: PathBuf,
    /// Within the worktree.
    pub dir: PathBuf,
    pub branch: String,
    /// How long it may take.
    pub seconds: u64,
    /// How long it may take to end, once it is told to.
    pub grace: u64,
    pub stdin: Option<PathBuf>,
    #[serde(default)]
    pub watch: AgentLimits,
    /// The walls around it; none, if the plan or the machine has none. Older daemons asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<SandboxPolicy>,
}

/// Where somebody is within walls, as those have to know who build them. A folder that asks for a session says that, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    pub worktree: PathBuf,
    /// Within the worktree.
    pub dir: PathBuf,
    pub confined: Option<SandboxPolicy>,
}

/// Where the terminal of a session is, for one that has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalPane {
    /// The server of tmux, as `tmux -L` takes it.
    pub server: String,
    /// The session by the name it has there.
    pub name: String,
}

/// What is known of a session from its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionProbe {
    /// Asked for at most: nobody has taken it on.
    Nothing,
    Running,
    Ended(Exit),
    /// Somebody took it on and is gone without a word.
    Died,
}

/// What a supervisor can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorSignal {
    /// As a person does at the keyboard.
    Interrupt,
    Stop,
}

impl SupervisorSignal {
    const ALL: [SupervisorSignal; 2] = [SupervisorSignal::Interrupt, SupervisorSignal::Stop];

    fn text(self) -> &'static str {
        match self {
            SupervisorSignal::Interrupt => "interrupt",
            SupervisorSignal::Stop => "stop",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireResult {
    Ours,
    Taken,
}

/// Held for as long as the supervisor lives.
#[derive(Debug)]
pub struct SupervisorLock {
    file: File,
}

impl SupervisorLock {
    /// Whether it is still the one that others find: whoever deletes its folder makes it nobody's.
    pub fn is_there(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() > 0)
    }
}

impl Drop for SupervisorLock {
    fn drop(&mut self) {
        // Whoever is just being started has a copy of it until it is a program of its own: closing ours is not enough.
        self.file.unlock().discard("the lock ends with the last copy of the file");
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

    /// The session's name.
    pub fn id(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Waits until nobody keeps it any more.
    pub fn wait(&self) -> io::Result<()> {
        self.lock_file()?.lock_shared()
    }

    pub fn out(&self) -> PathBuf {
        self.dir.join("out.log")
    }

    pub fn err(&self) -> PathBuf {
        self.dir.join("err.log")
    }

    /// Asks for a session.
    pub fn ask(&self, disk: &dyn Disk, spawn: &SpawnRequest) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        disk::replace(disk, &self.dir.join("spawn.json"), &json(spawn)?)
    }

    pub fn spawn(&self) -> io::Result<SpawnRequest> {
        read(&self.dir.join("spawn.json"))
    }

    /// Puts walls on record for a command that is no session.
    pub fn wall_in(&self, disk: &dyn Disk, kept: &SandboxRequest) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        disk::replace_derived(disk, &self.dir.join("spawn.json"), &json(kept)?)
    }

    pub fn walls(&self) -> io::Result<SandboxRequest> {
        read(&self.dir.join("spawn.json"))
    }

    /// The youngest reign there was; a folder that stands by itself knows of none.
    pub fn epoch(&self) -> io::Result<u64> {
        self.dir.parent().and_then(Path::parent).map_or(Ok(0), lock::last)
    }

    /// `None`: somebody else has it.
    pub fn lock(&self) -> io::Result<Option<SupervisorLock>> {
        let file = self.lock_file()?;
        // Whoever looks whether it is held holds it for a moment.
        Ok(lock_within(&file, LOOK)?.then_some(SupervisorLock { file }))
    }

    fn lock_file(&self) -> io::Result<File> {
        disk::append_regular(&self.dir.join("lock"))
    }

    /// From here on the session counts as started, whatever happens.
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

    /// Whether it counts as started.
    pub fn is_claimed(&self) -> bool {
        self.dir.join("claim").exists()
    }

    /// The process that keeps it, or did.
    pub fn keeper(&self) -> Option<Process> {
        read(&self.dir.join("claim")).ok()
    }

    pub fn note_agent(&self, disk: &dyn Disk, pid: u32) -> io::Result<()> {
        match processes::find_process(pid) {
            Some((process, _)) => disk::replace_derived(disk, &self.dir.join("agent.json"), &json(&process)?),
            None => Ok(()),
        }
    }

    /// The agent's process, once it was started.
    pub fn agent(&self) -> Option<Process> {
        read(&self.dir.join("agent.json")).ok()
    }

    /// What is seen of the agent; lost with the machine, and made anew by what it prints next.
    pub fn note_seen(&self, disk: &dyn Disk, seen: &AgentActivity) -> io::Result<()> {
        disk::replace_derived(disk, &self.dir.join("seen.json"), &json(seen)?)
    }

    pub fn seen(&self) -> Option<AgentActivity> {
        read(&self.dir.join("seen.json")).ok()
    }

    pub fn note_window(&self, disk: &dyn Disk, window: &TerminalPane) -> io::Result<()> {
        disk::replace_derived(disk, &self.dir.join("tmux.json"), &json(window)?)
    }

    /// `None`: it has no terminal.
    pub fn window(&self) -> Option<TerminalPane> {
        read(&self.dir.join("tmux.json")).ok()
    }

    pub fn leave(&self, disk: &dyn Disk, exit: &Exit) -> io::Result<()> {
        disk::replace(disk, &self.dir.join("exit.json"), &json(exit)?)
    }

    /// The end of somebody whom no supervisor kept. The claim names nobody: whoever is below us is not its agent.
    pub fn leave_unkept(&self, disk: &dyn Disk, exit: &Exit) -> io::Result<()> {
        disk.make_dirs(&self.dir)?;
        self.leave(disk, exit)?;
        disk::replace(disk, &self.dir.join("claim"), b"")
    }

    pub fn probe(&self) -> io::Result<SessionProbe> {
        // The lock is held from before the claim until after the record: seen in this order, none of them is
        // missed because it came in between.
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

    /// Where the supervisor hears words.
    pub fn listen(&self) -> io::Result<UnixDatagram> {
        let dir = File::open(&self.dir)?;
        fs::remove_file(self.dir.join("words")).discard("a socket that stays makes the bind below fail");
        let socket = UnixDatagram::bind(through(&dir))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Somebody who runs plans here should look. Nobody may be there.
    pub fn ring(&self) {
        let Some(run) = self.dir.parent().and_then(Path::parent) else { return };
        let Ok(dir) = File::open(run) else { return };
        let bell = UnixDatagram::unbound().and_then(|bell| bell.set_nonblocking(true).map(|()| bell));
        bell.and_then(|bell| bell.send_to(b"look", bell_in(&dir)).map(drop))
            .discard("nobody may be listening, the daemon looks by itself too");
    }

    pub fn tell(&self, word: SupervisorSignal) -> io::Result<()> {
        let dir = File::open(&self.dir)?;
        UnixDatagram::unbound()?.send_to(word.text().as_bytes(), through(&dir)).map(drop)
    }
}

/// Where supervisors ring, in the folder of runs. Whoever rules there listens.
pub fn bell(run: &Path) -> io::Result<UnixDatagram> {
    let dir = File::open(run)?;
    fs::remove_file(run.join("bell")).discard("a socket that stays makes the bind below fail");
    UnixDatagram::bind(bell_in(&dir))
}

fn bell_in(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/bell", dir.as_raw_fd()))
}

/// The name of a socket is short, paths are long: this one goes through the open folder.
fn through(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/words", dir.as_raw_fd()))
}

/// A word, if one was said that means something.
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

/// Where what concerns one session is.
pub fn site_of(run: &Path, session: &EffectKey) -> SessionDir {
    SessionDir::at(&run.join("s").join(session.0.as_str().replace('/', ".")))
}

impl RunLayout {
    pub fn site(&self, session: &EffectKey) -> SessionDir {
        site_of(&self.run, session)
    }
}
