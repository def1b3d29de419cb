//! Checks the evidence of learnings against the current files of the worktree.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_memory::learning::{Candidate, Evidence, Learning};
use sprag_memory::write_gate::evidence::{self, Cited, EvidenceState};

use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;

/// Largest file that counts as evidence.
const BYTES: u64 = 2 * 1024 * 1024;

/// Returns the current state of a candidate's evidence. Missing files are left out.
pub fn see(worktree: &Path, candidate: &Candidate) -> Vec<Evidence> {
    let places = candidate.evidence.iter().map(|place| place.as_str());
    places.filter_map(|place| evidence::see(place, content(worktree, place).as_deref())).collect()
}

/// Returns the worst state among the evidence of a learning.
pub fn state(worktree: &Path, learning: &Learning) -> EvidenceState {
    evidence::worst(states(worktree, learning).into_iter().map(|(_, state)| state))
}

/// Returns each piece of evidence with its state.
pub fn states<'a>(worktree: &Path, learning: &'a Learning) -> Vec<(&'a Evidence, EvidenceState)> {
    let look = |seen: &Evidence| evidence::state(seen, content(worktree, seen.place.as_str()).as_deref());
    learning.seen.iter().map(|seen| (seen, look(seen))).collect()
}

fn content(worktree: &Path, place: &str) -> Option<Vec<u8>> {
    let Cited::File { path, .. } = Cited::read(place) else {
        return None;
    };
    let path = inside(worktree, &path)?;
    let bytes = read_capped(open_regular(&path).ok()?, BYTES + 1).ok()?;
    (bytes.len() as u64 <= BYTES).then_some(bytes)
}

/// Returns a path below the worktree. Checks the real path too, because a directory may be a link to another
/// place.
pub fn inside(worktree: &Path, path: &str) -> Option<PathBuf> {
    let is_plain = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    let found = is_plain.then(|| worktree.join(path))?;
    let parent = fs::canonicalize(found.parent()?).ok()?;
    let root = fs::canonicalize(worktree).ok()?;
    (parent.starts_with(root) && fs::symlink_metadata(&found).is_ok()).then_some(found)
}
