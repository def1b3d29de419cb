//! `sprag trace`: what was changed, and why.

use super::{Cx, Outcome};

mod classify;

/// Look at what was changed, and for which intent
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Classify(classify::Args),
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    match args.command {
        Command::Classify(args) => classify::run(&args, cx),
    }
}
