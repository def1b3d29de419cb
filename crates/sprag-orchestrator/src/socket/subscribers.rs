//! The state that the loop shows to subscribers: a version that grows with each change, and the last log
//! lines. The loop never waits for readers, which have their own threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use sprag_plan::run::Run;

use crate::socket::loop_event::RunEnd;

/// Log lines stored for slow readers.
const LINES: usize = 1000;

#[derive(Default)]
pub(crate) struct Subscribers {
    shown: Mutex<BoardSnapshot>,
    changed: Condvar,
}

#[derive(Clone, Default)]
pub(crate) struct BoardSnapshot {
    /// Grows with each change.
    pub version: u64,
    pub rest: Option<RunEnd>,
    /// Whether the daemon is stopping.
    pub is_closed: bool,
    lines: VecDeque<(u64, String)>,
    /// Number of subscribers.
    watchers: usize,
}

impl BoardSnapshot {
    /// Returns the lines after a version.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &String> {
        self.lines.iter().filter(move |(at, _)| *at > version).map(|(_, line)| line)
    }
}

impl Subscribers {
    /// Adds log lines about a change.
    pub(crate) fn say(&self, lines: impl IntoIterator<Item = String>) {
        self.change(|shown| {
            let version = shown.version;
            shown.lines.extend(lines.into_iter().map(|line| (version, line)));
            let excess = shown.lines.len().saturating_sub(LINES);
            shown.lines.drain(..excess);
        });
    }

    pub(crate) fn rest(&self, rest: Option<RunEnd>) {
        if self.lock().rest != rest {
            self.change(|shown| shown.rest = rest);
        }
    }

    /// Marks the daemon as stopping and waits until all subscribers have the last changes, up to a time
    /// limit.
    pub(crate) fn close(&self, patience: Duration) {
        self.change(|shown| shown.is_closed = true);
        let waited = self.changed.wait_timeout_while(self.lock(), patience, |shown| shown.watchers > 0);
        drop(waited);
    }

    pub(crate) fn come(&self) {
        self.lock().watchers += 1;
    }

    pub(crate) fn leave(&self) {
        let mut shown = self.lock();
        shown.watchers = shown.watchers.saturating_sub(1);
        drop(shown);
        self.changed.notify_all();
    }

    pub(crate) fn snapshot(&self) -> BoardSnapshot {
        self.lock().clone()
    }

    /// Waits for a change after a version.
    pub(crate) fn wait(&self, version: u64) -> BoardSnapshot {
        let is_same = |shown: &mut BoardSnapshot| shown.version == version && !shown.is_closed;
        let found = self.changed.wait_while(self.lock(), is_same);
        found.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a time span, or until the daemon is stopping.
    pub(crate) fn pause(&self, span: Duration) {
        let waited = self.changed.wait_timeout_while(self.lock(), span, |shown| !shown.is_closed);
        drop(waited);
    }

    fn change(&self, change: impl FnOnce(&mut BoardSnapshot)) {
        let mut shown = self.lock();
        shown.version += 1;
        change(&mut shown);
        drop(shown);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, BoardSnapshot> {
        // A panic while the lock is held leaves no partial state.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a short status of a run, for programs.
pub(crate) fn status(run: &Run, rest: Option<RunEnd>) -> Value {
    let stages: Vec<Value> = run
        .entries()
        .map(|(id, entry)| {
            json!({
                "stage_id": id.as_str(),
                "state": entry.state.name(),
                "attempt": entry.state.attempt(),
                "session_id": entry.state.session().map(|session| session.0.as_str().replace('/', ".")),
            })
        })
        .collect();
    json!({
        "plan": run.plan().head.name.to_string(),
        "run": run.id.as_str(),
        "rest": rest.map(RunEnd::name),
        "stages": stages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_the_oldest_lines_and_nothing_waits_for_it() {
        let board = Subscribers::default();
        let before = board.snapshot().version;
        (0..LINES + 5).for_each(|n| board.say([n.to_string()]));
        let shown = board.wait(before);
        let lines: Vec<&String> = shown.since(before).collect();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES, "5"));
        assert_eq!(shown.since(shown.version).count(), 0);
        board.close(Duration::ZERO);
        assert!(board.wait(board.snapshot().version).is_closed);
    }
}
