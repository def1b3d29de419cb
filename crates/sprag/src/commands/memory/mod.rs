//! `sprag memory`: the learnings of this repository, and tools around them.

mod backends;
mod backfill;
mod change;
mod consolidate;
mod distill;
mod edit;
mod eval;
mod export;
mod import;
mod learnings;
mod list;
mod load;
mod maintain;
mod promote;
mod render;
pub(crate) mod search;
mod similar;
mod stats;

use super::{CommandCx, CommandResult};

/// List, show and maintain learnings
///
/// A learning is one remembered statement about this project, such as a pitfall or a convention. `sprag
/// search` finds learnings by words.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag memory list --category pitfall\n  \
    sprag memory stats")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List learnings, newest first
    List(learnings::ListArgs),
    /// Show one learning in full
    Show(learnings::OneArgs),
    /// Confirm that a learning is still true, and check its evidence again
    Verify(learnings::OneArgs),
    /// Rate a learning as useful or useless
    Rate(learnings::RateArgs),
    /// Take learnings out of use
    Archive(learnings::SomeArgs),
    /// Take archived learnings back into use
    Restore(learnings::SomeArgs),
    /// Replace a learning by another one
    Supersede(learnings::SupersedeArgs),
    /// Edit a learning in your editor, or with JSON on stdin
    Edit(learnings::OneArgs),
    /// Share a learning with a wider scope
    Promote(learnings::PromoteArgs),
    Distill(distill::Args),
    Render(render::Args),
    Stats(stats::Args),
    Maintain(maintain::Args),
    Consolidate(consolidate::Args),
    Backends(backends::Args),
    Import(import::Args),
    Export(export::Args),
    Backfill(backfill::Args),
    Load(load::Args),
    Similar(similar::Args),
    Eval(eval::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::List(args) => list::run(&args, cx),
        Command::Show(args) => list::show_one(&args, cx),
        Command::Verify(args) => change::verify(&args, cx),
        Command::Rate(args) => change::rate(&args, cx),
        Command::Archive(args) => change::archive(&args, cx),
        Command::Restore(args) => change::restore(&args, cx),
        Command::Supersede(args) => change::supersede(&args, cx),
        Command::Edit(args) => edit::run(&args, cx),
        Command::Promote(args) => promote::run(&args, cx),
        Command::Distill(args) => distill::run(&args, cx),
        Command::Render(args) => render::run(args, cx),
        Command::Stats(args) => stats::run(args, cx),
        Command::Maintain(args) => maintain::run(args, cx),
        Command::Consolidate(args) => consolidate::run(args, cx),
        Command::Backends(args) => backends::run(args, cx),
        Command::Import(args) => import::run(args, cx),
        Command::Export(args) => export::run(args, cx),
        Command::Backfill(args) => backfill::run(args, cx),
        Command::Load(args) => load::run(args, cx),
        Command::Similar(args) => similar::run(args, cx),
        Command::Eval(args) => eval::run(args, cx),
    }
}
