//! `sprag hook`: here only for its help. The program answers it before this code is reached.

use crate::commands::{CommandCx, CommandEnd, CommandResult};

/// Answer one hook call of a client (payload on stdin, reply on stdout)
///
/// Clients call this; `sprag init` writes it into their settings. It always exits 0 with one JSON
/// object.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the client, see `sprag config clients`
    client: String,
    /// Name of the event, for clients whose payload does not say it
    event: Option<String>,
    /// Judge the event without writing anything down
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    let Args { client: _, event: _, dry_run: _ } = args;
    Ok(CommandEnd::Done)
}
