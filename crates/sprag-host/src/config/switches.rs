//! Switches that a person sets: Sprag off or on, and trust in the configuration of a project. Both are in the
//! user's state directory, where a repository cannot set them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::time::Timestamp;

use crate::sys::disk::{self, Disk, read_small};
use crate::sys::locations::UserLocations;

/// The clones where Sprag is off, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Off {
    pub everywhere: Option<SwitchOff>,
    /// By store: one clone with all its worktrees.
    pub here: BTreeMap<PathBuf, SwitchOff>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchOff {
    pub since: Timestamp,
    /// `None` until a person turns Sprag on.
    pub until: Option<Timestamp>,
}

impl Off {
    pub fn applies<'a>(&'a self, store: &Path, now: Timestamp) -> Option<&'a SwitchOff> {
        let lasts = |span: &&SwitchOff| span.until.is_none_or(|until| now < until);
        self.everywhere.as_ref().filter(lasts).or_else(|| self.here.get(store).filter(lasts))
    }
}

pub fn off_path(user: &UserLocations) -> PathBuf {
    user.state.join("off.json")
}

pub fn trust_path(user: &UserLocations) -> PathBuf {
    user.state.join("trust.json")
}

/// Reads the off switches. A file that cannot be read turns nothing off.
pub fn read_off(user: &UserLocations) -> Off {
    read(&off_path(user))
}

pub fn write_off(user: &UserLocations, disk: &dyn Disk, off: &Off) -> io::Result<()> {
    write(disk, &off_path(user), off)
}

/// Returns the hash of the content that a person trusted.
pub fn trusted(user: &UserLocations, file: &Path) -> Option<String> {
    read::<BTreeMap<PathBuf, String>>(&trust_path(user)).remove(file)
}

/// Trusts the present content of each file, or removes the trust.
pub fn set_trust(
    user: &UserLocations,
    disk: &dyn Disk,
    files: &[(PathBuf, Option<String>)],
) -> io::Result<()> {
    let mut all: BTreeMap<PathBuf, String> = read(&trust_path(user));
    for (file, hash) in files {
        match hash {
            Some(hash) => all.insert(file.clone(), hash.clone()),
            None => all.remove(file),
        };
    }
    write(disk, &trust_path(user), &all)
}

fn read<T: Default + for<'de> Deserialize<'de>>(path: &Path) -> T {
    read_small(path, 1024 * 1024).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn write<T: Serialize>(disk: &dyn Disk, path: &Path, value: &T) -> io::Result<()> {
    disk::make_parent(disk, path)?;
    disk::replace(disk, path, &serde_json::to_vec_pretty(value).map_err(io::Error::other)?)
}
