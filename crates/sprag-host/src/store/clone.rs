//! The id of a clone, and the files that it shares with other clones.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use crate::store::{LOCK_WAIT, Store, lock_within};
use crate::sys::disk::{self, Disk, random};
use crate::sys::locations::Locations;

/// Returns the directory for files of the project, if it exists. Ignores a link, which could point anywhere.
pub fn project_dir(places: &Locations) -> Option<PathBuf> {
    places.project().filter(|project| fs::symlink_metadata(project).is_ok_and(|found| found.is_dir()))
}

/// Most bytes of the id file. It has one line, or more after killed processes.
const CLONE_BYTES: u64 = 64 * 1024;

/// Two branches of one clone append to the same file; a merge keeps both ends.
const ATTRIBUTES: &str = "*.jsonl merge=union\n";

/// Returns the id of this clone, and creates it if it is missing. The id is random, because a clone has no
/// other unique property.
pub fn clone_id(store: &Store, disk: &dyn Disk) -> io::Result<String> {
    disk.make_dirs(&store.dir)?;
    let path = store.dir.join("clone");
    let mut file = disk::append_regular(&path)?;
    if !lock_within(&file, LOCK_WAIT)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let mut text = String::new();
    (&file).take(CLONE_BYTES).read_to_string(&mut text)?;
    let known = text
        .lines()
        .last()
        .filter(|line| line.len() == 16 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if let Some(known) = known {
        return Ok(known.to_owned());
    }
    let id = format!("{:016x}", random()?);
    file.seek(io::SeekFrom::End(0))?;
    // A killed process may have left half a line.
    disk.append(&file, format!("\n{id}\n").as_bytes())?;
    disk.sync(&file)?;
    disk::sync_parent(disk, &path)?;
    Ok(id)
}

/// Returns the id of this clone, if it has one. Writes nothing.
pub fn known_clone_id(store: &Store) -> Option<String> {
    let text = disk::read_small(&store.dir.join("clone"), 4096).ok()?;
    let is_id = |line: &&str| line.len() == 16 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.lines().last().filter(is_id).map(str::to_owned)
}

/// Returns the file of this clone, and creates its directory.
pub fn own_file(store: &Store, project: &Path, disk: &dyn Disk) -> io::Result<PathBuf> {
    let dir = project.join("share");
    disk::make_dirs_within(disk, project, &dir)?;
    let attributes = dir.join(".gitattributes");
    if !attributes.exists() {
        disk::replace_derived(disk, &attributes, ATTRIBUTES.as_bytes())?;
    }
    Ok(dir.join(format!("{}.jsonl", clone_id(store, disk)?)))
}
