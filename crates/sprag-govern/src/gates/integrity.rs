//! Keeps the worktree sound for the other gates: a session that worked leaves no conflict markers behind.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted};

use crate::event::Event;
use crate::facts::{ConflictMarker, SharedFacts, SharedNeeds};
use crate::gates::{Ask, Gate, GateCx};
use crate::obligation::records::DebtRecord;
use crate::obligation::{Duty, Obligation, OpenDebt};
use crate::reason::Reason;
use crate::verdict::Vote;

/// Maximum number of files that a hold names. The digest covers all files.
const NAMED: usize = 5;
const ITEMS: usize = 200;
/// Item of the debt for lost records. Only a person can clear it.
const RECORDS: &str = "records of the session…";
/// Item for the files that do not fit in the list. A debt with it never counts as met.
const MORE: &str = "…";

/// The result of the last judged stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityGate {
    #[default]
    Sound,
    Conflicted {
        files: Vec<Text<200>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub conflict_markers: Markers,
    pub ignore: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markers {
    Off,
    Hold,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { conflict_markers: Markers::Hold, ignore: Vec::new() }
    }
}

impl Settings {
    pub fn ignores(&self, path: &str) -> bool {
        self.ignore.iter().any(|prefix| path.starts_with(prefix.as_str()))
    }
}

/// Asks for conflict markers in changed files and in files of open debts.
pub struct Question;

/// The remaining conflict markers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub conflicts: Conflicts,
    /// Files of open integrity debts that still have markers, for any author.
    pub unresolved: Option<Vec<Text<200>>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Conflicts {
    #[default]
    NotAsked,
    Found(Vec<ConflictMarker>),
    /// No marker in the files that were read; further files were not read.
    TooMany {
        limit: usize,
    },
    /// Git could not list the changes.
    Unknown,
}

impl Gate for IntegrityGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "a session leaves no conflict markers behind";
    const SECTION: SettingSection = SettingSection {
        name: "integrity",
        defaults: "\
# Soundness of the worktree.
[integrity]
# Conflict markers in files changed during a session: `hold` its stop, or `off`.
conflict_markers = \"hold\"
# Paths that may contain conflict markers, each a prefix relative to the worktree (`tests/merge/`).
ignore = []
",
        keys: &[
            SettingKey { name: "conflict_markers", tighten: Tighten::Ranked(&["off", "hold"]) },
            SettingKey { name: "ignore", tighten: Tighten::Never },
        ],
    };

    fn state(&self) -> Option<&'static str> {
        Some(match self {
            IntegrityGate::Sound => "sound",
            IntegrityGate::Conflicted { .. } => "conflicted",
        })
    }

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let ends = matches!(ask.input.event, Event::StopRequested(_) | Event::SessionEnded { .. });
        if !ends || !ask.session.activity.has_worked() || ask.settings.conflict_markers == Markers::Off {
            return SharedNeeds::NONE;
        }
        // A sound worktree stays sound until the session changes something.
        let is_settled = *self == IntegrityGate::Sound && !ask.session.activity.has_changed();
        if is_settled { SharedNeeds::NONE } else { SharedNeeds::CHANGES | SharedNeeds::DEBTS }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        (self.shared(ask) != SharedNeeds::NONE).then_some(Question)
    }

    fn is_slow(_question: &Question) -> bool {
        true
    }

    fn warning(answer: &Answer) -> Option<String> {
        match answer.conflicts {
            Conflicts::NotAsked | Conflicts::Found(_) => None,
            Conflicts::TooMany { limit } => Some(format!(
                "more than {limit} files changed; Sprag did not check all of them for conflict markers"
            )),
            Conflicts::Unknown => {
                Some("git could not list the changes; conflict markers were not checked".to_owned())
            }
        }
    }

    fn step(&mut self, cx: &mut GateCx<'_, IntegrityGate>) -> Vote {
        match &cx.input.event {
            Event::StopRequested(_) | Event::SessionEnded { .. } => self.judge(cx),
            _ => Vote::Pass,
        }
    }
}

impl IntegrityGate {
    /// Judges a stop. If the records of the session are lost, the earlier obligations are unknown, and this
    /// becomes a debt.
    fn judge(&mut self, cx: &mut GateCx<'_, IntegrityGate>) -> Vote {
        match self.judge_markers(cx) {
            Vote::Pass if cx.session.lost => Vote::Owe(lost(&cx.input.session)),
            vote => vote,
        }
    }

    fn judge_markers(&mut self, cx: &mut GateCx<'_, IntegrityGate>) -> Vote {
        if cx.settings.conflict_markers == Markers::Off || !cx.session.activity.has_worked() {
            return Vote::Pass;
        }
        if *self == IntegrityGate::Sound && !cx.session.activity.has_changed() {
            return Vote::Pass;
        }
        let Conflicts::Found(conflicts) = &cx.answer.conflicts else {
            return Vote::Unsure;
        };
        let found: Vec<&ConflictMarker> =
            conflicts.iter().filter(|found| !cx.settings.ignores(found.path.as_str())).collect();
        let met = match (&cx.shared.debts, &cx.answer.unresolved) {
            (Some(debts), Some(unresolved)) => met(debts, unresolved, &cx.input.root),
            _ => Vec::new(),
        };
        let vote = if found.is_empty() { Vote::Pass } else { Vote::Owe(owe(&found)) };
        *self = if found.is_empty() {
            IntegrityGate::Sound
        } else {
            IntegrityGate::Conflicted { files: files(&found) }
        };
        cx.debts(DebtRecord::Met, met);
        vote
    }
}

fn lost(session: &SessionId) -> Obligation {
    Obligation {
        duty: Duty::Integrity,
        digest: Digest::hash_parts(["lost", session.as_str()]),
        reason: Reason::new(
            "records_lost",
            "the records of this session are gone; its earlier obligations are unknown",
            "tell the user; `sprag debt list` shows the debt",
        ),
        items: vec![Text::from(RECORDS)],
    }
}

/// Returns the debts of this gate whose files have no markers left.
fn met(debts: &[OpenDebt], unresolved: &[Text<200>], root: &str) -> Vec<String> {
    let debts = debts.iter().map(|open| &open.debt);
    let debts = debts.filter(|debt| debt.gate.as_str() == "integrity" && debt.root.as_str() == root);
    debts
        .filter(|debt| {
            !debt.items.iter().any(|item| unresolved.contains(item) || item.as_str().ends_with(MORE))
        })
        .map(|debt| debt.id.to_string())
        .collect()
}

fn files(found: &[&ConflictMarker]) -> Vec<Text<200>> {
    let mut files: Vec<Text<200>> = found.iter().take(ITEMS).map(|conflict| conflict.path.clone()).collect();
    if found.len() > ITEMS {
        files.push(Text::from(MORE));
    }
    files
}

fn owe(found: &[&ConflictMarker]) -> Obligation {
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
        digest: Digest::hash_parts(
            found.iter().flat_map(|conflict| [conflict.path.to_string(), conflict.digest.to_string()]),
        ),
        reason: Reason::new(
            "conflict_markers",
            format!("conflict markers in {}{more}", places.join(", ")),
            "resolve the conflicts, then stop again",
        ),
        items: files(found),
    }
}
