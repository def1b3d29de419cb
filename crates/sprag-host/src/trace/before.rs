//! Finds the content of a file before a call wrote it. If no lease kept it, Sprag reverses the edit, or takes
//! the last seen or the committed content.

use serde_json::Value;

use sprag_policy::call::ToolCall;
use sprag_trace::uncommitted::Pending;

use super::context::TraceContext;
use super::file_cache;
use super::file_state::FileContent;
use crate::git;
use crate::worktree::leases::{self, FileBefore};

/// Returns the content before a call. `None`: unknown.
pub(crate) fn of_call(
    ground: &TraceContext<'_>,
    call: &ToolCall,
    path: &str,
    after: &FileContent,
    known: Option<&Pending>,
) -> Option<FileContent> {
    let last = || match known?.after {
        Some(sum) => file_cache::kept(&ground.store, &sum),
        None => Some(FileContent::Absent),
    };
    if let Some(before) = claimed(ground, call, path) {
        return Some(before);
    }
    let undone = after.text().and_then(|text| undone(&call.input, text));
    match undone {
        Some(text) => Some(FileContent::of_bytes(text)),
        None => last().or_else(|| committed(ground, path)),
    }
}

/// Returns the content that the lease of the call kept.
fn claimed(ground: &TraceContext<'_>, call: &ToolCall, path: &str) -> Option<FileContent> {
    let file = ground.file(path);
    match leases::before(ground.world, &ground.input.session, call, file.to_str()?)? {
        FileBefore::Absent => Some(FileContent::Absent),
        FileBefore::File { text, .. } => text.map(FileContent::of_bytes),
    }
}

/// Returns the committed content of the checked-out commit. A file unknown to git was absent.
pub(super) fn committed(ground: &TraceContext<'_>, path: &str) -> Option<FileContent> {
    let (Some(worktree), Some(head)) = (&ground.world.places.worktree, &ground.head) else {
        return Some(FileContent::Absent);
    };
    let found = git::blobs::blobs(worktree, &[format!("{head}:{path}")])?;
    Some(match found.into_iter().next()? {
        Some(bytes) => FileContent::of_bytes(bytes),
        None => FileContent::Absent,
    })
}

/// Reverses an edit. `None`: the call is not an edit, or its place is unclear.
fn undone(input: &Value, after: &[u8]) -> Option<Vec<u8>> {
    let edits: Vec<&Value> = match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().rev().collect(),
        None => vec![input],
    };
    let mut text = after.to_vec();
    for edit in edits {
        let (old, new) = (edit.get("old_string")?.as_str()?, edit.get("new_string")?.as_str()?);
        let is_all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
        let places: Vec<usize> = if new.is_empty() {
            return None;
        } else {
            memchr::memmem::find_iter(&text, new.as_bytes()).collect()
        };
        // Text that occurs twice may have occurred once before the edit.
        if places.is_empty() || (places.len() > 1 && !is_all) || (is_all && old.contains(new)) {
            return None;
        }
        for at in places.into_iter().rev() {
            text.splice(at..at + new.len(), old.bytes());
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_taken_back_where_that_can_be_done() {
        let undo = |input: Value, after: &str| {
            undone(&input, after.as_bytes()).map(|text| String::from_utf8(text).unwrap())
        };
        let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        assert_eq!(undo(edit("a", "b"), "x b y").as_deref(), Some("x a y"));
        assert_eq!(undo(edit("a", "b"), "b b"), None);
        assert_eq!(undo(edit("a", ""), "x"), None);
        assert_eq!(undo(json!({"content": "x"}), "x"), None);
        let all = json!({"old_string": "a", "new_string": "b", "replace_all": true});
        assert_eq!(undo(all, "b-b").as_deref(), Some("a-a"));
        let several = json!({"edits": [edit("1", "2"), edit("2 x", "3 x")]});
        assert_eq!(undo(several, "3 x").as_deref(), Some("1 x"));
    }
}
