//! Requests to the daemon loop, and its replies. While no daemon runs, a person's command takes the daemon
//! lock and writes the record itself.

use std::io;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use sprag_host::sys::disk::Disk;
use sprag_plan::ids::StageId;
use sprag_plan::reconcile::observed::StopMode;
use sprag_plan::run::Run;
use sprag_plan::run::amend::amend;
use sprag_plan::run::command::{CommandRefusal, CommandSender, authorize};
use sprag_plan::run::record::RunRecord;
use sprag_plan::sentences;
use sprag_plan::spec::Plan;
use sprag_plan::stage::command::StageCommand;
use sprag_plan::stage::state::StageState;
use sprag_plan::stage::{ReviewQuestion, StageConflict};

use super::protocol::{DaemonReply, StageCheckResult};
use crate::layout::run_log_path;
use crate::lock;
use crate::observe::session_exits;
use crate::run_log::RunLog;

/// A request to the loop, and the channel for the reply.
pub struct PendingRequest {
    pub speaker: CommandSender,
    pub ask: LoopRequest,
    pub reply: SyncSender<DaemonReply>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoopRequest {
    /// `None`: the stage of the agent that sends it.
    Say {
        stage: Option<StageId>,
        said: StageCommand,
    },
    Amend {
        plan: Box<Plan>,
    },
    Stop {
        how: StopMode,
    },
}

/// The reason why a request failed.
#[derive(Debug)]
pub enum RequestError {
    /// No run has this stage.
    NoRun,
    /// A daemon runs, but does not answer.
    AtWork {
        pid: u32,
    },
    Refused {
        code: String,
        message: String,
    },
    Io(io::Error),
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> RequestError {
        RequestError::Io(error)
    }
}

/// Records a person's command while no daemon runs. First records how agents ended, so that the command
/// applies to the present state.
pub fn say_alone(
    root: &Path,
    run: &Path,
    plan: &str,
    disk: &dyn Disk,
    speaker: &CommandSender,
    ask: &LoopRequest,
) -> Result<(), RequestError> {
    let Some(_reign) = lock::begin(run, disk)? else {
        return Err(RequestError::AtWork { pid: lock::ruler(run)?.unwrap_or(0) });
    };
    let mut log = RunLog::resume(&run_log_path(run, plan), disk)?.ok_or(RequestError::NoRun)?;
    session_exits::settle(&mut log, root, run)?;
    let record = record(log.run(), speaker, ask).map_err(|reply| match reply {
        DaemonReply::Refused { code, message } => RequestError::Refused { code, message },
        _ => RequestError::NoRun,
    })?;
    Ok(log.append(&record)?)
}

/// Returns the record for a request, or the refusal.
pub fn record(run: &Run, speaker: &CommandSender, ask: &LoopRequest) -> Result<RunRecord, DaemonReply> {
    match ask {
        LoopRequest::Say { stage, said } => {
            let stage = stage_of(run, speaker, stage.as_ref())
                .ok_or_else(|| refused(sentences::command_refused(&CommandRefusal::NoStage, "")))?;
            authorize(run, speaker, &stage, said)
                .map_err(|why| refused(sentences::command_refused(&why, stage.as_str())))
        }
        LoopRequest::Amend { plan } => amend(run, (**plan).clone(), speaker.name())
            .map_err(|why| refused(sentences::amendment_refused(&why))),
        LoopRequest::Stop { .. } => {
            Err(DaemonReply::Refused { code: "no_daemon".to_owned(), message: "no daemon runs".to_owned() })
        }
    }
}

/// Returns the reply to an accepted request; `run` is the state before the record.
pub fn heard(run: &Run, record: &RunRecord) -> DaemonReply {
    let RunRecord::StageCommand { stage, command: StageCommand::Hold, .. } = record else {
        return DaemonReply::Done;
    };
    match run.entry(stage).and_then(|entry| sentences::hold_begins(stage, &entry.state)) {
        Some(text) => DaemonReply::Heard { text },
        None => DaemonReply::Done,
    }
}

/// Returns the stage that a command is about.
pub fn stage_of(run: &Run, speaker: &CommandSender, named: Option<&StageId>) -> Option<StageId> {
    match (named, speaker) {
        (Some(named), _) => Some(named.clone()),
        (None, CommandSender::Agent { session }) => run.stage_of(session).cloned(),
        (None, CommandSender::Person { .. }) => None,
    }
}

/// Returns the result of a stage's checks; `None` while they run.
pub fn verdict(run: &Run, stage: &StageId) -> Option<StageCheckResult> {
    let Some(entry) = run.entry(stage) else {
        return Some(StageCheckResult::None { state: String::new() });
    };
    let red = |report: &str| Some(StageCheckResult::Red { report: report.to_owned() });
    match &entry.state {
        StageState::Running(work) if work.phase.is_verifying() => None,
        StageState::Conflicted(StageConflict { resolver: Some(resolver), .. }) if resolver.has_claimed => {
            None
        }
        StageState::Conflicted(_) => red(sentences::BAD_RESOLUTION),
        StageState::Merging { .. } | StageState::Done { .. } => Some(StageCheckResult::Green),
        StageState::Failing { report, .. } => red(report.as_str()),
        StageState::Review { question, back } => match (question, &**back) {
            (question, _) if question.verified().is_some() => Some(StageCheckResult::Green),
            (
                ReviewQuestion::OnHold { .. } | ReviewQuestion::TooManyFixes,
                StageState::Failing { report, .. },
            ) => red(report.as_str()),
            (ReviewQuestion::TooManyFixes, _) => red(sentences::TOO_OFTEN),
            (ReviewQuestion::NoChange, _) => red(sentences::UNCHANGED),
            _ => Some(StageCheckResult::None { state: entry.state.name().to_owned() }),
        },
        other => Some(StageCheckResult::None { state: other.name().to_owned() }),
    }
}

fn refused((code, message): (&str, String)) -> DaemonReply {
    DaemonReply::Refused { code: code.to_owned(), message }
}
