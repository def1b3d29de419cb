//! `sprag intent`: the reasons for changes, and the files that each may change.

mod done;
mod edit;
mod people_only;
mod select;
mod show;

use std::path::PathBuf;

use sprag_host::intent_files::{self, LoadedIntents};
use sprag_host::world::World;
use sprag_intent::{Intent, IntentFiles, IntentSet};

use super::{CommandCx, CommandResult};
use crate::failure::Failure;

/// List, select and close intents: the reasons for changes
///
/// Intents are in `.sprag/intents.yaml` and `.orchestration/active_intents.yaml`. If a repository has
/// intents, an agent selects one before it changes files.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag intent list\n  \
    sprag intent new INT-1 --name 'Read all formats' --scope 'src/parser/**'")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(show::ListIntents),
    Show(show::ShowIntent),
    Check(show::CheckIntents),
    Select(select::Args),
    Done(done::Args),
    New(edit::NewArgs),
    Sync(edit::SyncArgs),
    Reopen(people_only::ReopenArgs),
    Accept(people_only::AcceptArgs),
    Expand(people_only::ExpandArgs),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::List(args) => show::list(args, cx),
        Command::Show(args) => show::show_one(args, cx),
        Command::Check(args) => show::check(args, cx),
        Command::Select(args) => select::run(args, cx),
        Command::Done(args) => done::run(args, cx),
        Command::New(args) => edit::new(args, cx),
        Command::Sync(args) => edit::sync(args, cx),
        Command::Reopen(args) => people_only::reopen(args, cx),
        Command::Accept(args) => people_only::accept(args, cx),
        Command::Expand(args) => people_only::expand(args, cx),
    }
}

fn worktree(world: &World<'_>) -> Result<PathBuf, Failure> {
    world.places.worktree.clone().ok_or_else(Failure::no_repository)
}

fn loaded(world: &World<'_>) -> Result<LoadedIntents, Failure> {
    intent_files::load(&worktree(world)?).ok_or_else(Failure::no_intents)
}

/// Returns all intents, or the errors in their files.
fn all(world: &World<'_>) -> Result<IntentSet, Failure> {
    match loaded(world)?.read {
        IntentFiles::Good(set) => Ok(set),
        IntentFiles::Bad(bad) => Err(Failure::bad_intents(&bad)),
    }
}

fn one<'a>(set: &'a IntentSet, id: &str) -> Result<&'a Intent, Failure> {
    set.find(id).ok_or_else(|| Failure::no_intent(id, &set.nearest(id)))
}
