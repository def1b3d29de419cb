//! Events of a stage in the form of log lines: flat, and with the names that every version since 0.1 reads
//! and writes. An event that only the fold makes has no such form.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::command::StageCommand;
use super::{QuestionSource, ReviewReason, StageEvent, StageFailure};
use crate::ids::{CommitId, EffectKey};
use crate::merge::merge_failure::MergeFailure;
use crate::merge::merged_commit::MergedCommit;
use crate::merge::queue::Verified;

/// Makes the written form of a type from one table. A row has the written name with its fields, and the
/// value, which is a pattern and an expression.
macro_rules! wire {
    (
        $type:ident by $tag:literal:
        $($name:ident { $($(#[$attribute:meta])* $field:ident: $of:ty),* } = { $($value:tt)+ })+
        $(; $other:ident($inner:ty), written { $($written:tt)+ })?
    ) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(tag = $tag, rename_all = "snake_case")]
        enum Wire {
            $($name { $($(#[$attribute])* $field: $of),* },)+
            $($other($inner),)?
        }

        impl Wire {
            fn new(value: $type) -> Option<Wire> {
                Some(match value {
                    $($($value)+ => Wire::$name { $($field),* },)+
                    $($($written)+)?
                })
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let unwritten = || <S::Error as serde::ser::Error>::custom("only the fold makes this value");
                Wire::new(self.clone()).ok_or_else(unwritten)?.serialize(to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                Ok(match Wire::deserialize(from)? {
                    $(Wire::$name { $($field),* } => $($value)+,)+
                    $(Wire::$other(inner) => <$inner>::into(inner),)?
                })
            }
        }
    };
}

pub(crate) use wire;

wire! {
    StageEvent by "happened":
    Freed {} = { StageEvent::Freed }
    Started { session: EffectKey, base: CommitId } = { StageEvent::Started { session, base } }
    Asked { question: Text<1000>, #[serde(skip)] source: QuestionSource } = { StageEvent::Asked { question, source } }
    Answered {} = { StageEvent::Answered }
    Claimed {} = { StageEvent::Claimed }
    WentOn {} = { StageEvent::Resumed }
    Red { report: Text<4000> } = { StageEvent::ChecksFailed { report } }
    SentBack { session: EffectKey } = { StageEvent::SentBack { session } }
    Green { verified: Verified, entry: u64 } = { StageEvent::ChecksPassed { verified, entry } }
    ContextFull { why: Text<300> } = { StageEvent::ContextFull { why } }
    HandedOff { carry: Text<64> } = { StageEvent::HandedOff { carry } }
    Failed { failure: StageFailure, again: Option<Timestamp> } = { StageEvent::Failed { failure, again } }
    Paused { until: Option<Timestamp> } = { StageEvent::Paused { until } }
    Conflicted { against: CommitId, paths: Vec<Text<400>> } = { StageEvent::Conflicted { against, paths } }
    ResolverStarted { session: EffectKey } = { StageEvent::ResolverStarted { session } }
    ResolverFailed {} = { StageEvent::ResolverFailed }
    MergeRed { cause: MergeFailure } = { StageEvent::MergeFailed { cause } }
    Landed { merged: MergedCommit } = { StageEvent::Landed { merged } }
    Queued { verified: Verified, entry: u64 } = { StageEvent::Queued { verified, entry } }
    Raised { case: ReviewReason } = { StageEvent::Raised { case } }
    Overtaken {} = { StageEvent::Overtaken }
    ; Told(WireCommand), written {
        StageEvent::Approved { verified, entry } => Wire::Told(WireCommand::Merge { verified, entry }),
        StageEvent::Command { by, command } => Wire::Told(match command {
            StageCommand::Hold => WireCommand::Hold,
            StageCommand::Release => WireCommand::Release,
            StageCommand::Retry => WireCommand::Retry,
            StageCommand::Block { .. } => WireCommand::Block,
            StageCommand::Skip { why } => WireCommand::Skip { by, why },
            StageCommand::Resume { .. } => WireCommand::GoOn,
            StageCommand::Verify => WireCommand::Verify,
            StageCommand::Reset => WireCommand::Reset,
            _ => return None,
        }),
        StageEvent::ReviewAsked { .. } | StageEvent::Outdated => return None,
    }
}

/// Commands in their form before they had a separate kind of record.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireCommand {
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

impl From<WireCommand> for StageEvent {
    fn from(written: WireCommand) -> StageEvent {
        let (by, command) = match written {
            WireCommand::Merge { verified, entry } => return StageEvent::Approved { verified, entry },
            WireCommand::Skip { by, why } => (by, StageCommand::Skip { why }),
            WireCommand::Hold => (Text::default(), StageCommand::Hold),
            WireCommand::Release => (Text::default(), StageCommand::Release),
            WireCommand::Retry => (Text::default(), StageCommand::Retry),
            WireCommand::Block => (Text::default(), StageCommand::Block { why: Text::default() }),
            WireCommand::GoOn => (Text::default(), StageCommand::Resume { answer: None }),
            WireCommand::Verify => (Text::default(), StageCommand::Verify),
            WireCommand::Reset => (Text::default(), StageCommand::Reset),
        };
        StageEvent::Command { by, command }
    }
}
