//! Commands to a stage: one table of their names, who may give them, and what comes with them.

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, plain};

use crate::spec::values::Slug;

/// The role that somebody is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRole {
    /// Of its own stage alone.
    Agent,
    User,
    Admin,
}

macro_rules! stage_commands {
    ($($(#[$about:meta])* $kind:ident $role:ident $({ $($(#[$attribute:meta])* $field:ident: $type:ty),+ })?,)+) => {
        /// A command to a stage, as records and the socket have it.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
        pub enum StageCommand {
            $($(#[$about])* $kind $({ $($(#[$attribute])* $field: $type),+ })?,)+
        }

        /// A command without what comes with it.
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

            /// Returns the least role that may give it.
            pub fn least_role(self) -> CommandRole {
                match self {
                    $(StageCommandKind::$kind => CommandRole::$role,)+
                }
            }
        }
    };
}

stage_commands! {
    /// The work is done. A claim: Sprag checks it.
    Complete Agent,
    /// The stage cannot continue.
    Block Agent { why: Text<300> },
    Ask Agent { question: Text<1000> },
    /// A task of the plan is done.
    Task Agent { id: Slug },
    /// A value for the stages that build on it.
    Output Agent { name: Slug, value: Text<2000> },
    /// A check is wrong.
    Dispute Agent { check: Text<300>, why: Text<1000> },
    Hold User,
    Release User,
    Skip User { why: Text<300> },
    Retry User,
    /// From the start: the worktree is kept under a name and removed.
    Reset User,
    /// The stage continues: with an answer, where one was asked for.
    Resume User { #[serde(default, skip_serializing_if = "Option::is_none")] answer: Option<Text<2000>> },
    /// Work that passed its checks is merged.
    Merge User,
    /// The checks run on the work as it is.
    Verify User,
    /// The check that was disputed is wrong indeed.
    Accept User,
    Reject User,
    /// The checks of the stage count no longer. Those of the plan do.
    Bypass Admin { why: Text<300> },
}

impl StageCommand {
    /// Returns the form that is written down: texts that people read go without secrets. Answers and outputs are for
    /// an agent to use.
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

    /// Reports whether its sender waits for the result of the checks.
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
