//! `sprag completions`: prints the script that a shell loads.

use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::commands::{CommandCx, CommandEnd, CommandResult, complete};
use crate::failure::Failure;
use crate::output;

/// Print a completion script for a shell
///
/// The script also completes sessions, stages, plans, learnings and intents of the current repository.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  echo 'source <(sprag completions bash)' >> ~/.bashrc\n  sprag completions fish > ~/.config/fish/completions/sprag.fish"
)]
pub(crate) struct Args {
    /// Name of the shell
    shell: Shell,
}

pub(crate) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    let shells = Shells::builtins();
    let shell = args.shell.to_string();
    let Some(completer) = shells.completer(&shell) else {
        let known: Vec<&str> = shells.names().collect();
        return Err(Failure::unknown_name("shell", &shell, &known, "completions"));
    };
    let mut script = Vec::new();
    completer.write_registration(complete::VARIABLE, "sprag", "sprag", "sprag", &mut script)?;
    output::text_raw(&String::from_utf8_lossy(&script));
    Ok(CommandEnd::Done)
}
