//! `sprag supervise`: the keeper of one session's agent. The daemon starts it; it outlives the daemon.

use std::ffi::OsString;
use std::path::PathBuf;

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::agent;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Keep the agent of one session of a plan (the daemon starts this)
///
/// Starts what the session's folder asks for, keeps what it prints, ends it at its deadline or when told to,
/// with everything it has started, and records how it went. A session is never run twice.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the session
    #[arg(required_unless_present = "as_agent_of")]
    folder: Option<PathBuf>,
    /// Become the agent of the supervisor with this process number
    #[arg(long, value_name = "PID", conflicts_with = "folder", requires = "command", hide = true)]
    as_agent_of: Option<i32>,
    /// Within the walls that are on record in this folder
    #[arg(long, value_name = "FOLDER", requires = "as_agent_of", hide = true)]
    within: Option<PathBuf>,
    /// Let connections go through this port alone
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
    match agent::supervise(&folder, &RealDisk, || output::line("taken on")).map_err(failed)? {
        agent::Supervised::Ended(_) => Ok(CommandEnd::Done),
        agent::Supervised::Taken | agent::Supervised::Lost => Ok(CommandEnd::No),
    }
}
