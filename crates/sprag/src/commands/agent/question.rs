//! `sprag question`: an agent writes down what is open, and goes on.

use sprag_plan::notes::NoteBody;

use super::note;
use crate::commands::{CommandCx, CommandResult, words};

/// Note what is open at a stage, without waiting for an answer
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What is open, at most 1,000 characters
    text: String,
    #[command(flatten)]
    about: note::StageArg,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let text = words("the question", &args.text, "question")?;
    note::write(cx, &args.about, "question TEXT --stage STAGE", NoteBody::Question { text })
}
