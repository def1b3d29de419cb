//! Which words mean something of a stage, by its state. Whoever is asked is offered these, and no other is heard.

use super::command::{CommandRole, DISPUTES};
use crate::run::record::Effect;
use crate::run::{Run, StageEntry};
use crate::stage::state::StageState;
use crate::stage::{FIXES, Phase, ReviewReason, StageFailure};

/// A word, without what is said with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageCommandKind {
    Complete,
    Block,
    Ask,
    Task,
    Output,
    Dispute,
    Hold,
    Release,
    Skip,
    Retry,
    Reset,
    Resume,
    Merge,
    Verify,
    Accept,
    Reject,
    Bypass,
}

impl StageCommandKind {
    pub const ALL: [StageCommandKind; 17] = [
        StageCommandKind::Complete,
        StageCommandKind::Block,
        StageCommandKind::Ask,
        StageCommandKind::Task,
        StageCommandKind::Output,
        StageCommandKind::Dispute,
        StageCommandKind::Hold,
        StageCommandKind::Release,
        StageCommandKind::Skip,
        StageCommandKind::Retry,
        StageCommandKind::Reset,
        StageCommandKind::Resume,
        StageCommandKind::Merge,
        StageCommandKind::Verify,
        StageCommandKind::Accept,
        StageCommandKind::Reject,
        StageCommandKind::Bypass,
    ];

    /// Who may say it at least.
    pub fn least(self) -> CommandRole {
        match self {
            StageCommandKind::Complete
            | StageCommandKind::Block
            | StageCommandKind::Ask
            | StageCommandKind::Task
            | StageCommandKind::Output
            | StageCommandKind::Dispute => CommandRole::Agent,
            StageCommandKind::Hold
            | StageCommandKind::Release
            | StageCommandKind::Skip
            | StageCommandKind::Retry
            | StageCommandKind::Reset
            | StageCommandKind::Resume
            | StageCommandKind::Merge
            | StageCommandKind::Verify
            | StageCommandKind::Accept
            | StageCommandKind::Reject => CommandRole::User,
            StageCommandKind::Bypass => CommandRole::Admin,
        }
    }
}

/// All of them, the likeliest first.
pub fn meant(run: &Run, standing: &StageEntry) -> Vec<StageCommandKind> {
    let is_gone = |session| run.ended(session).is_some();
    let mut words: Vec<StageCommandKind> = match &standing.stage {
        StageState::Waiting { .. } => vec![StageCommandKind::Skip],
        StageState::Ready(turn) => {
            let is_late = (turn.is_held || turn.not_before.is_some()) && !standing.is_preparing;
            let has_begun = standing.worktree.is_some() || standing.is_preparing;
            let mut words = Vec::new();
            words.extend(is_late.then_some(StageCommandKind::Resume));
            words.extend([StageCommandKind::Skip, StageCommandKind::Block]);
            words.extend(has_begun.then_some(StageCommandKind::Reset));
            words
        }
        StageState::Running(work) => {
            let mut words = vec![
                StageCommandKind::Complete,
                StageCommandKind::Dispute,
                StageCommandKind::Block,
                StageCommandKind::Reset,
            ];
            if work.phase == Phase::Work {
                words.push(StageCommandKind::Ask);
                // While its agent is at it, nobody knows what is checked.
                words.extend(
                    is_gone(&work.session)
                        .then_some([StageCommandKind::Verify, StageCommandKind::Bypass])
                        .into_iter()
                        .flatten(),
                );
            }
            words
        }
        StageState::Asking { .. } => {
            vec![StageCommandKind::Resume, StageCommandKind::Block, StageCommandKind::Reset]
        }
        StageState::HandingOff { .. } => vec![StageCommandKind::Block, StageCommandKind::Reset],
        StageState::Failing { work, .. } => {
            let mut words = vec![
                StageCommandKind::Verify,
                StageCommandKind::Bypass,
                StageCommandKind::Dispute,
                StageCommandKind::Block,
                StageCommandKind::Reset,
            ];
            words.extend((work.fixes < FIXES).then_some(StageCommandKind::Complete));
            words
        }
        // What is about to land cannot be taken back by then.
        StageState::Merging { .. } => {
            let is_landing = run.open().values().any(|effect| matches!(effect, Effect::Land { .. }));
            if is_landing { Vec::new() } else { vec![StageCommandKind::Reset] }
        }
        StageState::Conflicted { resolver, .. } => {
            let mut words = vec![StageCommandKind::Dispute, StageCommandKind::Reset];
            words.extend(resolver.as_ref().map(|_| StageCommandKind::Complete));
            words
        }
        StageState::MergeHeld { .. } => vec![StageCommandKind::Dispute, StageCommandKind::Reset],
        StageState::Review { case, back } => reviewed(standing, *case, back),
        StageState::Blocked { failure, .. } => {
            let mut words = vec![StageCommandKind::Retry, StageCommandKind::Reset, StageCommandKind::Skip];
            // Somebody has said why, and can be answered.
            if *failure == StageFailure::Told {
                words.insert(0, StageCommandKind::Resume);
            }
            words
        }
        StageState::Skipped { .. } | StageState::Done { .. } => return Vec::new(),
    };
    words.extend(held(standing));
    words.extend([StageCommandKind::Task, StageCommandKind::Output]);
    words
}

/// Whether what comes next can be held, or let go.
fn held(standing: &StageEntry) -> Option<StageCommandKind> {
    if standing.is_held {
        return (!matches!(standing.stage, StageState::Merging { .. })).then_some(StageCommandKind::Release);
    }
    match &standing.stage {
        StageState::Waiting { .. }
        | StageState::Ready(_)
        | StageState::Running(_)
        | StageState::Asking { .. }
        | StageState::HandingOff { .. }
        | StageState::Failing { .. }
        | StageState::Conflicted { .. }
        | StageState::MergeHeld { .. } => Some(StageCommandKind::Hold),
        // Nothing comes next by itself, or it is too late.
        StageState::Merging { .. }
        | StageState::Review { .. }
        | StageState::Blocked { .. }
        | StageState::Skipped { .. }
        | StageState::Done { .. } => None,
    }
}

fn reviewed(standing: &StageEntry, case: ReviewReason, back: &StageState) -> Vec<StageCommandKind> {
    let mut words = Vec::new();
    match case {
        ReviewReason::Merge | ReviewReason::Held | ReviewReason::Unreviewed => {
            words.extend(standing.verified.as_ref().map(|_| StageCommandKind::Merge))
        }
        ReviewReason::Disputed if standing.dispute.is_some() => {
            words.extend((standing.waived.len() < DISPUTES).then_some(StageCommandKind::Accept));
            words.push(StageCommandKind::Reject);
        }
        ReviewReason::Disputed
        | ReviewReason::Checks
        | ReviewReason::NoChange
        | ReviewReason::Protected
        | ReviewReason::Conflict
        | ReviewReason::Red => {}
    }
    words.extend([StageCommandKind::Resume, StageCommandKind::Retry]);
    let has_work = matches!(
        back,
        StageState::Running(_)
            | StageState::Failing { .. }
            | StageState::Conflicted { resolver: Some(_), .. }
    );
    if has_work {
        words.extend([StageCommandKind::Verify, StageCommandKind::Bypass]);
    }
    words.extend([StageCommandKind::Reset, StageCommandKind::Skip, StageCommandKind::Block]);
    words
}
