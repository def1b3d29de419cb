//! Any input gives a clear message or passes with a warning. It never causes a panic, a hang, a lost record
//! or an open gate.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{CONFLICT, SPRAG, Sandbox, payload, stored_lines};

fn reply(sandbox: &Sandbox, client: &str, bytes: &[u8]) -> Value {
    let ran = sandbox.run_with(&["hook", client], bytes);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", ran.stdout))
}

fn warning(reply: &Value) -> &str {
    reply["systemMessage"].as_str().unwrap_or_default()
}

#[test]
fn malformed_json_passes_with_a_warning() {
    let sandbox = Sandbox::new();
    for client in ["claude", "codex"] {
        for bytes in [
            &b""[..],
            b"{",
            b"null",
            b"[]",
            b"not json",
            b"{\"session_id\": 3}",
            b"{\"session_id\":\"s\"}",
            b"\xff\xfe",
        ] {
            let reply = reply(&sandbox, client, bytes);
            assert!(warning(&reply).starts_with("sprag: the payload"), "{bytes:?}: {reply}");
            assert_eq!(reply.as_object().unwrap().len(), 1);
        }
    }
}

#[test]
fn wrong_types_are_warned_of() {
    let sandbox = Sandbox::new();
    let cwd = &sandbox.project;
    for wrong in [
        payload("s", "Stop", cwd, json!({"stop_hook_active": "yes"})),
        payload("s", "PreToolUse", cwd, json!({"tool_name": {"x": 1}})),
        payload("s", "PreToolUse", cwd, json!({})),
        payload("s", "UserPromptSubmit", cwd, json!({"prompt": [1]})),
    ] {
        assert!(
            warning(&reply(&sandbox, "claude", wrong.to_string().as_bytes())).contains("malformed"),
            "{wrong}"
        );
    }
}

/// A payload that the gate cannot read does not open it.
#[test]
fn a_call_that_cannot_be_judged_is_a_persons_to_judge() {
    let mut sandbox = Sandbox::new();
    let wrong = payload("s", "PreToolUse", &sandbox.project, json!({"tool_name": {"x": 1}})).to_string();
    let decision = |sandbox: &Sandbox, client: &str| {
        reply(sandbox, client, wrong.as_bytes())["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(decision(&sandbox, "claude"), "ask");
    assert_eq!(decision(&sandbox, "codex"), "deny");
    sandbox.vars.push(("CLAUDE_CODE_ENTRYPOINT".to_owned(), "sdk-cli".to_owned()));
    assert_eq!(decision(&sandbox, "claude"), "deny");
}

#[test]
fn unknown_events_and_clients_pass() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.event("s", "SomethingNew", json!({"x": 1})), json!({}));
    let ran = sandbox.run_with(&["hook", "nobody"], b"{}");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert!(ran.stderr.contains("unknown client `nobody`"), "{}", ran.stderr);
    let ran = sandbox.run_with(&["hook"], b"{}");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
}

#[test]
fn fifty_megabytes_are_read_and_recorded() {
    let sandbox = Sandbox::new();
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": "x", "content": "ä".repeat(25 << 20)}, "tool_use_id": "t9"});
    assert_eq!(sandbox.event("s", "PreToolUse", call), json!({}));
    let lines = stored_lines(&sandbox.store());
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("\"call\":\"t9\"") && lines[0].len() < 2000);
}

#[test]
fn fifty_megabytes_do_not_open_a_gate() {
    let sandbox = Sandbox::new();
    let path = sandbox.store().join("log/x.jsonl");
    let call =
        json!({"tool_name": "Write", "tool_input": {"content": "ä".repeat(25 << 20), "file_path": path}});
    assert_eq!(sandbox.event("s", "PreToolUse", call)["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let sandbox = Sandbox::new();
    let whole = payload("s", "UserPromptSubmit", &sandbox.project, json!({"prompt": "a@b"})).to_string();
    let mut bytes = whole.into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'@').unwrap();
    bytes[at] = 0xff;
    assert_eq!(reply(&sandbox, "claude", &bytes), json!({}));
    assert!(stored_lines(&sandbox.store())[0].contains("a\u{fffd}b"));
}

#[test]
fn a_session_id_is_no_path() {
    let sandbox = Sandbox::new();
    for id in ["../../../escape", "/etc/passwd", "a/b", "..", "", "x\0y", &"n".repeat(5000)] {
        assert_eq!(sandbox.event(id, "UserPromptSubmit", json!({"prompt": "p"})), json!({}), "{id:?}");
    }
    let journals: Vec<String> = fs::read_dir(sandbox.store().join("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(journals.len(), 7, "{journals:?}");
    assert!(!sandbox.project.parent().unwrap().join("escape.jsonl").exists());
}

#[test]
fn a_stdin_left_open_is_answered() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(SPRAG)
        .args(["hook", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let event = payload("s", "UserPromptSubmit", &sandbox.project, json!({"prompt": "p"}));
    stdin.write_all(event.to_string().as_bytes()).unwrap();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "{}\n");
    assert!(child.wait().unwrap().success());
    drop(stdin);
}

#[test]
fn a_directory_that_is_gone_is_no_fault() {
    let sandbox = Sandbox::new();
    let gone = sandbox.project.join("gone");
    let reply = sandbox.hook("claude", &payload("s", "UserPromptSubmit", &gone, json!({"prompt": "p"})));
    assert_eq!(reply, json!({}));
    assert_eq!(stored_lines(&sandbox.store()).len(), 1);
    let nowhere = payload("s", "UserPromptSubmit", "/nowhere/at/all".as_ref(), json!({"prompt": "p"}));
    assert_eq!(sandbox.hook("claude", &nowhere), json!({}));
}

#[test]
fn without_a_home_there_still_is_the_repository() {
    let sandbox = Sandbox::new();
    let run = |sandbox: &Sandbox| {
        let event = payload("s", "UserPromptSubmit", &sandbox.project, json!({"prompt": "p"})).to_string();
        let mut child = sandbox
            .command(SPRAG)
            .env_remove("HOME")
            .args(["hook", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(run(&sandbox), json!({}));
    assert_eq!(stored_lines(&sandbox.store()).len(), 1);

    let outside = Sandbox::without_git();
    assert_eq!(warning(&run(&outside)), "sprag: no home directory; set `HOME` or `SPRAG_HOME`");
    assert_eq!(fs::read_dir(&outside.project).unwrap().count(), 0);
}

#[test]
fn a_corrupt_line_is_stepped_over_and_told_once() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", CONFLICT);
    assert_eq!(sandbox.event("s", "Stop", json!({}))["decision"], "block");
    let mut journal = fs::OpenOptions::new().append(true).open(sandbox.journal("s")).unwrap();
    journal.write_all(b"{\"v\":1,\"kind\":\"x\",\"set\":{\"breaker\":oops}}\n\0\0\0\0\n{\"torn\":").unwrap();
    let reply = sandbox.event("s", "Stop", json!({}));
    assert_eq!(reply["decision"], "block", "the state before the damage still holds");
    assert!(warning(&reply).contains("the session's journal is damaged"), "{reply}");
    assert_eq!(warning(&sandbox.event("s", "Stop", json!({}))), "");
    assert_eq!(sandbox.event("s", "Stop", json!({})), json!({}), "three holds, damage or not");
    let story = sandbox.run(&["session", "explain", "s"]).stdout;
    assert!(story.contains("sprag warned: the session's journal is damaged"), "{story}");
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    let newer = "{\"v\":2,\"kind\":\"tool.requested\",\"id\":\"n1\",\"at\":\"2026-11-15T09:01:01.000Z\",\"session\":\"s\",\"set\":{\"about\":{\"new\":1}}}\n";
    let mut journal = fs::OpenOptions::new().append(true).open(sandbox.journal("s")).unwrap();
    journal.write_all(newer.as_bytes()).unwrap();
    let reply = sandbox.bash("s", "make again");
    assert!(warning(&reply).contains("a newer sprag wrote"), "{reply}");
    let text = fs::read_to_string(sandbox.journal("s")).unwrap();
    assert!(text.contains(newer), "nothing of it is touched");
    assert!(text.lines().last().unwrap().contains("make again"), "and the event is kept");
}

#[test]
fn a_log_of_a_newer_version_is_kept_and_read_as_far_as_it_goes() {
    let sandbox = Sandbox::new();
    let log = sandbox.store().join("log");
    fs::create_dir_all(&log).unwrap();
    let newer = "{\"v\":9,\"kind\":\"debt.reshaped\",\"id\":\"n1\",\"at\":\"2026-11-15T09:01:01.000Z\",\"more\":{\"x\":1}}";
    fs::write(log.join("2026-11.jsonl"), format!("{newer}\n")).unwrap();
    assert_eq!(sandbox.json(&["debt", "list", "--json"]), json!({"v": 1, "debts": []}));
    let report = sandbox.json(&["store", "migrate", "--json"]);
    assert_eq!((&report["records"], &report["newer"]), (&json!(1), &json!(1)));
    assert_eq!(fs::read_to_string(log.join("2026-11.jsonl")).unwrap(), format!("{newer}\n"));
}

/// Simulates a read-only or full disk. Root can write everywhere, so a file takes the place of the store,
/// which no permission can overcome.
#[test]
fn a_store_that_cannot_be_written_passes_with_a_warning() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.store(), "in the way").unwrap();
    let reply = sandbox.bash("s", "make");
    assert!(warning(&reply).contains("cannot write to"), "{reply}");
    sandbox.write("a.txt", CONFLICT);
    assert_eq!(
        sandbox.event("s", "Stop", json!({})).get("decision"),
        None,
        "a hold that cannot be counted passes"
    );
    let denied = sandbox.bash("s", "rm -rf .git/sprag");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "a refusal needs no memory");
}

#[test]
fn a_full_disk_passes_with_a_warning() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.store().join("journal")).unwrap();
    // Every write to this link fails with ENOSPC.
    std::os::unix::fs::symlink("/dev/full", sandbox.journal("s")).unwrap();
    let reply = sandbox.bash("s", "make");
    assert!(warning(&reply).contains("cannot write to"), "{reply}");
    let denied = sandbox.bash("s", "rm -rf .git/sprag");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn a_panic_is_caught_and_told() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("SPRAG_TEST_PANIC".to_owned(), "1".to_owned()));
    let reply = sandbox.bash("s", "make");
    if cfg!(debug_assertions) {
        assert!(warning(&reply).starts_with("sprag: sprag crashed"), "{reply}");
        let reports = fs::read_dir(sandbox.store().join("crash")).unwrap().count();
        assert_eq!(reports, 1);
    }
}

#[test]
fn a_broken_configuration_keeps_the_last_good_one() {
    let sandbox = Sandbox::new();
    sandbox.write_config("[circuit_breaker]\nmax_blocks = 1\n");
    sandbox.bash("s", "make");
    sandbox.write_config("[circuit_breaker]\nmax_blocks = \"many\"\n");
    sandbox.write("a.txt", CONFLICT);
    assert_eq!(sandbox.event("s", "Stop", json!({}))["decision"], "block");
    assert_eq!(
        sandbox.event("s", "Stop", json!({})),
        json!({}),
        "one hold, as the last good configuration says"
    );
    let reply = sandbox.event("s2", "SessionStart", json!({"source": "startup"}));
    assert!(
        warning(&reply).contains("`circuit_breaker.max_blocks` is of type integer, not string"),
        "{reply}"
    );
}

#[test]
fn a_locked_journal_neither_opens_a_gate_nor_traps() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", CONFLICT);
    let journal = fs::File::open(sandbox.journal("s")).unwrap();
    journal.lock().unwrap();
    let mut holds = 0;
    for _ in 0..8 {
        let reply = sandbox.event("s", "Stop", json!({}));
        holds += usize::from(reply["decision"] == "block");
    }
    assert_eq!(holds, 6, "bounded by the turn although nothing could be counted");
    let denied = sandbox.bash("s", "rm -rf .git/sprag");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    drop(journal);
    let lines = stored_lines(&sandbox.store());
    assert_eq!(lines.iter().filter(|line| line.contains("stop.requested")).count(), 8, "no event is lost");
}

#[test]
fn a_locked_log_makes_a_debt_wait_and_arrive_once() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", CONFLICT);
    for _ in 0..3 {
        assert_eq!(sandbox.event("s", "Stop", json!({}))["decision"], "block");
    }
    let month = sprag_host::sys::env::now().month();
    fs::create_dir_all(sandbox.store().join("log")).unwrap();
    let log = fs::File::create(sandbox.store().join("log").join(format!("{month}.jsonl"))).unwrap();
    log.lock().unwrap();
    assert_eq!(sandbox.event("s", "Stop", json!({})), json!({}), "let go, although the log cannot be had");
    assert_eq!(fs::read_dir(sandbox.store().join("outbox")).unwrap().count(), 1);
    log.unlock().unwrap();
    let debts = || sandbox.json(&["debt", "list", "--json"])["debts"].as_array().unwrap().len();
    assert_eq!(debts(), 0);
    for _ in 0..2 {
        sandbox.event("s", "Stop", json!({}));
        assert_eq!(debts(), 1, "the next hook delivers it, once");
    }
    assert_eq!(fs::read_dir(sandbox.store().join("outbox")).unwrap().count(), 0);
}

#[test]
fn nothing_is_written_into_a_worktree() {
    let sandbox = Sandbox::new();
    for (name, more) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "p"})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "true"}})),
        ("Stop", json!({})),
        ("SessionEnd", json!({"reason": "other"})),
    ] {
        assert_eq!(sandbox.event("s", name, more), json!({}));
    }
    let seen: Vec<_> =
        fs::read_dir(&sandbox.project).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(seen, [".git"]);
}

#[test]
fn records_are_the_users_alone() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(sandbox.store()), mode(sandbox.journal("s"))), (0o700, 0o600));
}

#[test]
fn secrets_do_not_reach_the_records() {
    let sandbox = Sandbox::new();
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let long = format!("{} {secret}", "x".repeat(190));
    sandbox.bash("s", &format!("curl -H 'Authorization: token {secret}' x"));
    sandbox.bash("s", &long);
    sandbox.event("s", "UserPromptSubmit", json!({"prompt": format!("use {secret}")}));
    let text = stored_lines(&sandbox.store()).join("\n");
    assert!(!text.contains("ghp_"), "{text}");
    assert!(text.contains("[redacted:github_token]"));
}
