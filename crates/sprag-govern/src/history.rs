//! Plain data for every screen, and the sentences a record is told in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, REPORTER, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_intent::IntentRecord;
use sprag_memory::records::MemoryRecord;

use crate::obligation::OpenDebt;
use crate::records::debt::DebtRecord;
use crate::records::gate::GateRecord;

/// `sprag status`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusView {
    pub sessions: Vec<SessionRow>,
    pub obligations: Vec<OpenObligation>,
    pub debts: Vec<OpenDebt>,
    /// Where tickets live, as far as that was found.
    pub tracker: Text<16>,
    pub warnings: Vec<String>,
    /// Why nothing is governed here at the moment.
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
}

impl SessionList {
    /// Newest first.
    pub fn rows(&self) -> Vec<&SessionRow> {
        let mut rows: Vec<&SessionRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.last));
        rows
    }
}

impl Projection for SessionList {
    const NAME: &'static str = "sessions";
    const VERSION: u32 = 1;
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
                });
                self.rows.len() - 1
            }
        };
        let row = &mut self.rows[at];
        if let Some(cwd) = record.body["cwd"].as_str() {
            row.cwd = cwd.to_owned();
        }
        row.started = row.started.min(record.at);
        row.last = row.last.max(record.at);
        row.events += 1;
        // What is said about a session neither holds nor begins it.
        if actor.client.as_str() != REPORTER {
            row.holds += u64::from(record.body["verdict"] == "hold");
            row.ended = record.kind == "session.ended";
        }
    }
}

/// A record as a sentence, for `sprag explain`. `None`: nothing a reader wants to hear of.
pub fn sentence(record: &Record) -> Option<String> {
    let body = &record.body;
    let text = |key: &str| one_line(body[key].as_str().unwrap_or("?"));
    let who = match record.actor.as_ref().and_then(|actor| actor.role.as_ref().or(actor.agent.as_ref())) {
        Some(agent) => format!("sub-agent `{}`", one_line(agent.as_str())),
        None => "the agent".to_owned(),
    };
    if let Some(record) = IntentRecord::read(record) {
        return record.describe();
    }
    if let Some(record) = DebtRecord::read(record) {
        return Some(record.describe());
    }
    if let Some(record) = MemoryRecord::read(record) {
        return record.describe();
    }
    if let Some(record) = GateRecord::read(record) {
        return Some(record.describe(&who));
    }
    let told = match record.kind.as_str() {
        "session.started" => format!("the session started ({}) in `{}`", text("source"), text("cwd")),
        "session.ended" => format!("the session ended ({})", text("why")),
        "prompted" => format!("{} asked: {}", asker(body), text("text")),
        "tool.requested" => format!("{who} wanted to use `{}`: {}", text("tool"), text("input")),
        "permission.asked" => {
            format!("the client asked whether `{}` may run: {}", text("tool"), text("input"))
        }
        "tool.finished" => format!("`{}` finished ({})", text("tool"), text("outcome")),
        "stop.requested" => format!("{who} wanted to stop"),
        "subagent.started" => format!("{who} started"),
        "subagent.stopped" => format!("{who} stopped"),
        "task.completing" => format!("{who} wanted to complete task `{}`", text("subject")),
        "compacting" => "the context was compacted".to_owned(),
        "noticed" => format!("the client noticed {}: {}", text("what"), text("message")),
        "observed" => format!("{who} noted: {}", text("note")),
        "decided" => format!("a {} says {}: {}", text("by"), text("word"), text("summary")),
        "misdirected" => "a reviewer named another session".to_owned(),
        "reviewer.started" => format!("a reviewer was started ({})", text("client")),
        "reviewer.ended" => "the reviewer's process ended".to_owned(),
        "reflected" => "what was learned was handed in".to_owned(),
        "referred" => format!("learnings {} were of use: {}", list(&body["ids"]), text("how")),
        "skipped" => format!("the reflection was skipped by the {}: {}", text("decider"), text("why")),
        "approved" => format!("a person let one refused call through (`{}`)", text("code")),
        "rejected" => format!("a person refused one call for good (`{}`)", text("code")),
        "selected" => format!("{who} works for intent `{}` ({})", text("intent"), text("class")),
        "done" => format!("{who} calls intent `{}` done", text("intent")),
        "verification.asked" => format!("{who} had the checks run"),
        "snapshot" => return None,
        other => format!("`{}`", one_line(other)),
    };
    Some(match body["verdict"].as_str() {
        None | Some("pass") => told,
        Some("hold") if record.actor.as_ref().is_some_and(|actor| actor.client.as_str() == REPORTER) => {
            let why = one_line(body["reason"]["why"].as_str().unwrap_or("?"));
            format!("{told} -> refused by `{}`: {why}", text("gate"))
        }
        Some(verdict) => {
            let why = one_line(body["reason"]["why"].as_str().unwrap_or("?"));
            format!("{told} -> {verdict} by `{}`: {why}", text("gate"))
        }
    })
}

fn asker(body: &Value) -> &'static str {
    match body["author"].as_str() {
        Some("client") => "the client",
        Some("sprag") => "sprag, handed back by the client,",
        _ => "the user",
    }
}

fn list(ids: &Value) -> String {
    let ids: Vec<String> =
        ids.as_array().into_iter().flatten().filter_map(Value::as_str).map(|id| format!("`{id}`")).collect();
    ids.join(", ")
}
