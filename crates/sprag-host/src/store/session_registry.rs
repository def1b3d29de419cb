//! Which sessions have begun, noted where the user's own things are and not in the repository: a session
//! that goes on after its journal was removed must not look like a new one that owes nothing.

use std::io;
use std::path::PathBuf;

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;

use crate::store::journal;
use crate::sys::disk::{self, Disk};
use crate::sys::locations::Locations;

pub fn has_begun(places: &Locations, session: &SessionId) -> bool {
    path(places, session).is_some_and(|path| path.exists())
}

/// Notes that a session has begun: only once its first record is on disk, so that a process that was killed
/// over it leaves nothing that looks like a loss. Without the note a loss is not noticed; that is all.
pub fn note(places: &Locations, disk: &dyn Disk, session: &SessionId) {
    let Some(path) = path(places, session) else {
        return;
    };
    // There is nothing in it that could be torn, and a rename would cost more than the rest of the start.
    let make = || disk::append_regular(&path).map(drop);
    let made = make().or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => disk::make_parent(disk, &path).and_then(|()| make()),
        _ => Err(error),
    });
    made.discard("without the note a lost journal goes unnoticed, no more");
}

/// For a session whose journal is taken away by us.
pub fn forget(places: &Locations, disk: &dyn Disk, session: &SessionId) -> io::Result<()> {
    match path(places, session) {
        Some(path) if path.exists() => disk.remove(&path),
        _ => Ok(()),
    }
}

fn path(places: &Locations, session: &SessionId) -> Option<PathBuf> {
    let store = Digest::hash_parts([places.store.to_string_lossy().as_bytes()]).short();
    Some(places.user.as_ref()?.state.join("sessions").join(format!("{store}-{}", journal::stem(session))))
}

/// A session counts as live for this long after its last event.
pub const LIVE_SECONDS: i64 = 30 * 60;
