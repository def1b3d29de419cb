//! `sprag daemon`: the process that runs a plan. `sprag run` and `sprag run resume` start it.

use sprag_base::result::Discard as _;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::daemon::start_run::{self, StartError};
use sprag_orchestrator::daemon::{DaemonLoop, RunMode, StageChange, Until};
use sprag_orchestrator::daemon_log::DaemonLogFile;
use sprag_plan::run::Run;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::run::record::RunRecord;

use crate::commands::run::background::READY;
use crate::commands::run::target;
use crate::commands::{CommandCx, CommandEnd};
use crate::failure::Failure;
use crate::output;

/// Run a started plan (`sprag run` starts this command)
#[derive(clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Name of the plan
    plan: String,
    /// Maximum number of agents at the same time
    #[arg(long, default_value_t = u16::MAX)]
    slots: u16,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> crate::commands::CommandResult {
    // The process that started the daemon reads one line: `READY`, or the failure.
    let failed = |reason: StartError| {
        let failure = Failure::from(reason);
        output::line(failure.message.clone());
        failure
    };
    rustix::process::setsid().discard("it fails only if this process already leads a process group");
    let begun = start_run::resume(&cx.places()?, &args.plan, &RealDisk).map_err(failed)?;
    let diary = DaemonLogFile::at(&begun.ground.run);
    let write = |text: &str| diary.write(&RealDisk, text).unwrap_or_default();
    let (branch, trunk) = (begun.ground.target_name().to_owned(), begun.ground.trunk());
    let watch = |record: &RunRecord, _: &Run, changes: &[StageChange]| {
        for it in changes.iter() {
            write(&format!("{} {}", it.stage.as_str(), it.state));
        }
        if let RunRecord::TargetHeld { why } = record {
            write(&target::describe(why, &branch, &trunk));
        }
        if let RunRecord::Outcome { key, outcome: EffectOutcome::Failed { why, .. } } = record {
            write(&format!("`{}`: {why}", key.0));
        }
    };
    write(&format!("plan `{}`, epoch {}", args.plan, begun.ground.epoch));
    let manner = RunMode { slots: args.slots, until: Until::Over };
    let rest = DaemonLoop::new(begun.log, begun.ground, manner, &watch)
        .run(|| output::line(READY))
        .map_err(|error| failed(StartError::Io(error)))?;
    write(&format!("ends: {}", rest.name()));
    drop(begun.reign);
    Ok(CommandEnd::Done)
}
