//! Keeps the ground under the other gates sound: no conflict markers are left behind by a session
//! that worked, and Sprag's own records are changed by nobody but Sprag.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::{Event, EventKind, Input};
use crate::fact::{Conflict, Facts, How, Needs, Written};
use crate::gates::{Asked, Cx, Gate, OnFault};
use crate::obligation::{DEBT_MET, Duty, Obligation, OpenDebt};
use crate::policy::{Key, Section, Tighten};
use crate::shell::{Carrier, Command, Word};
use crate::text::{Text, quoted};
use crate::tool::{ToolCall, Whole};
use crate::verdict::{Reason, Vote};

/// Files a hold names. The digest counts all of them.
const NAMED: usize = 5;
const ITEMS: usize = 200;
/// What cannot be named in full is never taken for met.
const MORE: &str = "…";

/// Every place of ours has it in its path.
const OUR_NAME: &str = "sprag";

/// What the last judged stop found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    #[default]
    Sound,
    Conflicted {
        files: Vec<Text<200>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub conflict_markers: Markers,
    pub ignore: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markers {
    Off,
    Hold,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { conflict_markers: Markers::Hold, ignore: Vec::new() }
    }
}

impl Gate for Integrity {
    type Policy = Policy;

    const ABOUT: &'static str = "no conflict markers left behind, no hand but Sprag's in its records";
    const SECTION: Section = Section {
        name: "integrity",
        defaults: "\
# Soundness of the worktree and of Sprag's own records.
[integrity]
# Conflict markers in files changed during a session: `hold` its stop, or `off`.
conflict_markers = \"hold\"
# Paths that may contain them, each a prefix relative to the worktree (`tests/merge/`).
ignore = []
",
        keys: &[
            Key { name: "conflict_markers", tighten: Tighten::Ranked(&["off", "hold"]) },
            Key { name: "ignore", tighten: Tighten::Never },
        ],
    };

    fn needs(&self, asked: &Asked<'_, Policy>) -> Needs {
        if let Event::ToolRequested { call } | Event::PermissionAsked { call } = &asked.input.event {
            return if may_touch(call, asked.input) { Needs::OURS } else { Needs::NONE };
        }
        let ends = matches!(asked.input.event, Event::StopRequested(_) | Event::SessionEnded { .. });
        if !ends || !asked.about.worked || asked.policy.conflict_markers == Markers::Off {
            return Needs::NONE;
        }
        Needs::CONFLICTS | Needs::DEBTS
    }

    /// A call that cannot be read and may be about our records is not let through.
    fn on_fault(event: EventKind, raw: &str) -> OnFault {
        match event {
            EventKind::ToolRequested | EventKind::PermissionAsked if raw.contains("sprag") => OnFault::Deny,
            _ => OnFault::Pass,
        }
    }

    fn step(&mut self, cx: &mut Cx<'_, Policy>) -> Vote {
        match &cx.input.event {
            Event::ToolRequested { call } | Event::PermissionAsked { call } => {
                match touches(call, cx.input, cx.facts) {
                    Some(path) => Vote::Hold(protected(&path)),
                    None => Vote::Pass,
                }
            }
            Event::StopRequested(_) | Event::SessionEnded { .. } => self.judge(cx),
            _ => Vote::Pass,
        }
    }
}

impl Integrity {
    fn judge(&mut self, cx: &mut Cx<'_, Policy>) -> Vote {
        if cx.policy.conflict_markers == Markers::Off || !cx.about.worked {
            return Vote::Pass;
        }
        let Some(conflicts) = &cx.facts.conflicts else {
            return Vote::Unsure;
        };
        let ignored = |path: &str| cx.policy.ignore.iter().any(|prefix| path.starts_with(prefix.as_str()));
        let found: Vec<&Conflict> = conflicts.iter().filter(|found| !ignored(found.path.as_str())).collect();
        let met = match (&cx.facts.debts, &cx.facts.unresolved) {
            (Some(debts), Some(unresolved)) => met(debts, unresolved, &cx.input.root),
            _ => Vec::new(),
        };
        let vote = if found.is_empty() { Vote::Pass } else { Vote::Owe(owe(&found)) };
        *self = match found.is_empty() {
            true => Integrity::Sound,
            false => Integrity::Conflicted { files: files(&found) },
        };
        cx.debts(DEBT_MET, met);
        vote
    }
}

/// Debts of this gate whose files have no markers any more.
fn met(debts: &[OpenDebt], unresolved: &[Text<200>], root: &str) -> Vec<String> {
    let debts = debts.iter().map(|open| &open.debt);
    let debts = debts.filter(|debt| debt.duty == Duty::Integrity && debt.root.as_str() == root);
    debts
        .filter(|debt| !debt.items.iter().any(|item| unresolved.contains(item) || item.as_str().ends_with(MORE)))
        .map(|debt| debt.id.to_string())
        .collect()
}

fn files(found: &[&Conflict]) -> Vec<Text<200>> {
    let mut files: Vec<Text<200>> = found.iter().take(ITEMS).map(|conflict| conflict.path.clone()).collect();
    if found.len() > ITEMS {
        files.push(Text::from(MORE));
    }
    files
}

fn owe(found: &[&Conflict]) -> Obligation {
    let places: Vec<String> = found
        .iter()
        .take(NAMED)
        .map(|conflict| format!("`{}:{}`", quoted(conflict.path.as_str()), conflict.line))
        .collect();
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Obligation {
        duty: Duty::Integrity,
        digest: Digest::of(
            found.iter().flat_map(|conflict| [conflict.path.to_string(), conflict.digest.to_string()]),
        ),
        reason: Reason::new(
            "conflict_markers",
            format!("conflict markers are left in {}{more}", places.join(", ")),
            "resolve them in the file, then stop again",
        ),
        items: files(found),
    }
}

fn protected(path: &str) -> Reason {
    Reason::new(
        "protected_path",
        format!("`{}` belongs to the guard or to what starts it, and no agent may change it", quoted(path)),
        "leave it alone, or ask the user to change it",
    )
}

/// A cheap look first: most calls change no file that is known beforehand, and name nothing of ours.
fn may_touch(call: &ToolCall, input: &Input) -> bool {
    let writes = call.script(&input.start()).map_or(!call.paths.is_empty(), |script| {
        script.writes.iter().any(|used| !is_device(&used.path))
    });
    call.effect.changes_the_world() && (writes || names_us(call))
}

fn is_device(path: &Word) -> bool {
    matches!(path, Word::Known(path) if path.starts_with("/dev/"))
}

fn names_us(call: &ToolCall) -> bool {
    call.whole == Whole::Cut { names_us: true } || call.words().iter().any(|word| word.contains(OUR_NAME))
}

/// The first thing a call would change that no agent may.
fn touches(call: &ToolCall, input: &Input, facts: &Facts) -> Option<String> {
    if !may_touch(call, input) {
        return None;
    }
    if let Whole::Cut { names_us: true } = call.whole {
        return Some("a call too long to be read".to_owned());
    }
    let written = facts.written.iter().find(|written| facts.guarded.iter().any(|place| hits(written, place)));
    if let Some(written) = written {
        return Some(written.named.clone());
    }
    if is_plain(call, input) {
        return None;
    }
    // What such a call does is not known, so what it names has to do.
    let words = call.words();
    let touched = words.iter().find(|word| facts.ours.iter().any(|place| below(&absolute(&input.cwd, word), place)));
    touched.map(|word| (*word).to_owned())
}

fn hits(written: &Written, place: &str) -> bool {
    let place = place.to_lowercase();
    written.paths.iter().any(|path| {
        // Some file systems take both cases for one name.
        let path = path.to_lowercase();
        below(&path, &place) || (written.how == How::Removed && below(&place, &path))
    })
}

/// Whether all that a call writes is known: a tool with a path, or commands without any doubt.
fn is_plain(call: &ToolCall, input: &Input) -> bool {
    let is_code = |command: &Command| command.via.iter().any(|via| matches!(via, Carrier::Interpreter(_)));
    match call.script(&input.start()) {
        Some(script) => {
            script.doubts.is_empty()
                && !script.commands.iter().chain(&script.wrappers).any(|command| {
                    is_code(command) || command.program().is_none_or(|name| INTERPRETERS.contains(&name))
                })
        }
        None => !call.paths.is_empty(),
    }
}

/// Programs whose code may write anywhere, and is read for other things only.
const INTERPRETERS: &[&str] =
    &["python", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "awk", "gawk", "sed", "ed", "ex", "vim"];

/// A path made absolute by its text alone: `.` and `..` are resolved, links are not.
pub fn absolute(cwd: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{Effect, Tool};

    const TOOLS: &[Tool] = &[
        Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
        Tool { name: "Write", effect: Effect::Write, paths: &["file_path"], command: None },
        Tool { name: "Read", effect: Effect::Read, paths: &["file_path"], command: None },
    ];

    fn held(tool: &str, key: &str, value: &str) -> bool {
        let call = ToolCall::new(TOOLS, tool, json!({ key: value }), None, Whole::Yes);
        let event = Event::ToolRequested { call: call.clone() };
        let input = Input {
            at: crate::time::Timestamp::from_millis(0),
            session: crate::event::SessionId::new("s"),
            client: String::new(),
            cwd: "/w/repo/src".to_owned(),
            project: None,
            root: "/w/repo".to_owned(),
            home: "/home/u".to_owned(),
            actor: crate::event::Actor::Main,
            agent: None,
            presence: crate::event::Presence::Attended,
            event,
        };
        let named = match call.script(&input.start()) {
            Some(script) => script.writes.iter().map(|used| (used.path.clone(), used.by == "rm")).collect(),
            None => call.paths.iter().map(|path| (Word::Known(path.clone()), false)).collect::<Vec<_>>(),
        };
        let written = named.into_iter().filter_map(|(path, is_removed)| match path {
            Word::Known(named) => {
                let path = absolute("/w/repo/src", &named);
                let how = if is_removed { How::Removed } else { How::Written };
                Some(Written { named, paths: [path.clone(), path], how })
            }
            Word::Partly(_) | Word::Many => None,
        });
        let ours = vec!["/w/repo/.git/sprag".to_owned()];
        let facts = Facts { guarded: ours.clone(), ours, written: written.collect(), ..Facts::default() };
        touches(&call, &input, &facts).is_some()
    }

    #[test]
    fn no_tool_changes_the_records() {
        assert!(held("Write", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(held("Write", "file_path", "../.git/sprag/journal/s.jsonl"));
        assert!(held("Bash", "command", "rm -rf ../.git/sprag"));
        assert!(held("Bash", "command", "echo x >../.git/sprag/off"));
        assert!(held("Bash", "command", "dd of=/w/repo/.git/./sprag/x"));
        assert!(held("Bash", "command", "mkdir x && cp x ../.git/Sprag/off"));
        assert!(held("Bash", "command", "rm -rf ../.git"));
        assert!(held("Bash", "command", "python3 -c 'open(\"../.git/sprag/off\", \"w\")'"));
    }

    #[test]
    fn everything_else_is_left_alone() {
        assert!(!held("Read", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(!held("Write", "file_path", "/w/repo/.git/sprag-notes"));
        assert!(!held("Bash", "command", "sprag debug 1 && ls sprag"));
        assert!(!held("Bash", "command", "git log"));
        assert!(!held("Bash", "command", "cat ../.git/sprag/log/2026-11.jsonl | head -3"));
        assert!(!held("Bash", "command", "git commit -m 'keep .git/sprag out of it'"));
        assert!(!held("Bash", "command", "cp a ../.git/x && touch .."));
    }
}
