//! Selects the run of a command: the named one, or the one with the latest change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sprag_base::text::{quoted, shell_word};
use sprag_base::time::Timestamp;
use sprag_orchestrator::view::live::RunOwner;
use sprag_orchestrator::view::{self, BoardPart, RunInfo};
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::EffectKey;
use sprag_plan::view::{RunBoard, RunView, StageRow};

use crate::commands::CommandCx;
use crate::failure::Failure;

pub(crate) struct SelectedRun {
    /// Directory with the files of runs.
    pub dir: PathBuf,
    pub listed: RunInfo,
    pub board: RunBoard,
    /// Other runs of this clone.
    pub others: Vec<String>,
}

/// Returns the selected run. `None` if this clone has no run.
pub(crate) fn find(cx: &CommandCx, plan: Option<&str>) -> Result<Option<SelectedRun>, Failure> {
    find_part(cx, plan, BoardPart::All)
}

/// Returns the selected run with only a part of its board.
pub(crate) fn find_part(
    cx: &CommandCx,
    plan: Option<&str>,
    want: BoardPart,
) -> Result<Option<SelectedRun>, Failure> {
    let dir = dir(cx)?;
    let Some((listed, others)) = choose(&dir, plan)? else { return Ok(None) };
    let board = view::board(&dir, &listed.log, want, cx.now).map_err(|error| Failure::run_unread(&error))?;
    Ok(board.map(|board| SelectedRun { dir, listed, board, others }))
}

/// Returns the selected run with the path of its log, for callers that read the log.
pub(crate) fn listed(cx: &CommandCx, plan: Option<&str>) -> Result<RunInfo, Failure> {
    choose(&dir(cx)?, plan)?.map(|(listed, _)| listed).ok_or_else(|| Failure::no_run(plan))
}

/// Returns the last run of every plan.
pub(crate) fn all(cx: &CommandCx) -> Result<Vec<(RunInfo, RunBoard)>, Failure> {
    let dir = dir(cx)?;
    let unread = |error| Failure::run_unread(&error);
    let mut found = Vec::new();
    for listed in view::list(&dir).map_err(unread)? {
        if let Some(board) = view::board(&dir, &listed.log, BoardPart::All, cx.now).map_err(unread)? {
            found.push((listed, board));
        }
    }
    Ok(found)
}

pub(crate) fn dir(cx: &CommandCx) -> Result<PathBuf, Failure> {
    Ok(cx.places()?.store.join("run"))
}

fn choose(dir: &Path, plan: Option<&str>) -> Result<Option<(RunInfo, Vec<String>)>, Failure> {
    let mut all = view::list(dir).map_err(|error| Failure::run_unread(&error))?;
    let at = match plan {
        None if all.is_empty() => return Ok(None),
        None => 0,
        Some(name) => all.iter().position(|it| it.plan == name).ok_or_else(|| Failure::no_run(Some(name)))?,
    };
    let listed = all.remove(at);
    Ok(Some((listed, all.into_iter().map(|it| it.plan).collect())))
}

/// Returns a message and the command to run next if no process runs the plan. The states of stages do not
/// show this.
pub(crate) fn nobody(runner: &RunOwner, plan: &str) -> Option<(String, String)> {
    match runner {
        RunOwner::Nobody => {
            Some(("no process runs this plan".to_owned(), format!("sprag run resume {}", shell_word(plan))))
        }
        RunOwner::Other { plan: other } => Some((
            format!("no process runs this plan while plan `{}` runs", quoted(other)),
            format!("sprag status --plan {}", shell_word(other)),
        )),
        RunOwner::This | RunOwner::Unknown => None,
    }
}

pub(crate) fn need(cx: &CommandCx, plan: Option<&str>) -> Result<SelectedRun, Failure> {
    find(cx, plan)?.ok_or_else(|| Failure::no_run(plan))
}

impl SelectedRun {
    pub(crate) fn seen(&self) -> BTreeMap<EffectKey, AgentActivity> {
        view::seen(&self.dir, &self.board)
    }

    pub(crate) fn view<'a>(
        &'a self,
        seen: &'a BTreeMap<EffectKey, AgentActivity>,
        now: Timestamp,
    ) -> RunView<'a> {
        RunView::new(&self.board, seen, now)
    }

    pub(crate) fn stage(&self, id: &str) -> Result<&StageRow, Failure> {
        let near = || {
            let ids = self.board.rows.iter().map(|row| row.id.as_str());
            ids.filter(|known| known.starts_with(id) || id.starts_with(*known)).min().map(str::to_owned)
        };
        self.board.find(id).ok_or_else(|| Failure::no_stage_of_run(id, near().as_deref()))
    }
}
