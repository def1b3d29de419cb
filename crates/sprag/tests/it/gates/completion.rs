//! Checks that the program runs: which, how often, where, and in parallel with which other calls.

use std::io::Write as _;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::run::stage_checks::{Told, add, runs};
use crate::support::{SPRAG, Sandbox, payload, stored_lines};

fn sandbox(checks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    add(&sandbox, "reflection.session = \"off\"\n");
    for check in checks {
        Told::read(check).configure(&sandbox);
    }
    work(&sandbox, "s", "a.txt", "one\n");
    sandbox
}

/// Configures a check with its own command.
fn configure(sandbox: &Sandbox, name: &str, command: &str, more: &str) {
    add(sandbox, &format!("[[completion.check]]\nname = \"{name}\"\ncommand = '''{command}'''\n{more}\n"));
}

fn work(sandbox: &Sandbox, session: &str, path: &str, text: &str) {
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": sandbox.project.join(path)}});
    assert_eq!(sandbox.event(session, "PreToolUse", call), json!({}));
    sandbox.write(path, text);
}

fn stop(sandbox: &Sandbox, session: &str, saying: &str) -> String {
    let reply = sandbox.event(session, "Stop", json!({ "last_assistant_message": saying }));
    reply["reason"].as_str().unwrap_or("pass").to_owned()
}

fn records(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let lines = stored_lines(&sandbox.store());
    let records = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == kind).collect()
}

#[test]
fn an_unchanged_tree_is_not_checked_twice() {
    let sandbox = sandbox(&["unit fails"]);
    for _ in 0..2 {
        assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
    }
    assert_eq!(runs(&sandbox, "unit"), 1);
    assert_eq!(sandbox.run(&["verify", "--session", "s"]).code, 1);
    assert_eq!(runs(&sandbox, "unit"), 1);
    // A commit of the same content has the same tree.
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "x"]);
    assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
    assert_eq!(runs(&sandbox, "unit"), 1);
    work(&sandbox, "s", "a.txt", "two\n");
    assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
    assert_eq!(runs(&sandbox, "unit"), 2);
}

#[test]
fn ordinary_turns_run_nothing() {
    let sandbox = sandbox(&["unit fails"]);
    for saying in ["I read it.", "Is the task complete?", ""] {
        assert_eq!(stop(&sandbox, "s", saying), "pass");
    }
    let sub = json!({"agent_id": "a", "agent_type": "helper", "last_assistant_message": "All done."});
    assert_eq!(sandbox.event("s", "SubagentStop", sub), json!({}));
    assert_eq!(runs(&sandbox, "unit"), 0);
}

#[test]
fn a_verification_is_kept_without_secrets() {
    let sandbox = sandbox(&[]);
    configure(&sandbox, "unit", "echo token=ghp_0123456789abcdefghij0123456789abcdef; exit 1", "");
    let told = stop(&sandbox, "s", "All done.");
    assert!(told.contains("check `unit` failed") && !told.contains("ghp_0123"), "{told}");
    let found = records(&sandbox, "verified");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["body"]["status"], &found[0]["body"]["profile"]),
        (&json!("failed"), &json!("standard"))
    );
    assert_eq!(found[0]["body"]["checks"][0]["outcome"], "failed");
    assert!(!stored_lines(&sandbox.store()).iter().any(|line| line.contains("ghp_0123")));
    let told = sandbox.run(&["session", "explain", "s"]).stdout;
    assert!(told.contains("the checks (standard) ended: failed: `unit` failed"), "{told}");
}

#[test]
fn a_check_that_changes_the_tree_has_not_passed() {
    let sandbox = sandbox(&[]);
    configure(&sandbox, "format", "echo x >> a.txt", "");
    assert!(stop(&sandbox, "s", "All done.").contains("while check `format` ran"));
}

#[test]
fn a_check_has_its_time() {
    let sandbox = sandbox(&[]);
    configure(&sandbox, "slow", "exec sleep 1000", "timeout = 1");
    assert!(stop(&sandbox, "s", "All done.").contains("check `slow` had no result after 1 s"));
}

#[test]
fn others_are_answered_while_a_check_runs() {
    let sandbox = sandbox(&[]);
    let at = |name: &str| sandbox.project.join("..").join(name);
    assert!(sandbox.command("mkfifo").args([at("started"), at("go")]).status().unwrap().success());
    configure(&sandbox, "waits", "echo x > ../started; read x < ../go", "timeout = 60");
    thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&sandbox, "s", "All done."));
        // This read returns when the check has opened the pipe.
        assert_eq!(fs::read_to_string(at("started")).unwrap(), "x\n");
        assert_eq!(sandbox.bash("s", "ls -l"), json!({}));
        fs::File::options().write(true).open(at("go")).unwrap().write_all(b"y\n").unwrap();
        assert_eq!(stopping.join().unwrap(), "pass");
    });
    // Both calls got the lock.
    assert!(records(&sandbox, "warned").is_empty());
    assert_eq!(records(&sandbox, "verified").len(), 1);
}

#[test]
fn hooks_below_a_check_owe_nothing() {
    let sandbox = sandbox(&[]);
    // An agent inside the check says that it is done. Judged by the same check it would never end.
    let reply = sandbox.project.join("../reply");
    let below = payload("below", "Stop", &sandbox.project, json!({"last_assistant_message": "All done."}));
    sandbox.write("../below.json", &below.to_string());
    configure(
        &sandbox,
        "agent",
        &format!("{SPRAG} hook claude < ../below.json > ../reply; {SPRAG} verify 2>> ../reply; test $? = 2"),
        "timeout = 60",
    );
    assert_eq!(stop(&sandbox, "s", "All done."), "pass");
    let told = fs::read_to_string(reply).unwrap();
    assert!(told.starts_with("{}\nsprag: a check started this command"), "{told}");
}

#[test]
fn checks_of_a_project_nobody_trusts_are_not_run() {
    let mut sandbox = sandbox(&[]);
    let evil =
        "[completion]\nmandatory = []\n[[completion.check]]\nname = \"evil\"\ncommand = \"touch ../evil\"\n";
    sandbox.write(".sprag/config.toml", evil);
    sandbox.vars.push(("SPRAG_COMPLETION__CHECK".to_owned(), "touch ../evil".to_owned()));
    assert_eq!(stop(&sandbox, "s", "All done."), "pass");
    assert_eq!(sandbox.run(&["verify"]).code, 2);
    assert!(!sandbox.project.join("../evil").exists());
    // An untrusted project cannot remove the user's checks either.
    Told::read("unit fails").configure(&sandbox);
    sandbox.vars.push(("SPRAG_COMPLETION__CHECK".to_owned(), String::new()));
    sandbox.write(".sprag/config.toml", "[completion]\ncheck = []\n");
    assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
}

#[test]
fn a_failing_command_leads_to_quick_checks() {
    let sandbox = sandbox(&["fast fails quick", "unit fails"]);
    let config = sandbox.home.join(".config/sprag/config.toml");
    let set = fs::read_to_string(&config).unwrap();
    sandbox.write_config(&format!("completion.on_tool_failure = \"quick\"\n{set}"));
    let failed = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "Exit code 2"});
    sandbox.event("s", "PostToolUseFailure", failed);
    let told = stop(&sandbox, "s", "Hm.");
    assert!(told.contains("`fast`") && !told.contains("`unit`"), "{told}");
    assert_eq!((runs(&sandbox, "fast"), runs(&sandbox, "unit")), (1, 0));
}

#[test]
fn what_is_left_to_do_is_named() {
    let sandbox = sandbox(&[]);
    add(&sandbox, "[completion]\nmandatory = [\"todo\"]\n");
    work(&sandbox, "s", "b.rs", "fn b() {}\n// TODO: mend it\n");
    assert!(stop(&sandbox, "s", "All done.").contains("open TODO or FIXME in `b.rs:2`"));
    work(&sandbox, "s", "b.rs", "fn b() {}\n");
    assert_eq!(stop(&sandbox, "s", "Hm."), "pass");
}

#[test]
fn verify_without_checks_says_how_to_add_one() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["verify"]).told(&sandbox), @r#"
    exit 2
    --- stderr
    sprag: no check is configured
      next: add a check to `config.toml` (see `sprag config path`):
    [[completion.check]]
    name = "tests"
    command = "make test"
    "#);
    let failed = sandbox.json(&["verify", "--json"]);
    assert_eq!(failed["error"]["code"], "nothing_to_verify");
}

#[test]
fn verify_tells_what_it_found() {
    let sandbox = sandbox(&["unit fails", "lint fails optional", "fast passes quick", "slow passes deep"]);
    insta::assert_snapshot!(sandbox.run(&["verify"]).told(&sandbox), @"
    exit 1
    --- stdout
    check `unit` failed: exit code 1
        it broke
        line 7: bad
    check `lint` failed: exit code 1 (not mandatory)
        it broke
        line 7: bad
    check `fast` passed
    failed (standard)
      next: fix the failed checks, then run `sprag verify` again
    reported to session `s`
    ");
    let found = sandbox.json(&["verify", "--json"]);
    assert_eq!((&found["v"], &found["status"]), (&json!(1), &json!("failed")));
    assert_eq!(found["checks"].as_array().unwrap().len(), 3);
    assert_eq!(found["issues"].as_array().unwrap().len(), 2);
    assert_eq!(found["next_steps"][0], "fix the failures that `unit` reports, then stop again");
    let ran = sandbox.run(&["verify", "--profile", "quick"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.ends_with("not reported to session `s`: the session needs profile `standard`\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(sandbox.run(&["verify", "--profile", "deep"]).code, 1);
    assert_eq!(sandbox.run(&["verify", "--profile", "thorough"]).code, 2);
    assert_eq!(sandbox.run(&["verify", "--session", "nobody"]).code, 1);
    assert_eq!(runs(&sandbox, "slow"), 1);
}

#[test]
fn a_session_is_not_told_of_another_worktree() {
    let sandbox = sandbox(&["unit fails"]);
    sandbox.git(&["commit", "-qm", "x", "--allow-empty"]);
    assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
    assert!(sandbox.git(&["worktree", "add", "-q", "../other"]).status.success());
    Told::read("unit passes").configure(&sandbox);
    let other = sandbox.project.join("../other");
    let ran = sandbox.command(SPRAG).args(["verify", "--session", "s"]).current_dir(other).output().unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(
        ran.status.success()
            && told.ends_with("not reported to session `s`: the session works in another directory\n"),
        "{told}"
    );
    assert!(stop(&sandbox, "s", "Hm.").contains("check `unit` failed"));
}

#[test]
fn an_agent_may_verify() {
    let sandbox = sandbox(&["unit passes"]);
    assert_eq!(sandbox.bash("s", "sprag verify --session s"), json!({}));
}

#[test]
fn checks_run_outside_git_too() {
    let sandbox = Sandbox::without_git();
    add(&sandbox, "reflection.session = \"off\"\n");
    Told::read("unit fails").configure(&sandbox);
    work(&sandbox, "s", "a.txt", "one\n");
    assert!(stop(&sandbox, "s", "All done.").contains("check `unit` failed"));
    Told::read("unit passes").configure(&sandbox);
    assert_eq!(stop(&sandbox, "s", "Hm."), "pass");
    assert_eq!(runs(&sandbox, "unit"), 2);
}

/// `verify` reports ignored settings of a layer before it runs the remaining checks.
#[test]
fn verify_tells_of_a_layer_that_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[[completion.check]]\nname = \"x\"\ncommand = \"true\"\n");
    let ran = sandbox.run(&["verify"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("`completion.check`") && ran.stderr.contains("is ignored"), "{}", ran.stderr);
}

#[test]
fn a_claim_at_a_stop_that_was_passed_over_is_heard() {
    let sandbox = sandbox(&[]);
    configure(&sandbox, "tests", "exit 1", "");
    let passed_over = |session: &str| {
        let running = json!({"last_assistant_message": "All done.", "background_tasks": [{"id": "b"}]});
        sandbox.bash(session, "make");
        assert_eq!(sandbox.event(session, "Stop", running), json!({}));
    };
    passed_over("s");
    assert!(stop(&sandbox, "s", "Hm.").contains("`tests`"), "the next stop is judged by it");
    passed_over("t");
    sandbox.event("t", "SessionEnd", json!({"reason": "other"}));
    let debts = sandbox.json(&["debt", "list", "--json"]);
    let duties: Vec<&str> =
        debts["debts"].as_array().unwrap().iter().map(|debt| debt["duty"].as_str().unwrap()).collect();
    assert!(duties.contains(&"verify"), "{debts}");
}
