//! `sprag trace`: shows records of changes and their intents.

use super::{CommandCx, CommandResult};

mod blame;
mod classify;
mod export;
mod log;
mod map;
mod reindex;
mod rewritten;
mod selection;
mod show;
mod stats;
mod verify;

/// Show what changed, who changed it, and for which intent
///
/// The trace has a record of every change of an agent: lines, author and intent.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag trace log --path src/main.rs\n  \
    sprag trace blame src/main.rs -L 1,20")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Blame(blame::Args),
    #[command(hide = true)]
    Rewritten(rewritten::Args),
    Log(log::Args),
    Show(show::Args),
    Map(map::Args),
    Stats(stats::Args),
    Export(export::Args),
    Verify(verify::Args),
    Reindex(reindex::Args),
    Classify(classify::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Blame(args) => blame::run(&args, cx),
        Command::Rewritten(args) => rewritten::run(&args, cx),
        Command::Log(args) => log::run(&args, cx),
        Command::Show(args) => show::run(&args, cx),
        Command::Map(args) => map::run(&args, cx),
        Command::Stats(args) => stats::run(&args, cx),
        Command::Export(args) => export::run(&args, cx),
        Command::Verify(args) => verify::run(&args, cx),
        Command::Reindex(args) => reindex::run(&args, cx),
        Command::Classify(args) => classify::run(&args, cx),
    }
}
