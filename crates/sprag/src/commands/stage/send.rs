//! Sends a stage command to the daemon, or writes it to the records if no daemon runs.

use std::io;

use sprag_base::text::{Text, shell_word};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::start_run;
use sprag_orchestrator::socket::client::{self, NotConnected};
use sprag_orchestrator::socket::peer;
use sprag_orchestrator::socket::protocol::{DaemonReply, DaemonRequest, StageCheckResult};
use sprag_orchestrator::socket::requests::{self, LoopRequest};
use sprag_plan::ids::StageId;
use sprag_plan::run::command::CommandSender;
use sprag_plan::stage::command::{CommandRole, StageCommand};

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Returns the user as the sender of a command, for the records.
pub(crate) fn myself(cx: &CommandCx, role: CommandRole) -> CommandSender {
    let name = cx.env.text("USER").unwrap_or_else(|| "somebody".to_owned());
    CommandSender::Person { name: Text::new(name), role }
}

/// Sends a command as an agent if an agent runs this process, else as a person with this role.
pub(crate) fn say(
    cx: &CommandCx,
    stage: Option<String>,
    said: StageCommand,
    role: CommandRole,
) -> CommandResult {
    let places = cx.places()?;
    let folder = places.store.join("run");
    // An agent that unsets the variable is still known by its process.
    let is_agent = cx.env.text(sprag_orchestrator::layout::SESSION_VARIABLE).is_some()
        || peer::session_of(&folder, std::process::id()).is_some();
    if !is_agent {
        human::check_not_agent(places.user.as_ref())?;
        if stage.is_none() {
            return Err(Failure::no_stage_named());
        }
    }
    let role = if is_agent { CommandRole::Agent } else { role };
    match client::connect(&folder, role) {
        Ok(mut client) => {
            match client.ask(&DaemonRequest::Report { stage: stage.clone(), word: said }) {
                Ok(reply) => print_reply(reply, stage.as_deref()),
                // The daemon was killed before it answered. The command may or may not be recorded.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Err(if is_agent { Failure::agent_without_daemon() } else { Failure::no_daemon() })
                }
                Err(error) => Err(error.into()),
            }
        }
        Err(NotConnected::Nobody) if is_agent => Err(Failure::agent_without_daemon()),
        Err(NotConnected::Nobody) => {
            let stage = stage.unwrap_or_default();
            let active = start_run::active(&folder)?;
            let id = StageId::new(&stage);
            let Some((plan, _)) = active.iter().find(|(_, run)| run.entry(&id).is_some()) else {
                return Err(Failure::no_run_of_stage(&stage));
            };
            let ask = LoopRequest::Say { stage: Some(id), said };
            let root = places.worktree.clone().unwrap_or_default();
            requests::say_alone(&root, &folder, plan, &RealDisk, &myself(cx, role), &ask)
                .map_err(|reason| Failure::unsaid(reason, &stage))?;
            output::line("recorded; takes effect when the run resumes");
            output::next(format!("sprag run resume {plan}"));
            Ok(CommandEnd::Done)
        }
        Err(reason) => Err(Failure::not_connected(reason, stage.as_deref())),
    }
}

fn print_reply(reply: DaemonReply, stage: Option<&str>) -> CommandResult {
    match reply {
        DaemonReply::Refused { code, message } => Err(Failure::told_no(code, message, stage)),
        DaemonReply::Verdict(StageCheckResult::Green) => {
            output::line("passed: all checks passed");
            Ok(CommandEnd::Done)
        }
        DaemonReply::Verdict(StageCheckResult::Red { report }) => {
            output::line(format!("failed:\n{}", report.trim_end()));
            Ok(CommandEnd::No)
        }
        DaemonReply::Verdict(StageCheckResult::None { state }) => {
            output::line(format!("no result: the stage is {state}"));
            Ok(CommandEnd::No)
        }
        DaemonReply::Heard { text } => {
            output::line(text);
            if let Some(stage) = stage {
                output::next(format!("sprag stage release {}", shell_word(stage)));
            }
            Ok(CommandEnd::Done)
        }
        DaemonReply::Hello { .. }
        | DaemonReply::Pong
        | DaemonReply::Done
        | DaemonReply::Status { .. }
        | DaemonReply::Log { .. } => {
            output::line("recorded");
            Ok(CommandEnd::Done)
        }
    }
}
