//! Who can have changed a file, by when it changed: a command of the session, a person, or nobody knows.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sprag_base::record::Record;
use sprag_shell::{Command, Script, ShellStart, Word};

use super::context::TraceContext;
use crate::store::{journal, projections};

/// When commands of the session ran, and when it did anything at all.
pub(crate) struct SessionTimes {
    commands: Vec<(i64, i64)>,
    calls: Vec<CallWindow>,
    is_alone: bool,
}

/// A call that may change something.
struct CallWindow {
    from: i64,
    /// None: nobody told of its end.
    to: Option<i64>,
    leaves: Leaves,
}

/// What a call may leave behind: something that runs, or a change that nobody has written down yet.
#[derive(PartialEq, Eq)]
enum Leaves {
    Nothing,
    /// Whatever it does, nobody has read it.
    Anything,
}

/// File times come from a clock that ticks coarsely.
pub(crate) const SLACK_MILLIS: i64 = 10;
/// After a call the client's other hooks may go on for a while: a formatter, say.
const QUIET_MILLIS: i64 = 30_000;

impl SessionTimes {
    pub(super) fn load(ground: &TraceContext<'_>) -> SessionTimes {
        let is_alone = !others_at_work(ground);
        let records = match is_alone {
            true => projections::records_of(&ground.store, &ground.input.session).unwrap_or_default(),
            // Whose command it was cannot be told by the time.
            false => Vec::new(),
        };
        let commands = commands(&records, ground.input.at.millis());
        SessionTimes { commands, calls: calls(&records), is_alone }
    }

    /// Whether no call of any session can have changed a file: it was quiet then, and nothing that ran before could
    /// leave something running.
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

/// When a file last changed; of one that is gone, its directory.
pub(crate) fn changed_at(path: &Path) -> Option<i64> {
    let found =
        fs::symlink_metadata(path).or_else(|_| fs::symlink_metadata(path.parent().unwrap_or(path))).ok()?;
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    Some(millis(found.mtime(), found.mtime_nsec()).max(millis(found.ctime(), found.ctime_nsec())))
}

/// From the request of a command to its end. One that only puts files back as some commit or stash has them
/// has written nothing.
fn commands(records: &[Record], now: i64) -> Vec<(i64, i64)> {
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    let mut times = Vec::new();
    for record in records {
        let name = record.body["call"].as_str().unwrap_or_default().to_owned();
        let line = record.body["input"].as_str().unwrap_or_default();
        if record.body["effect"] != "exec" || restores(line) {
            continue;
        }
        match record.kind.as_str() {
            "tool.requested" if record.body["verdict"] != "hold" => {
                open.insert(name, record.at.millis());
            }
            "tool.finished" => {
                if let Some(from) = open.remove(&name) {
                    times.push((from, record.at.millis()));
                }
            }
            _ => {}
        }
    }
    // One whose end nobody told of has ended by now.
    times.extend(open.into_values().map(|from| (from, now)));
    times
}

/// All calls but those that only read.
fn calls(records: &[Record]) -> Vec<CallWindow> {
    let mut spans: Vec<(String, CallWindow)> = Vec::new();
    for record in records {
        let name = record.body["call"].as_str().unwrap_or_default().to_owned();
        let line = record.body["input"].as_str().unwrap_or_default();
        let at = record.at.millis();
        match (record.kind.as_str(), record.body["effect"].as_str()) {
            (_, Some("read")) => {}
            ("tool.requested", Some(effect)) if record.body["verdict"] != "hold" => {
                let leaves = if effect == "exec" { left_by(line) } else { Leaves::Nothing };
                spans.push((name, CallWindow { from: at, to: None, leaves }));
            }
            ("tool.finished", Some(_)) => {
                let open = spans.iter_mut().rev().find(|(known, span)| *known == name && span.to.is_none());
                open.into_iter().for_each(|(_, span)| span.to = Some(at));
            }
            _ => {}
        }
    }
    spans.into_iter().map(|(_, span)| span).collect()
}

const GIT: &str = "git";
/// Verbs of git that leave every file as it is.
const KEEPING: &[&str] = &["add", "branch", "commit", "fetch", "push", "tag"];

fn left_by(line: &str) -> Leaves {
    let script = Script::parse(line, &ShellStart::default());
    let is_plain = |command: &Command| {
        let alone = Script { commands: vec![command.clone()], ..Script::default() };
        let verb = matches!(command.argv.get(1), Some(Word::Known(verb)) if KEEPING.contains(&verb.as_str()));
        alone.only_looks() || command.program() == Some(GIT) && verb
    };
    // One that was cut short, or has something in the background, is not known; one that writes may have written
    // the very file before somebody else did.
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

/// Whether another session of this worktree has done something since this one began to.
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
