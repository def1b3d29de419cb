//! `sprag memory distill`: turns notes of merged stages into learnings.

use serde_json::json;

use sprag_host::git::worktrees;
use sprag_host::memory;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::daemon::start_run::StartError;
use sprag_orchestrator::run_log::active;
use sprag_orchestrator::stage_session::distill;

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Turn notes of merged stages into learnings
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan (default: all plans with a run here)
    #[arg(long)]
    plan: Option<String>,
    /// Commit the changes below `.sprag`, as a stage of type `knowledge-distill` does
    #[arg(long)]
    commit: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let worktree = world.places.worktree.clone().ok_or_else(Failure::no_repository)?;
    let run = world.places.store.join("run");
    let mut all = distill::Distilled::default();
    for one in active::runs(&run)? {
        if args.plan.as_deref().is_some_and(|plan| plan != one.plan().head.name.as_str()) {
            continue;
        }
        let came = distill::run(&run, &one, &worktree, &RealDisk, cx.now)?;
        all.notes += came.notes;
        all.kept += came.kept;
        all.not_kept += came.not_kept;
    }
    memory::maintain(&world, cx.now)?;
    let commit = if args.commit && sprag_host::store::clone::project_dir(&world.places).is_some() {
        worktrees::commit_below(&worktree, ".sprag", "Knowledge of what was noted")
            .map_err(StartError::from)?
    } else {
        None
    };
    show(
        args.format,
        || json!({"notes": all.notes, "kept": all.kept, "not_kept": all.not_kept, "commit": commit}),
        || {
            output::line(format!("{} notes: {} kept, {} not kept", all.notes, all.kept, all.not_kept));
            if let Some(commit) = &commit {
                output::line(format!("committed as `{commit}`"));
            }
        },
    )
}
