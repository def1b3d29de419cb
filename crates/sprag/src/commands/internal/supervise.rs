//! `sprag supervise`: the supervisor of one agent session. The daemon starts it; it outlives the daemon.

use std::ffi::OsString;
use std::path::PathBuf;

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::agent;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Supervise one agent session of a plan (the daemon starts this command)
///
/// Starts the agent that the session directory describes and stores its output. Ends the agent and its child
/// processes at the deadline or on request, and records the exit. A session never runs twice.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Session directory
    #[arg(required_unless_present = "as_agent_of")]
    folder: Option<PathBuf>,
    /// Become the agent of the supervisor with this process number
    #[arg(long, value_name = "PID", conflicts_with = "folder", requires = "command", hide = true)]
    as_agent_of: Option<i32>,
    /// Run inside the sandbox that this directory describes
    #[arg(long, value_name = "FOLDER", requires = "as_agent_of", hide = true)]
    within: Option<PathBuf>,
    /// Allow connections through this port only
    #[arg(long, value_name = "PORT", requires = "within", hide = true)]
    through: Option<u16>,
    #[arg(last = true, hide = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    if let Some(supervisor) = args.as_agent_of {
        let within = args.within.as_deref().map(|folder| (folder, args.through));
        let error = agent::become_agent(supervisor, within, &args.command);
        let program = args.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
        return Err(Failure::no_agent(&program, &error));
    }
    let folder = args.folder.unwrap_or_default();
    let failed = |error| Failure::io("supervise", &folder, &error);
    match agent::supervise(&folder, &RealDisk, || output::line("started")).map_err(failed)? {
        agent::Supervised::Ended(_) => Ok(CommandEnd::Done),
        agent::Supervised::Taken | agent::Supervised::Lost => Ok(CommandEnd::No),
    }
}
