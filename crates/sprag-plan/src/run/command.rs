//! Decides who may give which command to a stage. A command that does not fit is refused with a reason; any
//! other command is recorded, and the fold of the run applies it.

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;

use sprag_base::text::Text;

use super::record::RunRecord;
use super::{Run, StageEntry};
use crate::accept::reviewer;
use crate::ids::{EffectKey, StageId};
pub use crate::run::allowed::allowed;
use crate::stage::ReviewQuestion;
use crate::stage::command::{CommandRole, StageCommand};
use crate::stage::state::StageState;

/// Accepted disputes of one stage.
pub const DISPUTES: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandSender {
    Agent { session: EffectKey },
    Person { name: Text<64>, role: CommandRole },
}

/// Reason why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandRefusal {
    NoStage,
    /// The role of the sender is too low.
    NotYours {
        least: CommandRole,
    },
    /// The stage has another agent now.
    OtherSession,
    /// The command does not fit the state.
    State {
        state: &'static str,
    },
    NoTask,
    NoOutput,
    NoCheck,
    /// The agent asked a question, and the command has no answer.
    NoAnswer,
    /// The checks of the stage have not passed.
    NotGreen,
    /// The number of waived checks is at its limit.
    TooMany,
}

impl CommandSender {
    /// Returns the name for the record.
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

/// Returns the record of a command that its sender may give to the stage now.
pub fn authorize(
    run: &Run,
    sender: &CommandSender,
    stage: &StageId,
    command: &StageCommand,
) -> Result<RunRecord, CommandRefusal> {
    let entry = run.entry(stage).ok_or(CommandRefusal::NoStage)?;
    let least = command.kind().least_role();
    if sender.role() < least {
        return Err(CommandRefusal::NotYours { least });
    }
    if let CommandSender::Agent { session } = sender
        && entry.state.session() != Some(session)
    {
        return Err(CommandRefusal::OtherSession);
    }
    check_meaning(run, entry, stage, command)?;
    Ok(RunRecord::StageCommand { stage: stage.clone(), by: sender.name(), command: command.redacted() })
}

/// Checks that a command fits the state and that its fields are valid.
fn check_meaning(
    run: &Run,
    entry: &StageEntry,
    id: &StageId,
    command: &StageCommand,
) -> Result<(), CommandRefusal> {
    let spec = run.plan().find(id.as_str()).ok_or(CommandRefusal::NoStage)?;
    let unknown = match command {
        StageCommand::Task { id } => {
            (!spec.tasks.iter().any(|task| task.id == *id)).then_some(CommandRefusal::NoTask)
        }
        StageCommand::Output { name, .. } => {
            (!spec.outputs.iter().any(|output| output.name == *name)).then_some(CommandRefusal::NoOutput)
        }
        StageCommand::Dispute { check, .. } => {
            let is_review = check.as_str() == reviewer::NAME && reviewer::reviewer(spec).is_some();
            (!spec.checks.has(check.as_str()) && !is_review).then_some(CommandRefusal::NoCheck)
        }
        _ => None,
    };
    if let Some(unknown) = unknown {
        return Err(unknown);
    }
    match (command, &entry.state) {
        _ if allowed(run, entry).contains(&command.kind()) => match (command, &entry.state) {
            (StageCommand::Resume { answer: None }, StageState::Asking { .. }) => {
                Err(CommandRefusal::NoAnswer)
            }
            _ => Ok(()),
        },
        (StageCommand::Merge, StageState::Review { .. }) => Err(CommandRefusal::NotGreen),
        (StageCommand::Accept, StageState::Review { question: ReviewQuestion::Disputed(_), .. }) => {
            Err(CommandRefusal::TooMany)
        }
        _ => Err(CommandRefusal::State { state: entry.state.name() }),
    }
}
