//! Commands for people only: they need a terminal and refuse to run below an agent.

use std::fs;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::gates::review;
use crate::support::{CONFLICT, SPRAG, Sandbox};

/// Runs a command at a separate terminal, as a person does.
pub(crate) fn at_terminal(sandbox: &Sandbox, args: &[&str]) -> (i32, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let inside: OwnedFd =
        fs::OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap().into();
    let output = sandbox.command(SPRAG).args(args).stdin(Stdio::from(inside)).output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), sandbox.plain(&told))
}

#[test]
fn without_a_terminal_they_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[notes]\ndebts = false\n");
    for args in [&["off"][..], &["off", "--here", "--for", "2h"], &["trust"]] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert_eq!(
            ran.stderr,
            "sprag: people only: this command needs a terminal on stdin\n  next: run it yourself in a terminal\n"
        );
    }
    assert_eq!(sandbox.json(&["status", "--json"])["off"], Value::Null);
}

#[test]
fn off_and_on() {
    let sandbox = Sandbox::new().of_a_person();
    sandbox.bash("s", "make");
    sandbox.write("a.txt", CONFLICT);
    let (code, told) = at_terminal(&sandbox, &["off", "--here", "--for", "2h"]);
    assert_eq!((code, told.as_str()), (0, "sprag is off in this repository until TIME\n  next: sprag on\n"));
    assert_eq!(sandbox.event("s", "Stop", json!({})), json!({}));
    assert!(sandbox.json(&["status", "--json"])["off"].as_str().unwrap().starts_with("off until"));
    let elsewhere = Sandbox::new();
    assert_eq!(elsewhere.json(&["status", "--json"])["off"], Value::Null);
    assert_eq!(sandbox.run(&["on"]).stdout, "sprag is on again\n");
    assert_eq!(sandbox.event("s", "Stop", json!({}))["decision"], "block");
    assert_eq!(at_terminal(&sandbox, &["off", "--for", "soon"]).0, 2);
}

#[test]
fn below_an_agent_they_are_refused_even_at_a_terminal() {
    let sandbox = Sandbox::new();
    // This test calls the hook itself, so it counts as the client, and its processes run below a client.
    sandbox.bash("s", "make");
    let me = std::process::id();
    let recorded = sandbox.home.join(".local/state/sprag/agents").join(me.to_string());
    assert!(recorded.exists(), "the caller of a hook is remembered");
    let (code, told) = at_terminal(&sandbox, &["off"]);
    assert_eq!(code, 1);
    assert!(told.starts_with(&format!("sprag: people only: an agent started this command (process {me})\n")));
    // Another process with that number is another process.
    fs::write(&recorded, "1").unwrap();
    fs::remove_dir_all(sandbox.store().join("journal")).unwrap();
    assert_eq!(at_terminal(&sandbox, &["off"]).0, 0);
}

/// Ends a session with an open review, and returns the id of the debt that the next session finds.
fn review_debt(sandbox: &Sandbox) -> String {
    sandbox.bash("s", "make");
    sandbox.write("a.txt", "work\n");
    assert_eq!(sandbox.event("s", "Stop", json!({}))["decision"], "block");
    sandbox.event("s", "SessionEnd", json!({"reason": "other"}));
    sandbox.bash("t", "make");
    let debts = sandbox.json(&["debt", "list", "--json"])["debts"].clone();
    assert_eq!(debts[0]["duty"], "review", "{debts}");
    debts[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_clears_the_debt_of_a_review() {
    let sandbox = review::configured("[review]\nmode = \"always\"\n").of_a_person();
    let id = review_debt(&sandbox);
    assert_eq!(sandbox.run(&["debt", "clear", &id, "--reason", "x"]).code, 1, "no terminal");
    assert_eq!(at_terminal(&sandbox, &["debt", "clear", &id, "--reason", "x"]).0, 0);
}

/// The environment names the directory of the user's state, and an agent controls its environment. The
/// sessions of a repository still know their clients.
#[test]
fn another_home_makes_no_person_of_an_agent() {
    let mut sandbox = review::configured("[review]\nmode = \"always\"\n");
    sandbox.write(".sprag/config.toml", "[circuit_breaker]\nmax_blocks = 1\n");
    let id = review_debt(&sandbox);
    let elsewhere = sandbox.project.parent().unwrap().join("elsewhere").display().to_string();
    for name in ["HOME", "XDG_STATE_HOME", "SPRAG_HOME"] {
        sandbox.vars.push((name.to_owned(), elsewhere.clone()));
        for args in [
            &["debt", "clear", &id, "--reason", "x"][..],
            &["config", "set", "policy.packs", "[]"],
            &["config", "set", "policy.packs", "[]", "--project"],
            &["trust"],
            &["off", "--here"],
            &["init", "--client", "claude", "--remove", "--yes"],
            &["policy", "import", "claude", "--write"],
        ] {
            let (code, told) = at_terminal(&sandbox, args);
            assert_eq!(code, 1, "{name} {args:?}: {told}");
            assert!(told.contains("an agent started this command"), "{name} {args:?}: {told}");
        }
        sandbox.vars.pop();
    }
    let debts = sandbox.json(&["debt", "list", "--json"])["debts"].clone();
    assert_eq!(debts[0]["id"], id.as_str());
}

#[test]
fn trust_is_bound_to_the_content() {
    let sandbox = Sandbox::new();
    let config = sandbox.write(".sprag/config.toml", "[circuit_breaker]\nmax_blocks = 1\n");
    let blocks = || sandbox.json(&["config", "get", "circuit_breaker.max_blocks", "--json"])["value"].clone();
    assert_eq!(blocks(), 3);
    let (code, told) = at_terminal(&sandbox, &["trust"]);
    assert_eq!(
        (code, told.as_str()),
        (
            0,
            "`ROOT/project/.sprag/config.toml`: trusted with its current content\n\
             protected files: accepted as they are now\n"
        )
    );
    assert_eq!(blocks(), 1);
    fs::write(&config, "[circuit_breaker]\nmax_blocks = 2\n").unwrap();
    assert_eq!(blocks(), 3, "a changed file needs it again");
    at_terminal(&sandbox, &["trust"]);
    assert_eq!(blocks(), 2);
    at_terminal(&sandbox, &["trust", "--revoke"]);
    assert_eq!(blocks(), 3);
}
