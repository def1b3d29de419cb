//! Runs a plan in the terminal, or starts a daemon and waits for it.

use std::cell::RefCell;
use std::ffi::OsStr;

use serde_json::{Value, json};

use sprag_host::sys::exec;
use sprag_orchestrator::daemon::start_run::{self, StartedRun};
use sprag_orchestrator::daemon::{DaemonLoop, RunMode, StageChange};
use sprag_orchestrator::daemon_log::DaemonLogFile;
use sprag_orchestrator::layout::RunLayout;
use sprag_orchestrator::run_log;
use sprag_orchestrator::socket::client::{self, NotConnected};
use sprag_orchestrator::socket::loop_event::RunEnd;
use sprag_orchestrator::socket::protocol::{DaemonReply, DaemonRequest, Topic};
use sprag_plan::reconcile::observed::StopMode;
use sprag_plan::run::Run;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::run::record::{RunRecord, TargetHeld};
use sprag_plan::stage::command::CommandRole;

use super::summary::rested;
use super::target;
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Line that a daemon prints when it accepts connections.
pub(crate) const READY: &str = "ready";

/// Runs a plan in this process.
pub(crate) fn stay(
    begun: StartedRun<'_>,
    manner: RunMode,
    format: OutputFormat,
) -> crate::commands::CommandResult {
    let ground = begun.ground.clone();
    let held: RefCell<Option<TargetHeld>> = RefCell::default();
    let watch = |record: &RunRecord, run: &Run, changes: &[StageChange]| {
        for it in changes.iter() {
            tell(it.stage.as_str(), it.state, it.attempt, format);
        }
        if run.target().held != *held.borrow() {
            held.replace(run.target().held.clone());
            let told = |why| target::describe(why, ground.target_name(), &ground.trunk());
            run.target().held.iter().for_each(|why| output::note(told(why)));
        }
        if let RunRecord::Outcome { key, outcome: EffectOutcome::Failed { why, .. } } = record {
            output::note(format!("sprag: `{}`: {why}", key.0));
        }
    };
    let heed = |how: StopMode| {
        output::note(match how {
            StopMode::Home => "sprag: stopping agents (press Ctrl-C again to kill them)",
            StopMode::Kill => "sprag: killing agents",
        });
    };
    let runner = DaemonLoop::new(begun.log, begun.ground, manner, &watch).heeding(&heed);
    let rest = runner.run(|| ()).map_err(start_run::StartError::Io)?;
    drop(begun.reign);
    rested(&ground, rest, format)
}

/// Starts a daemon for a run.
pub(crate) fn start(ground: &RunLayout, slots: u16) -> Result<(), Failure> {
    let us = std::env::current_exe()?;
    let slots = slots.to_string();
    let args: [&OsStr; 4] = ["daemon".as_ref(), ground.plan.as_ref(), "--slots".as_ref(), slots.as_ref()];
    let line = exec::detach_for_line(&us, &args, &ground.root, DaemonLogFile::at(&ground.run).open()?)?;
    match line.as_str() {
        READY => Ok(()),
        line => Err(Failure::no_daemon_started(line, &ground.run.join("daemon.log"))),
    }
}

/// Waits until the run is over or needs a person, and prints changes of stages.
pub(crate) fn wait(ground: &RunLayout, format: OutputFormat) -> crate::commands::CommandResult {
    let mut shown = std::collections::BTreeMap::new();
    let mut rest = None;
    match client::connect(&ground.run, CommandRole::User) {
        Ok(mut client) => {
            client.ask(&DaemonRequest::Subscribe { to: Topic::Status })?;
            while rest.is_none() {
                let Some(reply) = client.receive()? else { break };
                let DaemonReply::Status { status } = reply else { continue };
                show(&status, &mut shown, format);
                rest = match status["rest"].as_str() {
                    Some("waits") => Some(RunEnd::Waits),
                    Some("stopped") => Some(RunEnd::Stopped),
                    _ => None,
                };
            }
        }
        // The daemon ended before this command could connect.
        Err(NotConnected::Nobody) => {}
        Err(NotConnected::Refused { code, message }) => return Err(Failure::told_no(code, message, None)),
        Err(NotConnected::Io(error)) => return Err(error.into()),
    }
    let name = || start_run::StartError::NoRun { name: ground.plan.clone() };
    let run = run_log::read(&sprag_orchestrator::layout::run_log_path(&ground.run, &ground.plan))?
        .ok_or_else(name)?;
    let ended = if run.is_over() { RunEnd::Over } else { RunEnd::Stopped };
    rested(ground, rest.unwrap_or(ended), format)
}

fn show(status: &Value, shown: &mut std::collections::BTreeMap<String, String>, format: OutputFormat) {
    for stage in status["stages"].as_array().into_iter().flatten() {
        let of = |name: &str| stage[name].as_str().unwrap_or_default().to_owned();
        let (id, state) = (of("stage_id"), of("state"));
        if shown.insert(id.clone(), state.clone()).as_ref() != Some(&state) {
            let attempt = stage["attempt"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
            tell(&id, &state, attempt, format);
        }
    }
}

fn tell(stage: &str, state: &str, attempt: u32, format: OutputFormat) {
    if format.is_json() {
        output::json(json!({"stage": stage, "state": state, "attempt": attempt}))
    } else {
        output::line(format!("{stage:<24} {state}"))
    }
}
