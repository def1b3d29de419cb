//! `sprag run`: runs a plan until its work is merged and tested.

mod attach;
pub(crate) mod background;
mod graph;
pub(crate) mod land;
pub(crate) mod logs;
pub(crate) mod repair;
mod resume;
pub(crate) mod selection;
mod spans;
mod stop;
pub(crate) mod summary;
pub(crate) mod target;
mod worktrees;

use std::path::{Path, PathBuf};

use sprag_base::text::shell_word;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::start_run::{self, RunStart};
use sprag_orchestrator::daemon::{RunMode, Until};
use sprag_orchestrator::launchers;

use super::{CommandCx, CommandEnd, plan};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Run a plan in the background until all stages merge (people only)
///
/// Each stage has its own agent, worktree and branch. Sprag checks its work, tests the merge and merges it
/// into the trunk of the plan. If a stage needs a person, it waits for a `sprag stage` command.
#[derive(clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    subcommand_precedence_over_arg = true
)]
#[command(after_help = "Examples:\n  \
    sprag run plans/my-plan.md\n  \
    sprag run stop")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Plan file (write `./stop` for a file with the name of a subcommand)
    #[arg(required = true, value_name = "PLAN")]
    file: Option<PathBuf>,
    /// Start the programs of the plan without a question
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    how: RunOptions,
}

#[derive(clap::Subcommand)]
enum Command {
    Resume(resume::Args),
    Stop(stop::Args),
    Land(land::Args),
    Repair(repair::Args),
    Graph(graph::Args),
    Logs(logs::Args),
    Attach(attach::Args),
    Worktrees(worktrees::Args),
    Spans(spans::Args),
}

/// Options of a run, for `sprag run` and `sprag run resume`.
#[derive(clap::Args)]
#[command(mut_arg("json", |json| json.help("Print one JSON object per change of a stage")))]
pub(super) struct RunOptions {
    /// Maximum number of agents at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    slots: Option<u16>,
    /// Stay in the terminal until the run is over or needs a person
    #[arg(long)]
    foreground: bool,
    /// Wait for the run: exit with 0 if every stage is merged, with 1 if it needs a person
    #[arg(long, conflicts_with = "foreground")]
    wait: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: Args, cx: &CommandCx) -> super::CommandResult {
    match args.command {
        Some(Command::Resume(args)) => resume::run(args, cx),
        Some(Command::Stop(args)) => stop::run(args, cx),
        Some(Command::Land(args)) => land::run(args, cx),
        Some(Command::Repair(args)) => repair::run(args, cx),
        Some(Command::Graph(args)) => graph::run(args, cx),
        Some(Command::Logs(args)) => logs::run(args, cx),
        Some(Command::Attach(args)) => attach::run(args, cx),
        Some(Command::Worktrees(args)) => worktrees::run(args, cx),
        Some(Command::Spans(args)) => spans::run(args, cx),
        None => run_plan(
            &args.file.unwrap_or_default(),
            if args.trust { Trust::Given } else { Trust::Ask },
            args.how,
            cx,
        ),
    }
}

/// Whether the user has to confirm the programs of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Ask,
    Given,
}

fn run_plan(file: &Path, trust: Trust, how: RunOptions, cx: &CommandCx) -> super::CommandResult {
    let plan = plan::good(cx, file)?;
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    // Checked before the run starts: a stage that cannot start would block all stages that depend on it.
    let dir = places.worktree.clone().unwrap_or_default();
    launchers::preflight(&plan, &cx.env, &dir).map_err(|unfit| Failure::unfit(&unfit, file))?;
    if trust == Trust::Ask && !is_wanted(&plan::show::programs(&plan)) {
        return Err(Failure::not_trusted(file));
    }
    let begun = start_run::begin(&places, plan, &cx.cwd.join(file), &RealDisk)?;
    if begun.was == RunStart::UnderWay && !how.format.is_json() {
        output::line("the run continues with its earlier plan");
    }
    go(begun, how)
}

/// Runs a started run, in this process or in a daemon.
pub(crate) fn go(begun: start_run::StartedRun<'_>, how: RunOptions) -> super::CommandResult {
    let slots = how.slots.unwrap_or(u16::MAX);
    if how.foreground {
        return background::stay(begun, RunMode { slots, until: Until::Rest }, how.format);
    }
    let ground = begun.ground.clone();
    // Releases the daemon lock, so that the daemon can take it.
    drop(begun);
    background::start(&ground, slots)?;
    if how.wait {
        background::wait(&ground, how.format)
    } else {
        if !how.format.is_json() {
            output::line(format!("plan `{}` runs in the background", ground.plan));
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
    output::confirm("run these programs?")
}
