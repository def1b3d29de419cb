//! `sprag hook`: only its help is here. The program answers hook calls before it parses commands.

use crate::commands::{CommandCx, CommandEnd, CommandResult};

/// Answer one hook call of a client (payload on stdin, reply on stdout)
///
/// Clients run this command; `sprag init` adds it to their settings. It always prints one JSON object and
/// exits with 0.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the client (see `sprag config clients`)
    client: String,
    /// Name of the event, for clients whose payload does not contain it
    event: Option<String>,
    /// Print the reply, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    let Args { client: _, event: _, dry_run: _ } = args;
    Ok(CommandEnd::Done)
}
