//! Sends reports that agents make through commands. A report finds its session and passes the same pipeline
//! as a hook event. If a sandbox prevents that, the report waits in the inbox.

pub mod find_session;
pub mod intent;
pub mod lesson;
pub mod review;
pub mod submit;

use std::io;
use std::path::{Path, PathBuf};

use sprag_base::ids::SessionId;
pub use sprag_base::record::REPORTER as CLIENT;
use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Actor, Event, Input, Presence};
use sprag_govern::gates::records::{GateRecord, WarningRecord};
use sprag_govern::reason::Reason;
use sprag_govern::report::{Report, ReportOutcome};
use sprag_govern::verdict::Ruling;

use crate::memory::mirrors;
use crate::pipeline::{self, PipelineMode};
use crate::store::{inbox, journal, new_record};
use crate::sys::human;
use crate::world::World;

#[derive(Debug)]
pub enum ReportError {
    NoSession,
    Ambiguous(Vec<SessionId>),
    Unknown(SessionId),
    /// The session of another agent.
    OfOther(SessionId),
    Io(io::Error),
}

/// Destination of a report.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    Recorded,
    /// Left in the inbox for the next hook of the session.
    Left(PathBuf),
    /// Refused by a gate, without effect.
    Refused(Reason),
}

impl From<io::Error> for ReportError {
    fn from(error: io::Error) -> Self {
        ReportError::Io(error)
    }
}

/// Destination and result of a report.
#[derive(Debug)]
pub struct ReportReceipt {
    pub delivery: Delivery,
    pub outcome: Option<ReportOutcome>,
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

pub fn tell(
    world: &World<'_>,
    session: &SessionId,
    actor: &Actor,
    report: Report,
    cwd: &Path,
    now: Timestamp,
) -> Result<ReportReceipt, ReportError> {
    check_own(world, session, &report)?;
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
    let processed = pipeline::process_event(world, &input, PipelineMode::Real);
    match processed.require_written() {
        // Another process locks the session, so nothing was recorded.
        Ok(walked) if !walked.is_kept => Err(io::Error::from(io::ErrorKind::WouldBlock).into()),
        Ok(walked) => {
            mirror(world, session, walked.mirrors(), now);
            Ok(ReportReceipt {
                delivery: match walked.verdict.ruling {
                    Ruling::Hold { reason, .. } | Ruling::Ask { reason, .. } => Delivery::Refused(reason),
                    Ruling::Pass | Ruling::Allow { .. } => Delivery::Recorded,
                },
                outcome: walked.outcome,
                notes: walked.verdict.notes.iter().map(ToString::to_string).collect(),
            })
        }
        Err(error) if is_sandbox(&error) && report.is_anyones() => {
            let delivery = leave(world, session, report, now)?;
            Ok(ReportReceipt { delivery, outcome: None, notes: Vec::new() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks that an agent reports for its own session. A person may report for any session. A token and the
/// process of a reviewer name the session themselves.
fn check_own(world: &World<'_>, session: &SessionId, report: &Report) -> Result<(), ReportError> {
    let names_session = match report {
        Report::Decided(decided) => decided.token.is_some(),
        Report::Misdirected { .. } | Report::ReviewerStarted { .. } | Report::ReviewerEnded { .. } => true,
        _ => false,
    };
    let Some(user) = world.places.user.as_ref().filter(|_| !names_session) else {
        return Ok(());
    };
    let Some(agent) = human::nearest_agent(user) else { return Ok(()) };
    let client = journal::read(&journal::path(&world.store(), session))
        .ok()
        .and_then(|(loaded, _)| loaded.session.about.client);
    if client.is_none_or(|client| client == agent) {
        return Ok(());
    }
    Err(ReportError::OfOther(session.clone()))
}

/// Copies the records to the backends. The log has them already, so a failing backend only causes a warning.
fn mirror(world: &World<'_>, session: &SessionId, logged: &[Record], now: Timestamp) {
    let warned = mirrors::mirror(world, logged, now);
    let warned: Vec<Record> = warned
        .iter()
        .map(|what| GateRecord::Warned(WarningRecord { what: what.clone() }))
        .map(|warning| new_record::record(&warning, now, Some(session), None))
        .collect();
    if !warned.is_empty() {
        world.store().log(world.disk, &warned).discard("the report itself is recorded already");
    }
}

/// Leaves a report in the inbox for another process.
pub fn leave(world: &World<'_>, session: &SessionId, report: Report, now: Timestamp) -> io::Result<Delivery> {
    let report = report.redacted();
    let drop =
        inbox::InboxReport { v: 1, id: new_record::new_id(now), at: now, session: session.clone(), report };
    Ok(Delivery::Left(inbox::leave(&world.places, world.env, world.disk, &drop)?))
}

fn is_sandbox(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
