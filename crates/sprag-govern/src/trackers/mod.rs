//! The trackers: where tickets live. A tracker is one file that says how to tell that it is used,
//! which commands and tools close a ticket, and what to ask it; and one line in the list below. What
//! closes a ticket is read from what a call would really do, never from its text: a ticket's word in
//! a message or an `echo` closes nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::redact;
use sprag_base::text::{Text, one_line};
use sprag_policy::call::ToolCall;
use sprag_shell::{Command, Host, Script, ShellStart};

trackers! {
    tissue,
    beads,
    github,
    tasks,
    session,
}

pub struct Tracker {
    /// As in the configuration and in records.
    pub name: &'static str,
    pub mark: TrackerSign,
    /// Programs that speak to it, all in the same way. The first that is there is asked.
    pub programs: &'static [&'static str],
    /// The ids that one command closes, given the words after the program. What is known only at run
    /// time stands in a word as [`HOLE`].
    pub closes: fn(&[String]) -> Vec<String>,
    /// The ids that a tool of its MCP server closes, given the tool's own name.
    pub closes_by_tool: fn(&str, &Value) -> Vec<String>,
    /// `None`: it cannot be asked anything.
    pub asks: Option<TrackerQueries>,
}

/// How to tell that a tracker is used in a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackerSign {
    /// This is there, below the root of the worktree.
    Path(&'static str),
    /// A remote of the clone is on this host.
    Remote(&'static str),
    /// It is what is left when no other is found.
    Always,
    /// Only a client's own events tell.
    Never,
}

/// What a tracker can be asked, as arguments of its program. It answers in JSON.
pub struct TrackerQueries {
    pub active: &'static [&'static str],
    /// The tickets in that answer. `None`: not an answer we know.
    pub items: fn(&Value) -> Option<Vec<TicketRow>>,
    /// Whether a ticket is closed. The id is plain: see [`is_plain`].
    pub closed: fn(&str) -> Vec<String>,
    pub state: fn(&Value) -> Option<bool>,
}

/// A ticket as a tracker's answer has it.
pub struct TicketRow {
    pub id: String,
    pub title: String,
}

/// A ticket as a command or a tool names it: whatever the tracker itself accepts, short forms included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ticket {
    pub id: Text<128>,
    /// A name and not a reference into the table: records outlive the list of trackers.
    pub tracker: Text<16>,
}

/// A ticket somebody works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveTicket {
    #[serde(flatten)]
    pub ticket: Ticket,
    pub title: Text<200>,
}

/// Stands in a word for what is known only at run time. No word of a shell can have it.
pub const HOLE: char = '\0';
/// The id of a ticket whose id is known only at run time.
pub const UNKNOWN: &str = "unknown";
/// Tickets of one call, and items of one answer.
const MOST: usize = 64;

pub fn find(name: &str) -> Option<&'static Tracker> {
    TRACKERS.iter().find(|tracker| tracker.name == name).copied()
}

/// The tickets that a call closes if it succeeds, of all trackers that are enabled. Not those that
/// somebody closes on another machine.
pub fn closes(call: &ToolCall, start: &ShellStart, enabled: impl Fn(&str) -> bool) -> Vec<Ticket> {
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
    if let Some(script) = call.script(start) {
        let is_spoken = |program: &str| trackers.iter().any(|tracker| tracker.programs.contains(&program));
        for (program, words) in lines(script, is_spoken) {
            for tracker in trackers.iter().filter(|tracker| tracker.programs.contains(&program)) {
                add(tracker, (tracker.closes)(&words));
            }
        }
    }
    tickets
}

/// The commands of these programs that would run here, by program and further words. Options in front
/// of a subcommand are back where they were written: they may name a repository, or ask for help.
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

/// Server and tool of an MCP tool's name, `mcp__<server>__<tool>`.
fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.rsplit_once("__")
}

impl Tracker {
    /// The tickets in its answer to what is worked on. `None`: not an answer we know.
    pub fn read_active(&self, answer: &[u8]) -> Option<Vec<ActiveTicket>> {
        let items = (self.asks.as_ref()?.items)(&serde_json::from_slice(answer).ok()?)?;
        let item = |row: &TicketRow| {
            Some(ActiveTicket { ticket: self.ticket(&row.id)?, title: Text::new(one_line(&row.title)) })
        };
        Some(items.iter().filter_map(item).take(MOST).collect())
    }

    /// Its answer to whether a ticket is closed. `None`: not an answer we know.
    pub fn read_closed(&self, answer: &[u8]) -> Option<bool> {
        (self.asks.as_ref()?.state)(&serde_json::from_slice(answer).ok()?)
    }

    /// Ids come from outside. An option or a sentence is none.
    fn ticket(&self, id: &str) -> Option<Ticket> {
        let id = if id.contains(HOLE) { UNKNOWN } else { id };
        let is_id = !id.is_empty() && !id.starts_with('-') && !id.contains(char::is_whitespace);
        is_id.then(|| Ticket { id: redact::short(&one_line(id)), tracker: Text::from(self.name) })
    }

    /// A server is named by whoever installs it: `beads`, `beads-mcp`, `plugin_beads_beads`.
    fn is_served_by(&self, server: &str) -> bool {
        server.split(['_', '-', '.']).any(|part| part.eq_ignore_ascii_case(self.name))
    }
}

/// Whether a tracker may be asked about this id: one that cannot be anything but an id to a program.
pub fn is_plain(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._#/-".contains(c);
    !id.is_empty() && !id.starts_with('-') && id != UNKNOWN && id.chars().all(is_plain)
}

/// Whether a status is one of those that mean closed.
fn is_closed(status: Option<&str>) -> bool {
    status.is_some_and(|status| ["closed", "done"].iter().any(|closed| status.eq_ignore_ascii_case(closed)))
}

/// The ids in members of a tool's input: a text, a number, or a list of them.
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

/// Rows of an answer, with this member as the id. A row without an id is not what we asked for.
fn rows(rows: &Value, id: &str) -> Option<Vec<TicketRow>> {
    let row = |row: &Value| {
        let title = row.get("title").and_then(Value::as_str).unwrap_or_default();
        Some(TicketRow { id: id_of(row.get(id)?)?, title: title.to_owned() })
    };
    rows.as_array()?.iter().map(row).collect()
}

/// The one registration of a tracker.
macro_rules! trackers {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// Every tracker, in the order in which they are looked for.
        pub const TRACKERS: &[&Tracker] = &[$(&$name::TRACKER),+];
    };
}
use trackers;

#[cfg(test)]
mod tests;
