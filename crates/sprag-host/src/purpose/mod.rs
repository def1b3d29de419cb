//! Programs that Sprag itself runs: a judge, a reviewer, a check. Such a program may be an agent's client with our
//! hooks installed. A judge's calls are no session's, and a judge that is asked about itself would never
//! come to an end; a reviewer or a check is governed like everybody else, but owes nothing when it stops.
//!
//! The variable alone switches nothing off: it must name a run on record, whose process lives and is
//! the one that, further up, started this hook.

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

/// What a run is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Judge,
    /// What a verification runs.
    Check,
    /// Of this session's work, with the token of this hash.
    Review {
        session: SessionId,
        token: Digest,
    },
    /// A stage of a plan: its session is governed like everybody else, and more strictly where it may meet others.
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
    /// Where process numbers mean what they mean to that process.
    #[serde(default)]
    namespace: Option<String>,
}

/// A run on record, for as long as this is kept.
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
        self.disk.remove(&self.path).discard("a file that stays names a process that is gone");
    }
}

/// Longer than any record of a run.
const BYTES: u64 = 4096;

/// The run of ours by which this process was started, however far down, if that goes on.
pub fn task(user: Option<&UserLocations>, env: &Env) -> Option<Purpose> {
    let recorded = recorded(user, env)?;
    human::ancestors().contains(&recorded.process).then_some(recorded.task)
}

/// The run this process claims to belong to, where a sandbox keeps it from seeing who started it.
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
