//! Finds who can have changed a file, from its time: a command of the session, a person, or unknown.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_govern::event_records::{EventRecord, RecordedCall, RecordedEvent, RulingName};
use sprag_policy::call::ToolEffect;
use sprag_shell::{Command, Script, ShellStart, Word};

use super::context::TraceContext;
use crate::store::{journal, projections};

/// Times of the commands and calls of a session.
pub(crate) struct SessionTimes {
    commands: Vec<(i64, i64)>,
    calls: Vec<CallWindow>,
    is_alone: bool,
}

/// A call that may change files.
struct CallWindow {
    from: i64,
    /// End of the call. `None`: not reported.
    to: Option<i64>,
    leaves: Leaves,
}

/// Possible after-effects of a call: a running process, or an unrecorded change.
#[derive(PartialEq, Eq)]
enum Leaves {
    Nothing,
    /// Unknown effects.
    Anything,
}

/// Resolution of file times, in milliseconds.
pub(crate) const SLACK_MILLIS: i64 = 10;
/// Time after a call in which other hooks of the client, such as a formatter, may still run.
const QUIET_MILLIS: i64 = 30_000;

impl SessionTimes {
    pub(super) fn load(ground: &TraceContext<'_>) -> SessionTimes {
        let is_alone = !others_at_work(ground);
        let records = if is_alone {
            projections::records_of(&ground.store, &ground.input.session).unwrap_or_default()
        } else {
            // With other sessions at work, the time does not tell whose command it was.
            Vec::new()
        };
        let commands = commands(&records, ground.input.at.millis());
        SessionTimes { commands, calls: calls(&records), is_alone }
    }

    /// Reports whether no call of a session can have changed a file: no call ran near that time, and no
    /// earlier call can have left a process.
    pub(super) fn is_by_hand(&self, path: &Path) -> bool {
        let Some(at) = changed_at(path) else {
            return false;
        };
        self.is_alone
            && self.calls.iter().filter(|call| call.from - SLACK_MILLIS <= at).all(|call| {
                call.leaves == Leaves::Nothing && call.to.is_some_and(|to| to + QUIET_MILLIS < at)
            })
    }

    pub(super) fn is_in_command(&self, path: &Path) -> bool {
        let Some(at) = changed_at(path) else {
            return false;
        };
        let is_within = |(from, to): &(i64, i64)| (from - SLACK_MILLIS..=to + SLACK_MILLIS).contains(&at);
        self.commands.iter().any(is_within)
    }
}

/// Returns the time of the last change of a file, or of its directory if the file is gone.
pub(crate) fn changed_at(path: &Path) -> Option<i64> {
    let found =
        fs::symlink_metadata(path).or_else(|_| fs::symlink_metadata(path.parent().unwrap_or(path))).ok()?;
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    Some(millis(found.mtime(), found.mtime_nsec()).max(millis(found.ctime(), found.ctime_nsec())))
}

fn events(records: &[Record]) -> impl Iterator<Item = (i64, EventRecord)> {
    records.iter().filter_map(|record| Some((record.at.millis(), EventRecord::read(record)?)))
}

/// Returns the times from the request of each command to its end. Leaves out commands that only restore files
/// from a commit or stash.
fn commands(records: &[Record], now: i64) -> Vec<(i64, i64)> {
    let mut open: BTreeMap<Option<Text<128>>, i64> = BTreeMap::new();
    let mut times = Vec::new();
    let is_meant = |call: &RecordedCall| call.effect == ToolEffect::Exec && !restores(call.input.as_str());
    for (at, EventRecord { event, ruling }) in events(records) {
        match event {
            RecordedEvent::ToolRequested(call) if is_meant(&call) && ruling.verdict != RulingName::Hold => {
                open.insert(call.call, at);
            }
            RecordedEvent::ToolFinished(call) if is_meant(&call) => {
                times.extend(open.remove(&call.call).map(|from| (from, at)));
            }
            _ => {}
        }
    }
    // A command without a reported end has ended by now.
    times.extend(open.into_values().map(|from| (from, now)));
    times
}

/// Returns all calls that do not only read.
fn calls(records: &[Record]) -> Vec<CallWindow> {
    let mut spans: Vec<(Option<Text<128>>, CallWindow)> = Vec::new();
    let is_meant = |call: &RecordedCall| call.effect != ToolEffect::Read;
    for (at, EventRecord { event, ruling }) in events(records) {
        match event {
            RecordedEvent::ToolRequested(call) if is_meant(&call) && ruling.verdict != RulingName::Hold => {
                let is_command = call.effect == ToolEffect::Exec;
                let leaves = if is_command { left_by(call.input.as_str()) } else { Leaves::Nothing };
                spans.push((call.call, CallWindow { from: at, to: None, leaves }));
            }
            RecordedEvent::ToolFinished(call) if is_meant(&call) => {
                let open =
                    spans.iter_mut().rev().find(|(known, span)| *known == call.call && span.to.is_none());
                if let Some((_, span)) = open {
                    span.to = Some(at);
                }
            }
            _ => {}
        }
    }
    spans.into_iter().map(|(_, span)| span).collect()
}

const GIT: &str = "git";
/// Git commands that change no file.
const KEEPING: &[&str] = &["add", "branch", "commit", "fetch", "push", "tag"];

fn left_by(line: &str) -> Leaves {
    let script = Script::parse(line, &ShellStart::default());
    let is_plain = |command: &Command| {
        let alone = Script { commands: vec![command.clone()], ..Script::default() };
        let verb = matches!(command.argv.get(1), Some(Word::Known(verb)) if KEEPING.contains(&verb.as_str()));
        alone.only_looks() || command.program() == Some(GIT) && verb
    };
    // A truncated line or a background process has unknown effects. A command that writes may have changed
    // the file before another program did.
    let is_whole = !line.ends_with('…') && !line.replace("&&", "").replace(">&", "").contains('&');
    let is_known = is_whole && script.doubts.is_empty() && script.commands.iter().all(is_plain);
    if is_known { Leaves::Nothing } else { Leaves::Anything }
}

fn restores(line: &str) -> bool {
    const MOVES: &[&str] = &[
        "checkout",
        "switch",
        "restore",
        "reset",
        "stash",
        "pull",
        "merge",
        "rebase",
        "cherry-pick",
        "revert",
        "bisect",
        "am",
        "worktree",
    ];
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || ";|&()".contains(c)).collect();
    words.contains(&"git") && words.iter().any(|word| MOVES.contains(word))
}

/// Reports whether another session of this worktree was active since this one started.
fn others_at_work(ground: &TraceContext<'_>) -> bool {
    let own = journal::path(&ground.store, &ground.input.session);
    let since = ground.session.started.map_or(0, |at| at.millis());
    let is_recent = |path: &&Path| changed_at(path).is_some_and(|at| at >= since);
    let is_here = |path: &Path| {
        journal::read(path).is_ok_and(|(loaded, _)| loaded.session.about.root == ground.session.root)
    };
    let journals = journal::all(&ground.store);
    journals.iter().map(|path| path.as_path()).filter(|path| *path != own).filter(is_recent).any(is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_leaves_nothing_behind() {
        for line in ["ls -l | head", "cat x && git commit -qam x", "cat x 2>&1", "git add -A"] {
            assert!(left_by(line) == Leaves::Nothing, "{line}");
        }
        for line in [
            "make",
            "sleep 9 &",
            "git pull",
            "cargo test",
            "sed -i s/a/b/ x",
            "bash x.sh",
            "eval $X",
            "echo a…",
        ] {
            assert!(left_by(line) == Leaves::Anything, "{line}");
        }
    }
}
