//! `sprag run stop`: the daemon ends, and its agents with it. Nothing they have done is lost.

use std::path::Path;

use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_host::sys::locations::Locations;
use sprag_orchestrator::daemon::orphans::{self, OrphanedAgents};
use sprag_orchestrator::socket::client::{self, DaemonClient, NotConnected};
use sprag_orchestrator::socket::protocol::{DaemonReply, DaemonRequest, STOPPED};
use sprag_orchestrator::{lock, view};
use sprag_plan::reconcile::observed::StopMode;
use sprag_plan::stage::command::CommandRole;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Stop the run of a plan; worktrees stay, and `sprag run resume` goes on
///
/// Agents are told to end and have ten seconds for it; the same attempt goes on with `sprag run resume`. Where nobody runs
/// the plan any more, agents that were left behind are ended.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// End agents at once
    #[arg(long)]
    kill: bool,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    let run = places.store.join("run");
    let how = if args.kill { StopMode::Kill } else { StopMode::Home };
    match client::connect(&run, CommandRole::Admin) {
        Ok(client) => tell(client, &places, &run, how)?,
        Err(NotConnected::Nobody) => end_outlived(&places, &run, how)?,
        // It was ending by itself.
        Err(NotConnected::Io(error)) if client::is_gone(&error) => {
            lock::wait(&run)?;
            end_outlived(&places, &run, how)?;
        }
        Err(reason) => return Err(Failure::not_connected(reason, None)),
    }
    output::line("stopped; worktrees are as they were");
    output::next("sprag run resume");
    Ok(CommandEnd::Done)
}

fn tell(mut client: DaemonClient, places: &Locations, run: &Path, how: StopMode) -> Result<(), Failure> {
    match client.ask(&DaemonRequest::Stop { how }) {
        // It ends already.
        Ok(DaemonReply::Refused { code, .. }) if code == STOPPED => lock::wait(run)?,
        Ok(DaemonReply::Refused { code, message }) => return Err(Failure::told_no(code, message, None)),
        Ok(_) => lock::wait(run)?,
        // It may be gone before its answer was on its way: what was asked for is true then, too.
        Err(error) if client::is_gone(&error) => {
            lock::wait(run)?;
            end(places, run, how, &orphans::find(run)?)?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Nobody runs it any more, and somebody may be at work all the same.
fn end_outlived(places: &Locations, run: &Path, how: StopMode) -> Result<(), Failure> {
    let agents = orphans::find(run)?;
    if agents.is_empty() {
        let was_run = !view::list(run)?.is_empty();
        return Err(if was_run { Failure::no_daemon() } else { Failure::no_run(None) });
    }
    end(places, run, how, &agents)
}

fn end(places: &Locations, run: &Path, how: StopMode, agents: &[OrphanedAgents]) -> Result<(), Failure> {
    for agent in agents {
        output::line(format!(
            "no daemon runs, and the agent of stage `{}` of plan `{}` lives: it is ended",
            agent.stage.as_str(),
            agent.plan
        ));
    }
    let root = places.worktree.clone().unwrap_or_default();
    orphans::end(&root, run, &RealDisk, agents, how).map_err(|reason| Failure::unsaid(reason, ""))
}
