//! The measured hook calls. Each row has the history of the session, the call and the expected answer, so
//! that the bench never takes a fault for a fast reply.

use serde_json::{Value, json};

use super::scene::Scene;

pub struct Case {
    /// Key in the table, in `budgets.json` and in the JSON report.
    pub name: &'static str,
    pub before: fn(&Scene) -> anyhow::Result<()>,
    pub call: Call,
    pub says: Says,
    /// The maximum duration of the call, as a multiple of the empty program.
    pub contract: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    SessionStart,
    PreToolUse,
    /// A tool request with a line of several commands.
    Line,
    /// A tool request that some rules match.
    Push,
    PostToolUse,
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Nothing,
    Hold,
}

pub const CASES: &[&Case] = &[
    &START,
    &FIRST_CALL,
    &LATE_CALL,
    &LINE,
    &RULES_TRIED,
    &SNAPSHOT,
    &MOVE,
    &POST_TOOL_USE,
    &SESSION_START,
    &IDLE_STOP,
];

/// The same stop of a session that worked: once it passes, once it is held. The difference is the price of a
/// record that must be on disk before the client gets the reply.
pub const STOPS: &[&Case] = &[&PASSED_STOP, &HELD_STOP];

/// Starts a session and makes its first tool call, which saves the baseline.
fn at_work(scene: &Scene) -> anyhow::Result<()> {
    scene.call(Call::SessionStart)?;
    scene.call(Call::PreToolUse)
}

/// The first tool request of a session, before which one git call reads the worktree.
const START: Case = Case {
    name: "pre_tool_use.start",
    before: |scene| scene.call(Call::SessionStart),
    call: Call::PreToolUse,
    says: Says::Nothing,
    contract: None,
};

const FIRST_CALL: Case = Case {
    name: "pre_tool_use.first",
    before: at_work,
    call: Call::PreToolUse,
    says: Says::Nothing,
    contract: Some(1.5),
};

/// A call late in a long session, which costs as much as in a new one. Sprag moved the journal into the log
/// before.
const LATE_CALL: Case = Case {
    name: "pre_tool_use.600th",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        for _ in 1..600 {
            scene.call(Call::PreToolUse)?;
            scene.call(Call::PostToolUse)?;
        }
        Ok(())
    },
    call: Call::PreToolUse,
    says: Says::Nothing,
    contract: Some(1.5),
};

/// A line of several commands, which the policy reads one by one.
const LINE: Case = Case {
    name: "pre_tool_use.line",
    before: at_work,
    call: Call::Line,
    says: Says::Nothing,
    contract: Some(1.5),
};

/// A command that some of more than a hundred rules are about, but that no rule matches.
const RULES_TRIED: Case = Case {
    name: "pre_tool_use.rules",
    before: |scene| {
        scene.write_rules(60)?;
        at_work(scene)
    },
    call: Call::Push,
    says: Says::Nothing,
    contract: Some(2.0),
};

/// The most expensive of the usual calls: it folds the most lines and then writes a snapshot.
const SNAPSHOT: Case = Case {
    name: "pre_tool_use.snapshot",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        scene.stop_short_of(Call::PreToolUse, |before, after| {
            after.lines > before.lines && after.ends_with_snapshot
        })
    },
    call: Call::PreToolUse,
    says: Says::Nothing,
    contract: None,
};

/// One call in hundreds: after its reply it moves the whole journal into the log.
const MOVE: Case = Case {
    name: "pre_tool_use.move",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        scene.stop_short_of(Call::PreToolUse, |before, after| after.lines < before.lines)
    },
    call: Call::PreToolUse,
    says: Says::Nothing,
    contract: None,
};

const POST_TOOL_USE: Case = Case {
    name: "post_tool_use",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        scene.call(Call::PreToolUse)
    },
    call: Call::PostToolUse,
    says: Says::Nothing,
    contract: None,
};

/// The start of a session in a clone that had a session before. A store and a compiled configuration exist,
/// and the memory is empty.
const SESSION_START: Case = Case {
    name: "session_start.empty",
    before: |scene| scene.call_in("earlier", Call::SessionStart),
    call: Call::SessionStart,
    says: Says::Nothing,
    contract: Some(2.0),
};

const IDLE_STOP: Case = Case {
    name: "stop.idle",
    before: |scene| scene.call(Call::SessionStart),
    call: Call::Stop,
    says: Says::Nothing,
    contract: None,
};

const PASSED_STOP: Case = Case {
    name: "stop.passed",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        scene.call(Call::PreToolUse)?;
        scene.write("notes.txt", "one\ntwo\n")
    },
    call: Call::Stop,
    says: Says::Nothing,
    contract: None,
};

const HELD_STOP: Case = Case {
    name: "stop.held",
    before: |scene| {
        scene.call(Call::SessionStart)?;
        scene.call(Call::PreToolUse)?;
        scene.write("notes.txt", "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n")
    },
    call: Call::Stop,
    says: Says::Hold,
    contract: None,
};

impl Call {
    /// Returns the payload as Claude Code sends it.
    pub fn payload(self, session: &str, cwd: &str) -> Value {
        let mut payload = json!({
            "session_id": session,
            "transcript_path": format!("{cwd}/../home/.claude/projects/project/{session}.jsonl"),
            "cwd": cwd,
            "permission_mode": "default",
        });
        let command = match self {
            Call::Push => {
                "git add src/parser.rs && git commit -q -m 'Parse empty files' && git push origin main"
            }
            Call::Line => "cargo test --package parser --quiet 2>&1 | tail -20 && git diff --stat",
            _ => "cargo test --package parser --quiet",
        };
        let tool = json!({
            "command": command,
            "description": "Run the tests of the parser",
        });
        match self {
            Call::SessionStart => {
                payload["hook_event_name"] = json!("SessionStart");
                payload["source"] = json!("startup");
            }
            Call::PreToolUse | Call::Line | Call::Push => {
                payload["hook_event_name"] = json!("PreToolUse");
                payload["tool_name"] = json!("Bash");
                payload["tool_input"] = tool;
                payload["tool_use_id"] = json!("toolu_01Q2w3E4r5T6y7U8i9O0pAsD");
            }
            Call::PostToolUse => {
                payload["hook_event_name"] = json!("PostToolUse");
                payload["tool_name"] = json!("Bash");
                payload["tool_input"] = tool;
                payload["tool_use_id"] = json!("toolu_01Q2w3E4r5T6y7U8i9O0pAsD");
                let stdout = "test parser::accepts_an_empty_file ... ok\n".repeat(40);
                payload["tool_response"] =
                    json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
            }
            Call::Stop => {
                payload["hook_event_name"] = json!("Stop");
                payload["stop_hook_active"] = json!(false);
                payload["last_assistant_message"] = json!("The tests of the parser pass.");
            }
        }
        payload
    }
}

impl Says {
    pub fn is(self, reply: &str) -> bool {
        match self {
            Says::Nothing => reply.trim() == "{}",
            Says::Hold => {
                let reply: Value = serde_json::from_str(reply).unwrap_or_default();
                reply["decision"] == "block"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_no_silence() {
        assert!(Says::Nothing.is("{}\n"));
        assert!(!Says::Nothing.is(r#"{"systemMessage":"sprag: the payload is malformed"}"#));
        assert!(!Says::Nothing.is(""));
        assert!(Says::Hold.is(r#"{"decision":"block","reason":"sprag: not yet"}"#));
        assert!(!Says::Hold.is("{}"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = CASES.iter().chain(STOPS).map(|case| case.name).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
