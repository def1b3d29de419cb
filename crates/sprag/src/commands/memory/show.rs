//! `sprag show`: one learning in full.

use super::learnings;
use crate::commands::{Cx, Outcome};

/// Show all there is to say about a learning
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    one: learnings::OneArgs,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    learnings::show_one(&args.one, cx)
}
