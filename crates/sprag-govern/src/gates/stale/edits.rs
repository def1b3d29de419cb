//! Computes the planned content of a file: the edit applied to the old content. If the file differs
//! afterwards, another process wrote it too.

use serde_json::Value;

use sprag_policy::call::{InputCompleteness, ToolCall};

use super::{codex_patch, notebook};

/// Maximum bytes that are searched for all edits of a call.
const WORK: usize = 256 * 1024 * 1024;

/// Returns the file after the call, or `None` if it is unknown.
pub fn planned(call: &ToolCall, named: &str, before: Option<&[u8]>) -> Option<Vec<u8>> {
    // A payload that was too long is incomplete.
    if call.whole != InputCompleteness::Yes {
        return None;
    }
    let text = |name: &str| call.input.get(name).and_then(Value::as_str);
    match call.name.as_str() {
        "Write" => text("content").map(|content| content.as_bytes().to_vec()),
        "Edit" => edited(before, std::slice::from_ref(&call.input)),
        "MultiEdit" => edited(before, call.input.get("edits")?.as_array()?),
        "NotebookEdit" => notebook::edited(&call.input, before?),
        "apply_patch" => codex_patch::patched(call, named, before),
        _ => None,
    }
}

/// Reports whether a file has the planned content. Clients may change line ends and the end of the file, and
/// write notebooks in another layout.
pub fn is_as_planned(named: &str, planned: &[u8], found: &[u8]) -> bool {
    planned == found
        || plain(planned).eq(plain(found))
        || named.ends_with(".ipynb") && notebook::is_same(planned, found)
}

/// Returns the bytes without a byte order mark, without carriage returns before line feeds, and without the
/// last line feeds.
fn plain(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let end = bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
    let bytes = &bytes[..end];
    let is_kept = |at: usize| !(bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n'));
    (0..bytes.len()).filter(move |&at| is_kept(at)).map(|at| bytes[at])
}

fn edited(before: Option<&[u8]>, edits: &[Value]) -> Option<Vec<u8>> {
    let mut text = String::from_utf8(before.unwrap_or_default().to_vec()).ok()?;
    if text.len().saturating_mul(edits.len()) > WORK {
        return None;
    }
    let has_carriage_returns = text.contains("\r\n");
    if has_carriage_returns {
        text = text.replace("\r\n", "\n");
    }
    for edit in edits {
        let part = |name: &str| edit.get(name).and_then(Value::as_str).map(|text| text.replace("\r\n", "\n"));
        let (old, new) = (part("old_string")?, part("new_string")?);
        let replaces_all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
        text = match (old.is_empty(), replaces_all) {
            (true, _) if text.trim().is_empty() => new,
            (true, _) => return None,
            (false, true) if text.contains(&old) => text.replace(&old, &new),
            // The client refuses an edit that matches twice.
            (false, false) if text.matches(&old).take(2).count() == 1 => text.replacen(&old, &new, 1),
            (false, _) => return None,
        };
        if text.len() > WORK {
            return None;
        }
    }
    let text = if has_carriage_returns { text.replace('\n', "\r\n") } else { text };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_policy::call::{ToolEffect, ToolRow};

    use super::*;

    const TOOLS: &[ToolRow] =
        &[ToolRow { name: "Edit", effect: ToolEffect::Write, paths: &["file_path"], command: None }];

    fn after(tool: &str, input: Value, before: Option<&str>) -> Option<String> {
        let call = ToolCall::new(TOOLS, tool, input, None, InputCompleteness::Yes);
        planned(&call, "a", before.map(str::as_bytes)).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_tool_makes_of_a_file_what_its_input_says() {
        let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        assert_eq!(after("Write", json!({"content": "x\n"}), Some("y")).as_deref(), Some("x\n"));
        assert_eq!(after("Edit", edit("two", "2"), Some("one\ntwo\n")).as_deref(), Some("one\n2\n"));
        assert_eq!(after("Edit", edit("a\nb", "c"), Some("a\r\nb\r\nd\r\n")).as_deref(), Some("c\r\nd\r\n"));
        assert_eq!(after("Edit", edit("", "new"), None).as_deref(), Some("new"));
        let all = json!({"old_string": "a", "new_string": "b", "replace_all": true});
        assert_eq!(after("Edit", all, Some("aXa")).as_deref(), Some("bXb"));
        let many = json!({"edits": [edit("a", "b"), edit("b", "c")]});
        assert_eq!(after("MultiEdit", many, Some("a")).as_deref(), Some("c"));
    }

    #[test]
    fn what_a_tool_would_not_do_is_not_planned() {
        let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        assert_eq!(after("Edit", edit("a", "b"), Some("aa")), None, "it is there twice");
        assert_eq!(after("Edit", edit("x", "b"), Some("aa")), None, "it is not there");
        assert_eq!(after("Edit", edit("", "b"), Some("aa")), None, "there is a file already");
        assert_eq!(after("Edit", json!({"old_string": 3}), Some("aa")), None);
        assert_eq!(after("mcp__x", json!({"content": "x"}), Some("aa")), None);
    }

    #[test]
    fn line_ends_do_not_make_another_file() {
        assert!(is_as_planned("a", b"x\ny", b"x\r\ny\r\n"));
        assert!(is_as_planned("a", b"\xef\xbb\xbfx\n", b"x"));
        assert!(!is_as_planned("a", b"x\ny", b"x y"));
        assert!(!is_as_planned("a", b"x\ry", b"xy"));
    }
}
