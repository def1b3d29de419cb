//! Reads runs for screens without a daemon: from records, and from the activity that supervisors write.

pub(crate) mod board_cache;
pub mod follow;
pub mod live;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_govern::session_facts::Process;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::processes;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::EffectKey;
use sprag_plan::view::RunBoard;

use super::run_log::{self, RunLog};
use super::session_dir::site_of;
use super::view::board_cache as board;
pub use super::view::board_cache::BoardPart;
use super::view::board_cache::Covers;

/// A shorter log is folded at each read, which is fast enough and always up to date.
const SHORT: u64 = 256 * 1024;
/// How often a daemon writes the board of a longer log.
const EVERY: Duration = Duration::from_secs(1);
/// How old a daemon's board may be.
const BEHIND: Duration = Duration::from_millis(1500);

/// A run of this clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    pub plan: String,
    pub log: PathBuf,
}

/// Returns the last run of every plan, the most recently changed first.
pub fn list(run: &Path) -> io::Result<Vec<RunInfo>> {
    let entries = match fs::read_dir(run.join("plans")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Archived logs also have the run id in their name.
        let plan = name.strip_suffix(".jsonl").filter(|plan| !plan.contains('.'));
        if let (Some(plan), Ok(about)) = (plan, entry.metadata()) {
            found.push((about.modified()?, RunInfo { plan: plan.to_owned(), log: entry.path() }));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.plan.cmp(&b.1.plan)));
    Ok(found.into_iter().map(|(_, listed)| listed).collect())
}

/// Returns the board of a run; `None` if there is no run.
pub fn board(run: &Path, log: &Path, want: BoardPart, now: Timestamp) -> io::Result<Option<RunBoard>> {
    let bytes = match fs::metadata(log) {
        Ok(about) => about.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if bytes > SHORT
        && let Some(found) = board::load(log, want)
        && (found.bytes == bytes || is_kept_up(age(log), found.by))
    {
        return Ok(Some(found.board));
    }
    fold(run, log, now)
}

/// Reports whether a running daemon will soon update the board.
fn is_kept_up(age: Option<Duration>, by: Option<Process>) -> bool {
    age.is_some_and(|age| age < BEHIND) && by.is_some_and(processes::is_alive)
}

fn age(log: &Path) -> Option<Duration> {
    fs::metadata(board::path(log)).ok()?.modified().ok()?.elapsed().ok()
}

fn fold(run: &Path, log: &Path, now: Timestamp) -> io::Result<Option<RunBoard>> {
    let Some((timed, bytes)) = run_log::read_to_end(log)? else { return Ok(None) };
    let board = RunBoard::from_run(&timed, |key| site_of(run, key).seen(), now);
    if bytes > SHORT {
        let covers = Covers::read(log, bytes);
        covers
            .and_then(|covers| board::keep(log, &RealDisk, covers, None, board.clone()))
            .discard("the next read folds the log again");
    }
    Ok(Some(board))
}

/// Returns the activity of the working agents.
pub fn seen(run: &Path, board: &RunBoard) -> BTreeMap<EffectKey, AgentActivity> {
    let seen = |(_, session): (_, &EffectKey)| Some((session.clone(), site_of(run, session).seen()?));
    board.at_work().filter_map(seen).collect()
}

/// Writes the board of a running daemon for screens.
#[derive(Default)]
pub struct BoardWriter {
    /// The time of the last write, and the length of the log then.
    written: Option<(Timestamp, u64)>,
    /// The activity of ended agents, which does not change any more.
    past: BTreeMap<EffectKey, Option<AgentActivity>>,
}

impl BoardWriter {
    /// Writes the board if due; otherwise returns the time until then.
    pub fn keep(&mut self, log: &RunLog<'_>, run: &Path, now: Timestamp) -> Option<Duration> {
        let bytes = fs::metadata(log.path()).map_or(0, |about| about.len());
        if let Some((at, of)) = self.written {
            if of == bytes {
                return None;
            }
            // A clock that was set back makes the write due.
            let age = u64::try_from(now.millis() - at.millis()).map_or(EVERY, Duration::from_millis);
            if age < EVERY {
                return Some(EVERY - age);
            }
        }
        if bytes > SHORT {
            let past = &mut self.past;
            let seen =
                |key: &EffectKey| past.entry(key.clone()).or_insert_with(|| site_of(run, key).seen()).clone();
            let board = RunBoard::from_run(log.timed(), seen, now);
            let covers = Covers::read(log.path(), bytes);
            // The board is only for screens.
            covers
                .and_then(|covers| {
                    board::keep(log.path(), &RealDisk, covers, processes::this_process(), board)
                })
                .discard("the run does not need the board");
        }
        self.written = Some((now, bytes));
        None
    }
}
