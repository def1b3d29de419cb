//! `sprag store`: the files that Sprag keeps below the git directory.

mod clean;
mod clean_runs;
mod migrate;
mod rebuild;

use super::{CommandCx, CommandResult};

/// Clean, rebuild or migrate the files of Sprag
///
/// Sprag keeps its files below the git directory.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag store clean --dry-run\n  \
    sprag store rebuild")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Clean(clean::Args),
    Rebuild(rebuild::Args),
    Migrate(migrate::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Clean(args) => clean::run(args, cx),
        Command::Rebuild(args) => rebuild::run(args, cx),
        Command::Migrate(args) => migrate::run(args, cx),
    }
}
