//! `sprag plan`: what is to be done in stages, before anything of it is run.

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

/// Plans: stages that agents work at, and how they are checked
///
/// A plan is a Markdown file with one fence ```yaml sprag. docs/reference/plan-files.md lists its fields.
#[derive(clap::Args)]
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

/// A file, looked at in the light of this repository.
fn looked_at(cx: &CommandCx, path: &Path) -> Result<Validated, Failure> {
    let worktree = cx.places()?.worktree;
    plan_file::check(&cx.cwd.join(path), worktree.as_deref()).map_err(|error| Failure::no_plan(path, &error))
}

/// A good plan, or what is wrong with it.
pub(crate) fn good(cx: &CommandCx, path: &Path) -> Result<Plan, Failure> {
    match looked_at(cx, path)? {
        Validated::Good { plan, .. } => Ok(*plan),
        Validated::Bad { found } => Err(Failure::bad_plan(path, &found)),
    }
}
