//! `sprag run`: a plan becomes merged, tested work.

pub(crate) mod attach;
pub(crate) mod background;
pub(crate) mod graph;
pub(crate) mod land;
pub(crate) mod logs;
pub(crate) mod repair;
pub(crate) mod resume;
pub(crate) mod selection;
pub(crate) mod spans;
pub(crate) mod stop;
pub(crate) mod summary;
pub(crate) mod target;
pub(crate) mod worktrees;

use std::path::PathBuf;

use sprag_base::text::shell_word;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::start_run::{self, RunStart};
use sprag_orchestrator::daemon::{RunMode, Until};
use sprag_orchestrator::launchers;

use super::{CommandCx, CommandEnd, plan};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Run a plan, in the background, until every stage is merged
///
/// Each stage is worked at in a worktree and on a branch of its own; what its checks find good is merged, tested as
/// exactly what would land, and landed on the plan's trunk. Where a person is needed it waits for words
/// (`sprag stage`). A run that was cut short goes on where it was. Agents are clients with our hooks
/// (`client: claude`, `codex`) or commands of the plan (`client: {command: [...]}`).
#[derive(clap::Args)]
pub(super) struct Args {
    /// The plan
    file: PathBuf,
    /// The programs the plan starts are known and wanted
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    how: RunOptions,
}

/// How a run is run, begun or gone on with.
#[derive(clap::Args)]
#[command(mut_arg("json", |json| json.help("Print one JSON object for every change of a stage")))]
pub(super) struct RunOptions {
    /// Agents at once, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    slots: Option<u16>,
    /// Stay in the terminal, and end when nothing more happens by itself
    #[arg(long)]
    foreground: bool,
    /// Wait for it: exits with 0 once every stage is merged, with 1 when a person is needed
    #[arg(long, conflicts_with = "foreground")]
    wait: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: Args, cx: &CommandCx) -> super::CommandResult {
    let plan = plan::good(cx, &args.file)?;
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    // Told before anything is begun: a stage that cannot start would block all that builds on it.
    let dir = places.worktree.clone().unwrap_or_default();
    launchers::preflight(&plan, &cx.env, &dir).map_err(|unfit| Failure::unfit(&unfit, &args.file))?;
    if !args.trust && !is_wanted(&plan::show::programs(&plan)) {
        return Err(Failure::not_trusted(&args.file));
    }
    let begun = start_run::begin(&places, plan, &cx.cwd.join(&args.file), &RealDisk)?;
    if begun.was == RunStart::UnderWay && !args.how.format.is_json() {
        output::line("the run goes on where it was, with the plan as it was");
    }
    go(begun, args.how)
}

/// Lets a run go that may.
pub(crate) fn go(begun: start_run::StartedRun<'_>, how: RunOptions) -> super::CommandResult {
    let slots = how.slots.unwrap_or(u16::MAX);
    if how.foreground {
        return background::stay(begun, RunMode { slots, until: Until::Rest }, how.format);
    }
    let ground = begun.ground.clone();
    // The daemon takes the reign from here.
    drop(begun);
    background::start(&ground, slots)?;
    if how.wait {
        background::wait(&ground, how.format)
    } else {
        if !how.format.is_json() {
            output::line(format!("plan `{}` is run in the background", ground.plan));
            let log = ground.run.join("daemon.log").display().to_string();
            output::next(format!("tail -f {}", shell_word(&log)));
        }
        Ok(CommandEnd::Done)
    }
}

pub(crate) fn is_wanted(programs: &[String]) -> bool {
    output::line("this plan starts:");
    for program in programs.iter() {
        output::line(format!("  {program}"));
    }
    output::confirm("run it?")
}
