//! Scripts of an agent send events that look like those of its client. They have no effect.

use std::fs;

use serde_json::{Value, json};

use crate::gates::review::{configured, reviewer_starts, stop};
use crate::support::{CONFLICT, Ran, SPRAG, Sandbox, payload, ran, stored_lines};

const SESSION: &str = "s";

/// Sends events from a script that the agent runs, for both clients.
const CLIENTS: [&str; 2] = ["claude", "codex"];

fn configured_session(client: &str) -> Sandbox {
    let sandbox = configured("");
    send(&sandbox, client, "SessionStart", json!({"source": "startup"}));
    send(&sandbox, client, "UserPromptSubmit", json!({"prompt": "#review"}));
    send(
        &sandbox,
        client,
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"}),
    );
    sandbox
}

fn send(sandbox: &Sandbox, client: &str, name: &str, more: Value) -> Value {
    sandbox.hook(client, &payload(SESSION, name, &sandbox.project, more))
}

/// Runs a script with one line per event, as an agent would.
fn forge(sandbox: &Sandbox, client: &str, events: &[(&str, Value)], last: &str) -> Ran {
    let mut script = String::new();
    for (name, more) in events {
        let event = payload(SESSION, name, &sandbox.project, more.clone());
        script.push_str(&format!("printf '%s' '{event}' | {SPRAG} hook {client}\n"));
    }
    script.push_str(last);
    let path = sandbox.home.join("forge.sh");
    fs::write(&path, script).unwrap();
    let mut command = sandbox.command("sh");
    command.arg(path);
    ran(command, b"")
}

fn count(sandbox: &Sandbox, kind: &str) -> usize {
    let start = format!("{{\"v\":1,\"kind\":\"{kind}\"");
    stored_lines(&sandbox.store()).iter().filter(|line| line.starts_with(&start)).count()
}

fn held(sandbox: &Sandbox, client: &str) -> bool {
    send(sandbox, client, "Stop", json!({}))["decision"] == "block"
}

#[test]
fn a_script_starts_no_reviewer_and_carries_no_verdict() {
    for client in CLIENTS {
        let sandbox = configured_session(client);
        let start = json!({"agent_id": "a1", "agent_type": "sprag-reviewer"});
        let forged = forge(&sandbox, client, &[("SubagentStart", start)], "");
        assert!(!forged.stdout.contains("SPRAG_REVIEW_TOKEN"), "{client}: {}", forged.stdout);
        assert!(!forged.stdout.contains("--token"), "{client}: {}", forged.stdout);
        assert_eq!(count(&sandbox, "subagent.started"), 0, "{client}");
        assert_eq!(count(&sandbox, "foreign"), 1, "{client}");
        assert!(held(&sandbox, client), "{client}");
    }
}

#[test]
fn a_script_releases_no_stop() {
    for client in CLIENTS {
        let sandbox = configured_session(client);
        sandbox.write("a.txt", CONFLICT);
        // Each stop would count as a hold, until the limit releases the real one.
        let stops = vec![("Stop", json!({})); 6];
        forge(&sandbox, client, &stops, "");
        assert_eq!(count(&sandbox, "stop.requested"), 0, "{client}");
        assert!(held(&sandbox, client), "{client}");
    }
}

#[test]
fn a_script_ends_no_session_and_resumes_none() {
    for client in CLIENTS {
        let sandbox = configured_session(client);
        let events = [
            ("SessionEnd", json!({"reason": "exit"})),
            ("SessionStart", json!({"source": "resume"})),
            ("UserPromptSubmit", json!({"prompt": "no review"})),
        ];
        forge(&sandbox, client, &events, "");
        assert_eq!(count(&sandbox, "session.ended"), 0, "{client}");
        assert_eq!(count(&sandbox, "foreign"), 3, "{client}");
        assert!(held(&sandbox, client), "{client}");
    }
}

#[test]
fn a_dangerous_call_of_another_process_is_refused_all_the_same() {
    let sandbox = configured_session("claude");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}, "tool_use_id": "x"});
    let forged = forge(&sandbox, "claude", &[("PreToolUse", call)], "");
    assert!(forged.stdout.contains("\"permissionDecision\":\"deny\""), "{}", forged.stdout);
    assert!(forged.stdout.contains("is not the client of session"), "{}", forged.stdout);
}

/// Runs a client that is not the test: `find` calls the hook itself, and then runs a command of its agent.
fn other_client(sandbox: &Sandbox, session: &str, command: &str) -> Ran {
    let event = payload(session, "SessionStart", &sandbox.project, json!({"source": "startup"}));
    let mut client = sandbox.command("find");
    client
        .args([".", "-maxdepth", "0", "-exec", SPRAG, "hook", "claude", ";"])
        .args(["-exec", "sh", "-c", command, ";"]);
    ran(client, event.to_string().as_bytes())
}

#[test]
fn an_agent_reports_for_its_own_session_only() {
    let sandbox = configured_session("claude");
    let reports = ["skip 'nothing to learn'", "observe 'a note'"];
    for (count, report) in reports.iter().enumerate() {
        let other = format!("other-{count}");
        let told = other_client(&sandbox, &other, &format!("{SPRAG} {report} --session {SESSION}"));
        assert!(told.stderr.contains("belongs to another agent"), "{report}: {}{}", told.stdout, told.stderr);
    }
    let own = other_client(&sandbox, "own", &format!("{SPRAG} observe 'a note' --session own"));
    assert!(own.stderr.is_empty(), "{}", own.stderr);
    assert_eq!(count(&sandbox, "observed"), 1);
}

#[test]
fn an_agent_does_not_decide_as_the_user() {
    let sandbox = configured_session("claude");
    let skip = ["skip", "the user said so", "--decider", "user", "--session", SESSION];
    let told = sandbox.run(&skip);
    assert_eq!(told.code, 1, "{}", told.stdout);
    assert_eq!(count(&sandbox, "skipped"), 0);
}

#[test]
fn a_reviewer_of_the_client_is_known_all_the_same() {
    let sandbox = configured_session("claude");
    let token = reviewer_starts(&sandbox, SESSION);
    assert!(!token.is_empty());
    assert!(stop(&sandbox, SESSION).contains("review"));
}

/// A hook that is killed before it answers lets the client run the call.
#[test]
fn a_call_whose_hook_was_killed_leaves_a_debt() {
    let sandbox = configured_session("claude");
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "u"});
    call["tool_response"] = json!({});
    let told = send(&sandbox, "claude", "PostToolUse", call);
    let note = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(note.contains("no hook judged it: `make all`"), "{note}");
    let debts = sandbox.run(&["debt", "list"]).stdout;
    assert!(debts.contains("no hook judged it"), "{debts}");
}
