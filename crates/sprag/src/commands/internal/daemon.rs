//! `sprag daemon`: the process that runs a plan. `sprag run` and `sprag resume` start it.

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::daemon::start_run::{self, Cannot};
use sprag_orchestrator::daemon::{Change, Manner, Runner, Until};
use sprag_orchestrator::daemon_log::Diary;
use sprag_plan::run::Run;
use sprag_plan::run::record::{Outcome, Recorded};

use crate::commands::run::background::READY;
use crate::commands::run::target;
use crate::commands::{Cx, Ending};
use crate::failure::Failure;
use crate::output;

/// Run a plan that was begun (`sprag run` starts this)
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// Name of the plan
    plan: String,
    /// Agents at once, at most
    #[arg(long, default_value_t = u16::MAX)]
    slots: u16,
}

pub fn run(args: Args, cx: &Cx) -> crate::commands::Outcome {
    // Whoever started us reads one line: that we are there, or why not.
    let failed = |reason: Cannot| {
        let failure = Failure::from(reason);
        output::line(failure.message.clone());
        failure
    };
    // Fails where we lead a group already, which does as well.
    rustix::process::setsid().map(drop).unwrap_or_default();
    let begun = start_run::resume(&cx.places()?, &args.plan, &RealDisk).map_err(failed)?;
    let diary = Diary::at(&begun.ground.run);
    let write = |text: &str| diary.write(&RealDisk, text).unwrap_or_default();
    let (branch, trunk) = (begun.ground.target_name().to_owned(), begun.ground.trunk());
    let watch = |record: &Recorded, _: &Run, changes: &[Change]| {
        changes.iter().for_each(|it| write(&format!("{} {}", it.stage.as_str(), it.state)));
        if let Recorded::TargetHeld { why } = record {
            write(&target::told(why, &branch, &trunk));
        }
        if let Recorded::Outcome { key, outcome: Outcome::Failed { why, .. } } = record {
            write(&format!("`{}`: {why}", key.0));
        }
    };
    write(&format!("plan `{}`, reign {}", args.plan, begun.ground.epoch));
    let manner = Manner { slots: args.slots, until: Until::Over };
    let rest = Runner::new(begun.log, begun.ground, manner, &watch)
        .run(|| output::line(READY))
        .map_err(|error| failed(Cannot::Io(error)))?;
    write(&format!("ends: {}", rest.name()));
    drop(begun.reign);
    Ok(Ending::Done)
}
