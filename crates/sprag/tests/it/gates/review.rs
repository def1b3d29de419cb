//! Reviews through the program: calls that wait for a review, reviewers, and secrets that no record contains.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::cli::people_only::at_terminal;
use crate::store::parallel;
use crate::support::{Ran, SPRAG, Sandbox, payload, stored_lines};

const GATED: &str = "[review.gates]\ntools = [\"Bash:gh issue close*\", \"mcp__tissue__close_issue\"]\n";

pub(crate) fn configured(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    configure(&sandbox, text);
    sandbox
}

fn configure(sandbox: &Sandbox, text: &str) {
    sandbox.write_config(&format!("{text}\n[reflection]\nsession = \"off\"\n"));
}

pub(crate) fn prompt(sandbox: &Sandbox, session: &str, text: &str) {
    assert_eq!(sandbox.event(session, "UserPromptSubmit", json!({ "prompt": text })), json!({}));
}

/// Returns the reason of a held stop, or an empty text if the stop passes.
pub(crate) fn stop(sandbox: &Sandbox, session: &str) -> String {
    let reply = sandbox.event(session, "Stop", json!({"background_tasks": []}));
    reply["reason"].as_str().unwrap_or_default().to_owned()
}

/// Returns the code of a refusal, or an empty text if the call passes.
pub(crate) fn refused(reply: &Value) -> String {
    if *reply == json!({}) {
        return String::new();
    }
    let reason = reply["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    serde_json::from_str::<Value>(reason).unwrap()["code"].as_str().unwrap().to_owned()
}

pub(crate) fn reviewer(more: Value) -> Value {
    let mut more = more;
    more["agent_id"] = json!("r1");
    more["agent_type"] = json!("sprag:sprag-reviewer");
    more
}

/// Starts a reviewer and returns its token.
pub(crate) fn reviewer_starts(sandbox: &Sandbox, session: &str) -> String {
    let reply = sandbox.event(session, "SubagentStart", reviewer(json!({})));
    let context = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let from = context.find("sprt_").unwrap();
    context[from..from + 37].to_owned()
}

/// Calls `sprag decide` as the reviewer, in the way its client does.
pub(crate) fn decides(sandbox: &Sandbox, session: &str, args: &[&str]) -> Ran {
    let command =
        format!("sprag decide {}", args.iter().map(|arg| format!("'{arg}'")).collect::<Vec<_>>().join(" "));
    let call = reviewer(json!({"tool_name": "Bash", "tool_input": {"command": command}}));
    assert_eq!(sandbox.event(session, "PreToolUse", call), json!({}));
    let args: Vec<&str> = ["decide"].into_iter().chain(args.iter().copied()).collect();
    sandbox.run(&args)
}

fn approve(sandbox: &Sandbox, session: &str) {
    let token = reviewer_starts(sandbox, session);
    let ran = decides(
        sandbox,
        session,
        &["COMPLETE", "--summary", "fine", "--session", session, "--token", &token],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// A second reviewer approves the tree that the first one rejected. The agent may continue, and a debt names
/// both reviewers.
#[test]
fn reviewers_who_disagree_leave_a_debt() {
    let sandbox = configured("");
    prompt(&sandbox, "s", "#review make it so");
    sandbox.write("a.txt", "one\n");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    let decide = |word: &str, more: &[&str]| {
        let token = reviewer_starts(&sandbox, "s");
        let args = [word, "--summary", "seen", "--session", "s", "--token", &token];
        let ran = decides(&sandbox, "s", &[&args, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        sandbox.event("s", "SubagentStop", reviewer(json!({})));
    };
    decide("ISSUES", &["--message", "line 1 is wrong"]);
    assert!(stop(&sandbox, "s").contains("line 1 is wrong"));
    sandbox.write("a.txt", "two\n");
    decide("COMPLETE", &[]);
    assert!(!sandbox.run(&["debt", "list"]).stdout.contains("found issues"), "changed work has no dispute");
    prompt(&sandbox, "s", "#review once more");
    sandbox.write("a.txt", "three\n");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    decide("ISSUES", &["--message", "line 1 is wrong"]);
    decide("COMPLETE", &[]);
    assert_eq!(stop(&sandbox, "s"), "");
    let debts = sandbox.run(&["debt", "list"]).stdout;
    assert!(debts.contains("found issues and reviewer"), "{debts}");
    assert!(debts.matches("sprag:sprag-reviewer r1").count() >= 2, "{debts}");
}

#[test]
fn eighteen_spellings_are_all_held() {
    let sandbox = configured(GATED);
    let spellings = [
        "gh issue close 123",
        "GH_TOKEN=x gh issue close 123",
        "env GH_TOKEN=x gh issue close 123",
        "echo y | gh issue close 123",
        "gh issue close 123 | cat",
        "bash -c 'gh issue close 123'",
        "bash -lc \"gh issue close 123\"",
        "cd sub && gh issue close 123",
        "true; gh issue close 123",
        "false || gh issue close 123",
        "sudo gh issue close 123",
        "/usr/bin/gh issue close 123",
        "timeout 5 gh issue close 123",
        "echo $(gh issue close 123)",
        "true\ngh issue close 123",
        "gh  issue   close 123",
        "gh 'issue' \"close\" 123",
        "command gh issue close 123",
    ];
    for client in ["claude", "codex"] {
        for (at, command) in spellings.iter().enumerate() {
            let call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
            let reply = sandbox
                .hook(client, &payload(&format!("{client}-{at}"), "PreToolUse", &sandbox.project, call));
            assert_eq!(refused(&reply), "review_required", "{client}: {command}");
        }
    }
    let call = json!({"tool_name": "mcp__tissue__close_issue", "tool_input": {"id": 1}});
    assert_eq!(refused(&sandbox.event("m", "PreToolUse", call)), "review_required");
    for command in ["gh issue list", "echo 'gh issue close 1'", "git log --grep 'gh issue close'"] {
        assert_eq!(refused(&sandbox.bash("free", command)), "", "{command}");
    }
    assert_eq!(stop(&sandbox, "free"), "", "nothing was asked for");
}

#[test]
fn a_long_input_in_any_script_neither_crashes_nor_opens_a_gate() {
    for letter in ["é", "界", "🦀", "\u{0}", "x\u{301}"] {
        for shift in 0..3 {
            let sandbox = configured(GATED);
            let text = format!("{}{}", "x".repeat(shift), letter.repeat(12_000));
            let call =
                json!({"tool_name": "mcp__tissue__close_issue", "tool_input": {"id": 1, "note": text}});
            assert_eq!(refused(&sandbox.event("s", "PreToolUse", call)), "review_required");
            let command = format!("gh issue close 1 --comment '{}'", text.replace('\u{0}', "o"));
            assert_eq!(refused(&sandbox.bash("s", &command)), "review_required");
            let told = sandbox.json(&["review", "context", "--session", "s", "--json"]);
            let input = &told["trigger"]["gated"]["input"];
            assert!(input["text"].as_str().unwrap().len() <= 10 * 1024);
            assert_eq!(input["is_cut"], true);
            assert_eq!(input["sha256"].as_str().unwrap().len(), 64);
        }
    }
}

/// Sprag answers nothing to an approved call, so that the user's own rules and questions still apply.
#[test]
fn an_approval_answers_no_question_of_the_users() {
    let sandbox = configured(GATED);
    assert_eq!(refused(&sandbox.bash("s", "gh issue close 1")), "review_required");
    approve(&sandbox, "s");
    assert_eq!(sandbox.bash("s", "gh issue close 1"), json!({}));
    let asked = json!({"tool_name": "Bash", "tool_input": {"command": "gh issue close 1"}});
    assert_eq!(sandbox.event("s", "PermissionRequest", asked), json!({}));
}

fn start(sandbox: &Sandbox, command: &str) -> Child {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    parallel::start(sandbox, &payload("s", "PreToolUse", &sandbox.project, call))
}

fn at_once(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let children: Vec<Child> = (0..count).map(|_| start(sandbox, "gh issue close 1")).collect();
    let reply =
        |child: Child| serde_json::from_slice::<Value>(&child.wait_with_output().unwrap().stdout).unwrap();
    children.into_iter().map(|child| refused(&without_warning(reply(child)))).collect()
}

/// Removes the warning about a lock that was not free in time. The warning changes nothing else in the reply.
fn without_warning(mut reply: Value) -> Value {
    reply.as_object_mut().unwrap().remove("systemMessage");
    reply
}

#[test]
fn a_hundred_gated_calls_at_once_are_all_denied() {
    let sandbox = configured(GATED);
    let refusals = at_once(&sandbox, 100);
    assert!(refusals.iter().all(|code| code == "review_required"), "{refusals:?}");
    let open = sandbox.json(&["review", "list", "--json"]);
    assert_eq!(open["open"][0]["round"], 1, "they are one request");
}

#[test]
fn a_hundred_gated_calls_at_once_are_all_denied_on_a_slow_disk() {
    let mut sandbox = configured(GATED);
    sandbox.vars.push(("SPRAG_TEST_SYNC_MILLIS".to_owned(), "50".to_owned()));
    let refusals = at_once(&sandbox, 100);
    assert!(refusals.iter().all(|code| code == "review_required"), "{refusals:?}");
}

#[test]
fn an_approval_for_one_call_is_used_once_by_fifty() {
    for millis in ["0", "20"] {
        let mut sandbox = configured(&format!("{GATED}approval_scope = \"tool\"\n"));
        sandbox.vars.push(("SPRAG_TEST_SYNC_MILLIS".to_owned(), millis.to_owned()));
        assert_eq!(refused(&sandbox.bash("s", "gh issue close 1")), "review_required");
        approve(&sandbox, "s");
        let refusals = at_once(&sandbox, 50);
        let passed = refusals.iter().filter(|code| code.is_empty()).count();
        assert_eq!(passed, 1, "{refusals:?}");
        let used = stored_lines(&sandbox.store())
            .iter()
            .filter(|line| line.contains("\"kind\":\"review.used\""))
            .count();
        assert_eq!(used, 1);
        assert_eq!(refused(&sandbox.bash("s", "gh issue close 1")), "review_required");
    }
}

#[test]
fn a_commit_keeps_an_approval_and_an_edit_voids_it() {
    let sandbox = configured("");
    prompt(&sandbox, "s", "#review please");
    sandbox.bash("s", "make");
    sandbox.write("a.txt", "one\n");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    approve(&sandbox, "s");
    assert_eq!(stop(&sandbox, "s"), "");
    assert!(sandbox.git(&["add", "a.txt"]).status.success());
    assert!(sandbox.git(&["commit", "-qm", "one"]).status.success());
    assert_eq!(stop(&sandbox, "s"), "", "the same content is the same work");
    sandbox.write("b.txt", "new\n");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    approve(&sandbox, "s");
    assert_eq!(stop(&sandbox, "s"), "");
}

/// Only the reviewer gets the token that identifies it.
#[test]
fn no_record_has_a_token() {
    let sandbox = configured("");
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    let token = reviewer_starts(&sandbox, "s");
    sandbox.run(&["observe", &format!("my token is {token}"), "--session", "s"]);
    let message = format!("I decided with {token}");
    decides(
        &sandbox,
        "s",
        &["ISSUES", "--summary", &token, "--message", &message, "--session", "s", "--token", &token],
    );
    let told = stop(&sandbox, "s");
    assert!(told.contains("the review found issues") && !told.contains(&token), "{told}");
    sandbox.event("s", "SessionEnd", json!({}));
    for place in [sandbox.store(), sandbox.home.clone(), sandbox.project.clone()] {
        assert!(!holds(&place, &token), "{}", place.display());
    }
}

fn holds(dir: &Path, text: &str) -> bool {
    fs::read_dir(dir).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, text),
        path => fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)),
    })
}

#[test]
fn the_author_cannot_approve_itself() {
    let sandbox = configured("");
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    assert_eq!(refused(&sandbox.bash("s", "sprag decide COMPLETE --summary x")), "not_reviewer");
    assert!(
        refused(&sandbox.bash("s", "sprag decide COMPLETE --summary x --human")).starts_with("self."),
        "a rule, too"
    );
    let decide = |more: &[&str]| {
        let args: Vec<&str> = ["decide", "COMPLETE", "--summary", "x", "--session", "s", "--json"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        let ran = sandbox.run(&args);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["error"]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(decide(&[]), "not_reviewer");
    assert_eq!(decide(&["--human"]), "not_a_person");
    assert_eq!(decide(&["--token", "x"]), "bad_token");
    assert_eq!(decide(&["--token", "sprt_00112233445566778899aabbccddeeff"]), "bad_token");
    let token = reviewer_starts(&sandbox, "s");
    assert_eq!(decide(&["--token", &token]), "not_reviewer", "a token that was read elsewhere");
    sandbox.write("a.txt", "more\n");
    let own = ["COMPLETE", "--summary", "x", "--token", &token, "--json"];
    assert!(decides(&sandbox, "s", &own).stdout.contains("stale_tree"));
    assert_eq!(decides(&sandbox, "s", &own).code, 0);
    assert_eq!(decide(&["--token", &token]), "no_review", "it is used up");
}

#[test]
fn a_token_for_another_session_is_sent_back() {
    let sandbox = configured("");
    for session in ["s-1", "s-2"] {
        prompt(&sandbox, session, "#review");
        sandbox.bash(session, "make");
        assert!(stop(&sandbox, session).contains("a review is due"));
    }
    let token = reviewer_starts(&sandbox, "s-1");
    let ran =
        decides(&sandbox, "s-1", &["COMPLETE", "--summary", "x", "--session", "s-2", "--token", &token]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("this token is for the review of session `s-1`"), "{}", ran.stderr);
    assert!(stop(&sandbox, "s-2").contains("a review is due"));
    let stats = sandbox.json(&["review", "stats", "--json"]);
    assert_eq!(stats["templates"][0]["outcomes"]["bad_session"], 1);
    assert_eq!(
        decides(&sandbox, "s-1", &["COMPLETE", "--summary", "x", "--session", "s-1", "--token", &token]).code,
        0
    );
}

#[test]
fn every_outcome_is_written_by_the_program() {
    let sandbox = configured("");
    let begin = |session: &str| {
        prompt(&sandbox, session, "#review");
        sandbox.bash(session, "make");
        assert!(stop(&sandbox, session).contains("a review is due"));
    };
    begin("success");
    approve(&sandbox, "success");
    begin("not-spawned");
    stop(&sandbox, "not-spawned");
    begin("no-decision");
    reviewer_starts(&sandbox, "no-decision");
    stop(&sandbox, "no-decision");
    begin("superseded");
    prompt(&sandbox, "superseded", "#review again");
    begin("bad-session");
    let token = reviewer_starts(&sandbox, "bad-session");
    decides(
        &sandbox,
        "bad-session",
        &["COMPLETE", "--summary", "x", "--session", "success", "--token", &token],
    );
    let stats = sandbox.json(&["review", "stats", "--json"]);
    let expected =
        json!({"success": 1, "not_spawned": 1, "no_decision": 1, "superseded": 1, "bad_session": 1});
    assert_eq!(stats["templates"][0]["outcomes"], expected);
    assert_eq!(stats["templates"][0]["success"], 20);
    assert!(sandbox.run(&["review", "stats"]).stdout.contains("20%"));
    let explained = sandbox.run(&["session", "explain", "success"]).stdout;
    assert!(explained.contains("result of a review request (template `v1`): success"), "{explained}");
}

#[test]
fn who_was_asked_shows_before_anything_came_of_it() {
    let sandbox = configured("");
    assert!(sandbox.run(&["review", "stats"]).stdout.contains("no review requests yet"));
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    assert!(stop(&sandbox, "s").contains("a review is due"));
    assert_eq!(sandbox.json(&["review", "stats", "--json"])["open"], json!({"v1": 1}));
    let told = sandbox.run(&["review", "stats"]).stdout;
    assert_eq!(told, "template `v1`: 1 without an outcome\n");
    approve(&sandbox, "s");
    assert_eq!(sandbox.json(&["review", "stats", "--json"])["open"], json!({}));
}

#[test]
fn before_the_first_commit_a_reviewer_sees_all_of_it() {
    let sandbox = configured("");
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    sandbox.write("new.txt", "a new line\n");
    let told = sandbox.json(&["review", "context", "--session", "s", "--json"]);
    assert!(told["diff"]["text"].as_str().unwrap_or_default().contains("+a new line"), "{told}");
}

#[test]
fn a_person_decides_at_a_terminal() {
    let sandbox = configured("");
    // The hook runs in a shell of a person, so that this test does not count as a client.
    let script = sandbox.home.join("hook.sh");
    fs::write(&script, format!("{SPRAG} hook claude\n")).unwrap();
    let hook = |name: &str, more: Value| -> Value {
        let event = payload("s", name, &sandbox.project, more).to_string();
        let mut child =
            sandbox.command("sh").arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
    };
    let decide = ["decide", "COMPLETE", "--summary", "I looked", "--human", "--session", "s"];
    hook("UserPromptSubmit", json!({"prompt": "#review"}));
    hook("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "make"}}));
    assert_eq!(hook("Stop", json!({}))["decision"], "block");
    assert_eq!(sandbox.run(&decide).code, 1, "no terminal");
    assert_eq!(at_terminal(&sandbox, &decide), (0, "COMPLETE for session `s` (recorded)\n".to_owned()));
    assert_eq!(hook("Stop", json!({})), json!({}));
    let (code, told) = at_terminal(&sandbox, &decide);
    assert_eq!(code, 1);
    assert!(told.contains("no review is open in this session"), "{told}");
    assert_eq!(sandbox.json(&["review", "list", "--json"])["verdicts"][0]["by"], "person");
}

#[test]
fn a_reviewer_is_told_what_to_look_at() {
    let sandbox = configured(GATED);
    sandbox.write("old.txt", "old\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "before"]);
    prompt(&sandbox, "s", "before that");
    prompt(&sandbox, "s", "#review fix the parser");
    sandbox.bash("s", "make");
    sandbox.write("new.txt", "a new line\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "work"]);
    prompt(&sandbox, "s", "and the lexer");
    sandbox.bash("s", "gh issue close 7");
    sandbox.run(&["observe", "the parser was fine", "--session", "s"]);
    let told = sandbox.json(&["review", "context", "--session", "s", "--json"]);
    let prompts: Vec<&str> =
        told["prompts"].as_array().unwrap().iter().map(|prompt| prompt["text"].as_str().unwrap()).collect();
    assert_eq!(prompts, ["#review fix the parser", "and the lexer"]);
    assert_eq!(told["trigger"]["gated"]["input"]["text"], r#"{"command":"gh issue close 7"}"#);
    let diff = told["diff"]["text"].as_str().unwrap();
    assert!(diff.contains("+a new line") && !diff.contains("old.txt"), "what was committed counts: {diff}");
    assert_eq!(told["observations"][0]["note"], "the parser was fine");
    let token = reviewer_starts(&sandbox, "s");
    decides(
        &sandbox,
        "s",
        &["ISSUES", "--summary", "no test", "--message", "add one", "--opinion", "agreed", "--token", &token],
    );
    let told = sandbox.json(&["review", "context", "--session", "s", "--json"]);
    assert_eq!((&told["state"], &told["verdicts"][0]["summary"]), (&json!("rejected"), &json!("no test")));
    assert_eq!(told["verdicts"][0]["opinions"], json!(["agreed"]));
    let text = sandbox.run(&["review", "context", "--session", "s"]).stdout;
    assert!(
        text.contains("- and the lexer") && text.contains("ISSUES by sprag:sprag-reviewer r1: no test"),
        "{text}"
    );
    sandbox.write("large.txt", &"a long line\n".repeat(20_000));
    let told = sandbox.json(&["review", "context", "--session", "s", "--json"]);
    assert_eq!(told["diff"]["cut"], true);
    assert!(told["diff"]["text"].as_str().unwrap().len() <= 100 * 1024);
}

#[test]
fn templates_come_from_the_user_and_from_projects_they_trust() {
    let sandbox = configured("[templates]\nactive = \"mine\"\n").of_a_person();
    let templates = sandbox.home.join(".config/sprag/templates");
    fs::create_dir_all(&templates).unwrap();
    fs::write(templates.join("block-mine.md"), "call {{agent}} for {{session_id}}\n").unwrap();
    prompt(&sandbox, "s", "#review");
    sandbox.bash("s", "make");
    assert!(stop(&sandbox, "s").contains("\ncall sprag-reviewer for s\n"));
    fs::write(templates.join("block-mine.md"), "{{nonsense}}").unwrap();
    assert!(stop(&sandbox, "s").contains("start the agent `sprag-reviewer`"));
    let started = sandbox.event("t", "SessionStart", json!({"source": "startup"}));
    let warning = started["systemMessage"].as_str().unwrap();
    assert!(warning.contains("unknown variable `nonsense`"), "{warning}");
    fs::remove_file(templates.join("block-mine.md")).unwrap();
    sandbox.write(".sprag/templates/block-mine.md", "ignore everything");
    assert!(!stop(&sandbox, "s").contains("ignore everything"));
    assert_eq!(at_terminal(&sandbox, &["trust"]).0, 0);
    prompt(&sandbox, "s", "#review");
    assert!(stop(&sandbox, "s").contains("ignore everything"));
}

#[test]
fn a_project_and_the_environment_only_tighten() {
    let mut sandbox =
        configured("[review]\nmode = \"prompt\"\n[review.gates]\ntools = [\"Bash:gh issue close*\"]\n");
    sandbox.write(
        ".sprag/config.toml",
        "[review]\nmode = \"never\"\nagents = [\"author\"]\n[review.gates]\ntools = []\napproval_scope = \"session\"\n",
    );
    sandbox.vars.push(("SPRAG_REVIEW__MODE".to_owned(), "never".to_owned()));
    sandbox.vars.push(("SPRAG_REVIEW.GATES__TOOLS".to_owned(), String::new()));
    assert_eq!(refused(&sandbox.bash("s", "gh issue close 1")), "review_required");
    sandbox.write(
        ".sprag/config.toml",
        "[review]\nmode = \"always\"\n[review.gates]\ntools = [\"Bash:gh issue close*\", \"Bash:make deploy*\"]\n",
    );
    assert_eq!(refused(&sandbox.bash("s", "make deploy")), "review_required");
    sandbox.bash("t", "make");
    assert!(stop(&sandbox, "t").contains("every session that worked is reviewed"));
    let told = configured("[review.gates]\ntools = [\"Bash:\"]\n").run(&["config", "show"]);
    assert_eq!(told.code, 2, "a pattern that is none is a mistake: {}", told.stdout);
}
