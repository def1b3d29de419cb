//! `sprag mcp`: the memory of this project as a server for agents.

use sprag_host::mcp;
use sprag_host::sys::env::Env;

use crate::commands::{CommandCx, CommandEnd, CommandResult};

/// Serve the memory of this project to an agent, over MCP on stdin and stdout
///
/// Started by clients: `sprag init --mcp` tells them. It ends when its input does. Tools: search, record,
/// record_lesson, observe, answer, outcome. What an agent may do depends on its role: the session's own agent
/// all of it, one that was started for a purpose searches, observes and tells outcomes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What tells the role of an agent that Sprag has started
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    mcp::serve(Env::Real, cx.cwd.clone(), args.token)?;
    Ok(CommandEnd::Done)
}
