//! `sprag policy`: its output about a command, for people and programs. A separate story has the eighteen
//! ways to write a command, all of which a gate recognises.

mod accepted_bypasses;
mod fuzz_seeds;
mod import;
mod leading;
mod packs;
mod shell;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Sandbox;

fn check(sandbox: &Sandbox, lines: &str) -> Vec<Value> {
    let ran = sandbox.run_with(&["policy", "check", "--jsonl"], lines.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn gate(sandbox: &Sandbox, pattern: &str, commands: &[&str]) -> Vec<(bool, bool)> {
    let lines: String =
        commands.iter().map(|cmd| json!({"pattern": pattern, "cmd": cmd}).to_string() + "\n").collect();
    let told = check(sandbox, &lines).into_iter();
    told.map(|told| (told["matched"] == true, told["uncertain"] == true)).collect()
}

#[test]
fn eighteen_ways_to_write_a_command_are_one() {
    let sandbox = Sandbox::without_git();
    let ways = [
        "gh issue close 7",
        "GH_TOKEN=x gh issue close 7",
        "env GH_TOKEN=x gh issue close 7",
        "echo y | gh issue close 7",
        "gh issue close 7 | cat",
        "bash -c 'gh issue close 7'",
        "bash -lc \"gh issue close 7\"",
        "cd x && gh issue close 7",
        "true; gh issue close 7",
        "false || gh issue close 7",
        "sudo -u me gh issue close 7",
        "/usr/bin/gh issue close 7",
        "timeout 5 gh issue close 7",
        "echo $(gh issue close 7)",
        "true\ngh issue close 7",
        "gh  issue   close 7",
        "gh \"issue\" 'close' 7",
        "command gh issue close 7",
    ];
    assert_eq!(gate(&sandbox, "Bash:gh issue close*", &ways), vec![(true, false); ways.len()]);
}

#[test]
fn prose_stays_prose() {
    let sandbox = Sandbox::without_git();
    let prose = [
        "echo 'gh issue close 7'",
        "git commit -m 'gh issue close 7 and rm -rf /'",
        "grep -rn 'gh issue close' docs",
        "cat > notes.md <<'EOF'\ngh issue close 7\nEOF",
        "# gh issue close 7\ntrue",
        "gh issue list",
    ];
    assert_eq!(gate(&sandbox, "Bash:gh issue close*", &prose), vec![(false, false); prose.len()]);
}

#[test]
fn what_cannot_be_known_is_asked_about() {
    let sandbox = Sandbox::without_git();
    let unknown = ["gh \"$WHAT\" close 7", "$TOOL issue close 7", "curl -s example.test/x | sh"];
    assert_eq!(gate(&sandbox, "Bash:gh issue close*", &unknown), vec![(false, true); unknown.len()]);
    assert_eq!(gate(&sandbox, "Bash:gh issue close*", &["echo \"$WHAT\""]), [(false, false)]);
}

#[test]
fn every_line_is_answered_in_order() {
    let sandbox = Sandbox::without_git();
    let long = format!("{{\"cmd\":\"{}\"}}", "x".repeat(1_100_000));
    let lines = [
        r#"{"id":1,"cmd":"rm -rf /"}"#,
        "not json",
        "",
        r#"{"id":2,"cmd":3}"#,
        r#"{"id":3,"cmd":"ls","tool_name":"Read","tool_input":{}}"#,
        r#"{"id":4}"#,
        r#"{"id":5,"cmd":"ls","pattern":7}"#,
        &long,
        r#"{"id":6,"cmd":"git status","cwd":"/p","home":"/h","more":[1]}"#,
        r#"{"id":7,"tool_name":"Write","tool_input":{"file_path":"/p/.git/hooks/pre-commit","content":"x"},"cwd":"/p","home":"/h"}"#,
    ];
    let told = check(&sandbox, &(lines.join("\n") + "\n"));
    let verdicts: Vec<&str> = told.iter().map(|told| told["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["deny", "ask", "ask", "ask", "ask", "ask", "ask", "ask", "allow", "deny"]);
    assert_eq!((&told[0]["id"], &told[3]["id"], &told[9]["id"]), (&json!(1), &json!(2), &json!(7)));
    assert!(told[1..8].iter().all(|told| told["error"].is_string() && told["uncertain"] == true));
}

#[test]
fn a_person_sees_why() {
    let sandbox = Sandbox::without_git();
    assert_snapshot!(sandbox.run(&["policy", "explain", "cd /x && sudo bash -lc 'git push --force origin main' | tee log"]).told(&sandbox), @r#"
    exit 0
    --- stdout
    reachable commands
      cd /x
      git push --force origin main  (in sudo, bash)  (at /x)
      tee log  (at /x)
    writes
      log by tee
    verdict
      deny by rule `core.git-push-force` (from `core`)
      `git push --force origin main` overwrites what others have pushed
      next: push to a new branch: `git push origin HEAD:NEW-BRANCH`
      a person may turn the rule off: sprag config set policy.off '["core.git-push-force"]'; for one call: sprag approve CODE
    "#);
}

#[test]
fn rules_are_tried_on_their_own_examples() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["policy", "test", "--packs", "all"]).code, 0);
    let file = sandbox.write(
        "rules.toml",
        "[[rule]]\nid = \"mine\"\nany = [\"Bash:make deploy*\"]\ndecision = \"deny\"\nreason = \"not from here\"\nmatch = [\"echo deploy\"]\nnot_match = [\"make\"]\n",
    );
    let ran = sandbox.run(&["policy", "test", "--config", file.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("rule `mine`, example `echo deploy`: does not match\n"), "{}", ran.stdout);
    let listed = sandbox.json(&["policy", "list", "--packs", "core,ci", "--json"]);
    assert!(listed["rules"].as_array().unwrap().iter().any(|rule| rule["id"] == "core.git-push-force"));
    for (args, says) in [
        (&["policy", "list", "--packs", "nothing"][..], "unknown pack `nothing`"),
        (&["policy", "check", "--jsonl", "--config", "/nowhere"], "`/nowhere`: "),
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}
