//! `sprag trace`: what was changed, and why.

use super::{Cx, Outcome};

mod blame;
mod rewritten;

/// Look at what was changed, and for which intent
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Blame(blame::Args),
    #[command(hide = true)]
    Rewritten(rewritten::Args),
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    match args.command {
        Command::Blame(args) => blame::run(&args, cx),
        Command::Rewritten(args) => rewritten::run(&args, cx),
    }
}
