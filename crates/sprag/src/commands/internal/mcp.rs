//! `sprag mcp`: serves the memory of this project to agents.

use sprag_host::mcp;
use sprag_host::sys::env::Env;

use crate::commands::{CommandCx, CommandEnd, CommandResult};

/// Serve the memory of this project to an agent (MCP on stdin and stdout)
///
/// Clients start this server; `sprag init --mcp` adds it to their settings. Tools: search, record,
/// record_lesson, observe, answer, outcome. Agents that Sprag started may only search, observe and report
/// outcomes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Token for the role of an agent that Sprag started
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    mcp::serve(Env::Real, cx.cwd.clone(), args.token)?;
    Ok(CommandEnd::Done)
}
