//! Notes which sessions have begun, in the user's state directory. A session whose journal was removed must
//! not look like a new one without obligations.

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
}

/// Removes the note of a session whose journal Sprag removes.
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

/// Seconds after its last event during which a session counts as live.
pub const LIVE_SECONDS: i64 = 30 * 60;
