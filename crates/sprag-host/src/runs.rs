//! Programs that Sprag itself runs, a judge say. Such a program may be an agent's client with our
//! hooks installed; its own calls are no session's, and a judge that is asked about itself would
//! never come to an end.
//!
//! The variable alone switches nothing off: it must name a run on record, whose process lives and is
//! the one that, further up, started this hook.

use std::fs;
use std::io;
use std::path::PathBuf;

use sprag_core::session::Process;

use crate::disk::{self, Disk};
use crate::env::Env;
use crate::person;
use crate::places::UserPlaces;
use crate::records;

pub const VARIABLE: &str = "SPRAG_RUN";

/// A run on record, for as long as this is kept.
pub struct Run<'d> {
    pub token: String,
    path: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> Run<'d> {
    pub fn begin(user: &UserPlaces, disk: &'d dyn Disk) -> io::Result<Run<'d>> {
        let token = records::new_id(crate::env::now());
        let path = dir(user).join(&token);
        let Process { pid, start } = person::this_process().ok_or(io::ErrorKind::Unsupported)?;
        disk::make_parent(disk, &path)?;
        disk::replace_derived(disk, &path, format!("{pid} {start}").as_bytes())?;
        Ok(Run { token, path, disk })
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // One that is left names a process that is gone, and counts for nothing.
        self.disk.remove(&self.path).unwrap_or_default();
    }
}

/// Whether this process was started, however far down, by a run of ours that goes on.
pub fn is_ours(user: Option<&UserPlaces>, env: &Env) -> bool {
    let Some(token) = env.text(VARIABLE).filter(|token| records::is_id(token)) else {
        return false;
    };
    let recorded = user.and_then(|user| fs::read_to_string(dir(user).join(token)).ok());
    let process = recorded.and_then(|text| {
        let (pid, start) = text.trim().split_once(' ')?;
        Some(Process { pid: pid.parse().ok()?, start: start.parse().ok()? })
    });
    process.is_some_and(|process| person::ancestors().contains(&process))
}

fn dir(user: &UserPlaces) -> PathBuf {
    user.state.join("runs")
}
