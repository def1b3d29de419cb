//! The question to a person about a stage: its history, the places to inspect, and the commands that apply
//! now.

use sprag_base::redact;
use sprag_base::text::plain;

use crate::ids::StageId;
use crate::run::command::allowed;
use crate::run::{Run, StageEntry, open_tasks};
use crate::sentences::{HELD, bypassed, stage_history, tasks_left};
use crate::stage::command::{CommandRole, StageCommandKind};
use crate::stage::state::StageState;
use crate::stage::{ReviewQuestion, StageFailure};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRequest {
    /// The history; the first line is a summary.
    pub what: Vec<String>,
    pub look: Vec<WhereToLook>,
    /// Commands for people.
    pub words: Vec<StageCommandKind>,
}

/// Place to inspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhereToLook {
    /// The output of its agents and the records of the stage.
    Logs,
    Worktree,
    /// The changes that it would bring to the trunk.
    Work,
    /// The capabilities of this machine.
    Machine,
}

/// Returns the question about a stage; `None` if there is no such stage.
pub fn asked(run: &Run, id: &StageId) -> Option<ReviewRequest> {
    let entry = run.entry(id)?;
    let mut what = stage_history(entry);
    let open = open_tasks(run, id);
    if !open.is_empty() && !entry.state.is_over() {
        what.push(tasks_left(&open));
    }
    what.extend(entry.waivers.bypass.as_ref().map(bypassed));
    if entry.is_held() && !matches!(entry.state, StageState::Ready(_) | StageState::Review { .. }) {
        what.push(HELD.to_owned());
    }
    // A missing worktree cannot be inspected.
    let is_there = |look: &WhereToLook| match look {
        WhereToLook::Worktree | WhereToLook::Work => entry.worktree.base().is_some(),
        WhereToLook::Logs | WhereToLook::Machine => true,
    };
    let look = where_to_look(entry).iter().copied().filter(is_there).collect();
    // Agents wrote much of this text, and older records may hold secrets that are redacted today.
    let what = what.iter().map(|line| redact::text(&plain(line)).into_inner().into_owned()).collect();
    let words =
        allowed(run, entry).into_iter().filter(|word| word.least_role() >= CommandRole::User).collect();
    Some(ReviewRequest { what, look, words })
}

/// Returns the places to inspect; the first shows most.
fn where_to_look(entry: &StageEntry) -> &'static [WhereToLook] {
    use WhereToLook::{Logs, Machine, Work, Worktree};
    match &entry.state {
        StageState::Waiting { .. }
        | StageState::Ready(_)
        | StageState::Skipped { .. }
        | StageState::Done { .. } => &[],
        StageState::Running(_) | StageState::Asking { .. } | StageState::HandingOff { .. } => &[Logs],
        StageState::Failing { .. } => &[Logs, Worktree],
        StageState::Merging { .. } | StageState::MergeFailed { .. } => &[Work],
        StageState::Conflicted(_) => &[Worktree],
        StageState::Blocked { failure, .. } => match failure {
            StageFailure::Overload | StageFailure::Auth | StageFailure::Budget => &[Logs],
            StageFailure::Sandbox => &[Machine, Logs],
            StageFailure::Conflict => &[Worktree],
            StageFailure::Crash
            | StageFailure::Timeout
            | StageFailure::Wedged
            | StageFailure::Unknown
            | StageFailure::Setup
            | StageFailure::Told
            | StageFailure::Context => &[Logs, Worktree],
        },
        StageState::Review { question, .. } => match question {
            ReviewQuestion::TooManyFixes => &[Logs, Worktree],
            ReviewQuestion::Disputed(_) => &[Logs, Work],
            ReviewQuestion::NoChange | ReviewQuestion::ConflictUnresolved => &[Worktree, Logs],
            ReviewQuestion::Unreviewed { .. } => &[Work, Logs],
            ReviewQuestion::Merge { .. }
            | ReviewQuestion::OnHold { .. }
            | ReviewQuestion::ProtectedFiles
            | ReviewQuestion::MergeFailed => &[Work],
        },
    }
}
