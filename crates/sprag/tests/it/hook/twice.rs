//! A plugin and `sprag init` may both register the hooks. Each event counts once.

use serde_json::{Value, json};

use crate::support::{CONFLICT, Sandbox, stored_lines};

/// Sends an event by the settings of `sprag init` and by the plugin, and returns both replies.
fn both(sandbox: &mut Sandbox, name: &str, more: &Value) -> (Value, Value) {
    let by_settings = sandbox.event("s", name, more.clone());
    (by_settings, by_plugin(sandbox, name, more))
}

fn by_plugin(sandbox: &mut Sandbox, name: &str, more: &Value) -> Value {
    sandbox.vars.push(("CLAUDE_PLUGIN_ROOT".to_owned(), "/plugins/sprag".to_owned()));
    let reply = sandbox.event("s", name, more.clone());
    sandbox.vars.retain(|(name, _)| name != "CLAUDE_PLUGIN_ROOT");
    reply
}

fn count(sandbox: &Sandbox, kind: &str) -> usize {
    let start = format!("{{\"v\":1,\"kind\":\"{kind}\"");
    stored_lines(&sandbox.store()).iter().filter(|line| line.starts_with(&start)).count()
}

fn bash(id: &str, command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id})
}

#[test]
fn a_plugin_and_init_count_each_event_once() {
    let mut sandbox = Sandbox::new();
    let (_, second) = both(&mut sandbox, "SessionStart", &json!({"source": "startup"}));
    let warning = second["systemMessage"].as_str().unwrap();
    assert!(warning.contains("two settings register Sprag's hooks"), "{warning}");
    assert_eq!(both(&mut sandbox, "UserPromptSubmit", &json!({"prompt": "go"})), (json!({}), json!({})));
    for id in ["t1", "t2"] {
        assert_eq!(both(&mut sandbox, "PreToolUse", &bash(id, "make")), (json!({}), json!({})));
        let mut done = bash(id, "make");
        done["tool_response"] = json!({});
        both(&mut sandbox, "PostToolUse", &done);
    }
    let (first, second) = both(&mut sandbox, "PreToolUse", &bash("t3", "rm -rf /"));
    assert_eq!(first["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(
        first["hookSpecificOutput"]["permissionDecision"],
        second["hookSpecificOutput"]["permissionDecision"]
    );
    assert_eq!(count(&sandbox, "session.started"), 1);
    assert_eq!(count(&sandbox, "prompted"), 1);
    assert_eq!(count(&sandbox, "tool.requested"), 3);
    assert_eq!(count(&sandbox, "tool.finished"), 2);
    assert_eq!(count(&sandbox, "warned"), 1);
}

#[test]
fn a_stop_is_held_as_often_as_with_one_registration() {
    let mut sandbox = Sandbox::new();
    both(&mut sandbox, "SessionStart", &json!({"source": "startup"}));
    both(&mut sandbox, "PreToolUse", &bash("t1", "make"));
    sandbox.write("a.txt", CONFLICT);
    let mut held = 0;
    for _ in 0..8 {
        let (first, second) = both(&mut sandbox, "Stop", &json!({}));
        assert_eq!(second, json!({}));
        held += usize::from(first["decision"] == "block");
    }
    assert_eq!(held, 3);
    assert_eq!(count(&sandbox, "stop.requested"), 8);
    assert_eq!(count(&sandbox, "debt.opened"), 1);
}

#[test]
fn the_plugin_alone_is_heard_too() {
    let mut sandbox = Sandbox::new();
    both(&mut sandbox, "SessionStart", &json!({"source": "startup"}));
    let denied = by_plugin(&mut sandbox, "PreToolUse", &bash("t1", "rm -rf /"));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(by_plugin(&mut sandbox, "PreToolUse", &bash("t2", "make")), json!({}));
    assert_eq!(count(&sandbox, "tool.requested"), 2);
}
