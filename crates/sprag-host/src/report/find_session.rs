//! Finds the session that a command means.

use std::path::Path;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;

use crate::clients::CLIENTS;
use crate::report::ReportError;
use crate::store::session_registry::LIVE_SECONDS;
use crate::store::{Store, journal};
use crate::sys::env::Env;
use crate::world::World;

/// Returns the session of a command: the named one, else the session of the client, else the only live one in
/// this worktree.
pub fn find_session(
    world: &World<'_>,
    named: Option<&str>,
    now: Timestamp,
) -> Result<SessionId, ReportError> {
    let store = world.store();
    if let Some(named) = named {
        return by_prefix(&store, named);
    }
    // The session of a stage has a Sprag id besides the id of the client. The id that has a journal is the
    // right one.
    let mut ids = variables().filter_map(|name| world.env.text(name)).map(SessionId::new);
    if let Some(first) = ids.next() {
        let known = |id: &SessionId| journal::path(&store, id).exists();
        let found = if known(&first) { Some(first.clone()) } else { ids.find(known) };
        return found.ok_or(ReportError::Unknown(first));
    }
    let worktree = world.places.worktree.as_deref();
    let mut live: Vec<SessionId> = live_sessions(&store, now)
        .into_iter()
        .filter(|(_, cwd)| worktree.is_none_or(|worktree| Path::new(cwd).starts_with(worktree)))
        .map(|(id, _)| id)
        .collect();
    match live.len() {
        0 => Err(ReportError::NoSession),
        1 => Ok(live.remove(0)),
        _ => Err(ReportError::Ambiguous(live)),
    }
}

/// Returns the variables that name the session of a client.
fn variables() -> impl Iterator<Item = &'static str> {
    ["SPRAG_SESSION"].into_iter().chain(CLIENTS.iter().filter_map(|client| client.session_variable))
}

/// Returns the session that the client of this process names, by its own id if there is one.
pub fn of_client(env: &Env) -> Option<SessionId> {
    variables().filter_map(|name| env.text(name)).map(SessionId::new).last()
}

/// Returns the session with the newest record.
pub fn newest(store: &Store) -> Result<SessionId, ReportError> {
    let sessions = crate::store::projections::load_all::<sprag_govern::history::SessionList>(store)?;
    sessions.rows().first().map(|row| row.id.clone()).ok_or(ReportError::NoSession)
}

/// Returns the session of the store whose id starts with this prefix.
pub fn by_prefix(store: &Store, prefix: &str) -> Result<SessionId, ReportError> {
    let sessions: Vec<SessionId> =
        match crate::store::projections::load_all::<sprag_govern::history::SessionList>(store) {
            Ok(sessions) => sessions.rows().into_iter().map(|row| row.id.clone()).collect(),
            Err(error) => return Err(error.into()),
        };
    let mut found: Vec<SessionId> =
        sessions.iter().filter(|id| id.as_str().starts_with(prefix)).cloned().collect();
    if let Some(exact) = found.iter().find(|id| id.as_str() == prefix) {
        return Ok(exact.clone());
    }
    match found.len() {
        0 => Err(ReportError::Unknown(SessionId::new(prefix))),
        1 => Ok(found.remove(0)),
        _ => Err(ReportError::Ambiguous(found)),
    }
}

fn live_sessions(store: &Store, now: Timestamp) -> Vec<(SessionId, String)> {
    journal::all(store)
        .into_iter()
        .filter_map(|path| journal::read(&path).ok())
        .filter_map(|(loaded, records)| {
            let last = records.last()?;
            let is_live = !loaded.session.about.ended && now.seconds_since(last.at) < LIVE_SECONDS;
            is_live.then(|| (last.session.clone(), loaded.session.about.cwd))
        })
        .filter_map(|(id, cwd)| Some((id?, cwd)))
        .collect()
}
