//! Reports of sandboxed agents. A sandbox may make the git directory read-only. A command then leaves its
//! report in another directory, and the next hook of the session, which runs outside the sandbox, takes it.
//!
//! Any program may have put a file there. A report counts only for the session that it names, only if any
//! agent may send it, and only once.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_govern::report::Report;

use crate::store::{journal, new_record};
use crate::sys::disk::{self, Disk};
use crate::sys::env::Env;
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

const MOST: usize = 64;
/// Most bytes of a report; a submission of candidates is the longest.
const BYTES: u64 = 320 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InboxReport {
    pub v: u32,
    /// Id of the later record, so that a report taken twice makes one record.
    pub id: String,
    pub at: Timestamp,
    pub session: SessionId,
    pub report: Report,
}

/// Returns the directories that a sandbox may allow, best first: the project, then temporary directories.
pub(crate) fn places(places: &Locations, env: &Env) -> Vec<PathBuf> {
    // A `.sprag` that is a link could point anywhere.
    let is_ours = |project: &PathBuf| fs::symlink_metadata(project).is_ok_and(|found| found.is_dir());
    let project = places.project().filter(is_ours).map(|project| project.join("inbox"));
    let name = format!("sprag-{}", rustix::process::getuid().as_raw());
    let temp = env.get("TMPDIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let mut found: Vec<PathBuf> = project.into_iter().chain(temp.map(|dir| dir.join(&name))).collect();
    let system = Path::new("/tmp").join(&name);
    if !found.contains(&system) {
        found.push(system);
    }
    found
}

/// Leaves a report in the first directory that accepts it.
pub(crate) fn leave(at: &Locations, env: &Env, disk: &dyn Disk, drop: &InboxReport) -> io::Result<PathBuf> {
    let bytes = serde_json::to_vec(drop).map_err(io::Error::other)?;
    let name = format!("{}.{}.json", journal::stem(&drop.session), drop.id);
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for dir in places(at, env) {
        match make_private(&dir).and_then(|()| disk::replace(disk, &dir.join(&name), &bytes)) {
            Ok(()) => return Ok(dir),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Returns the reports that wait for a session, oldest first.
pub(crate) fn waiting(at: &Locations, env: &Env, session: &SessionId) -> Vec<(PathBuf, InboxReport)> {
    let prefix = format!("{}.", journal::stem(session));
    let mut found: Vec<(PathBuf, InboxReport)> = places(at, env)
        .into_iter()
        .filter(|dir| is_private(dir))
        .flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .filter_map(|entry| read(&entry.path()).map(|drop| (entry.path(), drop)))
        .filter(|(_, drop)| {
            drop.session == *session && new_record::is_id(&drop.id) && drop.report.is_anyones()
        })
        .take(MOST)
        .collect();
    found.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    found
}

fn read(path: &Path) -> Option<InboxReport> {
    let bytes = disk::open_regular(path).and_then(|file| read_capped(file, BYTES)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Creates the inbox. Refuses a directory that other users can write. Creates `.sprag/inbox` only below an
/// existing `.sprag`.
fn make_private(dir: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    if is_private(dir) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn is_private(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o022 == 0
    })
}
