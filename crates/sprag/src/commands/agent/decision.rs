//! `sprag decision`: notes a decision of a stage agent and its reason.

use sprag_base::text::Text;
use sprag_plan::notes::NoteBody;

use super::note;
use crate::commands::{CommandCx, CommandResult, words};

/// Note a decision and its reason for the next agents of a stage
///
/// Later agents of the stage see the note. Sprag remembers a decision only if it has a reason.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag decision 'Use one parser for both formats' --because 'They share the grammar'\n  \
    sprag decision 'Keep the old flag' --because 'The user asked for it' --stage parser")]
pub(crate) struct Args {
    /// Decision, at most 1000 characters
    text: String,
    /// Reason, at most 1000 characters
    #[arg(long, value_name = "WHY")]
    because: Option<String>,
    #[command(flatten)]
    about: note::StageArg,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let text = words("the decision", &args.text, "decision")?;
    let why = match &args.because {
        Some(why) => words("`--because`", why, "decision")?,
        None => Text::default(),
    };
    note::write(
        cx,
        &args.about,
        "decision TEXT --because WHY --stage STAGE",
        NoteBody::Decision { text, why },
    )
}
