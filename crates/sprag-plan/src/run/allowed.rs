//! Which words mean something of a stage, by its state. Whoever is asked is offered these, and no other is heard.

use super::command::{DISPUTES, Role};
use crate::run::record::Effect;
use crate::run::{Run, Standing};
use crate::stage::{Case, FIXES, Failure, Phase, Stage};

/// A word, without what is said with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
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

impl Name {
    pub const ALL: [Name; 17] = [
        Name::Complete,
        Name::Block,
        Name::Ask,
        Name::Task,
        Name::Output,
        Name::Dispute,
        Name::Hold,
        Name::Release,
        Name::Skip,
        Name::Retry,
        Name::Reset,
        Name::Resume,
        Name::Merge,
        Name::Verify,
        Name::Accept,
        Name::Reject,
        Name::Bypass,
    ];

    /// Who may say it at least.
    pub fn least(self) -> Role {
        match self {
            Name::Complete | Name::Block | Name::Ask | Name::Task | Name::Output | Name::Dispute => {
                Role::Agent
            }
            Name::Hold
            | Name::Release
            | Name::Skip
            | Name::Retry
            | Name::Reset
            | Name::Resume
            | Name::Merge
            | Name::Verify
            | Name::Accept
            | Name::Reject => Role::User,
            Name::Bypass => Role::Admin,
        }
    }
}

/// All of them, the likeliest first.
pub fn meant(run: &Run, standing: &Standing) -> Vec<Name> {
    let is_gone = |session| run.ended(session).is_some();
    let mut words: Vec<Name> = match &standing.stage {
        Stage::Waiting { .. } => vec![Name::Skip],
        Stage::Ready(turn) => {
            let is_late = (turn.is_held || turn.not_before.is_some()) && !standing.is_preparing;
            let has_begun = standing.worktree.is_some() || standing.is_preparing;
            let mut words = Vec::new();
            words.extend(is_late.then_some(Name::Resume));
            words.extend([Name::Skip, Name::Block]);
            words.extend(has_begun.then_some(Name::Reset));
            words
        }
        Stage::Running(work) => {
            let mut words = vec![Name::Complete, Name::Dispute, Name::Block, Name::Reset];
            if work.phase == Phase::Work {
                words.push(Name::Ask);
                // While its agent is at it, nobody knows what is checked.
                words.extend(
                    is_gone(&work.session).then_some([Name::Verify, Name::Bypass]).into_iter().flatten(),
                );
            }
            words
        }
        Stage::Asking { .. } => vec![Name::Resume, Name::Block, Name::Reset],
        Stage::HandingOff { .. } => vec![Name::Block, Name::Reset],
        Stage::Failing { work, .. } => {
            let mut words = vec![Name::Verify, Name::Bypass, Name::Dispute, Name::Block, Name::Reset];
            words.extend((work.fixes < FIXES).then_some(Name::Complete));
            words
        }
        // What is about to land cannot be taken back by then.
        Stage::Merging { .. } => {
            let is_landing = run.open().values().any(|effect| matches!(effect, Effect::Land { .. }));
            if is_landing { Vec::new() } else { vec![Name::Reset] }
        }
        Stage::Conflicted { resolver, .. } => {
            let mut words = vec![Name::Dispute, Name::Reset];
            words.extend(resolver.as_ref().map(|_| Name::Complete));
            words
        }
        Stage::MergeHeld { .. } => vec![Name::Dispute, Name::Reset],
        Stage::Review { case, back } => reviewed(standing, *case, back),
        Stage::Blocked { failure, .. } => {
            let mut words = vec![Name::Retry, Name::Reset, Name::Skip];
            // Somebody has said why, and can be answered.
            if *failure == Failure::Told {
                words.insert(0, Name::Resume);
            }
            words
        }
        Stage::Skipped { .. } | Stage::Done { .. } => return Vec::new(),
    };
    words.extend(held(standing));
    words.extend([Name::Task, Name::Output]);
    words
}

/// Whether what comes next can be held, or let go.
fn held(standing: &Standing) -> Option<Name> {
    if standing.is_held {
        return (!matches!(standing.stage, Stage::Merging { .. })).then_some(Name::Release);
    }
    match &standing.stage {
        Stage::Waiting { .. }
        | Stage::Ready(_)
        | Stage::Running(_)
        | Stage::Asking { .. }
        | Stage::HandingOff { .. }
        | Stage::Failing { .. }
        | Stage::Conflicted { .. }
        | Stage::MergeHeld { .. } => Some(Name::Hold),
        // Nothing comes next by itself, or it is too late.
        Stage::Merging { .. }
        | Stage::Review { .. }
        | Stage::Blocked { .. }
        | Stage::Skipped { .. }
        | Stage::Done { .. } => None,
    }
}

fn reviewed(standing: &Standing, case: Case, back: &Stage) -> Vec<Name> {
    let mut words = Vec::new();
    match case {
        Case::Merge | Case::Held | Case::Unreviewed => {
            words.extend(standing.verified.as_ref().map(|_| Name::Merge))
        }
        Case::Disputed if standing.dispute.is_some() => {
            words.extend((standing.waived.len() < DISPUTES).then_some(Name::Accept));
            words.push(Name::Reject);
        }
        Case::Disputed | Case::Checks | Case::NoChange | Case::Protected | Case::Conflict | Case::Red => {}
    }
    words.extend([Name::Resume, Name::Retry]);
    let has_work = matches!(
        back,
        Stage::Running(_) | Stage::Failing { .. } | Stage::Conflicted { resolver: Some(_), .. }
    );
    if has_work {
        words.extend([Name::Verify, Name::Bypass]);
    }
    words.extend([Name::Reset, Name::Skip, Name::Block]);
    words
}
