//! The one relation between the states of a stage.

use sprag_base::text::Text;

use super::command::StageCommand;
use super::state::StageState as S;
use super::{
    Hold, LaunchState, Phase, ReadyStage, Resolver, ReviewDemand, ReviewQuestion, StageAttempt,
    StageConflict, StageEvent as E, StageFailure, StageWork, StartReason, Verification,
};

/// The result of an event for a stage.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the caller takes a transition apart at once and stores none")]
pub enum Transition {
    To(S),
    /// The event does not fit the state.
    Ignored,
}

/// Failed checks before a person is asked.
pub const FIXES: u8 = 3;
/// Attempts to resolve a conflict.
pub const TRIES: u8 = 3;

/// Returns the next state. A hold is separate from the state, because it lasts through several states.
pub fn transition(state: &S, event: &E, hold: Hold) -> Transition {
    next(state, event, hold).map_or(Transition::Ignored, Transition::To)
}

fn next(state: &S, event: &E, hold: Hold) -> Option<S> {
    Some(match (state, event) {
        (S::Waiting { .. }, E::Freed) => ready(StageAttempt::numbered(1), StartReason::First),

        (S::Ready(ready), E::Started { session, base }) if hold == Hold::No => S::Running(StageWork {
            attempt: ready.attempt.clone(),
            session: session.clone(),
            base: base.clone(),
            phase: Phase::Working,
            fixes: 0,
        }),
        (S::Ready(ready), E::Command { command: StageCommand::Hold, .. }) if hold == Hold::No => {
            S::Ready(ReadyStage { launch: LaunchState::Idle, ..ready.clone() })
        }
        (S::Ready(ready), E::Command { command: StageCommand::Release, .. }) if hold == Hold::Yes => {
            S::Ready(ReadyStage { launch: LaunchState::Idle, ..ready.clone() })
        }
        (S::Ready(ready), E::Command { command: StageCommand::Resume { .. }, .. })
            if hold == Hold::Yes || ready.not_before.is_some() =>
        {
            S::Ready(ReadyStage { not_before: None, launch: LaunchState::Idle, ..ready.clone() })
        }
        (S::Ready(ready), E::Failed { failure, again: None }) => blocked(ready.attempt.clone(), *failure),

        (S::Running(work), E::Asked { question, source }) if work.phase == Phase::Working => {
            S::Asking { work: work.clone(), question: question.clone(), source: *source }
        }
        (S::Running(work), E::Claimed) if work.phase == Phase::Working => verifying(work, ReviewDemand::Any),
        (S::Running(work), E::Resumed) if work.phase.is_verifying() => {
            S::Running(work.in_phase(Phase::Working))
        }
        (S::Running(work), E::ChecksFailed { report }) if work.phase.is_verifying() => S::Failing {
            work: work.in_phase(Phase::Working),
            report: report.clone(),
            launch: LaunchState::Idle,
        },
        (S::Running(work), E::ChecksPassed { verified, entry }) if work.phase.is_verifying() => {
            S::Merging { verified: verified.clone(), entry: *entry }
        }
        (S::Running(work) | S::Asking { work, .. }, E::ContextFull { why }) => {
            S::HandingOff { work: work.in_phase(Phase::Working), why: why.clone() }
        }
        (S::Asking { work, .. }, E::Answered) => S::Running(work.clone()),
        (S::HandingOff { work, .. }, E::HandedOff { carry }) => {
            ready(work.attempt.clone(), StartReason::Handoff { carry: carry.clone() })
        }

        // The agent learned the result from its claim, before the message arrived.
        (S::Failing { work, .. }, E::Claimed) if work.fixes < FIXES => {
            verifying(&StageWork { fixes: work.fixes + 1, ..work.clone() }, ReviewDemand::Any)
        }
        (S::Failing { work, .. }, E::SentBack { session }) if work.fixes < FIXES => {
            S::Running(StageWork { session: session.clone(), fixes: work.fixes + 1, ..work.clone() })
        }

        (
            S::Running(work) | S::Asking { work, .. } | S::Failing { work, .. },
            E::Failed { failure, again: Some(at) },
        ) => S::Ready(ReadyStage {
            not_before: Some(*at),
            ..ReadyStage::new(work.attempt.clone().next(), StartReason::Retry { failure: *failure })
        }),
        (
            S::Running(work) | S::Asking { work, .. } | S::Failing { work, .. } | S::HandingOff { work, .. },
            E::Failed { failure, again: None },
        ) => blocked(work.attempt.clone(), *failure),
        (S::Running(work) | S::Asking { work, .. } | S::Failing { work, .. }, E::Paused { until }) => {
            S::Ready(ReadyStage {
                not_before: *until,
                ..ReadyStage::new(work.attempt.clone(), StartReason::Recovery)
            })
        }

        (S::Merging { .. }, E::Landed { merged }) => S::Done { merged: merged.clone() },
        (S::Merging { verified, .. }, E::Conflicted { against, paths }) => {
            S::Conflicted(StageConflict::new(verified.clone(), against.clone(), paths.clone()))
        }
        (S::Merging { verified, .. }, E::MergeFailed { cause }) => {
            S::MergeFailed { verified: verified.clone(), cause: cause.clone() }
        }
        (S::Conflicted(conflict), E::ResolverStarted { session })
            if conflict.resolver.is_none() && conflict.tries < TRIES =>
        {
            S::Conflicted(StageConflict {
                resolver: Some(Resolver::new(session.clone())),
                tries: conflict.tries + 1,
                launch: LaunchState::Idle,
                ..conflict.clone()
            })
        }
        (S::Conflicted(conflict), E::ResolverFailed) if conflict.resolver.is_some() => {
            S::Conflicted(StageConflict { resolver: None, launch: LaunchState::Idle, ..conflict.clone() })
        }
        (S::Conflicted(_), E::Failed { failure, again: None }) => blocked(state.current_attempt(), *failure),
        (S::Conflicted(_) | S::MergeFailed { .. }, E::Queued { verified, entry }) => {
            S::Merging { verified: verified.clone(), entry: *entry }
        }
        (S::MergeFailed { .. }, E::Failed { again: Some(at), .. }) => S::Ready(ReadyStage {
            not_before: Some(*at),
            ..ReadyStage::new(state.current_attempt().next(), StartReason::MergeFailed)
        }),

        (
            S::Running(_) | S::Failing { .. } | S::Conflicted(_) | S::MergeFailed { .. },
            E::Raised { .. } | E::ReviewAsked { .. },
        ) => S::Review { question: question(event)?, back: Box::new(state.at_rest()) },
        (S::Running(work) | S::Failing { work, .. }, E::Command { command, .. })
            if work.phase == Phase::Working && demand(command).is_some() =>
        {
            verifying(work, demand(command)?)
        }
        (
            S::Waiting { .. } | S::Skipped { .. } | S::Done { .. },
            E::Command { command: StageCommand::Reset, .. },
        ) => {
            return None;
        }
        (_, E::Command { command: StageCommand::Reset, .. }) => {
            ready(StageAttempt { number: 1, ..state.current_attempt() }, StartReason::Reset)
        }
        (
            S::Ready(_)
            | S::Running(_)
            | S::Asking { .. }
            | S::HandingOff { .. }
            | S::Failing { .. }
            | S::Review { .. },
            E::Command { command: StageCommand::Block { why }, .. },
        ) => S::Blocked {
            attempt: state.current_attempt(),
            failure: StageFailure::Told,
            why: Some(why.clone()).filter(|why| !why.is_empty()),
        },

        (
            S::Review { question: ReviewQuestion::OnHold { .. }, back },
            E::Command { command: StageCommand::Release | StageCommand::Resume { .. }, .. },
        ) => (**back).clone(),
        // The hold ends, and a person is asked another question.
        (
            S::Review { question: ReviewQuestion::OnHold { .. }, back },
            E::Raised { .. } | E::ReviewAsked { .. },
        ) => S::Review { question: question(event)?, back: back.clone() },
        (S::Review { .. }, E::Approved { verified, entry }) => {
            S::Merging { verified: verified.clone(), entry: *entry }
        }
        (S::Review { back, .. }, E::Outdated) => checked_again(back, ReviewDemand::Any)?,
        (S::Review { back, .. }, E::Command { command, .. }) if demand(command).is_some() => {
            checked_again(back, demand(command)?)?
        }
        (
            S::Review { back, .. },
            E::Command { command: command @ (StageCommand::Resume { .. } | StageCommand::Retry), .. },
        ) => match (command, &**back) {
            (StageCommand::Resume { .. }, S::Running(work) | S::Failing { work, .. }) => {
                S::Running(StageWork { fixes: 0, ..work.in_phase(Phase::Working) })
            }
            // Work that cannot continue starts again.
            _ => ready(back.current_attempt().next(), StartReason::Recovery),
        },

        // The stage was blocked with a reason, and a person answered.
        (
            S::Blocked { attempt, failure: StageFailure::Told, .. },
            E::Command { command: StageCommand::Resume { .. }, .. },
        ) => ready(attempt.clone(), StartReason::Recovery),
        (S::Blocked { attempt, .. }, E::Command { command: StageCommand::Retry, .. }) => {
            ready(attempt.clone().next(), StartReason::Recovery)
        }
        (
            S::Waiting { .. } | S::Ready(_) | S::Review { .. } | S::Blocked { .. },
            E::Command { by, command: StageCommand::Skip { why } },
        ) => S::Skipped { by: by.clone(), why: why.clone() },

        (state, E::Overtaken) if !state.is_over() => {
            S::Skipped { by: Text::new("sprag"), why: Text::new("others did the work") }
        }

        (
            S::Waiting { .. }
            | S::Ready(_)
            | S::Running(_)
            | S::Asking { .. }
            | S::HandingOff { .. }
            | S::Failing { .. }
            | S::Merging { .. }
            | S::Conflicted(_)
            | S::MergeFailed { .. }
            | S::Review { .. }
            | S::Blocked { .. }
            | S::Skipped { .. }
            | S::Done { .. },
            _,
        ) => return None,
    })
}

fn ready(attempt: StageAttempt, reason: StartReason) -> S {
    S::Ready(ReadyStage::new(attempt, reason))
}

fn blocked(attempt: StageAttempt, failure: StageFailure) -> S {
    S::Blocked { attempt, failure, why: None }
}

fn verifying(work: &StageWork, demand: ReviewDemand) -> S {
    S::Running(work.in_phase(Phase::Verifying(Verification { demand, reviewable: None })))
}

/// Returns the question to a person that an event asks.
fn question(event: &E) -> Option<ReviewQuestion> {
    match event {
        E::Raised { case } => ReviewQuestion::from_reason(*case),
        E::ReviewAsked { question } => Some(question.clone()),
        _ => None,
    }
}

/// Returns the review that counts after a command that runs the checks. `verify` demands a new review.
fn demand(command: &StageCommand) -> Option<ReviewDemand> {
    match command {
        StageCommand::Verify => Some(ReviewDemand::Another),
        StageCommand::Accept | StageCommand::Bypass { .. } => Some(ReviewDemand::Any),
        _ => None,
    }
}

/// Returns the state in which the work of a review is checked again, if there is work.
fn checked_again(back: &S, demand: ReviewDemand) -> Option<S> {
    match back {
        S::Running(work) | S::Failing { work, .. } => Some(verifying(work, demand)),
        S::Conflicted(StageConflict { resolver: Some(resolver), .. }) => {
            let S::Conflicted(conflict) = back.clone() else { return None };
            let verification = Verification { demand, reviewable: None };
            let resolver = Resolver { has_claimed: true, verification, ..resolver.clone() };
            Some(S::Conflicted(StageConflict { resolver: Some(resolver), ..conflict }))
        }
        _ => None,
    }
}
