//! The world of one call: environment, disk, locations and configuration.

use std::path::{Path, PathBuf};

use sprag_govern::event::Input;
use sprag_govern::session_facts::SessionFacts;

use crate::config::compiled::{self, Compiled};
use crate::store::{SessionSelection, Store, session_registry};
use crate::sys::disk::{Disk, RealDisk};
use crate::sys::env::Env;
use crate::sys::locations::{Locations, NoHome};

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

/// The locations that govern one event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlaces {
    /// The repository of the session. Its worktree is the agent's current one, if it belongs to the same clone.
    pub own: Locations,
    /// The worktree in which the session started, if the agent is in another worktree of the same clone.
    pub started: Option<Locations>,
    /// Another repository in which the agent is now.
    pub other: Option<Locations>,
}

impl SessionPlaces {
    /// Finds the locations of an event. A session belongs to the repository where it started. A directory
    /// without a repository, and a repository below the worktree of the session, change nothing.
    pub fn find(input: &Input, cwd: &Path, env: &Env) -> Result<SessionPlaces, NoHome> {
        let here = Locations::find(cwd, env)?;
        let noted = here.user.as_ref().and_then(|user| session_registry::started_in(user, &input.session));
        let noted = noted.filter(|noted| {
            here.worktree.as_ref() == Some(noted) || session_registry::at_worktree(noted, env).is_some()
        });
        let start = noted.or_else(|| input.project.as_ref().map(PathBuf::from));
        let Some(start) = start.filter(|start| *start != cwd && here.worktree.as_ref() != Some(start)) else {
            return Ok(SessionPlaces::only(here));
        };
        let home = Locations::find(&start, env)?;
        if here.worktree == home.worktree {
            return Ok(SessionPlaces::only(home));
        }
        let is_same_clone = here.common.is_some() && here.common == home.common;
        if is_same_clone {
            return Ok(SessionPlaces { own: here, started: Some(home), other: None });
        }
        let other = (here.worktree.is_some() && !is_part(&here, &home)).then_some(here);
        Ok(SessionPlaces { own: home, started: None, other })
    }

    fn only(own: Locations) -> SessionPlaces {
        SessionPlaces { own, started: None, other: None }
    }
}

/// Reports whether a repository is below the worktree of the session and has no configuration.
fn is_part(inner: &Locations, outer: &Locations) -> bool {
    let is_below = match (&inner.worktree, &outer.worktree) {
        (Some(inner), Some(outer)) => inner.starts_with(outer),
        _ => false,
    };
    is_below && inner.project().is_none_or(|project| !project.exists())
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

    /// Returns the world of a session's event. The configuration of the worktree where the session started
    /// stays in force.
    pub fn of_session(env: &'a Env, disk: &'a dyn Disk, places: &SessionPlaces) -> World<'a> {
        let configured = places.started.as_ref().unwrap_or(&places.own);
        let config = compiled::for_hook(configured, env, disk);
        World { env, disk, places: places.own.clone(), config }
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
