//! Beads: tickets in `.beads`, changed by `bd` and programs with the same commands.

use serde_json::Value;

use sprag_shell::paths::options::{ProgramOptions, anywhere, leading};

use super::{HOLE, Tracker, TrackerQueries, TrackerSign, ids_in, is_closed, rows};

pub const TRACKER: Tracker = Tracker {
    name: "beads",
    mark: TrackerSign::Path(".beads"),
    programs: &["bd", "br", "beads"],
    closes,
    closes_by_tool,
    asks: Some(TrackerQueries {
        active: &["list", "--status", "in_progress", "--json"],
        items: |answer| rows(tickets(answer), "id"),
        closed: |id| ["show", id, "--json"].map(str::to_owned).into(),
        state: |answer| {
            let ticket = tickets(answer);
            let ticket = ticket.get(0).unwrap_or(ticket);
            Some(is_closed(Some(ticket.get("status")?.as_str()?)))
        },
    }),
};

/// Options with a value: of every command, of closing, and of updating. No letter has two meanings.
const OPTIONS: ProgramOptions = ProgramOptions {
    letters: "Crmspatde",
    long: &[
        "--db",
        "--actor",
        "--directory",
        "--format",
        "--lock-timeout",
        "--dolt-auto-commit",
        "--reason",
        "--resolution",
        "--message",
        "--comment",
        "--reason-file",
        "--session",
        "--status",
        "--priority",
        "--title",
        "--type",
        "--assignee",
        "--description",
        "--body",
        "--body-file",
        "--description-file",
        "--design",
        "--design-file",
        "--acceptance",
        "--acceptance-criteria",
        "--notes",
        "--append-notes",
        "--external-ref",
        "--spec-id",
        "--estimate",
        "--add-label",
        "--remove-label",
        "--set-labels",
        "--parent",
        "--due",
        "--defer",
        "--metadata",
        "--set-metadata",
        "--unset-metadata",
        "--if-assignee",
        "--if-status",
    ],
};

fn closes(words: &[String]) -> Vec<String> {
    let global = leading(words, 0, &OPTIONS);
    let Some(verb) = words.get(global.operands) else { return Vec::new() };
    let (given, operands) = anywhere(words, global.operands + 1, &OPTIONS);
    let is_close = match verb.as_str() {
        "close" | "complete" | "done" => true,
        "update" => is_closed(given.value(&["--status", "-s"])),
        _ => false,
    };
    if !is_close || global.has(&["--help", "-h"]) || given.has(&["--help", "-h"]) {
        return Vec::new();
    }
    // Without an id the program closes the last touched ticket, if any.
    if operands.is_empty() { vec![HOLE.to_string()] } else { operands }
}

fn closes_by_tool(tool: &str, input: &Value) -> Vec<String> {
    let closes = match tool {
        "close" | "close_issue" | "complete" | "complete_issue" | "done" => true,
        "update" | "update_issue" => is_closed(input.get("status").and_then(Value::as_str)),
        _ => false,
    };
    if closes { ids_in(input, &["issue_id", "id", "issue_ids", "ids"]) } else { Vec::new() }
}

/// Returns the tickets of an answer. Newer versions wrap them in an object.
fn tickets(answer: &Value) -> &Value {
    ["data", "issues"].iter().find_map(|member| answer.get(member)).unwrap_or(answer)
}
