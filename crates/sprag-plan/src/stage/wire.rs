//! Events of a stage as lines of a log have them: flat, and with the names that every version since 0.1 reads and
//! writes. An event that only the fold makes has no such form.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::command::StageCommand;
use super::{QuestionSource, ReviewReason, StageEvent, StageFailure};
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::merged_commit::MergedCommit;
use crate::merge::queue::Verified;

#[derive(Serialize, Deserialize)]
#[serde(tag = "happened", rename_all = "snake_case")]
pub(super) enum WireEvent {
    Freed,
    Started {
        session: EffectKey,
        base: CommitId,
    },
    Asked {
        question: Text<1000>,
        #[serde(skip)]
        source: QuestionSource,
    },
    Answered,
    Claimed,
    WentOn,
    Red {
        report: Text<4000>,
    },
    SentBack {
        session: EffectKey,
    },
    Green {
        verified: Verified,
        entry: u64,
    },
    ContextFull {
        why: Text<300>,
    },
    HandedOff {
        carry: Text<64>,
    },
    Failed {
        failure: StageFailure,
        again: Option<Timestamp>,
    },
    Paused {
        until: Option<Timestamp>,
    },
    Conflicted {
        against: CommitId,
        paths: Vec<Text<400>>,
    },
    ResolverStarted {
        session: EffectKey,
    },
    ResolverFailed,
    MergeRed {
        cause: MergeFailure,
    },
    Landed {
        merged: MergedCommit,
    },
    Queued {
        verified: Verified,
        entry: u64,
    },
    Raised {
        case: ReviewReason,
    },
    Overtaken,
    Told(WireCommand),
}

/// Commands, as they were written before they had a kind of record of their own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireCommand {
    Hold,
    Release,
    Retry,
    Block,
    Skip { by: Text<64>, why: Text<300> },
    GoOn,
    Merge { verified: Verified, entry: u64 },
    Verify,
    Reset,
}

/// Writes both directions from one table of rows. Each side of a row is a pattern and an expression.
macro_rules! events {
    ($($written:ident $({ $($field:ident),+ })? = $meant:ident,)+) => {
        impl WireEvent {
            /// Returns `None` for an event that only the fold makes.
            fn of_event(event: StageEvent) -> Option<WireEvent> {
                Some(match event {
                    $(StageEvent::$meant $({ $($field),+ })? => WireEvent::$written $({ $($field),+ })?,)+
                    StageEvent::Approved { verified, entry } => {
                        WireEvent::Told(WireCommand::Merge { verified, entry })
                    }
                    StageEvent::Command { by, command } => WireEvent::Told(WireCommand::of_command(by, command)?),
                    StageEvent::ReviewAsked { .. } | StageEvent::Outdated => return None,
                })
            }
        }

        impl From<WireEvent> for StageEvent {
            fn from(written: WireEvent) -> StageEvent {
                match written {
                    $(WireEvent::$written $({ $($field),+ })? => StageEvent::$meant $({ $($field),+ })?,)+
                    WireEvent::Told(command) => command.into(),
                }
            }
        }
    };
}

events! {
    Freed = Freed,
    Started { session, base } = Started,
    Asked { question, source } = Asked,
    Answered = Answered,
    Claimed = Claimed,
    WentOn = Resumed,
    Red { report } = ChecksFailed,
    SentBack { session } = SentBack,
    Green { verified, entry } = ChecksPassed,
    ContextFull { why } = ContextFull,
    HandedOff { carry } = HandedOff,
    Failed { failure, again } = Failed,
    Paused { until } = Paused,
    Conflicted { against, paths } = Conflicted,
    ResolverStarted { session } = ResolverStarted,
    ResolverFailed = ResolverFailed,
    MergeRed { cause } = MergeFailed,
    Landed { merged } = Landed,
    Queued { verified, entry } = Queued,
    Raised { case } = Raised,
    Overtaken = Overtaken,
}

impl WireCommand {
    fn of_command(by: Text<64>, command: StageCommand) -> Option<WireCommand> {
        Some(match command {
            StageCommand::Hold => WireCommand::Hold,
            StageCommand::Release => WireCommand::Release,
            StageCommand::Retry => WireCommand::Retry,
            StageCommand::Block { .. } => WireCommand::Block,
            StageCommand::Skip { why } => WireCommand::Skip { by, why },
            StageCommand::Resume { .. } => WireCommand::GoOn,
            StageCommand::Verify => WireCommand::Verify,
            StageCommand::Reset => WireCommand::Reset,
            _ => return None,
        })
    }
}

impl From<WireCommand> for StageEvent {
    fn from(written: WireCommand) -> StageEvent {
        let command = match written {
            WireCommand::Skip { by, why } => {
                return StageEvent::Command { by, command: StageCommand::Skip { why } };
            }
            WireCommand::Merge { verified, entry } => return StageEvent::Approved { verified, entry },
            WireCommand::Hold => StageCommand::Hold,
            WireCommand::Release => StageCommand::Release,
            WireCommand::Retry => StageCommand::Retry,
            WireCommand::Block => StageCommand::Block { why: Text::default() },
            WireCommand::GoOn => StageCommand::Resume { answer: None },
            WireCommand::Verify => StageCommand::Verify,
            WireCommand::Reset => StageCommand::Reset,
        };
        StageEvent::Command { by: Text::default(), command }
    }
}

impl Serialize for StageEvent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match WireEvent::of_event(self.clone()) {
            Some(written) => written.serialize(to),
            None => Err(S::Error::custom("only the fold makes this event")),
        }
    }
}
