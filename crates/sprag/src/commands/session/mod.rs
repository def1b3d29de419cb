//! `sprag session`, and the commands beside it: approve, debt, verify.

pub(crate) mod approve;
pub(crate) mod debt;
mod explain;
mod list;
pub(crate) mod records;
pub(crate) mod verify;

use super::{CommandCx, CommandResult};

/// List sessions, and explain what happened in one
///
/// A session is one conversation of an agent client, such as Claude Code.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag session list\n  \
    sprag session explain 4f2a1c")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Explain(explain::Args),
    Records(records::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::List(args) => list::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
        Command::Records(args) => records::run(args, cx),
    }
}
