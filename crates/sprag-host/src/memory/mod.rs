//! The memory on disk: an index over the log and over files that other clones share, made from them and
//! thrown away at any time. Reading takes no lock and parses nothing but what came since; keeping it up
//! to date happens after everybody has their answer.

pub mod library;
pub mod loading;
pub mod maintain;
pub mod manifest;
pub mod mapped;
pub mod pools;
mod reading;
pub mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::places::{Places, UserPlaces};
use crate::store::{Store, files_with_ending};

pub use library::{Library, Reach, Shown};

/// What clones of this project share, as this worktree has it.
pub fn shared(places: &Places) -> Vec<PathBuf> {
    places.project().map(|project| files_with_ending(&project.join("share"), "jsonl")).unwrap_or_default()
}

/// The records that belong to the user and to no project.
pub fn personal(user: &UserPlaces) -> Store {
    Store::at(user.state.join("personal"))
}
