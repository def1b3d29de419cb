//! Notes which sessions have begun, in the user's state directory. A session whose journal was removed must
//! not look like a new one without obligations. Another note names the worktree of the start.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;

use crate::store::{Store, journal};
use crate::sys::disk::{self, Disk};
use crate::sys::env::Env;
use crate::sys::locations::{self, Locations, UserLocations};

pub fn has_begun(places: &Locations, session: &SessionId) -> bool {
    path(places, session).is_some_and(|path| path.exists())
}

/// Notes that a session has begun. This happens after its first record is on disk, so that a killed process
/// does not look like a loss. Without the note, Sprag does not notice a lost journal.
pub fn note(places: &Locations, disk: &dyn Disk, session: &SessionId) {
    let Some(path) = path(places, session) else {
        return;
    };
    // The file is empty, so it cannot be torn. A rename would cost more than the rest of the start.
    let make = || disk::append_regular(&path).map(drop);
    let made = make().or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => disk::make_parent(disk, &path).and_then(|()| make()),
        _ => Err(error),
    });
    made.discard("without the note Sprag only misses a lost journal");
    if let (Some(user), Some(worktree)) = (&places.user, &places.worktree) {
        note_start(&start_path(user, session), disk, worktree)
            .discard("without the note the current directory names the repository");
    }
}

/// Notes the worktree, unless the session started earlier in another repository.
fn note_start(path: &Path, disk: &dyn Disk, worktree: &Path) -> io::Result<()> {
    let file = disk::append_regular(path)?;
    if file.metadata()?.len() > 0 {
        return Ok(());
    }
    let mut line = worktree.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    disk.append(&file, &line)
}

/// Returns the worktree in which a session started. The agent may be in any other directory now.
pub fn started_in(user: &UserLocations, session: &SessionId) -> Option<PathBuf> {
    let line = disk::read_regular(&start_path(user, session), MOST_PATH).ok()?;
    // A torn line is not a path.
    let path = line.strip_suffix(b"\n")?;
    Some(PathBuf::from(OsString::from_vec(path.to_vec())))
}

/// Returns the locations for a command that names a session: those of the repository where the session
/// started, unless the session has records in the current repository.
pub fn of_command(here: Locations, session: &SessionId, env: &Env) -> Locations {
    if journal::path(&Store::at(&here.store), session).exists() {
        return here;
    }
    let started = here.user.as_ref().and_then(|user| started_in(user, session));
    started.and_then(|started| at_worktree(&started, env)).unwrap_or(here)
}

/// Returns the locations of a worktree, if it still exists.
pub fn at_worktree(worktree: &Path, env: &Env) -> Option<Locations> {
    Locations::find(worktree, env).ok().filter(|found| found.worktree.as_deref() == Some(worktree))
}

/// Most bytes of a path.
const MOST_PATH: u64 = 4097;

/// Returns the path of the note with the worktree of a session.
fn start_path(user: &UserLocations, session: &SessionId) -> PathBuf {
    user.state.join("sessions").join(format!("at-{}", journal::stem(session)))
}

/// Removes the note of a session whose journal Sprag removes.
pub fn forget(places: &Locations, disk: &dyn Disk, session: &SessionId) -> io::Result<()> {
    if let Some(user) = &places.user
        && let Some(started) = started_in(user, session)
        && locations::common_dir(&started).is_none_or(|common| Some(&common) == places.common.as_ref())
    {
        disk.remove(&start_path(user, session))?;
    }
    match path(places, session) {
        Some(path) if path.exists() => disk.remove(&path),
        _ => Ok(()),
    }
}

fn path(places: &Locations, session: &SessionId) -> Option<PathBuf> {
    let store = Digest::hash_parts([places.store.to_string_lossy().as_bytes()]).short();
    Some(places.user.as_ref()?.state.join("sessions").join(format!("{store}-{}", journal::stem(session))))
}

/// Seconds after its last event during which a session counts as live.
pub const LIVE_SECONDS: i64 = 30 * 60;
