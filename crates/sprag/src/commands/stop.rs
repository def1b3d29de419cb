//! `sprag stop`: the daemon ends, and its agents with it. Nothing they have done is lost.

use sprag_core::plan::said::Role;
use sprag_host::daemon::client;
use sprag_host::daemon::reign;
use sprag_host::daemon::wire::{Reply, Request, Stopping};
use sprag_host::person;

use super::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;

/// Stop the run of a plan; worktrees stay, and `sprag resume` goes on
///
/// Agents are told to end and have ten seconds for it. Their attempts are not counted.
#[derive(clap::Args)]
pub struct Args {
    /// End agents at once
    #[arg(long)]
    kill: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let places = cx.places()?;
    person::check_not_agent(places.user.as_ref())?;
    let run = places.store.join("run");
    let how = if args.kill { Stopping::Kill } else { Stopping::Home };
    let mut client =
        client::connect(&run, Role::Admin).map_err(|reason| Failure::not_connected(reason, None))?;
    match client.ask(&Request::Stop { how })? {
        Reply::Refused { code, message } => return Err(Failure::told_no(code, message, None)),
        _ => reign::wait(&run)?,
    }
    output::line("stopped; worktrees are as they were");
    output::line("  next: sprag resume");
    Ok(Ending::Done)
}
