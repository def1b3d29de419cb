//! Commands to a stage: one table with their names, the roles that may give them, and their data.

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, plain};

use crate::spec::values::Slug;

/// The role of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRole {
    /// May only give commands to its own stage.
    Agent,
    User,
    Admin,
}

macro_rules! stage_commands {
    ($($(#[$about:meta])* $kind:ident $role:ident $({ $($(#[$attribute:meta])* $field:ident: $type:ty),+ })?,)+) => {
        /// A command to a stage, in the form of records and of the socket.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
        pub enum StageCommand {
            $($(#[$about])* $kind $({ $($(#[$attribute])* $field: $type),+ })?,)+
        }

        /// A command without its data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StageCommandKind {
            $($kind,)+
        }

        impl StageCommand {
            pub fn kind(&self) -> StageCommandKind {
                match self {
                    $(StageCommand::$kind { .. } => StageCommandKind::$kind,)+
                }
            }
        }

        impl StageCommandKind {
            pub const ALL: &[StageCommandKind] = &[$(StageCommandKind::$kind,)+];

            /// Returns the least role that may give the command.
            pub fn least_role(self) -> CommandRole {
                match self {
                    $(StageCommandKind::$kind => CommandRole::$role,)+
                }
            }
        }
    };
}

stage_commands! {
    /// The work is done. This is a claim: Sprag checks it.
    Complete Agent,
    /// The stage cannot continue.
    Block Agent { why: Text<300> },
    Ask Agent { question: Text<1000> },
    /// A task of the plan is done.
    Task Agent { id: Slug },
    /// A value for dependent stages.
    Output Agent { name: Slug, value: Text<2000> },
    /// A check is wrong.
    Dispute Agent { check: Text<300>, why: Text<1000> },
    Hold User,
    Release User,
    Skip User { why: Text<300> },
    Retry User,
    /// The stage starts again: the worktree is kept under another name and removed.
    Reset User,
    /// The stage continues, with an answer if one was asked for.
    Resume User { #[serde(default, skip_serializing_if = "Option::is_none")] answer: Option<Text<2000>> },
    /// Merges work that passed its checks.
    Merge User,
    /// Runs the checks on the present work.
    Verify User,
    /// Accepts a dispute.
    Accept User,
    Reject User,
    /// Drops the checks of the stage. Those of the plan still count.
    Bypass Admin { why: Text<300> },
}

impl StageCommand {
    /// Returns the form for the record: without secrets in texts for people. Answers and outputs stay
    /// unchanged, because an agent needs them.
    pub fn redacted(&self) -> StageCommand {
        match self.clone() {
            StageCommand::Ask { question } => StageCommand::Ask { question: clean(&question) },
            StageCommand::Block { why } => StageCommand::Block { why: clean(&why) },
            StageCommand::Dispute { check, why } => StageCommand::Dispute { check, why: clean(&why) },
            StageCommand::Skip { why } => StageCommand::Skip { why: clean(&why) },
            StageCommand::Bypass { why } => StageCommand::Bypass { why: clean(&why) },
            command => command,
        }
    }

    /// Reports whether the sender waits for the result of the checks.
    pub fn wants_verdict(&self) -> bool {
        matches!(
            self.kind(),
            StageCommandKind::Complete
                | StageCommandKind::Verify
                | StageCommandKind::Accept
                | StageCommandKind::Bypass
        )
    }
}

fn clean<const N: usize>(text: &Text<N>) -> Text<N> {
    redact::short(&plain(text.as_str()))
}
