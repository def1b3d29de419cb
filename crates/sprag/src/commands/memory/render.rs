//! `sprag memory render`: exchanges learnings with other clones and writes the files in `.sprag`.

use serde_json::json;

use sprag_host::memory;

use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Exchange learnings with other clones, and write the files in `.sprag`
///
/// Imports learnings of other clones and edits by hand, then writes the files again.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let done = memory::maintain(&world, cx.now)?;
    if sprag_host::store::clone::project_dir(&world.places).is_none() {
        output::note("sprag: no `.sprag` directory here, so Sprag writes no files into the worktree");
    }
    for problem in &done.problems {
        output::note(format!("sprag: not imported: {problem}"));
    }
    show(
        args.format,
        || json!({"taken": done.taken, "edited": done.edited, "published": done.published, "problems": done.problems}),
        || {
            output::line(format!(
                "imported {} records of other clones and {} edits, published {} records",
                done.taken, done.edited, done.published
            ));
        },
    )
}
