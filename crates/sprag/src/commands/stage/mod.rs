//! `sprag stage`: commands of agents and people to a stage of a run.

mod review;
pub(crate) mod send;

use sprag_plan::spec::values::{Readable as _, Slug};
use sprag_plan::stage::command::{CommandRole, StageCommand};

use super::{CommandCx, CommandResult, words};
use crate::failure::Failure;

/// Control a stage of a run
///
/// Agents run complete, block, ask, task, output and dispute for their own stage. The other commands are for
/// people.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag stage review parser\n  \
    sprag stage resume parser --answer 'Keep the old flag'")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Report that the stage is done, and run its checks
    ///
    /// Waits for the checks and prints their result. Exits with 1 if they fail.
    Complete {
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Report that the stage cannot continue
    Block {
        #[command(flatten)]
        of: OwnStageArgs,
        /// Reason, at most 300 characters
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Ask a person a question
    Ask {
        /// Question, at most 1000 characters
        text: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Mark a task of the plan as done, after its check passed
    Task {
        /// Task id from the plan
        id: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Store a value for dependent stages
    Output {
        /// Name of the output in the plan
        name: String,
        /// Value, at most 2000 characters
        value: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Report that a check is wrong; a person decides
    Dispute {
        /// Name of the check in the report
        check: String,
        /// Reason, at most 1000 characters
        #[arg(long, value_name = "TEXT")]
        why: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Put a stage on hold: no new agent and no merge (people only)
    ///
    /// A running agent continues. `sprag stage release` ends the hold.
    Hold {
        /// Stage id
        stage: String,
    },
    /// Release a stage that is on hold (people only)
    Release {
        /// Stage id
        stage: String,
    },
    /// Skip a stage (people only)
    ///
    /// Dependent stages wait until you amend the plan.
    Skip {
        /// Stage id
        stage: String,
        /// Reason, at most 300 characters
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Start the next attempt with the present work (people only)
    Retry {
        /// Stage id
        stage: String,
    },
    /// Start a stage again from a clean worktree (people only)
    ///
    /// Saves the present work under refs/sprag/PLAN/salvage first.
    Reset {
        /// Stage id
        stage: String,
    },
    /// Continue a stage in the same attempt, with an answer (people only)
    Resume {
        /// Stage id
        stage: String,
        /// Answer to the question of the agent, at most 2000 characters
        #[arg(long, value_name = "TEXT")]
        answer: Option<String>,
    },
    /// Show what happened to a stage, or decide a dispute
    ///
    /// Prints the question for a person and the commands that answer it.
    Review {
        /// Stage id
        stage: String,
        /// Drop the disputed check, and run the others; at most three per stage (people only)
        #[arg(long, conflicts_with = "reject")]
        accept: bool,
        /// Keep the disputed check (people only)
        #[arg(long)]
        reject: bool,
    },
    /// Merge accepted work that waits for a person (people only)
    Merge {
        /// Stage id
        stage: String,
    },
    /// Run the checks of a stage on the present work (people only)
    Verify {
        /// Stage id
        stage: String,
        /// Drop all checks of the stage, but not those of the plan; Sprag records it (people only)
        #[arg(long, requires = "why")]
        bypass: bool,
        /// Reason, at most 300 characters
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
}

/// The stage of the calling agent, or a stage that a person names.
#[derive(clap::Args)]
struct OwnStageArgs {
    /// Stage id (default: the stage of this agent)
    #[arg(long, value_name = "STAGE")]
    stage: Option<String>,
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let person = |stage: String, said: StageCommand| send::say(cx, Some(stage), said, CommandRole::User);
    match args.command {
        Command::Complete { of } => send::say(cx, of.stage, StageCommand::Complete, CommandRole::User),
        Command::Block { of, why } => {
            let said = StageCommand::Block { why: words("`--why`", &why, "stage block")? };
            send::say(cx, of.stage, said, CommandRole::User)
        }
        Command::Ask { text, of } => {
            let said = StageCommand::Ask { question: words("the question", &text, "stage ask")? };
            send::say(cx, of.stage, said, CommandRole::User)
        }
        Command::Task { id, of } => {
            send::say(cx, of.stage, StageCommand::Task { id: slug(&id)? }, CommandRole::User)
        }
        Command::Output { name, value, of } => {
            let value = words("the output", &value, "stage output")?;
            send::say(cx, of.stage, StageCommand::Output { name: slug(&name)?, value }, CommandRole::User)
        }
        Command::Dispute { check, why, of } => {
            let check = words("the check", &check, "stage dispute")?;
            let why = words("`--why`", &why, "stage dispute")?;
            send::say(cx, of.stage, StageCommand::Dispute { check, why }, CommandRole::User)
        }
        Command::Hold { stage } => person(stage, StageCommand::Hold),
        Command::Release { stage } => person(stage, StageCommand::Release),
        Command::Skip { stage, why } => {
            person(stage, StageCommand::Skip { why: words("`--why`", &why, "stage skip")? })
        }
        Command::Retry { stage } => person(stage, StageCommand::Retry),
        Command::Reset { stage } => person(stage, StageCommand::Reset),
        Command::Resume { stage, answer } => {
            let answer = answer.map(|it| words("`--answer`", &it, "stage resume")).transpose()?;
            person(stage, StageCommand::Resume { answer })
        }
        Command::Review { stage, accept: true, .. } => person(stage, StageCommand::Accept),
        Command::Review { stage, reject: true, .. } => person(stage, StageCommand::Reject),
        Command::Review { stage, .. } => review::run(cx, &stage),
        Command::Merge { stage } => person(stage, StageCommand::Merge),
        Command::Verify { stage, bypass: false, .. } => person(stage, StageCommand::Verify),
        Command::Verify { stage, why, .. } => {
            let why = words("`--why`", &why.unwrap_or_default(), "stage verify")?;
            send::say(cx, Some(stage), StageCommand::Bypass { why }, CommandRole::Admin)
        }
    }
}

fn slug(text: &str) -> Result<Slug, Failure> {
    Slug::read(text).map_err(|wrong| Failure::bad_plan_name(text, &wrong))
}
