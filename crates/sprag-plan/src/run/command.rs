//! What people and agents say of a stage, and whether it means anything there. A word that means nothing is refused
//! with the reason; one that does is written down as it was said, and the fold of the run takes it from there.

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, plain};

use super::record::RunRecord;
use super::{Run, StageEntry};
use crate::accept::reviewer;
use crate::ids::{EffectKey, StageId};
pub use crate::run::allowed::{StageCommandKind, meant};
use crate::spec::values::Slug;
use crate::stage::ReviewReason;
use crate::stage::state::StageState;

/// Disputes of one stage that may be accepted.
pub const DISPUTES: usize = 3;
/// Answers that are kept for one stage.
pub const ANSWERS: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
pub enum StageCommand {
    /// It is done. A claim: Sprag looks.
    Complete,
    /// It cannot go on.
    Block {
        why: Text<300>,
    },
    Ask {
        question: Text<1000>,
    },
    /// A task of the plan is done.
    Task {
        id: Slug,
    },
    /// What it leaves for those that build on it.
    Output {
        name: Slug,
        value: Text<2000>,
    },
    /// A check is wrong.
    Dispute {
        check: Text<300>,
        why: Text<1000>,
    },
    Hold,
    Release,
    Skip {
        why: Text<300>,
    },
    Retry,
    /// From the start: what is in its worktree is kept under a name, and gone from there.
    Reset,
    /// It goes on: with an answer where one was asked for.
    Resume {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Text<2000>>,
    },
    /// What was found good is merged.
    Merge,
    /// Its checks are run on what is there.
    Verify,
    /// The check that was disputed is wrong indeed.
    Accept,
    Reject,
    /// Its own checks count no more. Those of the plan do.
    Bypass {
        why: Text<300>,
    },
}

/// Who somebody is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRole {
    /// Of its own stage alone.
    Agent,
    User,
    Admin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandSender {
    Agent { session: EffectKey },
    Person { name: Text<64>, role: CommandRole },
}

/// Why a word counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandRefusal {
    NoStage,
    /// Not with this role.
    NotYours {
        least: CommandRole,
    },
    /// The stage has another agent by now.
    OtherSession,
    /// In this state it means nothing.
    State {
        state: &'static str,
    },
    NoTask,
    NoOutput,
    NoCheck,
    /// It was asked something.
    NoAnswer,
    /// Its checks have not been green.
    NotGreen,
    /// As many checks were given up as may be.
    TooMany,
}

impl StageCommand {
    /// The word, without what is said with it.
    pub fn name(&self) -> StageCommandKind {
        match self {
            StageCommand::Complete => StageCommandKind::Complete,
            StageCommand::Block { .. } => StageCommandKind::Block,
            StageCommand::Ask { .. } => StageCommandKind::Ask,
            StageCommand::Task { .. } => StageCommandKind::Task,
            StageCommand::Output { .. } => StageCommandKind::Output,
            StageCommand::Dispute { .. } => StageCommandKind::Dispute,
            StageCommand::Hold => StageCommandKind::Hold,
            StageCommand::Release => StageCommandKind::Release,
            StageCommand::Skip { .. } => StageCommandKind::Skip,
            StageCommand::Retry => StageCommandKind::Retry,
            StageCommand::Reset => StageCommandKind::Reset,
            StageCommand::Resume { .. } => StageCommandKind::Resume,
            StageCommand::Merge => StageCommandKind::Merge,
            StageCommand::Verify => StageCommandKind::Verify,
            StageCommand::Accept => StageCommandKind::Accept,
            StageCommand::Reject => StageCommandKind::Reject,
            StageCommand::Bypass { .. } => StageCommandKind::Bypass,
        }
    }

    /// Who may say it at least.
    pub fn least(&self) -> CommandRole {
        self.name().least()
    }

    /// As it is written down: what is told to people, with all that it quotes, goes without secrets. Answers and outputs
    /// are for an agent to use.
    fn written(&self) -> StageCommand {
        match self {
            StageCommand::Ask { question } => StageCommand::Ask { question: clean(question) },
            StageCommand::Block { why } => StageCommand::Block { why: clean(why) },
            StageCommand::Dispute { check, why } => {
                StageCommand::Dispute { check: check.clone(), why: clean(why) }
            }
            StageCommand::Skip { why } => StageCommand::Skip { why: clean(why) },
            StageCommand::Bypass { why } => StageCommand::Bypass { why: clean(why) },
            StageCommand::Complete
            | StageCommand::Task { .. }
            | StageCommand::Output { .. }
            | StageCommand::Hold
            | StageCommand::Release
            | StageCommand::Retry
            | StageCommand::Reset
            | StageCommand::Resume { .. }
            | StageCommand::Merge
            | StageCommand::Verify
            | StageCommand::Accept
            | StageCommand::Reject => self.clone(),
        }
    }

    /// Whether whoever says it is told how its checks went.
    pub fn wants_verdict(&self) -> bool {
        matches!(
            self,
            StageCommand::Complete
                | StageCommand::Verify
                | StageCommand::Accept
                | StageCommand::Bypass { .. }
        )
    }
}

fn clean<const N: usize>(text: &Text<N>) -> Text<N> {
    redact::short(&plain(text.as_str()))
}

impl CommandSender {
    /// As the record names it.
    pub fn name(&self) -> Text<64> {
        match self {
            CommandSender::Agent { .. } => Text::new("agent"),
            CommandSender::Person { name, .. } => name.clone(),
        }
    }

    pub fn role(&self) -> CommandRole {
        match self {
            CommandSender::Agent { .. } => CommandRole::Agent,
            CommandSender::Person { role, .. } => *role,
        }
    }
}

/// What is to be written down of it.
pub fn accept_command(
    run: &Run,
    speaker: &CommandSender,
    stage: &StageId,
    said: &StageCommand,
) -> Result<RunRecord, CommandRefusal> {
    let standing = run.standing(stage).ok_or(CommandRefusal::NoStage)?;
    if speaker.role() < said.least() {
        return Err(CommandRefusal::NotYours { least: said.least() });
    }
    if let CommandSender::Agent { session } = speaker
        && standing.stage.session() != Some(session)
    {
        return Err(CommandRefusal::OtherSession);
    }
    means(run, standing, stage, said)?;
    Ok(RunRecord::Said { stage: stage.clone(), by: speaker.name(), said: said.written() })
}

/// Whether it means anything there, and what is said with it, too.
fn means(run: &Run, standing: &StageEntry, id: &StageId, said: &StageCommand) -> Result<(), CommandRefusal> {
    let state = || CommandRefusal::State { state: standing.stage.name() };
    let spec = run.plan().find(id.as_str()).ok_or(CommandRefusal::NoStage)?;
    let is_one = |is_there: bool, none: CommandRefusal| if is_there { Ok(()) } else { Err(none) };
    match said {
        StageCommand::Task { id } => {
            is_one(spec.tasks.iter().any(|task| task.id == *id), CommandRefusal::NoTask)?
        }
        StageCommand::Output { name, .. } => {
            is_one(spec.outputs.iter().any(|output| output.name == *name), CommandRefusal::NoOutput)?;
        }
        StageCommand::Dispute { check, .. } => {
            let is_review = check.as_str() == reviewer::NAME && reviewer::reviewer(spec).is_some();
            is_one(spec.checks.has(check.as_str()) || is_review, CommandRefusal::NoCheck)?;
        }
        _ => {}
    }
    if !meant(run, standing).contains(&said.name()) {
        return Err(match (said, &standing.stage) {
            (StageCommand::Merge, StageState::Review { .. }) => CommandRefusal::NotGreen,
            (StageCommand::Accept, StageState::Review { case: ReviewReason::Disputed, .. }) => {
                CommandRefusal::TooMany
            }
            _ => state(),
        });
    }
    match (said, &standing.stage) {
        (StageCommand::Resume { answer: None }, StageState::Asking { .. }) => Err(CommandRefusal::NoAnswer),
        _ => Ok(()),
    }
}
