//! `sprag stage`: what agents and people say of a stage of a run.

mod review;
pub(crate) mod send;

use sprag_plan::spec::values::{Readable as _, Slug};
use sprag_plan::stage::command::{CommandRole, StageCommand};

use super::{CommandCx, CommandResult, words};
use crate::failure::Failure;

/// Say something of a stage of a run
///
/// An agent speaks of its own stage: complete, block, ask, task, output, dispute. The rest is for people.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// It is done: its checks are run, and what they say is printed
    Complete {
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// It cannot go on
    Block {
        #[command(flatten)]
        of: OwnStageArgs,
        /// Why not
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Ask a person something
    Ask {
        /// The question
        text: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Tick off a task of the plan; its check is run first
    Task {
        /// The task
        id: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Leave something for the stages that build on it
    Output {
        /// The output, as the plan calls it
        name: String,
        /// What it is
        value: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Say that a check is wrong: a person decides
    Dispute {
        /// The check, as the report calls it
        check: String,
        /// What is wrong with it
        #[arg(long, value_name = "TEXT")]
        why: String,
        #[command(flatten)]
        of: OwnStageArgs,
    },
    /// Start nobody new for it and do not merge it; what is under way goes on
    Hold { stage: String },
    /// Let it go on after all
    Release { stage: String },
    /// Leave it out; what builds on it waits until the plan is amended
    Skip {
        stage: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Try it once more, with what is there: the next attempt
    Retry { stage: String },
    /// Begin anew: what is in its worktree is kept under refs/sprag/PLAN/salvage, and goes
    Reset { stage: String },
    /// Let it go on in the same attempt, with an answer where one was asked for
    Resume {
        stage: String,
        /// What its agent is told
        #[arg(long, value_name = "TEXT")]
        answer: Option<String>,
    },
    /// Tell what happened to it and what can be said now; or decide a dispute
    Review {
        stage: String,
        /// The disputed check is wrong: it counts no more, and the others are run (three times at most)
        #[arg(long, conflicts_with = "reject")]
        accept: bool,
        /// It stays as it is
        #[arg(long)]
        reject: bool,
    },
    /// Merge what was found good and waits for a person
    Merge { stage: String },
    /// Run its checks on what is there
    Verify {
        stage: String,
        /// Its own checks count no more; the gates of the plan do. For an admin, and written down
        #[arg(long, requires = "why")]
        bypass: bool,
        /// Why they are passed by
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
}

/// The stage of the agent that says it, or one that a person names.
#[derive(clap::Args)]
struct OwnStageArgs {
    /// The stage (default: the one this agent works at)
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
