//! Parallel hook processes are the normal case: no update is lost or torn. A process that is killed at any
//! moment loses no acknowledged record.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use sprag_base::result::Discard as _;

use crate::support::{CONFLICT, SPRAG, Sandbox, payload, stored_lines};

pub(crate) fn start(sandbox: &Sandbox, event: &Value) -> Child {
    let mut child = sandbox
        .command(SPRAG)
        .args(["hook", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(event.to_string().as_bytes())
        .discard("a process that was killed meanwhile does not read");
    child
}

fn call(sandbox: &Sandbox, id: usize) -> Value {
    let more =
        json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": format!("call-{id}")});
    payload("s", "PreToolUse", &sandbox.project, more)
}

/// Returns ids of the recorded calls; every line must be a whole record.
fn recorded_calls(sandbox: &Sandbox) -> Vec<String> {
    stored_lines(&sandbox.store())
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .filter(|record| record["kind"] == "tool.requested")
        .map(|record| record["body"]["call"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_hundred_at_once_leave_a_hundred_records() {
    let sandbox = Sandbox::new();
    let children: Vec<Child> = (0..100).map(|id| start(&sandbox, &call(&sandbox, id))).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"{}\n");
    }
    let calls = recorded_calls(&sandbox);
    assert_eq!(calls.len(), 100);
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), 100);
}

#[test]
fn a_hundred_with_half_of_them_killed_keep_every_acknowledged_record() {
    let sandbox = Sandbox::new();
    let mut children: Vec<Child> = Vec::new();
    let mut chance = 17u32;
    for id in 0..100 {
        children.push(start(&sandbox, &call(&sandbox, id)));
        // This kills one of the last few processes, so that some die before they run, some in the middle and
        // some after their answer. The assertions hold in all cases.
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if id % 2 == 1 {
            let back = (chance >> 16) as usize % 6;
            children[id.saturating_sub(back)].kill().discard("the process may have ended already");
        }
    }
    let mut acknowledged = BTreeSet::new();
    for (id, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        if output.stdout == b"{}\n" {
            acknowledged.insert(format!("call-{id}"));
        }
    }
    // The next process seals a torn line, which was never acknowledged.
    sandbox.bash("s", "true");
    let lines = stored_lines(&sandbox.store());
    let records: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let kept: BTreeSet<String> =
        records.iter().filter_map(|record| record["body"]["call"].as_str()).map(str::to_owned).collect();
    assert!(acknowledged.len() >= 50, "{} were acknowledged", acknowledged.len());
    let lost: Vec<&String> = acknowledged.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let ids: Vec<&str> = records.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "none is there twice");
}

#[test]
fn stops_at_once_are_counted_once_each() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", CONFLICT);
    let event = payload("s", "Stop", &sandbox.project, json!({}));
    let children: Vec<Child> = (0..20).map(|_| start(&sandbox, &event)).collect();
    let replies: Vec<Value> = children
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    assert_eq!(replies.iter().filter(|reply| reply["decision"] == "block").count(), 3);
    assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"].as_array().unwrap().len(), 1);
}

#[test]
fn a_hundred_observations_at_once_are_a_hundred_records() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "make");
    let children: Vec<Child> = (0..100)
        .map(|i| {
            let note = format!("note {i}");
            sandbox
                .command(SPRAG)
                .args(["observe", &note, "--session", "s"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let notes =
        stored_lines(&sandbox.store()).iter().filter(|line| line.contains("\"kind\":\"observed\"")).count();
    assert_eq!(notes, 100);
}

#[test]
fn a_long_session_moves_into_the_log_and_loses_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("SPRAG_RETENTION__JOURNAL_EVENTS".to_owned(), "40".to_owned()));
    for round in 0..5 {
        let children: Vec<Child> =
            (0..30).map(|id| start(&sandbox, &call(&sandbox, round * 30 + id))).collect();
        for child in children {
            assert_eq!(child.wait_with_output().unwrap().stdout, b"{}\n");
        }
    }
    assert!(fs::read_dir(sandbox.store().join("log")).unwrap().count() > 0, "it moved");
    let calls = recorded_calls(&sandbox);
    assert_eq!(calls.len(), 150);
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), 150);
    assert_eq!(sandbox.json(&["session", "list", "--json"])["sessions"][0]["events"], 150);
}
