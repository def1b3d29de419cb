//! Programs that Sprag itself runs: a judge, a reviewer, a check or the agent of a stage. Such a program may
//! be a client with Sprag's hooks installed. Calls of a judge belong to no session, because a judge that
//! judges itself would never end. A reviewer or a check is governed like any session, but it owes nothing
//! when it stops.
//!
//! The variable alone turns nothing off. It must name a recorded run whose process lives and is an ancestor
//! of this hook.

pub mod program;

use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_govern::gates::review::case::hash_of;
use sprag_govern::session_facts::Process;

use crate::store::new_record;
use crate::sys::disk::{self, Disk, read_small};
use crate::sys::env::Env;
use crate::sys::locations::UserLocations;
use crate::sys::{human, processes};

pub const VARIABLE: &str = "SPRAG_RUN";

/// Purpose of a program that Sprag runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Judge,
    /// A command of a verification.
    Check,
    /// A review of the work of this session, with the token of this hash.
    Review {
        session: SessionId,
        token: Digest,
    },
    /// The agent of a stage. Its session is governed like any other, and more strictly about files of other
    /// sessions.
    Stage {
        stage: Text<64>,
    },
}

impl Purpose {
    pub fn review(session: &SessionId, token: &str) -> Purpose {
        Purpose::Review { session: session.clone(), token: hash_of(token) }
    }
}

#[derive(Serialize, Deserialize)]
struct PurposeFile {
    process: Process,
    task: Purpose,
    /// PID namespace of the process, in which its process id is valid.
    #[serde(default)]
    namespace: Option<String>,
}

/// Record of a running program. Dropping this guard removes the record.
pub struct PurposeGuard<'d> {
    pub token: String,
    path: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> PurposeGuard<'d> {
    pub fn begin(user: &UserLocations, disk: &'d dyn Disk, task: Purpose) -> io::Result<PurposeGuard<'d>> {
        let token = new_record::new_id(crate::sys::env::now());
        let path = dir(user).join(&token);
        let process = processes::this_process().ok_or(io::ErrorKind::Unsupported)?;
        disk::make_parent(disk, &path)?;
        let bytes = serde_json::to_vec(&PurposeFile { process, task, namespace: namespace() })
            .map_err(io::Error::other)?;
        disk::replace_derived(disk, &path, &bytes)?;
        Ok(PurposeGuard { token, path, disk })
    }
}

impl Drop for PurposeGuard<'_> {
    fn drop(&mut self) {
        self.disk.remove(&self.path).discard("a remaining file names a process that has ended");
    }
}

/// Larger than any record of a run.
const BYTES: u64 = 4096;

/// Returns the purpose of the recorded run that started this process, directly or through other processes.
pub fn task(user: Option<&UserLocations>, env: &Env) -> Option<Purpose> {
    let recorded = recorded(user, env)?;
    human::ancestors().contains(&recorded.process).then_some(recorded.task)
}

/// Returns the purpose that this process claims when a sandbox hides its ancestors.
pub fn claimed_from_sandbox(user: Option<&UserLocations>, env: &Env) -> Option<Purpose> {
    let recorded = recorded(user, env)?;
    let is_cut_off = recorded.namespace.is_some() && recorded.namespace != namespace();
    is_cut_off.then_some(recorded.task)
}

fn recorded(user: Option<&UserLocations>, env: &Env) -> Option<PurposeFile> {
    let token = env.text(VARIABLE).filter(|token| new_record::is_id(token))?;
    let text = read_small(&dir(user?).join(token), BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

fn namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok().map(|name| name.to_string_lossy().into_owned())
}

fn dir(user: &UserLocations) -> PathBuf {
    user.state.join("runs")
}
