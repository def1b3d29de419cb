//! Every transition between states of a stage, found by trying all pairs. The documentation is made from
//! it.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::command::StageCommand;
use super::state::StageState;
use super::transition::{Transition, transition};
use super::{
    Hold, LaunchState, Phase, QuestionSource, ReadyStage, Resolver, ReviewQuestion, ReviewReason,
    StageAttempt, StageConflict, StageEvent, StageFailure, StageWork, StartReason, Verification,
};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::merged_commit::MergedCommit;
use crate::merge::queue::Verified;

/// One transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRow {
    pub from: &'static str,
    /// The event, by its name in records.
    pub what: String,
    pub to: &'static str,
}

/// Returns all transitions, ordered by their first states.
pub fn moves() -> Vec<TransitionRow> {
    let mut found = Vec::new();
    for stage in states() {
        for happened in happenings() {
            let hold = Hold::No;
            if let Transition::To(to) = transition(&stage, &happened, hold)
                && to.name() != stage.name()
            {
                let one = TransitionRow { from: stage.name(), what: called(&happened), to: to.name() };
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        }
    }
    found
}

/// Returns the names of the states, and their names in other tools, where they have one.
pub fn names() -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for stage in states() {
        let elsewhere = match stage {
            StageState::Waiting { .. } => "WaitingForDeps",
            StageState::Ready(_) => "Queued",
            StageState::Running(_) => "Executing",
            StageState::Asking { .. } => "WaitingForInput",
            StageState::HandingOff { .. } => "NeedsHandoff",
            StageState::Failing { .. } => "CompletedWithFailures",
            StageState::Conflicted(_) => "MergeConflict",
            StageState::MergeFailed { .. } => "MergeBlocked",
            StageState::Blocked { .. } => "Blocked",
            StageState::Skipped { .. } => "Skipped",
            StageState::Done { .. } => "Completed, merged",
            StageState::Merging { .. } | StageState::Review { .. } => "",
        };
        if !found.iter().any(|(name, _)| *name == stage.name()) {
            found.push((stage.name(), elsewhere));
        }
    }
    found
}

fn called(happened: &StageEvent) -> String {
    match happened {
        StageEvent::Command { command, .. } => {
            format!("a person gives `{}`", format!("{:?}", command.kind()).to_lowercase())
        }
        StageEvent::Approved { .. } => "a person gives `merge`".to_owned(),
        _ => {
            let written = serde_json::to_value(happened).unwrap_or_default();
            written["happened"].as_str().unwrap_or_default().replace('_', " ")
        }
    }
}

pub(crate) fn work(phase: Phase) -> StageWork {
    let session = EffectKey(Text::new("r/s/1/1"));
    StageWork { attempt: StageAttempt::numbered(1), session, base: CommitId(Text::new("b")), phase, fixes: 0 }
}

pub(crate) fn verified() -> Verified {
    let commit = |name: &str| CommitId(Text::new(name));
    Verified { attempt: 1, head: commit("h"), tree: commit("t"), base: commit("b") }
}

pub(crate) fn verification() -> Phase {
    Phase::Verifying(Verification::default())
}

pub(crate) fn states() -> Vec<StageState> {
    let conflicted = |resolver| {
        let conflict = StageConflict::new(verified(), CommitId(Text::new("x")), Vec::new());
        StageState::Conflicted(StageConflict { resolver, tries: 1, ..conflict })
    };
    let failing = || StageState::Failing {
        work: work(Phase::Working),
        report: Text::new("red"),
        launch: LaunchState::Idle,
    };
    let blocked = |failure| StageState::Blocked { attempt: StageAttempt::numbered(1), failure, why: None };
    vec![
        StageState::Waiting { on: Vec::new() },
        StageState::Ready(ReadyStage::new(StageAttempt::numbered(1), StartReason::First)),
        StageState::Running(work(Phase::Working)),
        StageState::Running(work(verification())),
        StageState::Asking {
            work: work(Phase::Working),
            question: Text::new("?"),
            source: QuestionSource::Prompt,
        },
        StageState::HandingOff { work: work(Phase::Working), why: Text::new("full") },
        failing(),
        StageState::Merging { verified: verified(), entry: 1 },
        conflicted(None),
        conflicted(Some(Resolver::new(EffectKey(Text::new("r/s/1/2"))))),
        StageState::MergeFailed {
            verified: verified(),
            cause: MergeFailure::Red { report: Text::new("red") },
        },
        StageState::Review {
            question: ReviewQuestion::TooManyFixes,
            back: Box::new(StageState::Running(work(verification()))),
        },
        StageState::Review { question: ReviewQuestion::OnHold { verified: None }, back: Box::new(failing()) },
        blocked(StageFailure::Auth),
        blocked(StageFailure::Told),
        StageState::Skipped { by: Text::new("p"), why: Text::new("w") },
        StageState::Done { merged: MergedCommit::landed(CommitId(Text::new("c")), CommitId(Text::new("t"))) },
    ]
}

pub(crate) fn happenings() -> Vec<StageEvent> {
    let at = Timestamp::from_millis(0);
    let session = EffectKey(Text::new("r/s/1/3"));
    let commit = CommitId(Text::new("c"));
    let merged = MergedCommit::landed(commit.clone(), commit.clone());
    let command = |command| StageEvent::Command { by: Text::new("p"), command };
    vec![
        StageEvent::Freed,
        StageEvent::Started { session: session.clone(), base: commit.clone() },
        StageEvent::Asked { question: Text::new("?"), source: QuestionSource::Prompt },
        StageEvent::Answered,
        StageEvent::Claimed,
        StageEvent::Resumed,
        StageEvent::ChecksFailed { report: Text::new("red") },
        StageEvent::SentBack { session: session.clone() },
        StageEvent::ChecksPassed { verified: verified(), entry: 2 },
        StageEvent::ContextFull { why: Text::new("full") },
        StageEvent::HandedOff { carry: Text::new("h") },
        StageEvent::Failed { failure: StageFailure::Crash, again: Some(at) },
        StageEvent::Failed { failure: StageFailure::Auth, again: None },
        StageEvent::Paused { until: Some(at) },
        StageEvent::Conflicted { against: commit.clone(), paths: Vec::new() },
        StageEvent::ResolverStarted { session },
        StageEvent::ResolverFailed,
        StageEvent::MergeFailed { cause: MergeFailure::Pair { with: StageId::new("o") } },
        StageEvent::Landed { merged },
        StageEvent::Queued { verified: verified(), entry: 3 },
        StageEvent::Raised { case: ReviewReason::MergeFailed },
        StageEvent::Overtaken,
        command(StageCommand::Hold),
        command(StageCommand::Release),
        command(StageCommand::Retry),
        command(StageCommand::Block { why: Text::new("w") }),
        command(StageCommand::Skip { why: Text::new("w") }),
        command(StageCommand::Resume { answer: None }),
        StageEvent::Approved { verified: verified(), entry: 4 },
        command(StageCommand::Verify),
        command(StageCommand::Reset),
    ]
}
