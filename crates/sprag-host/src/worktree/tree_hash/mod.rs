//! Computes the tree hash: one name for all files of a worktree, tracked or not, without ignored files and
//! Sprag's own. A commit or staging of the same content does not change it.
//!
//! Git computes it with a temporary copy of the index and a separate object store, so that the repository
//! does not grow. These objects are a cache. Missing ones are written again with the next hash; without them
//! only the diff of an older tree is lost.
//!
//! Git does not run filters from the repository's configuration, but it runs those of the user. Existing
//! files that the index hides are read anyway. Of a nested repository only its commit counts.

mod index_flags;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use sprag_base::digest::Digest;
use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;

use crate::git;
use crate::store::Store;
use crate::sys::disk::{self, Disk, RealDisk, open_regular};
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

/// Returns the tree hash of the worktree, with three git processes. `None`: git failed or was too slow.
pub fn hash(places: &Locations, disk: &dyn Disk) -> Option<String> {
    let scratch = Scratch::open(places, disk)?;
    scratch.disk.make_dirs(&scratch.objects).ok()?;
    let index = revealed(places)?;
    with_copy(&scratch, index.as_ref(), |copy| git::write_tree(places, copy, &scratch.objects))
}

/// Returns paths that differ from HEAD or are untracked, including hidden ones, with one git process.
pub fn changed_paths(places: &Locations, disk: &dyn Disk) -> Option<Vec<String>> {
    let worktree = places.worktree.as_ref()?;
    match revealed(places)?.filter(|index| index.is_changed) {
        // Almost no index hides files, so a copy is rarely needed.
        None => git::changed_paths(worktree),
        index => {
            let scratch = Scratch::open(places, disk)?;
            with_copy(&scratch, index.as_ref(), |copy| git::changed_paths_by(worktree, copy))
        }
    }
}

/// Directory that git may write to: the store, or a temporary directory for a dry run.
struct Scratch<'a> {
    disk: &'a dyn Disk,
    objects: PathBuf,
    cache: PathBuf,
    removed: Option<PathBuf>,
}

impl<'a> Scratch<'a> {
    fn open(places: &Locations, disk: &'a dyn Disk) -> Option<Scratch<'a>> {
        if !disk.is_read_only() {
            let store = Store::at(&places.store);
            return Some(Scratch {
                disk,
                objects: objects_dir(&store),
                cache: store.cache_dir(),
                removed: None,
            });
        }
        let dir = std::env::temp_dir().join(disk::temp_name(Path::new("sprag-dry-run")).ok()?);
        Some(Scratch {
            disk: &RealDisk,
            objects: dir.join("objects"),
            cache: dir.join("cache"),
            removed: Some(dir),
        })
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(dir) = &self.removed {
            disk::remove_all(self.disk, dir, OBJECT_DEPTH).discard("the system clears temporary directories");
        }
    }
}

/// Levels between a scratch directory and an object in it.
const OBJECT_DEPTH: usize = 2;

/// Lets git use a temporary copy of the index. Without an index there is no copy.
fn with_copy<T>(
    scratch: &Scratch<'_>,
    index: Option<&Revealed>,
    ask: impl FnOnce(&Path) -> Option<T>,
) -> Option<T> {
    let disk = scratch.disk;
    disk.make_dirs(&scratch.cache).ok()?;
    // The name lets `sprag store clean` remove the file after a kill.
    let copy = scratch.cache.join(disk::temp_name(Path::new("index")).ok()?);
    let copied = match index {
        Some(index) => disk::copy_derived(disk, &index.bytes[..], index.modified, &copy).map(|_| ()),
        None => Ok(()),
    };
    let answer = copied.ok().and_then(|()| ask(&copy));
    // Git leaves its lock when it is killed at the deadline.
    for left in [copy.with_added_extension("lock"), copy] {
        disk.remove(&left).discard("`sprag store clean` removes remaining temporary files");
    }
    answer
}

/// Size of an index with millions of files.
const INDEX_BYTES: u64 = 256 * 1024 * 1024;

/// An index that hides no files.
struct Revealed {
    bytes: Vec<u8>,
    modified: SystemTime,
    is_changed: bool,
}

/// Reads the index and clears its hiding bits. `Some(None)`: there is no index yet.
fn revealed(places: &Locations) -> Option<Option<Revealed>> {
    let (git_dir, worktree) = (places.git_dir.as_ref()?, places.worktree.as_ref()?);
    let index = match open_regular(&git_dir.join("index")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(None),
        index => index.ok()?,
    };
    let modified = index.metadata().ok()?.modified().ok()?;
    let mut bytes = read_capped(index, INDEX_BYTES + 1).ok()?;
    if bytes.len() as u64 > INDEX_BYTES {
        return None;
    }
    let is_there = |path: &[u8]| fs::symlink_metadata(worktree.join(OsStr::from_bytes(path))).is_ok();
    let is_changed = index_flags::reveal(&mut bytes, is_there);
    Some(Some(Revealed { bytes, modified, is_changed }))
}

/// Returns the diff between two trees, for a reviewer. The trees come from [`hash`] or [`head_tree`].
pub fn between(places: &Locations, from: &str, to: &str) -> Option<git::GitDiff> {
    git::tree_diff(places, &objects_dir(&Store::at(&places.store)), from, to)
}

/// Returns the tree of the checked-out commit, including Sprag's own files. Use it with [`between`]; its name
/// does not compare to a tree hash.
pub fn head_tree(places: &Locations) -> Option<String> {
    git::head_tree(places)
}

/// Returns the empty tree, which precedes the first commit.
pub fn empty_tree(places: &Locations) -> Option<String> {
    git::empty_tree(places.worktree.as_ref()?)
}

/// Returns a hash of these files, for use outside git.
pub fn hash_of_files(paths: &[String]) -> String {
    let mut paths: Vec<&String> = paths.iter().collect();
    paths.sort();
    paths.dedup();
    let parts = paths.into_iter().flat_map(|path| [path.clone().into_bytes(), content(Path::new(path))]);
    Digest::hash_parts(parts).to_string()
}

/// Larger files are known by size and time.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Returns bytes that identify the state of the file.
fn content(path: &Path) -> Vec<u8> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return b"missing".to_vec();
    };
    if found.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return [b"link ", target.as_os_str().as_encoded_bytes()].concat();
    }
    if found.is_file() && found.len() <= FILE_BYTES {
        return digest(path)
            .map_or_else(|_| b"unreadable".to_vec(), |digest| [b"file ", &digest[..]].concat());
    }
    let modified = found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    format!("other {} {:?}", found.len(), modified).into_bytes()
}

fn digest(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?.take(FILE_BYTES);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().to_vec()),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Returns objects that no hash has used since this time.
pub fn old_objects(store: &Store, before: Timestamp) -> Vec<PathBuf> {
    let all = entries(&objects_dir(store)).flat_map(|dir| entries(&dir));
    all.filter(|path| path.is_file() && disk::is_older(path, before)).collect()
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn objects_dir(store: &Store) -> PathBuf {
    store.dir.join("objects")
}
