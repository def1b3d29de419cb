//! What an agent tells us through a command. A report finds its session, goes through the same walk
//! as a hook's event, and is left in the inbox where a sandbox does not let it.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use sprag_base::ids::SessionId;
pub use sprag_base::record::REPORTER as CLIENT;
use sprag_base::record::Record;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Actor, Event, Input, Presence};
use sprag_govern::reason::Reason;
use sprag_govern::report::Report;
use sprag_govern::verdict::Ruling;

use crate::store::Store;
use crate::walk::{self, World};
use crate::{backends, inbox, journal, records};

/// A session counts as live for this long after its last event.
pub const LIVE_SECONDS: i64 = 30 * 60;

#[derive(Debug)]
pub enum ReportError {
    NoSession,
    Ambiguous(Vec<SessionId>),
    Unknown(SessionId),
    Io(io::Error),
}

/// Where a report went.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    Recorded,
    /// Left for the next hook of the session to take in.
    Left(PathBuf),
    /// A gate objects; nothing came of it.
    Refused(Reason),
}

impl From<io::Error> for ReportError {
    fn from(error: io::Error) -> Self {
        ReportError::Io(error)
    }
}

/// Where a report went, and what came of it.
#[derive(Debug)]
pub struct Told {
    pub delivery: Delivery,
    /// What was written because of it.
    pub written: Vec<Record>,
    pub notes: Vec<String>,
}

pub fn send(
    world: &World<'_>,
    session: &SessionId,
    report: Report,
    cwd: &Path,
    now: Timestamp,
) -> Result<Delivery, ReportError> {
    tell(world, session, &Actor::Main, report, cwd, now).map(|told| told.delivery)
}

/// The same, for an agent that the session has started.
pub fn send_as(
    world: &World<'_>,
    session: &SessionId,
    actor: &Actor,
    report: Report,
    cwd: &Path,
    now: Timestamp,
) -> Result<Delivery, ReportError> {
    tell(world, session, actor, report, cwd, now).map(|told| told.delivery)
}

pub fn tell(
    world: &World<'_>,
    session: &SessionId,
    actor: &Actor,
    report: Report,
    cwd: &Path,
    now: Timestamp,
) -> Result<Told, ReportError> {
    let report = report.redacted();
    let root = world.places.worktree.as_ref().map(|root| root.to_string_lossy().into_owned());
    let input = Input {
        client: CLIENT.to_owned(),
        cwd: cwd.to_string_lossy().into_owned(),
        root: root.unwrap_or_default(),
        actor: actor.clone(),
        presence: Presence::Headless,
        ..Input::new(now, session.clone(), Event::Reported(report.clone()))
    };
    match walk::walk(world, &input) {
        // Somebody sits on the session. Saying that it was recorded would be a lie.
        Ok(walked) if !walked.is_kept => Err(io::Error::from(io::ErrorKind::WouldBlock).into()),
        Ok(walked) => {
            mirror(world, session, walked.mirrors(), now);
            Ok(Told {
                delivery: match walked.verdict.ruling {
                    Ruling::Hold { reason, .. } | Ruling::Ask { reason, .. } => Delivery::Refused(reason),
                    Ruling::Pass | Ruling::Allow { .. } => Delivery::Recorded,
                },
                written: walked.written,
                notes: walked.verdict.notes.iter().map(ToString::to_string).collect(),
            })
        }
        Err(error) if is_sandbox(&error) && report.is_anyones() => {
            let delivery = leave(world, session, report, now)?;
            Ok(Told { delivery, written: Vec::new(), notes: Vec::new() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Tells the backends. It is on record already: a backend that fails is a warning in the log and no more.
fn mirror(world: &World<'_>, session: &SessionId, logged: &[Record], now: Timestamp) {
    let warned = backends::mirror(world, logged, now);
    let warned: Vec<Record> = warned
        .iter()
        .map(|what| records::record("warned", now, Some(session), None, json!({ "what": what })))
        .collect();
    if !warned.is_empty() {
        world.store().log(world.disk, &warned).unwrap_or_default();
    }
}

/// Leaves a report for somebody else to take in.
pub fn leave(world: &World<'_>, session: &SessionId, report: Report, now: Timestamp) -> io::Result<Delivery> {
    let report = report.redacted();
    let drop = inbox::Drop { v: 1, id: records::new_id(now), at: now, session: session.clone(), report };
    Ok(Delivery::Left(inbox::leave(&world.places, world.env, world.disk, &drop)?))
}

fn is_sandbox(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// The session a command is about: named, else the client's own, else the only live one here.
pub fn find_session(
    world: &World<'_>,
    named: Option<&str>,
    now: Timestamp,
) -> Result<SessionId, ReportError> {
    let store = world.store();
    if let Some(named) = named {
        return by_prefix(&store, named);
    }
    let variables = ["SPRAG_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"];
    // A stage's session has a name of ours besides the client's: whichever has called hooks is meant.
    let mut ids = variables.iter().filter_map(|name| world.env.text(name)).map(SessionId::new);
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

/// Any session of the store by the start of its id.
pub fn by_prefix(store: &Store, prefix: &str) -> Result<SessionId, ReportError> {
    let sessions: Vec<SessionId> =
        match crate::projections::load_all::<sprag_govern::history::Sessions>(store) {
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
