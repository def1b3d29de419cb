//! The world of one call: environment, disk, locations and configuration.

use std::path::Path;

use sprag_govern::event::Input;
use sprag_govern::session_facts::SessionFacts;

use crate::config::compiled::{self, Compiled};
use crate::store::{SessionSelection, Store};
use crate::sys::disk::{Disk, RealDisk};
use crate::sys::env::Env;
use crate::sys::locations::Locations;

/// Returns the world of the worktree where the session started, if this event comes from another worktree of
/// the same clone.
pub(crate) fn started_elsewhere<'a>(world: &World<'a>, session: &SessionFacts) -> Option<World<'a>> {
    let root = Path::new(&session.root);
    if session.root.is_empty() || world.places.worktree.as_deref() == Some(root) {
        return None;
    }
    let places = Locations::find(root, world.env).ok()?;
    let is_same_clone = places.worktree.as_deref() == Some(root) && places.store == world.places.store;
    is_same_clone.then(|| World { env: world.env, disk: world.disk, places, config: world.config.clone() })
}

/// Environment, disk, locations and configuration of one call.
pub struct World<'a> {
    pub env: &'a Env,
    pub disk: &'a dyn Disk,
    pub places: Locations,
    pub config: Compiled,
}

impl<'a> World<'a> {
    pub fn new(env: &'a Env, disk: &'a dyn Disk, places: Locations) -> World<'a> {
        let config = compiled::for_hook(&places, env, disk);
        World { env, disk, places, config }
    }

    pub fn store(&self) -> Store {
        Store::at(&self.places.store)
    }

    /// Returns the disk for files that mark running processes. A dry run writes and removes these files too.
    pub(crate) fn process_disk(&self) -> &'a dyn Disk {
        if self.disk.is_read_only() { &RealDisk } else { self.disk }
    }

    /// Returns the store for the session of an event. Sessions of a stage have a separate directory.
    pub(crate) fn store_of(&self, input: &Input) -> Store {
        let is_report = input.client == sprag_base::record::REPORTER;
        let sessions = match &input.stage {
            Some(stage) => SessionSelection::OfStage(file_name(stage.as_str())),
            // A person may report on any session.
            None if is_report => SessionSelection::All,
            None => SessionSelection::Plain,
        };
        Store { sessions, ..self.store() }
    }
}

/// Returns the part of a stage name that is safe in a file name. The name comes from a file that others may
/// have changed.
fn file_name(stage: &str) -> String {
    stage.chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '-').collect()
}
