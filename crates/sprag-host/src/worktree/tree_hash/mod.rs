//! The tree hash: one name for all that is in a worktree, tracked or not, but for what is ignored
//! and our own files. A commit of the same content keeps it, and so does staging.
//!
//! Git makes it, through a copy of the index that is thrown away and into a store of objects of our
//! own, so that the repository does not grow by asking. Those objects are cache: what is missing is
//! written again with the next hash, and only a diff of an older tree is lost with them.
//!
//! Filters that the repository's own configuration names are not run for it, those of the user are.
//! Files that the index says not to look at are looked at all the same, as far as they are there. Of a
//! repository within this one only its commit counts.

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

/// The name of the worktree's tree, by three children. `None`: git could not say in time.
pub fn hash(places: &Locations, disk: &dyn Disk) -> Option<String> {
    let scratch = Scratch::open(places, disk)?;
    scratch.disk.make_dirs(&scratch.objects).ok()?;
    let index = revealed(places)?;
    with_copy(&scratch, index.as_ref(), |copy| git::write_tree(places, copy, &scratch.objects))
}

/// Paths that differ from HEAD or are untracked, by one child; also those that the index hides.
pub fn changed_paths(places: &Locations, disk: &dyn Disk) -> Option<Vec<String>> {
    let worktree = places.worktree.as_ref()?;
    match revealed(places)?.filter(|index| index.is_changed) {
        // Nearly no index hides anything: that is worth no copy.
        None => git::changed_paths(worktree),
        index => {
            let scratch = Scratch::open(places, disk)?;
            with_copy(&scratch, index.as_ref(), |copy| git::changed_paths_by(worktree, copy))
        }
    }
}

/// Where git may write while it answers: the store, or for a dry run a directory that is removed afterwards.
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
            disk::remove_all(self.disk, dir, OBJECT_DEPTH)
                .discard("the system clears the folder for temporary files");
        }
    }
}

/// Directories between a scratch directory and an object in it.
const OBJECT_DEPTH: usize = 2;

/// Lets git use a copy of the index that is thrown away; where there is none yet, so is the copy.
fn with_copy<T>(
    scratch: &Scratch<'_>,
    index: Option<&Revealed>,
    ask: impl FnOnce(&Path) -> Option<T>,
) -> Option<T> {
    let disk = scratch.disk;
    disk.make_dirs(&scratch.cache).ok()?;
    // Named as what `sprag store clean` sweeps up after a process that was killed.
    let copy = scratch.cache.join(disk::temp_name(Path::new("index")).ok()?);
    let copied = match index {
        Some(index) => disk::copy_derived(disk, &index.bytes[..], index.modified, &copy).map(|_| ()),
        None => Ok(()),
    };
    let answer = copied.ok().and_then(|()| ask(&copy));
    // Git leaves its lock behind when it is ended at the deadline.
    for left in [copy.with_added_extension("lock"), copy] {
        disk.remove(&left).discard("`sprag store clean` sweeps temporary files that stay");
    }
    answer
}

/// One of millions of files.
const INDEX_BYTES: u64 = 256 * 1024 * 1024;

/// The index with nothing hidden by it.
struct Revealed {
    bytes: Vec<u8>,
    modified: SystemTime,
    is_changed: bool,
}

/// `Some(None)`: there is no index yet.
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

/// What differs between two trees, as text for a reviewer: from [`hash`], or [`head_tree`].
pub fn between(places: &Locations, from: &str, to: &str) -> Option<git::GitDiff> {
    git::tree_diff(places, &objects_dir(&Store::at(&places.store)), from, to)
}

/// The tree of the commit that is checked out, with our own files in it: to be compared by
/// [`between`] and not by its name.
pub fn head_tree(places: &Locations) -> Option<String> {
    git::head_tree(places)
}

/// The tree of nothing, which comes before the first commit.
pub fn empty_tree(places: &Locations) -> Option<String> {
    git::empty_tree(places.worktree.as_ref()?)
}

/// Outside git: a name for the content of these files.
pub fn hash_of_files(paths: &[String]) -> String {
    let mut paths: Vec<&String> = paths.iter().collect();
    paths.sort();
    paths.dedup();
    let parts = paths.into_iter().flat_map(|path| [path.clone().into_bytes(), content(Path::new(path))]);
    Digest::hash_parts(parts).to_string()
}

/// Larger files are known by their size and time.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A mark no other state of the file has.
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

/// Objects that no hash has needed since this time.
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
