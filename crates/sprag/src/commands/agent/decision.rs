//! `sprag decision`: an agent writes down what it chose, and why.

use sprag_base::text::Text;
use sprag_plan::notes::NoteBody;

use super::note;
use crate::commands::{CommandCx, CommandResult, words};

/// Note what was decided at a stage, and why
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What was decided, at most 1,000 characters
    text: String,
    /// Why, at most 1,000 characters: only what has a reason is remembered
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
