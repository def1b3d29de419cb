//! The run a command is about: the one that is named, or the one that moved last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sprag_base::text::{quoted, shell_word};
use sprag_base::time::Timestamp;
use sprag_orchestrator::view::live::Runner;
use sprag_orchestrator::view::{self, Listed, Want};
use sprag_plan::agent::activity::Seen;
use sprag_plan::ids::Key;
use sprag_plan::view::{Board, Row, View};

use crate::commands::Cx;
use crate::failure::Failure;

pub struct Shown {
    /// Our own files about runs.
    pub dir: PathBuf,
    pub listed: Listed,
    pub board: Board,
    /// Other runs of this clone.
    pub others: Vec<String>,
}

/// `None`: nothing was ever run here.
pub fn find(cx: &Cx, plan: Option<&str>) -> Result<Option<Shown>, Failure> {
    look(cx, plan, Want::All)
}

/// The same, of which only so much is wanted.
pub fn look(cx: &Cx, plan: Option<&str>, want: Want) -> Result<Option<Shown>, Failure> {
    let dir = dir(cx)?;
    let Some((listed, others)) = choose(&dir, plan)? else { return Ok(None) };
    let board = view::board(&dir, &listed.log, want, cx.now).map_err(|error| Failure::run_unread(&error))?;
    Ok(board.map(|board| Shown { dir, listed, board, others }))
}

/// Where a run is written down, for whoever wants all of it.
pub fn listed(cx: &Cx, plan: Option<&str>) -> Result<Listed, Failure> {
    choose(&dir(cx)?, plan)?.map(|(listed, _)| listed).ok_or_else(|| Failure::no_run(plan))
}

/// The last run of every plan.
pub fn all(cx: &Cx) -> Result<Vec<(Listed, Board)>, Failure> {
    let dir = dir(cx)?;
    let unread = |error| Failure::run_unread(&error);
    let mut found = Vec::new();
    for listed in view::list(&dir).map_err(unread)? {
        if let Some(board) = view::board(&dir, &listed.log, Want::All, cx.now).map_err(unread)? {
            found.push((listed, board));
        }
    }
    Ok(found)
}

pub fn dir(cx: &Cx) -> Result<PathBuf, Failure> {
    Ok(cx.places()?.store.join("run"))
}

fn choose(dir: &Path, plan: Option<&str>) -> Result<Option<(Listed, Vec<String>)>, Failure> {
    let mut all = view::list(dir).map_err(|error| Failure::run_unread(&error))?;
    let at = match plan {
        None if all.is_empty() => return Ok(None),
        None => 0,
        Some(name) => all.iter().position(|it| it.plan == name).ok_or_else(|| Failure::no_run(Some(name)))?,
    };
    let listed = all.remove(at);
    Ok(Some((listed, all.into_iter().map(|it| it.plan).collect())))
}

/// Nothing moves while nobody runs a plan, which no state of a stage tells: what is told then, and what helps.
pub fn nobody(runner: &Runner, plan: &str) -> Option<(String, String)> {
    match runner {
        Runner::Nobody => Some(("nobody runs it".to_owned(), format!("sprag resume {}", shell_word(plan)))),
        Runner::Other { plan: other } => Some((
            format!("nobody runs it while plan `{}` is run", quoted(other)),
            format!("sprag status --plan {}", shell_word(other)),
        )),
        Runner::This | Runner::Unknown => None,
    }
}

pub fn need(cx: &Cx, plan: Option<&str>) -> Result<Shown, Failure> {
    find(cx, plan)?.ok_or_else(|| Failure::no_run(plan))
}

impl Shown {
    pub fn seen(&self) -> BTreeMap<Key, Seen> {
        view::seen(&self.dir, &self.board)
    }

    pub fn view<'a>(&'a self, seen: &'a BTreeMap<Key, Seen>, now: Timestamp) -> View<'a> {
        View::new(&self.board, seen, now)
    }

    pub fn stage(&self, id: &str) -> Result<&Row, Failure> {
        let near = || {
            let ids = self.board.rows.iter().map(|row| row.id.as_str());
            ids.filter(|known| known.starts_with(id) || id.starts_with(*known)).min().map(str::to_owned)
        };
        self.board.find(id).ok_or_else(|| Failure::no_stage_of_run(id, near().as_deref()))
    }
}
