//! Shows open debts to the agent when a session starts: each debt once, at most three lines.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, one_line};

use crate::event::{Event, StartSource};
use crate::facts::SharedNeeds;
use crate::gates::{Ask, Gate, GateCx};
use crate::obligation::Debt;
use crate::obligation::records::DebtRecord;
use crate::verdict::Vote;

/// Maximum number of lines at a session start.
const LINES: usize = 3;

/// The gate has no state: the log records the shown debts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotesGate;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub debts: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { debts: true }
    }
}

impl Gate for NotesGate {
    type Settings = Settings;
    type Question = ();
    type Answer = ();

    const ABOUT: &'static str = "shows a starting session the open debts of earlier sessions";
    const SECTION: SettingSection = SettingSection {
        name: "notes",
        defaults: "\
# Notes at the start of a session.
[notes]
# Show debts of earlier sessions, each once.
debts = true
",
        keys: &[SettingKey { name: "debts", tighten: Tighten::Ranked(&["false", "true"]) }],
    };

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        if ask.settings.debts && starts_afresh(&ask.input.event) {
            SharedNeeds::DEBTS
        } else {
            SharedNeeds::NONE
        }
    }

    fn step(&mut self, cx: &mut GateCx<'_, NotesGate>) -> Vote {
        if !cx.settings.debts || !starts_afresh(&cx.input.event) {
            return Vote::Pass;
        }
        let debts = cx.shared.debts.as_deref().unwrap_or_default();
        let unshown: Vec<&Debt> = debts.iter().filter(|open| !open.shown).map(|open| &open.debt).collect();
        if unshown.is_empty() {
            return Vote::Pass;
        }
        let mut lines: Vec<String> = unshown
            .iter()
            .take(LINES - 1)
            .map(|debt| format!("debt `{}` ({}): {}", debt.id, debt.duty.name(), one_line(debt.why.as_str())))
            .collect();
        let more = unshown.len() - lines.len();
        lines.push(match more {
            0 => "open since an earlier session; see `sprag debt list`".to_owned(),
            _ => format!("{more} more debts of earlier sessions are open; see `sprag debt list`"),
        });
        let ids = unshown.iter().map(|debt| debt.id.to_string()).collect();
        cx.debts(DebtRecord::Shown, ids);
        Vote::Note(Text::new(lines.join("\n")))
    }
}

/// Reports whether a session starts with an empty context. A compacted session has already seen the notes.
fn starts_afresh(event: &Event) -> bool {
    matches!(event, Event::SessionStarted { source } if *source != StartSource::Compact)
}
