//! Reflection through the program: the view of a user without settings, the cost of a stop, and the fate of
//! submitted candidates.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_host::clients::CLIENTS;

use crate::support::{Sandbox, payload, stored_lines};

fn stop(sandbox: &Sandbox, session: &str) -> Value {
    sandbox.event(session, "Stop", json!({"last_assistant_message": "Done."}))
}

fn is_held(reply: &Value) -> bool {
    reply["decision"] == "block"
}

fn lines(count: usize) -> String {
    (0..count).map(|line| format!("line {line}\n")).collect()
}

fn candidate(summary: &str) -> Value {
    json!({
        "category": "pitfall",
        "summary": summary,
        "detail": "a file without a final newline loses its last line; end it with one",
        "tags": ["parser"],
        "criteria_met": ["stable_fact"],
    })
}

fn learned(sandbox: &Sandbox) -> usize {
    stored_lines(&sandbox.store())
        .iter()
        .filter(|line| line.contains("\"kind\":\"learning.accepted\""))
        .count()
}

/// Counts each start of git from here on, in the returned file.
fn count_git(sandbox: &mut Sandbox) -> PathBuf {
    let count = sandbox.home.join("count");
    sandbox.with_git(&format!(
        "echo x >> '{}'\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"",
        count.display()
    ));
    count
}

#[test]
fn a_bare_repository_is_asked_once_and_nothing_else() {
    for client in CLIENTS {
        let sandbox = Sandbox::new();
        let tell =
            |name: &str, more: Value| sandbox.hook(client.name, &payload("s", name, &sandbox.project, more));
        let bash = |command: &str| {
            let mut call =
                json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"});
            assert_eq!(tell("PreToolUse", call.clone()), json!({}), "{}: {command}", client.name);
            call["tool_response"] = json!("");
            assert_eq!(tell("PostToolUse", call), json!({}), "{}: {command}", client.name);
        };
        let done = || tell("Stop", json!({"last_assistant_message": "All done."}));
        sandbox.write("mine.txt", &lines(300));
        assert_eq!(tell("SessionStart", json!({"source": "startup"})), json!({}));
        assert_eq!(tell("UserPromptSubmit", json!({"prompt": "what is this?"})), json!({}));
        bash("ls -la && cat mine.txt");
        assert_eq!(done(), json!({}));
        bash("printf 'a\\n' > small.txt");
        sandbox.write("small.txt", &lines(5));
        assert_eq!(done(), json!({}), "the user's own work does not count");
        bash("make more");
        sandbox.write("large.txt", &lines(7));
        let held = done();
        assert!(held["reason"].as_str().unwrap().contains("this session changed 12 lines"), "{held}");
        assert_eq!(sandbox.run(&["skip", "a list", "--session", "s"]).code, 0);
        assert_eq!(done(), json!({}));
        bash("make still more");
        sandbox.write("larger.txt", &lines(70));
        assert_eq!(done(), json!({}), "it was asked");
        assert_eq!(tell("SessionEnd", json!({"reason": "other"})), json!({}));
        let status = sandbox.git(&["status", "--porcelain", "--ignored"]);
        let status = String::from_utf8(status.stdout).unwrap();
        assert_eq!(status, "?? large.txt\n?? larger.txt\n?? mine.txt\n?? small.txt\n");
        assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"], json!([]));
    }
}

#[test]
fn a_stop_costs_no_git_or_one() {
    let mut sandbox = Sandbox::new();
    let count = count_git(&mut sandbox);
    let started = || fs::read_to_string(&count).map_or(0, |text| text.lines().count());
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    sandbox.bash("s", "ls -la && git status");
    assert_eq!(stop(&sandbox, "s"), json!({}));
    assert_eq!(started(), 0, "a session that looks around");
    sandbox.bash("s", "make");
    assert_eq!(started(), 1, "before the first change");
    sandbox.bash("s", "make");
    assert_eq!(started(), 1, "only before the first");
    assert_eq!(stop(&sandbox, "s"), json!({}));
    assert_eq!(started(), 2, "a stop that needs the diff");
    assert_eq!(stop(&sandbox, "s"), json!({}));
    assert_eq!(started(), 2, "nothing was done since");
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(30));
    assert!(is_held(&stop(&sandbox, "s")));
    assert_eq!(started(), 3, "a stop that is held");
    assert!(is_held(&stop(&sandbox, "s")));
    assert_eq!(started(), 3, "and held again");
}

#[test]
fn outside_git_the_size_is_unknown_and_the_agent_decides() {
    let sandbox = Sandbox::without_git();
    sandbox.bash("s", "ls");
    assert_eq!(stop(&sandbox, "s"), json!({}));
    sandbox.bash("s", "make");
    assert!(is_held(&stop(&sandbox, "s")));
    assert_eq!(sandbox.run(&["skip", "nothing new", "--session", "s"]).code, 0);
    sandbox.bash("s", "make");
    assert_eq!(stop(&sandbox, "s"), json!({}));
}

#[test]
fn what_is_handed_in_is_kept_in_parts_and_once() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "bd close T-1");
    let hand_in = |candidates: Value| {
        let text = json!({ "candidates": candidates }).to_string();
        sandbox.run_with(&["reflect", "--session", "s", "--json"], text.as_bytes())
    };
    let bad = hand_in(json!([{"category": "gossip"}]));
    assert_eq!(bad.code, 1, "{}", bad.stdout);
    assert_eq!(learned(&sandbox), 0);
    let both = json!([candidate("the parser drops the last line"), {"category": "gossip"}]);
    let ran = hand_in(both.clone());
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["accepted"][0]["summary"], "the parser drops the last line");
    assert_eq!(
        (told["rejected"][0]["index"].as_u64(), told["rejected"][0]["stage"].as_str()),
        (Some(1), Some("schema"))
    );
    assert_eq!(told["similar"], json!([]));
    let again: Value = serde_json::from_str(&hand_in(both).stdout).unwrap();
    assert_eq!(again["accepted"][0]["id"], told["accepted"][0]["id"], "the same under the same name");
    assert_eq!(learned(&sandbox), 1);
    for text in ["", "{", "[]", "{\"candidates\": 3}"] {
        let ran = sandbox.run_with(&["reflect", "--session", "s"], text.as_bytes());
        assert_eq!(ran.code, 1, "{text}");
        assert!(ran.stderr.contains("sprag reflect --schema"), "{}", ran.stderr);
    }
    let brief = sandbox.run(&["reflect", "--schema"]).stdout;
    assert!(brief.len() <= 900, "{} bytes", brief.len());
    let example: Value = serde_json::from_str(brief.lines().next().unwrap()).unwrap();
    assert!(example["candidates"][0]["criteria_met"].is_array());
    let schema: Value =
        serde_json::from_str(&sandbox.run(&["reflect", "--schema", "--full"]).stdout).unwrap();
    assert!(schema["properties"]["candidates"].is_object());
}

#[test]
fn what_other_agents_found_is_kept() {
    let sandbox = Sandbox::new();
    let agent = |id: &str, name: &str, more: Value| {
        let mut more = more;
        more["agent_id"] = json!(id);
        more["agent_type"] = json!("helper");
        sandbox.event("s", name, more)
    };
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    agent("a1", "SubagentStart", json!({}));
    agent("a2", "SubagentStart", json!({}));
    agent(
        "a1",
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "sprag observe 'the cache is cold'"}}),
    );
    assert_eq!(sandbox.run(&["observe", "the cache is cold", "--session", "s"]).code, 0);
    let message = json!({"last_assistant_message": "I looked at the queue: it is never drained."});
    assert_eq!(agent("a1", "SubagentStop", message.clone()), json!({}));
    assert_eq!(agent("a2", "SubagentStop", message), json!({}));
    let observed: Vec<String> = stored_lines(&sandbox.store())
        .into_iter()
        .filter(|line| line.contains("\"kind\":\"observed\""))
        .collect();
    assert_eq!(observed.len(), 2, "{observed:?}");
    assert!(observed.iter().any(|line| line.contains("the cache is cold")));
    assert!(observed.iter().any(|line| line.contains("never drained") && line.contains("\"agent\":\"a2\"")));
}

#[test]
fn a_debt_is_met_by_reflecting_late() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(30));
    assert!(is_held(&stop(&sandbox, "s")));
    sandbox.event("s", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"].as_array().unwrap().len(), 1);
    let text = json!({"candidates": [candidate("the parser drops the last line")]}).to_string();
    assert_eq!(sandbox.run_with(&["reflect", "--session", "s"], text.as_bytes()).code, 0);
    assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"], json!([]));
}

#[test]
fn status_tells_what_is_open_and_which_tracker_is_used() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.project.join(".beads")).unwrap();
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "bd close T-1"}, "tool_use_id": "t", "tool_response": {}});
    sandbox.event("s", "PreToolUse", call.clone());
    sandbox.event("s", "PostToolUse", call);
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(status["tracker"], "beads");
    assert_eq!(status["obligations"][0]["duty"], "reflect");
    assert!(status["obligations"][0]["next"].as_str().unwrap().contains("sprag skip REASON --session s"));
    sandbox.run(&["skip", "nothing new", "--session", "s"]);
    assert_eq!(sandbox.json(&["status", "--json"])["obligations"], json!([]));
    let gates = sandbox.json(&["config", "gates", "--session", "s", "--json"]);
    let reflection =
        gates["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == "reflection").unwrap();
    assert_eq!(reflection["state"], "skipped");
}

/// A small script that answers as the documentation of `bd` says.
#[test]
fn the_ticket_in_work_is_known_after_the_next_event() {
    let mut sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.project.join(".beads")).unwrap();
    sandbox.with_program(
        "bd",
        "echo '[{\"id\": \"T-9\", \"title\": \"mend the parser\", \"status\": \"in_progress\"}]'",
    );
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let state = || {
        let gates = sandbox.json(&["config", "gates", "--session", "s", "--json"]);
        gates["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == "reflection").unwrap()["state"]
            .clone()
    };
    sandbox.event("s", "UserPromptSubmit", json!({"prompt": "go"}));
    assert_eq!(state(), "idle", "never inside an event");
    sandbox.event("s", "UserPromptSubmit", json!({"prompt": "go on"}));
    assert_eq!(state(), "active");
    let text = json!({"candidates": [candidate("the parser drops the last line")]}).to_string();
    assert_eq!(sandbox.run_with(&["reflect", "--session", "s"], text.as_bytes()).code, 0);
    assert!(stored_lines(&sandbox.store()).iter().any(|line| line.contains("\"ticket\":\"T-9\"")));
}

#[test]
fn a_stop_that_was_passed_over_is_a_debt_in_the_end() {
    let sandbox = Sandbox::new();
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(30));
    let running =
        json!({"last_assistant_message": "Done.", "background_tasks": [{"id": "b", "type": "shell"}]});
    assert_eq!(sandbox.event("s", "Stop", running), json!({}));
    sandbox.event("s", "SessionEnd", json!({"reason": "other"}));
    let debts = sandbox.json(&["debt", "list", "--json"]);
    assert_eq!(debts["debts"][0]["duty"], "reflect", "{debts}");
}

#[test]
fn a_session_whose_records_are_gone_is_no_new_one() {
    let sandbox = Sandbox::new();
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(30));
    assert!(is_held(&stop(&sandbox, "s")));
    fs::remove_dir_all(sandbox.store().join("journal")).unwrap();
    let held = stop(&sandbox, "s");
    assert!(held["reason"].as_str().unwrap().contains("the records of this session are gone"), "{held}");
    for _ in 0..3 {
        stop(&sandbox, "s");
    }
    assert_eq!(stop(&sandbox, "s"), json!({}), "nobody is held for ever");
    assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"][0]["duty"], "integrity");
    // Other sessions are not affected.
    sandbox.bash("t", "ls");
    assert_eq!(stop(&sandbox, "t"), json!({}));
}

#[test]
fn without_the_start_the_size_is_unknown() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(3));
    fs::remove_dir_all(sandbox.store().join("start")).unwrap();
    assert!(is_held(&stop(&sandbox, "s")));
}

/// A refused call changes nothing. A commit of a person before the next call is not the session's work.
#[test]
fn work_between_a_refused_call_and_the_next_one_is_not_the_sessions() {
    let sandbox = Sandbox::new();
    sandbox.write("base.txt", "base\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "base"]);
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let refused = sandbox.bash("s", "git reset --hard HEAD");
    assert_eq!(refused["hookSpecificOutput"]["permissionDecision"], "deny");
    sandbox.write("mine.txt", &lines(20));
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "by hand"]);
    sandbox.bash("s", "make");
    let done = sandbox.event("s", "Stop", json!({"last_assistant_message": "All done."}));
    assert_eq!(done, json!({}));
}

/// A linked worktree of the same clone is another directory, but the same session.
#[test]
fn the_worktree_it_started_in_is_the_sessions() {
    let sandbox = Sandbox::new();
    sandbox.write("base.txt", "base\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "base"]);
    sandbox.write("mine.txt", &lines(300));
    let other = sandbox.project.parent().unwrap().join("other");
    assert!(sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap()]).status.success());
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    sandbox.bash("s", "make");
    let stop_there =
        || sandbox.hook("claude", &payload("s", "Stop", &other, json!({"last_assistant_message": "Done."})));
    assert_eq!(stop_there(), json!({}), "what the user left unfinished counts nowhere");
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &lines(30));
    let held = stop_there();
    assert!(held["reason"].as_str().unwrap().contains("this session changed 30 lines"), "{held}");
}

#[test]
fn what_is_said_after_the_end_does_not_begin_a_session_again() {
    let sandbox = Sandbox::new();
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    sandbox.event("s", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(sandbox.run(&["observe", "late", "--session", "s"]).code, 0);
    assert_eq!(sandbox.json(&["status", "--json"])["sessions"], json!([]));
    assert!(sandbox.run(&["skip", "which one?"]).stderr.contains("no live session"), "it is over");
}

#[test]
fn an_agent_of_the_agent_speaks_for_nobody() {
    let sandbox = Sandbox::new();
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let says = |command: &str| {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "agent_id": "a1", "agent_type": "worker"});
        sandbox.event("s", "PreToolUse", call)["hookSpecificOutput"]["permissionDecision"].clone()
    };
    for command in [
        "sprag mcp < calls.jsonl",
        "echo x | sprag mcp",
        "sprag answer q a",
        "sprag skip 'nothing'",
        "sprag memory import mcp x.json",
        "sprag reflect < x.json",
        "sprag memory archive abc",
    ] {
        assert_eq!(says(command), "deny", "{command}");
    }
    for command in ["sprag observe 'a note'", "sprag search x", "sprag memory list"] {
        assert_ne!(says(command), "deny", "{command}");
    }
}
