//! Reviewers as separate processes, in a sandbox, and among other agents.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::gates::review::{configured, prompt, reviewer, reviewer_starts, stop};
use crate::support::{Ran, SPRAG, Sandbox, payload, ran};

/// Runs a command of Sprag like the agent of a client: below a process that calls the hooks and has the
/// environment of the sandbox. `before` is the text that the agent puts before the command. The client is
/// `find`, because a shell never counts as a client; it passes its input on to the hook.
fn below_client(sandbox: &Sandbox, before: &str, args: &[&str]) -> Ran {
    let notice =
        payload("s", "Notification", &sandbox.project, json!({"message": "x", "notification_type": "x"}));
    let command = format!("{before} {SPRAG} \"$@\"; echo $? > \"$HOME/code\"");
    let mut client = sandbox.command("find");
    client
        .args([".", "-maxdepth", "0", "-exec", SPRAG, "hook", "claude", ";"])
        .args(["-exec", "sh", "-c", &command, "sh"])
        .args(args)
        .arg(";");
    let found = ran(client, notice.to_string().as_bytes());
    let code = fs::read_to_string(sandbox.home.join("code")).unwrap().trim().parse().unwrap();
    // The first line is the reply to the hook.
    let stdout = found.stdout.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned());
    Ran { code, stdout, ..found }
}

#[test]
fn an_agent_cannot_bring_a_reviewer_along() {
    let sandbox = configured("").of_a_person();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    let fake =
        sandbox.write("../fake/codex", &format!("#!/bin/sh\n{SPRAG} decide COMPLETE --summary mine\n"));
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let before = format!("PATH='{}':\"$PATH\"", fake.parent().unwrap().display());
    let ran = below_client(&sandbox, &before, &["review", "run", "--client", "codex", "--session", "s"]);
    assert!(ran.stderr.contains("`codex` is not on PATH"), "{}{}", ran.stdout, ran.stderr);
    assert!(stop(&sandbox, "s").contains("a review is due"));
}

#[test]
fn a_reviewers_process_decides_and_nobody_in_its_place() {
    let mut sandbox = configured("").of_a_person();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    let run = ["review", "run", "--client", "codex", "--session", "s", "--json"];
    sandbox.with_program("codex", "exit 0");
    assert!(below_client(&sandbox, "", &run).stdout.contains("no_verdict"));
    // The rules govern the session of the reviewer, and it owes nothing at its stop.
    let hook = |name: &str, more: Value| {
        let event = payload("r", name, &sandbox.project, more).to_string().replace('\'', "");
        format!("printf '%s' '{event}' | {SPRAG} hook codex >> \"$HOME/replies\"\n")
    };
    let bash = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let script = [
        hook("UserPromptSubmit", json!({"prompt": "#review"})),
        hook("PreToolUse", bash("make")),
        hook("PreToolUse", bash("sprag decide COMPLETE --summary x")),
        hook("Stop", json!({})),
        hook("PreToolUse", bash("rm -rf /")),
        format!("env | grep SPRAG_ > \"$HOME/env\"; {SPRAG} decide COMPLETE --summary 'all good'\n"),
    ];
    let script = script.concat();
    sandbox.with_program("codex", &script);
    let ran = below_client(&sandbox, "", &run);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let verdict: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(verdict["verdict"]["summary"], "all good");
    assert_eq!(verdict["verdict"]["by"], "process codex");
    let replies = fs::read_to_string(sandbox.home.join("replies")).unwrap();
    let replies: Vec<&str> = replies.lines().collect();
    assert_eq!(replies[..4], ["{}"; 4]);
    assert!(replies[4].contains("core.delete-root"), "{replies:?}");
    assert_eq!(stop(&sandbox, "s"), "");

    // Another process uses the same token.
    prompt(&sandbox, "s", "#review");
    let script =
        format!("env -u SPRAG_RUN {SPRAG} decide COMPLETE --summary mine --json > \"$HOME/stolen\"\n");
    sandbox.with_program("codex", &script);
    assert_eq!(below_client(&sandbox, "", &run).code, 1);
    assert!(fs::read_to_string(sandbox.home.join("stolen")).unwrap().contains("not_reviewer"));
    assert!(stop(&sandbox, "s").contains("a review is due"));
    assert!(
        below_client(&sandbox, "", &["review", "run", "--client", "claude", "--session", "s"])
            .stderr
            .contains("not on PATH")
    );
    assert_eq!(
        below_client(&sandbox, "", &["review", "run", "--client", "nobody", "--session", "s"]).code,
        2
    );
}

#[test]
fn a_reviewer_hears_of_other_agents() {
    let mut sandbox = configured("").of_a_person();
    for name in ["codex", "gemini", "claude"] {
        sandbox.with_program(name, "");
    }
    prompt(&sandbox, "s", "#review");
    let reply = sandbox.event("s", "SubagentStart", reviewer(json!({})));
    let context = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("`codex`, `gemini`") && !context.contains("`claude`"), "{context}");
    let other = json!({"agent_id": "a1", "agent_type": "helper"});
    assert_eq!(sandbox.event("s", "SubagentStart", other), json!({}));
    assert_eq!(sandbox.event("idle", "SubagentStart", reviewer(json!({}))), json!({}), "nothing to review");
}

/// Returns a decision in the form that a sandboxed command leaves in the inbox.
fn dropped(token: &str, id: &str) -> String {
    let decided =
        json!({"word": "COMPLETE", "summary": "from inside", "message": "", "opinions": [], "token": token});
    json!({"v": 1, "id": id, "at": "2026-11-15T09:01:01.000Z", "session": "s", "report": {"decided": decided}}).to_string()
}

fn inbox(sandbox: &Sandbox) -> std::path::PathBuf {
    let inbox = sandbox.project.join(".sprag/inbox");
    fs::create_dir_all(&inbox).unwrap();
    fs::set_permissions(&inbox, fs::Permissions::from_mode(0o700)).unwrap();
    inbox
}

/// In a sandbox the decision waits in the inbox. It needs a permit there too.
#[test]
fn a_verdict_from_a_sandbox_is_taken_in_by_the_next_hook() {
    let sandbox = configured("").of_a_person();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    let token = reviewer_starts(&sandbox, "s");
    let inbox = inbox(&sandbox);
    fs::write(inbox.join("s.abcdef0123456788.json"), dropped(&token, "abcdef0123456788")).unwrap();
    assert!(stop(&sandbox, "s").contains("ended without a decision"), "nobody saw the reviewer decide");
    let token = reviewer_starts(&sandbox, "s");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "sprag decide COMPLETE --summary x"}});
    assert_eq!(sandbox.event("s", "PreToolUse", reviewer(call)), json!({}));
    fs::write(inbox.join("s.abcdef0123456789.json"), dropped(&token, "abcdef0123456789")).unwrap();
    assert_eq!(stop(&sandbox, "s"), "");
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 0, "no token is left lying about");
}

/// The command that runs a reviewer process reads its decision; hooks in between do not.
#[test]
fn a_process_in_a_sandbox_decides_through_whoever_runs_it() {
    let mut sandbox = configured("").of_a_person();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    let inbox = inbox(&sandbox);
    let file = inbox.join("s.abcdef0123456789.json");
    let stop_event = payload("s", "Stop", &sandbox.project, json!({}));
    let script = format!(
        "printf '%s' '{}' | sed \"s/TOKEN/$SPRAG_REVIEW_TOKEN/\" > '{}'\nprintf '%s' '{stop_event}' | env -u SPRAG_RUN {SPRAG} hook claude > \"$HOME/reply\"\n",
        dropped("TOKEN", "abcdef0123456789"),
        file.display()
    );
    sandbox.with_program("claude", &script);
    let ran =
        below_client(&sandbox, "", &["review", "run", "--client", "claude", "--session", "s", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let reply = fs::read_to_string(sandbox.home.join("reply")).unwrap();
    assert!(reply.contains("is not the client of session `s`"), "{reply}");
    assert!(ran.stdout.contains("from inside"), "{}", ran.stdout);
    assert_eq!(stop(&sandbox, "s"), "");
}

/// Sprag ends a hanging reviewer at its deadline, and the review is due again.
#[test]
fn a_process_has_a_deadline() {
    let mut sandbox = configured("").of_a_person();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    sandbox.with_program("claude", "exec sleep 1000");
    let ran = below_client(
        &sandbox,
        "",
        &["review", "run", "--client", "claude", "--session", "s", "--timeout", "1"],
    );
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("took too long"), "{}", ran.stderr);
    assert!(stop(&sandbox, "s").contains("a review is due"));
}
