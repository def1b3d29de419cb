//! Keeps the ground under the other gates sound: no conflict markers are left behind by a session
//! that worked, and Sprag's own records are changed by nobody but Sprag.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::{Event, EventKind};
use crate::fact::{Conflict, Needs};
use crate::gates::{Asked, Cx, Gate, OnFault};
use crate::obligation::{DEBT_MET, Duty, Obligation, OpenDebt};
use crate::policy::{Key, Section, Tighten};
use crate::text::{Text, quoted};
use crate::tool::{Effect, ToolCall, Whole};
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
            return if may_touch(call) { Needs::OURS } else { Needs::NONE };
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
                match touches(call, &cx.input.cwd, &cx.facts.ours) {
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
        format!("`{}` belongs to sprag's own records, which no tool may change", quoted(path)),
        "leave it alone; `sprag debug SESSION` and `sprag status` show what is in it",
    )
}

/// A cheap look first: most calls name nothing of ours. Reading tools may look anyway.
fn may_touch(call: &ToolCall) -> bool {
    let is_cut = call.whole == Whole::Cut { names_us: true };
    !matches!(call.effect, Effect::Read | Effect::Delegate)
        && (is_cut || call.words().iter().any(|word| word.contains(OUR_NAME)))
}

/// The first thing a call names that lies in a place of ours.
fn touches(call: &ToolCall, cwd: &str, ours: &[String]) -> Option<String> {
    if !may_touch(call) {
        return None;
    }
    if let Whole::Cut { names_us: true } = call.whole {
        return Some("a call too long to be read".to_owned());
    }
    let words = call.words();
    let touched = words.iter().find(|word| ours.iter().any(|place| below(&absolute(cwd, word), place)));
    touched.map(|word| (*word).to_owned())
}

/// A path made absolute by its text alone: `.` and `..` are resolved, links are not.
fn absolute(cwd: &str, path: &str) -> String {
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
    use crate::tool::Tool;

    const TOOLS: &[Tool] = &[
        Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
        Tool { name: "Write", effect: Effect::Write, paths: &["file_path"], command: None },
        Tool { name: "Read", effect: Effect::Read, paths: &["file_path"], command: None },
    ];

    fn held(tool: &str, key: &str, value: &str) -> bool {
        let call = ToolCall::new(TOOLS, tool, json!({ key: value }), None, Whole::Yes);
        touches(&call, "/w/repo/src", &["/w/repo/.git/sprag".to_owned()]).is_some()
    }

    #[test]
    fn no_tool_changes_the_records() {
        assert!(held("Write", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(held("Write", "file_path", "../.git/sprag/journal/s.jsonl"));
        assert!(held("Bash", "command", "rm -rf ../.git/sprag"));
        assert!(held("Bash", "command", "echo x >../.git/sprag/off"));
        assert!(held("Bash", "command", "dd of=/w/repo/.git/./sprag/x"));
    }

    #[test]
    fn everything_else_is_left_alone() {
        assert!(!held("Read", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(!held("Write", "file_path", "/w/repo/.git/sprag-notes"));
        assert!(!held("Bash", "command", "sprag debug 1 && ls sprag"));
        assert!(!held("Bash", "command", "git log"));
    }
}
