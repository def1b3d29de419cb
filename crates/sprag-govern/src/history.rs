//! Plain data for the screens, and the sentence that describes a record.

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, REPORTER, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_intent::IntentRecord;
use sprag_memory::records::MemoryRecord;

use crate::event::PromptAuthor;
use crate::event_records::{EventRecord, RecordedEvent, RecordedRuling, RulingName};
use crate::gates::records::GateRecord;
use crate::obligation::OpenDebt;
use crate::obligation::records::DebtRecord;

/// Data of `sprag status`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusView {
    pub sessions: Vec<SessionRow>,
    pub obligations: Vec<OpenObligation>,
    pub debts: Vec<OpenDebt>,
    /// Name of the tracker that is used here, if Sprag found one.
    pub tracker: Text<16>,
    pub warnings: Vec<String>,
    /// The reason why Sprag governs nothing here now.
    pub off: Option<String>,
}

/// An obligation of a live session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenObligation {
    pub session: SessionId,
    pub gate: Text<32>,
    pub duty: &'static str,
    pub why: Text<1000>,
    pub next: Text<400>,
}

/// The sessions of a clone, folded from all records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionList {
    rows: Vec<SessionRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub id: SessionId,
    pub client: Text<32>,
    pub cwd: String,
    pub started: Timestamp,
    pub last: Timestamp,
    pub events: u64,
    pub holds: u64,
    pub ended: bool,
    /// First words of the user's first prompt.
    #[serde(default)]
    pub prompt: Text<PROMPT_CHARS>,
}

/// Length of a prompt in a list of sessions.
const PROMPT_CHARS: usize = 60;

impl SessionList {
    /// Returns the rows, newest first.
    pub fn rows(&self) -> Vec<&SessionRow> {
        let mut rows: Vec<&SessionRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        rows
    }
}

impl Projection for SessionList {
    const NAME: &'static str = "sessions";
    const VERSION: u32 = 2;
    const KINDS: &'static [&'static str] = &[""];

    fn apply(&mut self, record: &Record) {
        let (Some(id), Some(actor)) = (&record.session, &record.actor) else {
            return;
        };
        if record.kind == "snapshot" || record.kind.starts_with("debt.") {
            return;
        }
        let at = match self.rows.iter().position(|row| row.id == *id) {
            Some(at) => at,
            None => {
                self.rows.push(SessionRow {
                    id: id.clone(),
                    client: actor.client.clone(),
                    cwd: String::new(),
                    started: record.at,
                    last: record.at,
                    events: 0,
                    holds: 0,
                    ended: false,
                    prompt: Text::default(),
                });
                self.rows.len() - 1
            }
        };
        let row = &mut self.rows[at];
        match RecordedEvent::read(record) {
            Some(RecordedEvent::SessionStarted(started)) => row.cwd = started.cwd,
            Some(RecordedEvent::Prompted(prompt))
                if prompt.author == PromptAuthor::User && row.prompt.is_empty() =>
            {
                row.prompt = first_words(prompt.text.as_str());
            }
            _ => {}
        }
        row.started = row.started.min(record.at);
        row.last = row.last.max(record.at);
        row.events += 1;
        // A report about a session neither holds it nor starts it again.
        if actor.client.as_str() != REPORTER {
            let ruling = RecordedRuling::read(record);
            row.holds += u64::from(ruling.is_some_and(|ruling| ruling.verdict == RulingName::Hold));
            row.ended = record.kind == "session.ended";
        }
    }
}

/// Returns the start of a prompt on one line, cut between two words.
fn first_words(prompt: &str) -> Text<PROMPT_CHARS> {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = one_line(&line);
    if line.chars().count() <= PROMPT_CHARS {
        return Text::from(line.as_str());
    }
    let cut: String = line.chars().take(PROMPT_CHARS - 3).collect();
    let words = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    Text::from(format!("{words}...").as_str())
}

/// Returns a record as a sentence for `sprag session explain`, or `None` for a record that readers do not
/// need.
pub fn sentence(record: &Record) -> Option<String> {
    let who = match record.actor.as_ref().and_then(|actor| actor.role.as_ref().or(actor.agent.as_ref())) {
        Some(agent) => format!("sub-agent `{}`", one_line(agent.as_str())),
        None => "the agent".to_owned(),
    };
    if record.kind == "snapshot" {
        return None;
    }
    if let Some(record) = IntentRecord::read(record) {
        return record.describe();
    }
    if let Some(record) = MemoryRecord::read(record) {
        return record.describe();
    }
    let debt = DebtRecord::read(record).map(|debt| debt.describe());
    let gate = || GateRecord::read(record).map(|gate| gate.describe(&who));
    let event = || EventRecord::read(record).map(|event| event.describe(record, &who));
    let unknown = || format!("`{}`", one_line(&record.kind));
    Some(debt.or_else(gate).or_else(event).unwrap_or_else(unknown))
}
