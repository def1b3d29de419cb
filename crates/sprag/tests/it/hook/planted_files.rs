//! Something else stands in place of a file of Sprag: a pipe that would block forever, or a fold that another
//! process changed. Sprag refuses it or builds it again, and never trusts it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use sprag_base::result::Discard as _;

use crate::memory::learnings::{files_below, good, hand_in, listed, sandbox};
use crate::support::{Ran, SPRAG, Sandbox, payload};

const SECONDS: &str = "60";
/// The exit code of `timeout` for a program that it had to end.
const HUNG: i32 = 124;

/// Runs the program with a deadline, so that a hang fails the test instead of blocking it.
fn run(sandbox: &Sandbox, args: &[&str], stdin: &str) -> Ran {
    let mut command = sandbox.command("timeout");
    command.arg(SECONDS).arg(SPRAG).args(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(stdin.as_bytes()).discard("a program may end without reading its input");
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn remembering() -> Sandbox {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.project.join(".sprag")).unwrap();
    hand_in(&sandbox, &json!([good("idle sockets are dropped by the load balancer after 10 minutes")]));
    assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
    sandbox
}

/// Returns all files of the store.
fn own_files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| !path.components().any(|part| part.as_os_str() == "objects");
    files_below(&sandbox.store()).into_iter().filter(is_ours).collect()
}

#[test]
fn a_pipe_in_the_place_of_any_file_of_ours_hangs_nothing() {
    let sandbox = remembering();
    let mut refused = Vec::new();
    for path in own_files(&sandbox) {
        // Another call may have removed a file that no index lists.
        let Ok(before) = fs::read(&path) else { continue };
        fs::remove_file(&path).unwrap();
        assert!(sandbox.command("mkfifo").arg(&path).status().unwrap().success());
        let start = payload("t", "SessionStart", &sandbox.project, json!({"source": "startup"})).to_string();
        let asked = json!({"prompt": "why are idle sockets dropped?"});
        let asked = payload("s", "UserPromptSubmit", &sandbox.project, asked).to_string();
        for event in [start, asked] {
            let ran = run(&sandbox, &["hook", "claude"], &event);
            assert_ne!(ran.code, HUNG, "{}: {event}", path.display());
            assert!(serde_json::from_str::<serde_json::Value>(&ran.stdout).is_ok(), "{}", path.display());
        }
        for args in
            [&["memory", "list"][..], &["memory", "maintain"], &["observe", "a note", "--session", "s"]]
        {
            let ran = run(&sandbox, args, "");
            assert_ne!(ran.code, HUNG, "{}: {args:?}", path.display());
            if ran.code != 0 {
                assert!(ran.stderr.contains("is not a regular file"), "{args:?}: {}", ran.stderr);
                assert!(ran.stderr.contains("next: "), "{args:?}: {}", ran.stderr);
                refused.push(path.clone());
            }
        }
        fs::remove_file(&path).discard("a derived file may be back or gone");
        fs::write(&path, before).unwrap();
    }
    let is_log = |path: &PathBuf| path.parent().is_some_and(|dir| dir.ends_with("log"));
    assert!(refused.iter().any(is_log), "{refused:?}");
}

/// Changes the content of a stored fold and keeps its format valid.
fn damage(path: &Path) -> bool {
    let before = fs::read_to_string(path).unwrap();
    let after = before.replace("idle sockets", "busy sockets").replace("\"active\"", "\"archived\"");
    fs::write(path, &after).unwrap();
    after != before
}

#[test]
fn a_stored_fold_that_was_changed_is_not_believed() {
    let sandbox = remembering();
    let before = listed(&sandbox, &[]);
    let cache = sandbox.store().join("cache");
    let folds: Vec<PathBuf> = files_below(&cache)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    let damaged: Vec<bool> = folds.iter().map(|path| damage(path)).collect();
    assert!(damaged.contains(&true), "{folds:?}");
    assert_eq!(listed(&sandbox, &[]), before);
    sandbox.run(&["memory", "maintain"]);
    assert_eq!(listed(&sandbox, &[]), before);
}

#[test]
fn names_of_agents_and_tasks_are_records_too() {
    let sandbox = remembering();
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let agent = json!({"agent_id": secret, "agent_type": format!("kind {secret}")});
    sandbox.event("s", "SubagentStart", agent.clone());
    let mut call = agent.clone();
    call["tool_name"] = json!("Bash");
    call["tool_input"] = json!({"command": format!("bd close {secret} && gh issue close {secret}")});
    call["tool_use_id"] = json!("c1");
    sandbox.event("s", "PreToolUse", call.clone());
    call["tool_response"] = json!({"stdout": "closed"});
    sandbox.event("s", "PostToolUse", call);
    sandbox.event("s", "TaskCompleted", json!({"task_id": secret, "task_subject": format!("use {secret}")}));
    sandbox.event("s", "Stop", json!({"last_assistant_message": "done"}));
    for path in files_below(&sandbox.store()).into_iter().chain(files_below(&sandbox.home)) {
        let bytes = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
    }
}

#[test]
fn nobody_waits_for_what_is_done_after_the_reply() {
    let sandbox = remembering();
    // There is work after the reply, and this lock blocks it.
    sandbox.write(".sprag/share/0123456789abcdef.jsonl", "{}\n");
    let clone = fs::File::open(sandbox.store().join("clone")).unwrap();
    clone.lock().unwrap();
    let mut command = sandbox.command(SPRAG);
    command.args(["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let start = payload("t", "SessionStart", &sandbox.project, json!({"source": "startup"}));
    child.stdin.take().unwrap().write_all(start.to_string().as_bytes()).unwrap();
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    // The client has its reply, but the program still runs: an ended process has no open files.
    let is_at_work = fs::read_link(format!("/proc/{}/fd/0", child.id())).is_ok();
    clone.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(told.starts_with('{') && is_at_work, "{told}");
}
