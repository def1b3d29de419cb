//! `sprag run stop`: stops the daemon and its agents. Their work stays in the worktrees.

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

/// Stop the run of a plan, and keep its worktrees (people only)
///
/// Agents get 10 seconds to end. `sprag run resume` continues the same attempts. Without a daemon, the
/// command ends agents that are still running.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kill agents at once
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
        // The daemon was already ending.
        Err(NotConnected::Io(error)) if client::is_gone(&error) => {
            lock::wait(&run)?;
            end_outlived(&places, &run, how)?;
        }
        Err(reason) => return Err(Failure::not_connected(reason, None)),
    }
    output::line("stopped; worktrees are unchanged");
    output::next("sprag run resume");
    Ok(CommandEnd::Done)
}

fn tell(mut client: DaemonClient, places: &Locations, run: &Path, how: StopMode) -> Result<(), Failure> {
    match client.ask(&DaemonRequest::Stop { how }) {
        // The daemon is already ending.
        Ok(DaemonReply::Refused { code, .. }) if code == STOPPED => lock::wait(run)?,
        Ok(DaemonReply::Refused { code, message }) => return Err(Failure::told_no(code, message, None)),
        Ok(_) => lock::wait(run)?,
        // The daemon may end before it answers. Then it is stopped, too.
        Err(error) if client::is_gone(&error) => {
            lock::wait(run)?;
            end(places, run, how, &orphans::find(run)?)?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Ends agents that outlived their daemon.
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
            "ending the agent of stage `{}` of plan `{}`, which has no daemon",
            agent.stage.as_str(),
            agent.plan
        ));
    }
    let root = places.worktree.clone().unwrap_or_default();
    orphans::end(&root, run, &RealDisk, agents, how).map_err(|reason| Failure::unsaid(reason, ""))
}
