//! The one relation between the states of a stage.

use sprag_base::text::Text;

use super::command::StageCommand;
use super::state::StageState;
use super::{Phase, ReadyStage, ReviewReason, StageEvent, StageFailure, StageWork};

/// What became of a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    To(StageState),
    /// It means nothing here.
    Ignored,
}

/// Times checks send a stage back before a person is asked.
pub const FIXES: u8 = 3;
/// Times a conflict is tried to be resolved.
pub const TRIES: u8 = 3;

/// The one relation between states.
pub fn transition(stage: &StageState, happened: &StageEvent) -> Transition {
    use StageEvent as H;
    let to = match (stage, happened) {
        (StageState::Waiting { .. }, H::Freed) => {
            StageState::Ready(ReadyStage { attempt: 1, ..ReadyStage::default() })
        }

        (StageState::Ready(turn), H::Started { session, base }) if !turn.is_held => {
            StageState::Running(StageWork {
                attempt: turn.attempt,
                session: session.clone(),
                base: base.clone(),
                phase: Phase::Work,
                fixes: 0,
            })
        }
        (StageState::Ready(turn), H::Command { command: StageCommand::Hold, .. }) => {
            StageState::Ready(ReadyStage { is_held: true, ..turn.clone() })
        }
        (StageState::Ready(turn), H::Command { command: StageCommand::Release, .. }) => {
            StageState::Ready(ReadyStage { is_held: false, ..turn.clone() })
        }
        (StageState::Ready(turn), H::Command { command: StageCommand::Resume { .. }, .. }) => {
            StageState::Ready(ReadyStage { is_held: false, not_before: None, ..turn.clone() })
        }
        (StageState::Ready(turn), H::Failed { failure, again: None }) => blocked(turn.attempt, *failure),

        (StageState::Running(work), H::Asked { question }) if work.phase == Phase::Work => {
            StageState::Asking { work: work.clone(), question: question.clone() }
        }
        (StageState::Running(work), H::Claimed) if work.phase == Phase::Work => in_phase(work, Phase::Verify),
        (StageState::Running(work), H::Resumed) if work.phase == Phase::Verify => in_phase(work, Phase::Work),
        (StageState::Running(work), H::ChecksFailed { report }) if work.phase == Phase::Verify => {
            StageState::Failing { work: work.clone(), report: report.clone() }
        }
        (StageState::Running(work), H::ChecksPassed { verified, entry }) if work.phase == Phase::Verify => {
            StageState::Merging { verified: verified.clone(), entry: *entry }
        }
        (StageState::Running(work), H::ContextFull { why }) => {
            StageState::HandingOff { work: work.clone(), why: why.clone() }
        }
        (StageState::Asking { work, .. }, H::Answered) => StageState::Running(work.clone()),
        (StageState::Asking { work, .. }, H::ContextFull { why }) => {
            StageState::HandingOff { work: work.clone(), why: why.clone() }
        }
        (StageState::HandingOff { work, .. }, H::HandedOff { carry }) => StageState::Ready(ReadyStage {
            attempt: work.attempt,
            carry: Some(carry.clone()),
            ..ReadyStage::default()
        }),

        // It heard what is red where it claimed, and was quicker than whoever hands the report over.
        (StageState::Failing { work, .. }, H::Claimed) if work.fixes < FIXES => {
            StageState::Running(StageWork { phase: Phase::Verify, fixes: work.fixes + 1, ..work.clone() })
        }
        (StageState::Failing { work, .. }, H::SentBack { session }) if work.fixes < FIXES => {
            StageState::Running(StageWork {
                session: session.clone(),
                phase: Phase::Work,
                fixes: work.fixes + 1,
                ..work.clone()
            })
        }

        (
            StageState::Running(work) | StageState::Asking { work, .. } | StageState::Failing { work, .. },
            H::Failed { again: Some(at), .. },
        ) => StageState::Ready(ReadyStage {
            attempt: work.attempt + 1,
            not_before: Some(*at),
            ..ReadyStage::default()
        }),
        (
            StageState::Running(work)
            | StageState::Asking { work, .. }
            | StageState::Failing { work, .. }
            | StageState::HandingOff { work, .. },
            H::Failed { failure, again: None },
        ) => blocked(work.attempt, *failure),
        (
            StageState::Running(work) | StageState::Asking { work, .. } | StageState::Failing { work, .. },
            H::Paused { until },
        ) => StageState::Ready(ReadyStage {
            attempt: work.attempt,
            not_before: *until,
            ..ReadyStage::default()
        }),

        (StageState::Merging { .. }, H::Landed { merged }) => StageState::Done { merged: merged.clone() },
        (StageState::Merging { verified, .. }, H::Conflicted { against, paths }) => StageState::Conflicted {
            verified: verified.clone(),
            against: against.clone(),
            paths: paths.clone(),
            resolver: None,
            tries: 0,
        },
        (StageState::Merging { verified, .. }, H::MergeFailed { cause }) => {
            StageState::MergeHeld { verified: verified.clone(), cause: cause.clone() }
        }
        (
            StageState::Conflicted { verified, against, paths, resolver: None, tries },
            H::ResolverStarted { session },
        ) if *tries < TRIES => StageState::Conflicted {
            verified: verified.clone(),
            against: against.clone(),
            paths: paths.clone(),
            resolver: Some(session.clone()),
            tries: tries + 1,
        },
        (
            StageState::Conflicted { verified, against, paths, resolver: Some(_), tries },
            H::ResolverFailed,
        ) => StageState::Conflicted {
            verified: verified.clone(),
            against: against.clone(),
            paths: paths.clone(),
            resolver: None,
            tries: *tries,
        },
        (StageState::Conflicted { verified, .. }, H::Failed { failure, again: None }) => {
            blocked(verified.attempt, *failure)
        }
        (StageState::Conflicted { .. } | StageState::MergeHeld { .. }, H::Queued { verified, entry }) => {
            StageState::Merging { verified: verified.clone(), entry: *entry }
        }
        (StageState::MergeHeld { verified, .. }, H::Failed { again: Some(at), .. }) => {
            StageState::Ready(ReadyStage {
                attempt: verified.attempt + 1,
                not_before: Some(*at),
                ..ReadyStage::default()
            })
        }

        (
            StageState::Running(_)
            | StageState::Failing { .. }
            | StageState::Conflicted { .. }
            | StageState::MergeHeld { .. },
            H::Raised { case },
        ) => StageState::Review { case: *case, back: Box::new(stage.clone()) },
        (
            StageState::Running(work) | StageState::Failing { work, .. },
            H::Command { command: StageCommand::Verify, .. },
        ) => in_phase(work, Phase::Verify),
        (
            StageState::Ready(_)
            | StageState::Running(_)
            | StageState::Asking { .. }
            | StageState::HandingOff { .. }
            | StageState::Failing { .. }
            | StageState::Merging { .. }
            | StageState::Conflicted { .. }
            | StageState::MergeHeld { .. }
            | StageState::Review { .. }
            | StageState::Blocked { .. },
            H::Command { command: StageCommand::Reset, .. },
        ) => StageState::Ready(ReadyStage { attempt: 1, ..ReadyStage::default() }),
        (
            StageState::Ready(_)
            | StageState::Running(_)
            | StageState::Asking { .. }
            | StageState::HandingOff { .. }
            | StageState::Failing { .. },
            H::Command { command: StageCommand::Block { .. }, .. },
        ) => blocked(stage.attempt(), StageFailure::Told),
        (
            StageState::Review { case: ReviewReason::Held, back },
            H::Command { command: StageCommand::Release | StageCommand::Resume { .. }, .. },
        ) => (**back).clone(),
        // It is let go, and a person is asked something else now.
        (StageState::Review { case: ReviewReason::Held, back }, H::Raised { case }) => {
            StageState::Review { case: *case, back: back.clone() }
        }
        (StageState::Review { .. }, H::Approved { verified, entry }) => {
            StageState::Merging { verified: verified.clone(), entry: *entry }
        }
        (StageState::Review { back, .. }, H::Command { by, command }) => match reviewed(back, by, command) {
            Some(to) => to,
            None => return Transition::Ignored,
        },

        // Whoever said that it cannot go on is answered.
        (
            StageState::Blocked { attempt, failure: StageFailure::Told },
            H::Command { command: StageCommand::Resume { .. }, .. },
        ) => StageState::Ready(ReadyStage { attempt: *attempt, ..ReadyStage::default() }),
        (StageState::Blocked { attempt, .. }, H::Command { command: StageCommand::Retry, .. }) => {
            StageState::Ready(ReadyStage { attempt: attempt + 1, ..ReadyStage::default() })
        }
        (
            StageState::Waiting { .. } | StageState::Ready(_) | StageState::Blocked { .. },
            H::Command { by, command: StageCommand::Skip { why } },
        ) => StageState::Skipped { by: by.clone(), why: why.clone() },

        (stage, H::Overtaken) if !stage.is_over() => {
            StageState::Skipped { by: Text::new("sprag"), why: Text::new("it was done by others") }
        }

        (
            StageState::Waiting { .. }
            | StageState::Ready(_)
            | StageState::Running(_)
            | StageState::Asking { .. }
            | StageState::HandingOff { .. }
            | StageState::Failing { .. }
            | StageState::Merging { .. }
            | StageState::Conflicted { .. }
            | StageState::MergeHeld { .. }
            | StageState::Review { .. }
            | StageState::Blocked { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. },
            _,
        ) => return Transition::Ignored,
    };
    // One that is ready may have work in its worktree: to begin anew means something there, too.
    let is_reset = matches!(happened, H::Command { command: StageCommand::Reset, .. });
    if to == *stage && !is_reset { Transition::Ignored } else { Transition::To(to) }
}

fn blocked(attempt: u32, failure: StageFailure) -> StageState {
    StageState::Blocked { attempt, failure }
}

fn in_phase(work: &StageWork, phase: Phase) -> StageState {
    StageState::Running(StageWork { phase, ..work.clone() })
}

/// Returns the state that a command leads to from a review; `None`: the review stays.
fn reviewed(back: &StageState, by: &Text<64>, command: &StageCommand) -> Option<StageState> {
    Some(match (command, back) {
        (StageCommand::Resume { .. }, StageState::Running(work) | StageState::Failing { work, .. }) => {
            StageState::Running(StageWork { phase: Phase::Work, fixes: 0, ..work.clone() })
        }
        (StageCommand::Verify, StageState::Running(work) | StageState::Failing { work, .. }) => {
            in_phase(work, Phase::Verify)
        }
        (StageCommand::Verify, StageState::Conflicted { resolver: Some(_), .. }) => back.clone(),
        (StageCommand::Block { .. }, back) => blocked(back.attempt(), StageFailure::Told),
        (StageCommand::Skip { why }, _) => StageState::Skipped { by: by.clone(), why: why.clone() },
        // What cannot simply continue starts again.
        (StageCommand::Resume { .. } | StageCommand::Retry, _) => {
            StageState::Ready(ReadyStage { attempt: back.attempt() + 1, ..ReadyStage::default() })
        }
        _ => return None,
    })
}
