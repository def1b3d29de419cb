//! `sprag question`: notes an open question of a stage; the agent continues.

use sprag_plan::notes::NoteBody;

use super::note;
use crate::commands::{CommandCx, CommandResult, words};

/// Note an open question of a stage, and continue without an answer
///
/// Later agents of the stage see the question. Use `sprag stage ask` to ask a person.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag question 'Do we still support the old format?'\n  \
    sprag question 'Is the timeout of 5 s intended?' --stage parser")]
pub(crate) struct Args {
    /// Question, at most 1000 characters
    text: String,
    #[command(flatten)]
    about: note::StageArg,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let text = words("the question", &args.text, "question")?;
    note::write(cx, &args.about, "question TEXT --stage STAGE", NoteBody::Question { text })
}
