//! `sprag question`: an agent writes down what is open, and goes on.

use sprag_plan::notes::Said;

use super::note;
use crate::commands::{Cx, Outcome, words};

/// Note what is open at a stage, without waiting for an answer
#[derive(clap::Args)]
pub struct Args {
    /// What is open, at most 1,000 characters
    text: String,
    #[command(flatten)]
    about: note::About,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let text = words("the question", &args.text, "question")?;
    note::write(cx, &args.about, "question TEXT --stage STAGE", Said::Question { text })
}
