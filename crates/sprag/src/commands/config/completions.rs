//! `sprag completions`: for the user's shell.

use clap_complete::Shell;

use crate::commands::{CommandCx, CommandEnd, CommandResult, cli};
use crate::output;

/// Print a completion script for a shell
///
/// For example: `sprag completions bash > ~/.local/share/bash-completion/completions/sprag`
#[derive(clap::Args)]
pub(crate) struct Args {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(crate) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli(), "sprag", &mut script);
    output::text_raw(&String::from_utf8_lossy(&script));
    Ok(CommandEnd::Done)
}
