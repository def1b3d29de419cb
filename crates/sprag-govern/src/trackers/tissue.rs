//! tissue: tickets in `.tissue`, closed by `tissue status ID closed` or `tissue edit ID --status closed`.
//! Closing a ticket as a duplicate does not ask for a reflection, because no work was done.

use serde_json::Value;

use sprag_shell::paths::options::{ProgramOptions, anywhere, leading};

use super::{Tracker, TrackerQueries, TrackerSign, ids_in, is_closed, rows};

pub const TRACKER: Tracker = Tracker {
    name: "tissue",
    mark: TrackerSign::Path(".tissue"),
    programs: &["tissue"],
    closes,
    closes_by_tool,
    asks: Some(TrackerQueries {
        active: &["list", "--status", "in_progress", "--json"],
        items: |answer| rows(answer, "id"),
        closed: |id| ["show", id, "--json"].map(str::to_owned).into(),
        state: |answer| {
            let status = answer.get("issue")?.get("status")?.as_str()?;
            Some(matches!(status, "closed" | "duplicate"))
        },
    }),
};

const GLOBAL: ProgramOptions = ProgramOptions { letters: "", long: &["--store"] };
const EDIT: ProgramOptions = ProgramOptions {
    letters: "",
    long: &["--title", "--body", "--status", "--priority", "--add-tag", "--rm-tag", "--store"],
};

fn closes(words: &[String]) -> Vec<String> {
    let global = leading(words, 0, &GLOBAL);
    let Some(verb) = words.get(global.operands) else { return Vec::new() };
    let (given, operands) = anywhere(words, global.operands + 1, &EDIT);
    if global.has(&["--help", "-h"]) || given.has(&["--help", "-h"]) {
        return Vec::new();
    }
    let status = match verb.as_str() {
        "status" => operands.get(1).map(String::as_str),
        "edit" => given.value(&["--status"]),
        _ => None,
    };
    let is_close = status == Some("closed");
    operands.into_iter().take(usize::from(is_close)).collect()
}

fn closes_by_tool(tool: &str, input: &Value) -> Vec<String> {
    let closes = match tool {
        "close" | "close_issue" | "complete" | "complete_issue" => true,
        "status" | "set_status" | "update_status" | "edit" | "edit_issue" | "update" | "update_issue" => {
            is_closed(input.get("status").and_then(Value::as_str))
        }
        _ => false,
    };
    if closes { ids_in(input, &["id", "issue_id", "issue", "ids", "issue_ids"]) } else { Vec::new() }
}
