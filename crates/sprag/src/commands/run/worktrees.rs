//! `sprag run worktrees`: lists the worktrees of runs.

use std::path::Path;

use serde_json::json;

use sprag_host::git::worktree_guard;
use sprag_host::git::worktrees::{self, WorktreeInfo};
use sprag_orchestrator::daemon::start_run::StartError;
use sprag_plan::ids::StageId;

use super::selection;
use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// List the worktrees of runs, and whether they have uncommitted changes
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

struct Row {
    stage: Option<String>,
    state: Option<&'static str>,
    listed: WorktreeInfo,
    /// The error is the reason why git cannot answer.
    is_clean: Result<bool, String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let Some(root) = &places.worktree else { return Err(StartError::NoRepository.into()) };
    let runs = selection::all(cx)?;
    let state =
        |id: &StageId| runs.iter().find_map(|(_, board)| board.find(id.as_str())).map(|row| row.state.name());
    let ours = places.store.join("run/gates");
    let all = worktrees::list(root).map_err(StartError::from)?;
    let rows: Vec<Row> = all.into_iter().filter_map(|listed| row(root, listed, &ours, &state)).collect();
    show(
        args.format,
        || {
            let told = rows.iter().map(|row| {
                json!({
                    "path": row.listed.path, "stage_id": row.stage, "state": row.state,
                    "branch": row.listed.branch, "head": row.listed.head,
                    "is_clean": row.is_clean.as_ref().ok(), "is_gone": row.listed.is_prunable,
                    "locked": row.listed.locked,
                })
            });
            json!({"worktrees": told.collect::<Vec<_>>()})
        },
        || {
            if rows.is_empty() {
                output::line("no worktrees of runs here");
                let is_over = runs.iter().all(|(_, board)| board.is_over());
                return if is_over {
                    output::next("sprag run plan.md")
                } else {
                    output::next("sprag status --why")
                };
            }
            let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
            output::table(&["stage", "state", "branch", "head", "holds", "path"], &cells);
        },
    )
}

/// Returns the row of a worktree of a stage or of a candidate. `None` for other worktrees.
fn row(
    root: &Path,
    listed: WorktreeInfo,
    gates: &Path,
    state: &dyn Fn(&StageId) -> Option<&'static str>,
) -> Option<Row> {
    let branch = listed.branch.as_deref().and_then(|branch| branch.strip_prefix("refs/heads/"));
    let stage = branch.and_then(StageId::of_branch);
    if stage.is_none() && !listed.path.starts_with(gates) {
        return None;
    }
    let is_clean = if listed.is_prunable {
        Err("the directory is missing".to_owned())
    } else {
        worktree_guard::prove(root, &listed.path)
            .and_then(|()| worktrees::is_clean(&listed.path))
            .map_err(|refused| refused.0)
    };
    let state = stage.as_ref().and_then(state);
    Some(Row { stage: stage.map(|id| id.as_str().to_owned()), state, listed, is_clean })
}

fn cells(row: &Row) -> Vec<String> {
    let holds = match &row.is_clean {
        Ok(true) => "commits only".to_owned(),
        Ok(false) => "uncommitted changes".to_owned(),
        Err(why) => why.lines().next().unwrap_or_default().to_owned(),
    };
    vec![
        row.stage.clone().unwrap_or("(merge test)".to_owned()),
        row.state.unwrap_or("-").to_owned(),
        row.listed.branch.as_deref().unwrap_or("-").trim_start_matches("refs/heads/").to_owned(),
        row.listed.head.as_deref().unwrap_or("-").chars().take(8).collect(),
        holds,
        row.listed.path.display().to_string(),
    ]
}
