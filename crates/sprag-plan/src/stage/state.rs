//! The state of a stage.

use sprag_base::text::Text;

use crate::ids::{EffectKey, StageId};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::merged_commit::MergedCommit;
use crate::merge::queue::Verified;
use crate::stage::{
    LaunchState, Phase, QuestionSource, ReadyStage, Resolver, ReviewQuestion, StageAttempt, StageConflict,
    StageFailure, StageWork, Verification,
};

#[derive(Clone, Debug, PartialEq)]
pub enum StageState {
    /// Some dependencies are not merged yet.
    Waiting {
        on: Vec<StageId>,
    },
    Ready(ReadyStage),
    Running(StageWork),
    /// The agent asked a person a question.
    Asking {
        work: StageWork,
        question: Text<1000>,
        source: QuestionSource,
    },
    /// The context of the agent is full, and the next agent gets a handoff.
    HandingOff {
        work: StageWork,
        why: Text<300>,
    },
    /// The checks failed, and the agent has to fix the work.
    Failing {
        work: StageWork,
        report: Text<4000>,
        launch: LaunchState,
    },
    Merging {
        verified: Verified,
        entry: u64,
    },
    Conflicted(StageConflict),
    /// Checks fail after the merge.
    MergeFailed {
        verified: Verified,
        cause: MergeFailure,
    },
    /// A person decides.
    Review {
        question: ReviewQuestion,
        back: Box<StageState>,
    },
    Blocked {
        attempt: StageAttempt,
        failure: StageFailure,
        /// A text of the agent, of a person or of a program.
        why: Option<Text<300>>,
    },
    Skipped {
        by: Text<64>,
        why: Text<300>,
    },
    Done {
        merged: MergedCommit,
    },
}

impl StageState {
    /// Returns the number of attempts, including the present one.
    pub fn attempt(&self) -> u32 {
        self.current_attempt().number
    }

    pub fn current_attempt(&self) -> StageAttempt {
        match self {
            StageState::Waiting { .. } | StageState::Skipped { .. } | StageState::Done { .. } => {
                StageAttempt::default()
            }
            StageState::Ready(ReadyStage { attempt, .. }) | StageState::Blocked { attempt, .. } => {
                attempt.clone()
            }
            StageState::Running(work)
            | StageState::Asking { work, .. }
            | StageState::HandingOff { work, .. }
            | StageState::Failing { work, .. } => work.attempt.clone(),
            StageState::Merging { verified, .. } | StageState::Conflicted(StageConflict { verified, .. }) => {
                StageAttempt::numbered(verified.attempt)
            }
            StageState::MergeFailed { verified, cause } => {
                StageAttempt { number: verified.attempt, merge_failure: Some(cause.clone()) }
            }
            StageState::Review { back, .. } => back.current_attempt(),
        }
    }

    /// Returns the session of the agent at work, if there is one.
    pub fn session(&self) -> Option<&EffectKey> {
        match self {
            StageState::Running(work)
            | StageState::Asking { work, .. }
            | StageState::HandingOff { work, .. }
            | StageState::Failing { work, .. } => Some(&work.session),
            StageState::Conflicted(conflict) => conflict.resolver.as_ref().map(|resolver| &resolver.session),
            StageState::Review { back, .. } => back.session(),
            StageState::Waiting { .. }
            | StageState::Ready(_)
            | StageState::Merging { .. }
            | StageState::MergeFailed { .. }
            | StageState::Blocked { .. }
            | StageState::Skipped { .. }
            | StageState::Done { .. } => None,
        }
    }

    /// Returns how far the start of the next agent is prepared, if one may start.
    pub fn launch(&self) -> Option<LaunchState> {
        match self {
            StageState::Ready(ReadyStage { launch, .. })
            | StageState::Failing { launch, .. }
            | StageState::Conflicted(StageConflict { launch, .. }) => Some(*launch),
            _ => None,
        }
    }

    pub(crate) fn set_launch(&mut self, to: LaunchState) {
        if let StageState::Ready(ReadyStage { launch, .. })
        | StageState::Failing { launch, .. }
        | StageState::Conflicted(StageConflict { launch, .. }) = self
        {
            *launch = to;
        }
    }

    pub fn is_preparing(&self) -> bool {
        self.launch().is_some_and(|launch| launch != LaunchState::Idle)
    }

    /// Returns the running check of a claim.
    pub(crate) fn verification_mut(&mut self) -> Option<&mut Verification> {
        match self {
            StageState::Running(StageWork { phase: Phase::Verifying(verification), .. })
            | StageState::Conflicted(StageConflict {
                resolver: Some(Resolver { verification, .. }), ..
            }) => Some(verification),
            _ => None,
        }
    }

    /// Returns the state that a review leads back to: with nothing under way.
    pub(super) fn at_rest(&self) -> StageState {
        match self.clone() {
            StageState::Running(work) if work.phase.is_verifying() => {
                StageState::Running(work.in_phase(Phase::Verifying(Verification::default())))
            }
            StageState::Conflicted(conflict) => StageState::Conflicted(StageConflict {
                resolver: conflict.resolver.map(|resolver| Resolver::new(resolver.session)),
                last_report: None,
                launch: LaunchState::Idle,
                ..conflict
            }),
            mut state => {
                state.set_launch(LaunchState::Idle);
                state
            }
        }
    }

    /// Reports whether the state is final.
    pub fn is_over(&self) -> bool {
        matches!(self, StageState::Skipped { .. } | StageState::Done { .. })
    }

    pub fn name(&self) -> &'static str {
        match self {
            StageState::Waiting { .. } => "waiting",
            StageState::Ready(_) => "ready",
            StageState::Running(_) => "running",
            StageState::Asking { .. } => "asking",
            StageState::HandingOff { .. } => "handing off",
            StageState::Failing { .. } => "failing",
            StageState::Merging { .. } => "merging",
            StageState::Conflicted(_) => "conflicted",
            StageState::MergeFailed { .. } => "merge held",
            StageState::Review { .. } => "review",
            StageState::Blocked { .. } => "blocked",
            StageState::Skipped { .. } => "skipped",
            StageState::Done { .. } => "done",
        }
    }
}
