//! The delegation gate in the whole program, beyond the stories: roles, and a state that another process
//! damaged.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, stored_lines};

fn makes(sandbox: &Sandbox, times: usize, more: Value) -> Vec<Value> {
    let call = |_| {
        let mut call = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sandbox.event("s", "PreToolUse", call)
    };
    (0..times).map(call).collect()
}

#[test]
fn the_kind_of_agent_a_client_was_started_as_is_its_role() {
    let sandbox = Sandbox::new();
    let told = makes(&sandbox, 3, json!({"agent_type": "band:conductor"}));
    assert_eq!(told[..2], [json!({}), json!({})]);
    let note = told[2]["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(note.starts_with("sprag: a conductor delegates"), "{note}");
    // A sub-agent of that type does not have the role of the session.
    let sandbox = Sandbox::new();
    let told = makes(&sandbox, 6, json!({"agent_type": "conductor", "agent_id": "a1"}));
    assert!(told.iter().all(|told| *told == json!({})));
}

#[test]
fn a_role_is_found_at_whatever_event_comes_first() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("AGENT_ROLE".to_owned(), "section_leader".to_owned()));
    let told = makes(&sandbox, 3, json!({}));
    assert!(told[2]["hookSpecificOutput"]["additionalContext"].is_string());
}

#[test]
fn it_can_be_switched_off() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("AGENT_ROLE".to_owned(), "conductor".to_owned()));
    sandbox.vars.push(("SPRAG_DELEGATION__MODE".to_owned(), "off".to_owned()));
    assert!(makes(&sandbox, 6, json!({})).iter().all(|told| *told == json!({})));
}

#[test]
fn a_spoiled_state_is_a_warning_and_holds_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("AGENT_ROLE".to_owned(), "conductor".to_owned()));
    sandbox.vars.push(("SPRAG_DELEGATION__MODE".to_owned(), "enforce".to_owned()));
    let told = makes(&sandbox, 5, json!({}));
    assert_eq!(told[4]["hookSpecificOutput"]["permissionDecision"], "deny");
    let journal = sandbox.journal("s");
    let text = fs::read_to_string(&journal).unwrap();
    assert!(text.contains(r#""gate.delegation":{"leads""#), "{text}");
    fs::write(&journal, text.replace(r#""gate.delegation":{"leads""#, r#""gate.delegation":{"led""#))
        .unwrap();
    let told = makes(&sandbox, 1, json!({})).remove(0);
    assert_eq!(told["hookSpecificOutput"], Value::Null, "{told}");
    let warned = stored_lines(&sandbox.store())
        .into_iter()
        .any(|line| line.contains("gate.delegation") && line.contains("warned"));
    assert!(warned, "the trace tells of it");
}

#[test]
fn a_task_may_speak_of_what_its_agent_may_not_touch() {
    let sandbox = Sandbox::new();
    for tool in ["Agent", "Task"] {
        let input = json!({"prompt": "look at .git/sprag/log and tell", "subagent_type": "Explore"});
        let told = sandbox.event("s", "PreToolUse", json!({"tool_name": tool, "tool_input": input}));
        assert_eq!(told, json!({}));
    }
}
