//! `sprag stop`: the daemon ends, and its agents with it. Nothing they have done is lost.

use std::path::Path;

use sprag_core::plan::said::Role;
use sprag_host::daemon::client::{self, NotConnected};
use sprag_host::daemon::outlived;
use sprag_host::daemon::reign;
use sprag_host::daemon::view;
use sprag_host::daemon::wire::{Reply, Request, Stopping};
use sprag_host::disk::RealDisk;
use sprag_host::person;
use sprag_host::places::Places;

use super::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;

/// Stop the run of a plan; worktrees stay, and `sprag resume` goes on
///
/// Agents are told to end and have ten seconds for it; the same attempt goes on with `sprag resume`. Where nobody runs
/// the plan any more, agents that were left behind are ended.
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
    let mut client = match client::connect(&run, Role::Admin) {
        Ok(client) => client,
        Err(NotConnected::Nobody) => return end_outlived(&places, &run, how),
        Err(reason) => return Err(Failure::not_connected(reason, None)),
    };
    match client.ask(&Request::Stop { how })? {
        Reply::Refused { code, message } => return Err(Failure::told_no(code, message, None)),
        _ => reign::wait(&run)?,
    }
    output::line("stopped; worktrees are as they were");
    output::next("sprag resume");
    Ok(Ending::Done)
}

/// Nobody runs it any more, and somebody may be at work all the same.
fn end_outlived(places: &Places, run: &Path, how: Stopping) -> Outcome {
    let agents = outlived::find(run)?;
    if agents.is_empty() {
        let was_run = !view::list(run)?.is_empty();
        return Err(if was_run { Failure::no_daemon() } else { Failure::no_run(None) });
    }
    for agent in &agents {
        output::line(format!(
            "no daemon runs, and the agent of stage `{}` of plan `{}` lives: it is ended",
            agent.stage.as_str(),
            agent.plan
        ));
    }
    let root = places.worktree.clone().unwrap_or_default();
    outlived::end(&root, run, &RealDisk, &agents, how).map_err(|reason| Failure::unsaid(reason, ""))?;
    output::line("stopped; worktrees are as they were");
    output::next("sprag resume");
    Ok(Ending::Done)
}
