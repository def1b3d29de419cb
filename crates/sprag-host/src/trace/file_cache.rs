//! Caches the last recorded states of files by their hash. Without the cache, Sprag still knows that a file
//! changed, but not in which lines.

use std::path::PathBuf;

use sprag_base::result::Discard as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::time::Timestamp;

use super::file_state::{FileContent, TEXT_BYTES};
use crate::store::{Store, files_with_ending};
use crate::sys::disk::{self, Disk, open_regular};
use crate::sys::exec::read_capped;

/// Most bytes of one file.
const KEPT_BYTES: usize = 1024 * 1024;
/// Most files.
const FILES: usize = 2_000;

/// Keeps a state if it is text, not known yet, and `may_copy` agrees.
pub(crate) fn keep(
    store: &Store,
    disk: &dyn Disk,
    state: &FileContent,
    may_copy: impl FnOnce(&[u8]) -> bool,
) {
    let (Some(text), Some(sum)) = (state.text(), state.sum()) else {
        return;
    };
    let path = path(store, &sum);
    if text.len() > KEPT_BYTES || path.exists() || !may_copy(text) {
        return;
    }
    disk.make_dirs(&dir(store))
        .and_then(|()| disk::replace_derived(disk, &path, text))
        .discard("the cache is optional");
}

/// Returns a kept state, if it matches its hash.
pub(crate) fn kept(store: &Store, sum: &Sha256Sum) -> Option<FileContent> {
    let bytes = read_capped(open_regular(&path(store, sum)).ok()?, TEXT_BYTES).ok()?;
    Some(FileContent::of_bytes(bytes)).filter(|state| state.sum().as_ref() == Some(sum))
}

/// Removes old states, and those beyond the limit.
pub(crate) fn sweep(store: &Store, disk: &dyn Disk, before: Timestamp) {
    let files = files_with_ending(&dir(store), "txt");
    let excess = files.len().saturating_sub(FILES);
    for (at, path) in files.into_iter().enumerate() {
        if at < excess || disk::is_older(&path, before) {
            disk.remove(&path).discard("the next sweep removes the remaining files");
        }
    }
}

fn dir(store: &Store) -> PathBuf {
    store.cache_dir().join("trace")
}

fn path(store: &Store, sum: &Sha256Sum) -> PathBuf {
    dir(store).join(format!("{}.txt", sum.hex()))
}
