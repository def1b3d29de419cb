//! `sprag plan amend`: replaces the plan of a run.

use std::path::PathBuf;

use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::start_run::{self, StartError};
use sprag_orchestrator::socket::client::{self, NotConnected};
use sprag_orchestrator::socket::protocol::{DaemonReply, DaemonRequest};
use sprag_orchestrator::socket::requests::{self, LoopRequest, RequestError};
use sprag_plan::stage::command::CommandRole;

use super::{good, show};
use crate::commands::stage::send::myself;
use crate::commands::{CommandCx, CommandEnd, CommandResult, run};
use crate::failure::Failure;
use crate::output;

/// Change the plan of a run (people only)
///
/// You may add stages, change them and change their dependencies. Started stages stay, and merged work stays
/// merged.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plan file with the new plan
    file: PathBuf,
    /// Start the programs of the plan without a question
    #[arg(long)]
    trust: bool,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let plan = good(cx, &args.file)?;
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    if !args.trust && !run::is_wanted(&show::programs(&plan)) {
        return Err(Failure::not_amended_untrusted(&args.file));
    }
    let folder = places.store.join("run");
    let name = plan.head.name.to_string();
    match client::connect(&folder, CommandRole::Admin) {
        Ok(mut client) => {
            let value = serde_json::to_value(&plan).map_err(std::io::Error::other)?;
            if let DaemonReply::Refused { code, message } =
                client.ask(&DaemonRequest::Amend { plan: value })?
            {
                return Err(Failure::not_amended(code, message, &args.file));
            }
            output::line(format!("the run of `{name}` uses the new plan"));
        }
        Err(NotConnected::Nobody) => {
            let speaker = myself(cx, CommandRole::Admin);
            let root = places.worktree.clone().unwrap_or_default();
            let ask = LoopRequest::Amend { plan: Box::new(plan) };
            requests::say_alone(&root, &folder, &name, &RealDisk, &speaker, &ask).map_err(|reason| {
                match reason {
                    RequestError::NoRun => StartError::NoRun { name: name.clone() }.into(),
                    RequestError::Refused { code, message } => {
                        Failure::not_amended(code, message, &args.file)
                    }
                    reason => Failure::unsaid(reason, ""),
                }
            })?;
            output::line(format!("the run of `{name}` will use the new plan"));
            output::next(format!("sprag run resume {name}"));
        }
        Err(reason) => return Err(Failure::not_connected(reason, None)),
    }
    start_run::goes_by(&folder, &name, &cx.cwd.join(&args.file), &RealDisk)?;
    Ok(CommandEnd::Done)
}
