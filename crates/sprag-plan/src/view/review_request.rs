//! The question to a person about a stage: its history, the places to inspect, and the commands that apply
//! now.

use sprag_base::redact;
use sprag_base::text::{Text, plain};

use crate::ids::StageId;
use crate::run::command::allowed;
use crate::run::{Run, StageEntry, open_tasks};
use crate::sentences::{case_of, failed, left_out};
use crate::stage::command::{CommandRole, StageCommandKind};
use crate::stage::state::StageState;
use crate::stage::{Dispute, ReviewQuestion, StageConflict, StageFailure};

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
    let (mut what, mut look) = describe_stage(entry);
    let open: Vec<String> = open_tasks(run, id).iter().map(|task| format!("`{task}`")).collect();
    if !open.is_empty() && !entry.state.is_over() {
        what.push(format!("open tasks: {}", open.join(", ")));
    }
    what.extend(entry.waivers.bypass.as_ref().map(|why| format!("its checks are bypassed: {why}")));
    if entry.is_held() && !matches!(entry.state, StageState::Ready(_) | StageState::Review { .. }) {
        what.push("on hold: no new agent starts for it, and it is not merged".to_owned());
    }
    // A missing worktree cannot be inspected.
    look.retain(|look| match look {
        WhereToLook::Worktree | WhereToLook::Work => entry.worktree.base().is_some(),
        WhereToLook::Logs | WhereToLook::Machine => true,
    });
    // Agents wrote much of this text, and older records may hold secrets that are redacted today.
    let what = what.iter().map(|line| redact::text(&plain(line)).into_inner().into_owned()).collect();
    let words =
        allowed(run, entry).into_iter().filter(|word| word.least_role() >= CommandRole::User).collect();
    Some(ReviewRequest { what, look, words })
}

fn describe_stage(entry: &StageEntry) -> (Vec<String>, Vec<WhereToLook>) {
    let one = |line: String, look: &[WhereToLook]| (vec![line], look.to_vec());
    match &entry.state {
        StageState::Waiting { on } => {
            let on: Vec<String> = on.iter().map(|id| format!("`{}`", id.as_str())).collect();
            one(format!("waits for {}, not merged yet", on.join(", ")), &[])
        }
        StageState::Ready(_) if entry.is_held() => one("on hold by a person".to_owned(), &[]),
        StageState::Ready(_) => one("ready to start".to_owned(), &[]),
        StageState::Running(_) => {
            one("its agent is at work, or its work is being checked".to_owned(), &[WhereToLook::Logs])
        }
        StageState::Asking { question, .. } => one(format!("question: {question}"), &[WhereToLook::Logs]),
        StageState::HandingOff { .. } => one(
            "its agent ends, and the handoff for the next agent is written".to_owned(),
            &[WhereToLook::Logs],
        ),
        StageState::Failing { report, .. } => {
            one(format!("failed checks:\n{report}"), &[WhereToLook::Logs, WhereToLook::Worktree])
        }
        StageState::Merging { .. } => one("in the merge queue".to_owned(), &[WhereToLook::Work]),
        StageState::Conflicted(conflict) => (conflicts(conflict), vec![WhereToLook::Worktree]),
        StageState::MergeFailed { .. } => {
            one("its checks fail after the merge".to_owned(), &[WhereToLook::Work])
        }
        StageState::Review { question, back } => reviewed(question, back),
        StageState::Blocked { failure, why, .. } => blocked(*failure, why.as_ref(), entry.counters.crashes),
        StageState::Skipped { by, why } => one(left_out(by, why), &[]),
        StageState::Done { merged } => one(format!("merged as `{}`", merged.commit().0), &[]),
    }
}

fn blocked(failure: StageFailure, why: Option<&Text<300>>, crashes: u8) -> (Vec<String>, Vec<WhereToLook>) {
    let line = match (failure, why) {
        // The person or agent who blocked it gave the reason.
        (StageFailure::Told, Some(why)) => format!("blocked: {why}"),
        (failure, Some(why)) => format!("{}: {why}", failed(failure)),
        (StageFailure::Crash, None) if crashes > 1 => {
            format!("{}, {crashes} times in a row without a commit", failed(failure))
        }
        (failure, None) => failed(failure).to_owned(),
    };
    let look = match failure {
        StageFailure::Crash | StageFailure::Timeout | StageFailure::Wedged | StageFailure::Unknown => {
            vec![WhereToLook::Logs, WhereToLook::Worktree]
        }
        StageFailure::Overload | StageFailure::Auth | StageFailure::Budget => vec![WhereToLook::Logs],
        StageFailure::Sandbox => vec![WhereToLook::Machine, WhereToLook::Logs],
        StageFailure::Setup | StageFailure::Told | StageFailure::Context => {
            vec![WhereToLook::Logs, WhereToLook::Worktree]
        }
        StageFailure::Conflict => vec![WhereToLook::Worktree],
    };
    (vec![line], look)
}

fn reviewed(question: &ReviewQuestion, back: &StageState) -> (Vec<String>, Vec<WhereToLook>) {
    let mut what = vec![case_of(question.reason()).to_owned()];
    let look = match question {
        ReviewQuestion::Merge { verified } => {
            what = vec![format!(
                "its checks passed as `{}`; a person has to approve the merge (`auto_merge: false`)",
                verified.head.0
            )];
            vec![WhereToLook::Work]
        }
        ReviewQuestion::TooManyFixes => vec![WhereToLook::Logs, WhereToLook::Worktree],
        ReviewQuestion::Disputed(Dispute { check, why }) => {
            what.push(format!("check `{check}` is disputed: {why}"));
            vec![WhereToLook::Logs, WhereToLook::Work]
        }
        ReviewQuestion::NoChange => {
            what = vec![
                "its agent claimed twice to be done, but committed nothing or left uncommitted files"
                    .to_owned(),
            ];
            vec![WhereToLook::Worktree, WhereToLook::Logs]
        }
        ReviewQuestion::Unreviewed { why, .. } => {
            what = vec!["its checks passed, but no review took place".to_owned()];
            what.push(why.to_string());
            vec![WhereToLook::Work, WhereToLook::Logs]
        }
        ReviewQuestion::OnHold { verified } => {
            if verified.is_some() {
                what = vec!["its checks passed; on hold by a person".to_owned()];
            }
            vec![WhereToLook::Work]
        }
        ReviewQuestion::ConflictUnresolved => vec![WhereToLook::Worktree, WhereToLook::Logs],
        ReviewQuestion::ProtectedFiles | ReviewQuestion::MergeFailed => vec![WhereToLook::Work],
    };
    match back {
        StageState::Failing { report, .. } => what.push(format!("failed checks:\n{report}")),
        StageState::Conflicted(conflict) => what.extend(conflicts(conflict)),
        StageState::MergeFailed { cause, .. } => what.push(red(cause)),
        _ => {}
    }
    (what, look)
}

fn red(cause: &crate::merge::merge_failure::MergeFailure) -> String {
    match cause {
        crate::merge::merge_failure::MergeFailure::Red { report } => format!("failed checks:\n{report}"),
        crate::merge::merge_failure::MergeFailure::Pair { with } => {
            format!("checks pass alone and fail together with stage `{}`", with.as_str())
        }
    }
}

fn conflicts(conflict: &StageConflict) -> Vec<String> {
    let mut lines = vec![format!("conflicts with `{}`", conflict.against.0)];
    lines.extend(conflict.paths.iter().map(|path| format!("conflict in `{path}`")));
    lines
}
