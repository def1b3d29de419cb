//! The trackers, which keep tickets. A tracker is one file and one line in the list below. The file says how
//! to detect the tracker, which commands and tools close a ticket, and how to query it. Sprag reads closings
//! from the effect of a call, never from its text: a ticket id in a message or an `echo` closes nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::redact;
use sprag_base::text::{Text, one_line};
use sprag_policy::call::ToolCall;
use sprag_shell::{Command, Host, Script};

trackers! {
    tissue,
    beads,
    github,
    tasks,
    session,
}

pub struct Tracker {
    /// Name in the configuration and in records.
    pub name: &'static str,
    pub mark: TrackerSign,
    /// Programs with the same commands. Sprag queries the first that is installed.
    pub programs: &'static [&'static str],
    /// Returns the ids that a command closes, from the words after the program. Parts that are known only at
    /// run time appear as [`HOLE`].
    pub closes: fn(&[String]) -> Vec<String>,
    /// Returns the ids that a tool of its MCP server closes, from the tool's own name.
    pub closes_by_tool: fn(&str, &Value) -> Vec<String>,
    /// `None` if it cannot be queried.
    pub asks: Option<TrackerQueries>,
}

/// The sign that a worktree uses a tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackerSign {
    /// This path exists below the root of the worktree.
    Path(&'static str),
    /// A remote of the clone is on this host.
    Remote(&'static str),
    /// The fallback when no other tracker is found.
    Always,
    /// Only events of the client report it.
    Never,
}

/// Queries of a tracker, as arguments of its program. The answers are JSON.
pub struct TrackerQueries {
    pub active: &'static [&'static str],
    /// Reads the tickets from that answer. `None` if its form is unknown.
    pub items: fn(&Value) -> Option<Vec<TicketRow>>,
    /// Asks whether a ticket is closed. The id is plain: see [`is_plain`].
    pub closed: fn(&str) -> Vec<String>,
    pub state: fn(&Value) -> Option<bool>,
}

/// A ticket in the answer of a tracker.
pub struct TicketRow {
    pub id: String,
    pub title: String,
}

/// A ticket as a command or a tool names it, short forms included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ticket {
    pub id: Text<128>,
    /// A name and not a reference into the list: records outlive the list of trackers.
    pub tracker: Text<16>,
}

/// A ticket in work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveTicket {
    #[serde(flatten)]
    pub ticket: Ticket,
    pub title: Text<200>,
}

/// Placeholder in a word for a part that is known only at run time. No shell word can contain it.
pub const HOLE: char = '\0';
/// The id of a ticket whose id is known only at run time.
pub const UNKNOWN: &str = "unknown";
/// Maximum number of tickets of one call, and of items of one answer.
const MOST: usize = 64;

pub fn find(name: &str) -> Option<&'static Tracker> {
    TRACKERS.iter().find(|tracker| tracker.name == name).copied()
}

/// Returns the tickets of all enabled trackers that a call closes if it succeeds. Commands that run on
/// another machine do not count.
pub fn closes(call: &ToolCall, script: Option<&Script>, enabled: impl Fn(&str) -> bool) -> Vec<Ticket> {
    let trackers: Vec<&Tracker> = TRACKERS.iter().filter(|tracker| enabled(tracker.name)).copied().collect();
    let mut tickets = Vec::new();
    let mut add = |tracker: &Tracker, ids: Vec<String>| {
        for ticket in ids.iter().filter_map(|id| tracker.ticket(id)) {
            if tickets.len() < MOST && !tickets.contains(&ticket) {
                tickets.push(ticket);
            }
        }
    };
    if let Some((server, tool)) = mcp(call.name.as_str()) {
        for tracker in trackers.iter().filter(|tracker| tracker.is_served_by(server)) {
            add(tracker, (tracker.closes_by_tool)(tool, &call.input));
        }
    }
    if let Some(script) = script {
        let is_spoken = |program: &str| trackers.iter().any(|tracker| tracker.programs.contains(&program));
        for (program, words) in lines(script, is_spoken) {
            for tracker in trackers.iter().filter(|tracker| tracker.programs.contains(&program)) {
                add(tracker, (tracker.closes)(&words));
            }
        }
    }
    tickets
}

/// Returns the local commands of these programs, each with its further words. Options before a subcommand
/// stay in their place: they may name a repository or ask for help.
fn lines(script: &Script, of: impl Fn(&str) -> bool) -> Vec<(&str, Vec<String>)> {
    let mut written: Vec<&Command> = script.wrappers.iter().collect();
    let mut lines = Vec::new();
    for command in script.commands.iter().filter(|command| command.host == Host::Local) {
        let Some(program) = command.program().filter(|program| of(program)) else { continue };
        let is_written = |form: &&Command| {
            let mut words = form.argv.iter();
            form.program() == Some(program)
                && form.span == command.span
                && command.argv.iter().all(|word| words.any(|other| other == word))
        };
        let form = match written.iter().position(is_written) {
            Some(at) => written.remove(at),
            None => command,
        };
        lines.push((program, form.argv.iter().skip(1).map(|word| word.text(HOLE)).collect()));
    }
    lines
}

/// Splits the name of an MCP tool, `mcp__<server>__<tool>`, into server and tool.
fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.rsplit_once("__")
}

impl Tracker {
    /// Returns the tickets in work from the answer of the tracker. `None` if its form is unknown.
    pub fn read_active(&self, answer: &[u8]) -> Option<Vec<ActiveTicket>> {
        let items = (self.asks.as_ref()?.items)(&serde_json::from_slice(answer).ok()?)?;
        let item = |row: &TicketRow| {
            Some(ActiveTicket { ticket: self.ticket(&row.id)?, title: Text::new(one_line(&row.title)) })
        };
        Some(items.iter().filter_map(item).take(MOST).collect())
    }

    /// Returns whether a ticket is closed, from the answer of the tracker. `None` if its form is unknown.
    pub fn read_closed(&self, answer: &[u8]) -> Option<bool> {
        (self.asks.as_ref()?.state)(&serde_json::from_slice(answer).ok()?)
    }

    /// Returns a ticket for an id from outside. An option or a sentence is not an id.
    fn ticket(&self, id: &str) -> Option<Ticket> {
        let id = if id.contains(HOLE) { UNKNOWN } else { id };
        let is_id = !id.is_empty() && !id.starts_with('-') && !id.contains(char::is_whitespace);
        is_id.then(|| Ticket { id: redact::short(&one_line(id)), tracker: Text::from(self.name) })
    }

    /// Reports whether a server serves this tracker. The user chooses its name: `beads`, `beads-mcp`,
    /// `plugin_beads_beads`.
    fn is_served_by(&self, server: &str) -> bool {
        server.split(['_', '-', '.']).any(|part| part.eq_ignore_ascii_case(self.name))
    }
}

/// Reports whether an id is safe as an argument: a program can read it only as an id.
pub fn is_plain(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._#/-".contains(c);
    !id.is_empty() && !id.starts_with('-') && id != UNKNOWN && id.chars().all(is_plain)
}

/// Reports whether a status means closed.
fn is_closed(status: Option<&str>) -> bool {
    status.is_some_and(|status| ["closed", "done"].iter().any(|closed| status.eq_ignore_ascii_case(closed)))
}

/// Returns the ids in members of a tool's input: a text, a number, or a list of them.
fn ids_in(input: &Value, members: &[&str]) -> Vec<String> {
    let ids = |value: &Value| match value {
        Value::Array(values) => values.iter().filter_map(id_of).collect(),
        value => id_of(value).into_iter().collect(),
    };
    members
        .iter()
        .filter_map(|member| input.get(member))
        .flat_map(|value| -> Vec<String> { ids(value) })
        .collect()
}

fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the rows of an answer, with this member as the id. `None` if a row has no id.
fn rows(rows: &Value, id: &str) -> Option<Vec<TicketRow>> {
    let row = |row: &Value| {
        let title = row.get("title").and_then(Value::as_str).unwrap_or_default();
        Some(TicketRow { id: id_of(row.get(id)?)?, title: title.to_owned() })
    };
    rows.as_array()?.iter().map(row).collect()
}

/// Registers the trackers.
macro_rules! trackers {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// All trackers, in the order of detection.
        pub const TRACKERS: &[&Tracker] = &[$(&$name::TRACKER),+];
    };
}
use trackers;

#[cfg(test)]
mod tests;
