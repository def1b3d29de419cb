//! `sprag show`: one learning in full.

use super::learnings;
use crate::commands::{CommandCx, CommandResult};

/// Show all there is to say about a learning
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    one: learnings::OneArgs,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    learnings::show_one(&args.one, cx)
}
