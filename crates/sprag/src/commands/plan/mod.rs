//! `sprag plan`: writes, checks and shows plans before a run, and changes the plan of a run.

mod amend;
mod check;
mod graph;
mod new;
pub(crate) mod show;

use std::path::Path;

use sprag_orchestrator::plan_file;
use sprag_plan::spec::Plan;
use sprag_plan::spec::validate::Validated;

use super::{CommandCx, CommandResult};
use crate::failure::Failure;

/// Write, check and show plans: stages that agents work on
///
/// A plan is a Markdown file with one block that starts with ```yaml sprag. docs/plans.md lists its fields.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag plan new my-plan\n  \
    sprag plan check plans/my-plan.md")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(check::Args),
    Graph(graph::Args),
    Show(show::Args),
    New(new::Args),
    Amend(amend::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Check(args) => check::run(args, cx),
        Command::Graph(args) => graph::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::New(args) => new::run(args, cx),
        Command::Amend(args) => amend::run(args, cx),
    }
}

/// Reads a plan file and checks it against this repository.
fn looked_at(cx: &CommandCx, path: &Path) -> Result<Validated, Failure> {
    let worktree = cx.places()?.worktree;
    plan_file::check(&cx.cwd.join(path), worktree.as_deref()).map_err(|error| Failure::no_plan(path, &error))
}

/// Returns a valid plan, or its problems as a failure.
pub(crate) fn good(cx: &CommandCx, path: &Path) -> Result<Plan, Failure> {
    match looked_at(cx, path)? {
        Validated::Good { plan, .. } => Ok(*plan),
        Validated::Bad { found } => Err(Failure::bad_plan(path, &found)),
    }
}
