//! A scripted agent of Claude Code: sends payloads in their recorded form to the real hook.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::place::Place;
use crate::workspace;

/// Payloads that Claude Code really sent.
const RECORDED: &str = "crates/sprag-host/tests/recorded/claude";

pub struct Agent<'a> {
    pub place: &'a Place,
    pub session: &'static str,
}

/// The answer of the hook, as the agent reads it.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Allowed,
    Refused { message: String, suggestion: String },
    Held { reason: String },
}

impl Agent<'_> {
    /// Sends a recorded payload with some fields replaced.
    pub fn send(&self, recorded: &str, fields: Value) -> anyhow::Result<Answer> {
        let path = workspace::root().join(RECORDED).join(format!("{recorded}.json"));
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let text = text
            .replace("${HOME}", &self.place.home().display().to_string())
            .replace("${PROJECT}", &self.place.project().display().to_string());
        let mut payload: Value = serde_json::from_str(&text)?;
        payload["session_id"] = json!(self.session);
        for (name, value) in fields.as_object().into_iter().flatten() {
            payload[name] = value.clone();
        }
        let mut command = self.place.command(&self.place.sprag());
        command.args(["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut hook = command.spawn().context("cannot start the hook")?;
        let mut stdin = hook.stdin.take().context("the hook has no stdin")?;
        stdin.write_all(payload.to_string().as_bytes())?;
        drop(stdin);
        let output = hook.wait_with_output()?;
        ensure!(output.status.success(), "the hook failed: {}", String::from_utf8_lossy(&output.stderr));
        let reply: Value = serde_json::from_slice(&output.stdout).context("the hook printed no JSON")?;
        Ok(answer(&reply))
    }

    /// Changes a file with the tool `Edit`, if the hook allows it.
    pub fn edit(&self, file: &str, old: &str, new: &str) -> anyhow::Result<Answer> {
        let path = self.place.project().join(file);
        let input = json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false});
        let before = fs::read_to_string(&path)?;
        let answer = self.send("PreToolUse.Edit", json!({"tool_input": input}))?;
        if answer != Answer::Allowed {
            return Ok(answer);
        }
        fs::write(&path, before.replace(old, new))?;
        let response = json!({"filePath": path, "oldString": old, "newString": new, "originalFile": before});
        self.send("PostToolUse.Edit", json!({"tool_input": input, "tool_response": response}))
    }
}

fn answer(reply: &Value) -> Answer {
    let specific = &reply["hookSpecificOutput"];
    if specific["permissionDecision"] == "deny" {
        let reason = specific["permissionDecisionReason"].as_str().unwrap_or_default();
        // A refusal is JSON within a text; a client shows both.
        let parts: Value = serde_json::from_str(reason).unwrap_or_else(|_| json!({"message": reason}));
        let part = |name: &str| parts[name].as_str().unwrap_or_default().to_owned();
        return Answer::Refused { message: part("message"), suggestion: part("suggestion") };
    }
    if reply["decision"] == "block" {
        return Answer::Held { reason: reply["reason"].as_str().unwrap_or_default().to_owned() };
    }
    Answer::Allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_refusal_a_hold_or_nothing() {
        assert_eq!(answer(&json!({})), Answer::Allowed);
        assert_eq!(answer(&json!({"decision": "block", "reason": "r"})), Answer::Held { reason: "r".into() });
        let denied = |reason: &str| json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": reason}});
        let refused = |message: &str, suggestion: &str| Answer::Refused {
            message: message.to_owned(),
            suggestion: suggestion.to_owned(),
        };
        assert_eq!(answer(&denied(r#"{"message": "m", "suggestion": "s"}"#)), refused("m", "s"));
        assert_eq!(answer(&denied("plain")), refused("plain", ""));
    }
}
