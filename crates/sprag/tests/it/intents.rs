//! Intents and the scope gate from outside: every refusal, attempts to get around it, and ways to continue.

use std::fs;

use serde_json::{Value, json};

use crate::cli::people_only::at_terminal;
use crate::support::{Sandbox, stored_lines};

const INTENTS: &str = "\
active_intents:
  - id: AUTH
    name: Sign in
    constraints: [no new dependencies]
    owned_scope: ['src/auth/**', '!src/auth/gen/**', 'notes/*.md']
    acceptance_criteria:
      - it works
      - {id: tests, text: tests pass, check: test -f src/auth/ok}
  - id: DOCS
    name: Guide
    owned_scope: ['docs/**', README.md]
  - id: OLD
    name: Finished
    status: DONE
    owned_scope: ['old/**']
  - id: ONE
    name: One at a time
    exclusive: true
    owned_scope: ['one/**']
  - id: CARE
    name: Delicate
    owned_scope: ['care/**']
";

/// Returns a sandbox without the stale gate.
pub(crate) fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new().of_a_person();
    sandbox.vars.push(("SPRAG_STALE__MODE".to_owned(), "off".to_owned()));
    sandbox.write(".sprag/intents.yaml", INTENTS);
    // The stale gate would ask whether a file was read before.
    sandbox.write_config("[stale]\nmode = \"off\"\n");
    for path in ["src/auth/a.rs", "src/auth/gen/g.rs", "src/other.rs", "docs/guide.md", "README.md"] {
        sandbox.write(path, "one\n");
    }
    assert!(sandbox.git(&["add", "-A"]).status.success());
    assert!(sandbox.git(&["commit", "-qm", "start"]).status.success());
    sandbox
}

/// Returns a headless sandbox: no user can answer, so a question becomes a refusal with its code.
pub(crate) fn headless(mut sandbox: Sandbox) -> Sandbox {
    sandbox.vars.push(("CLAUDE_CODE_ENTRYPOINT".to_owned(), "sdk-cli".to_owned()));
    sandbox
}

pub(crate) fn select(sandbox: &Sandbox, session: &str, id: &str) {
    sandbox.event(session, "SessionStart", json!({"source": "startup"}));
    let ran = sandbox.run(&["intent", "select", id, "--session", session]);
    assert_eq!(ran.code, 0, "{}", ran.told(sandbox));
}

pub(crate) fn write(sandbox: &Sandbox, session: &str, path: &str) -> Value {
    sandbox.event(
        session,
        "PreToolUse",
        json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}}),
    )
}

/// Returns the code of a refusal, or an empty text.
pub(crate) fn code(reply: &Value) -> String {
    let specific = &reply["hookSpecificOutput"];
    match specific["permissionDecision"].as_str() {
        None => String::new(),
        Some("ask") => "ask".to_owned(),
        Some(_) => told(reply)["code"].as_str().unwrap().to_owned(),
    }
}

fn told(reply: &Value) -> Value {
    let text =
        reply["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_else(|| panic!("{reply}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn without_intents_nothing_is_asked() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.event("s", "SessionStart", json!({"source": "startup"})), json!({}));
    assert_eq!(write(&sandbox, "s", "anywhere.txt"), json!({}));
    assert_eq!(sandbox.bash("s", "make"), json!({}));
    let ran = sandbox.run(&["intent", "list"]);
    assert_eq!(ran.told(&sandbox), "exit 0\n--- stdout\nno intents");
    assert_eq!(sandbox.run(&["intent", "select", "X", "--session", "s"]).code, 1);
    // With `required = "always"` the gate needs an intent in every repository.
    fs::create_dir_all(sandbox.home.join(".config/sprag")).unwrap();
    sandbox.write_config("[intent]\nrequired = \"always\"\n");
    assert_eq!(code(&write(&sandbox, "s", "anywhere.txt")), "intent_required");
}

#[test]
fn a_session_chooses_before_it_changes() {
    let sandbox = sandbox();
    let started = sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let context = started["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("sprag intent select ID`") && context.contains("- AUTH: Sign in"));
    assert!(!context.contains("OLD") && context.chars().count() <= 1000, "{context}");
    // Reading needs no intent.
    for command in ["ls -la", "git status && git log -3", "sprag intent list", "cat src/other.rs | head"] {
        assert_eq!(sandbox.bash("s", command), json!({}), "{command}");
    }
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "src/other.rs"}});
    assert_eq!(sandbox.event("s", "PreToolUse", read), json!({}));
    let refused = told(&write(&sandbox, "s", "src/auth/a.rs"));
    assert_eq!(refused["status"], "error");
    assert_eq!(refused["code"], "intent_required");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("You must cite a valid active Intent ID. Call select_active_intent(intent_id) first to load context and then retry."));
    assert_eq!(refused["suggestion"], "`sprag intent select AUTH` (this intent owns the file)");
    assert_eq!(code(&sandbox.bash("s", "make")), "intent_required");
    let ran = sandbox.run(&["intent", "select", "AUTH", "--class", "AST_REFACTOR", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in ["<intent_context>", "<id>AUTH</id>", "- no new dependencies", "- src/auth/**", "- it works"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert_eq!(write(&sandbox, "s", "src/auth/a.rs"), json!({}));
    assert_eq!(sandbox.json(&["intent", "list", "--json"])["intents"][0]["status"], "IN_PROGRESS");
    // A resumed session keeps the intent, and a sub-agent inherits it.
    let resumed = sandbox.event("s", "SessionStart", json!({"source": "resume"}));
    assert!(resumed.to_string().contains("works for intent `AUTH`"));
    let sub = json!({"agent_id": "a1", "agent_type": "Explore", "tool_name": "Write",
        "tool_input": {"file_path": "src/auth/b.rs", "content": "x"}});
    assert_eq!(sandbox.event("s", "PreToolUse", sub.clone()), json!({}));
    let mut elsewhere = sub;
    elsewhere["tool_input"]["file_path"] = json!("src/other.rs");
    assert_eq!(code(&sandbox.event("s", "PreToolUse", elsewhere)), "scope_violation");
    // Another session has selected no intent.
    assert_eq!(code(&write(&sandbox, "t", "src/auth/a.rs")), "intent_required");
    assert!(stored_lines(&sandbox.store()).iter().any(|line| line.contains("\"intent.selected\"")));
    let story = sandbox.run(&["session", "explain", "s"]).stdout;
    assert!(story.contains("the agent selected intent `AUTH` (AST_REFACTOR)"), "{story}");
}

#[test]
fn each_code_in_its_order() {
    let sandbox = headless(sandbox());
    sandbox.write(".intentignore", "CARE # ask\n");
    assert_eq!(code(&write(&sandbox, "s", ".sprag/intents.yaml")), "intent_required");
    select(&sandbox, "s", "AUTH");
    let violation = told(&write(&sandbox, "s", "docs/guide.md"));
    assert_eq!(violation["code"], "scope_violation");
    assert!(violation["message"].as_str().unwrap().contains("Request scope expansion."));
    let suggestion = violation["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("sprag intent select DOCS"), "{suggestion}");
    assert!(suggestion.contains("sprag intent expand AUTH docs/guide.md"), "{suggestion}");
    for path in [".sprag/intents.yaml", ".orchestration/x", ".intentignore"] {
        assert_eq!(code(&write(&sandbox, "s", path)), "protected_path", "{path}");
    }
    assert_eq!(code(&sandbox.bash("s", "echo x > \"$X\"")), "scope_unknown");
    // `protected_path` has priority over `scope_violation`, and that over `scope_unknown`.
    assert_eq!(code(&sandbox.bash("s", "touch docs/x .intentignore")), "protected_path");
    assert_eq!(code(&sandbox.bash("s", "echo x > $X; touch docs/x")), "scope_violation");
    // Selecting a finished or an unknown intent fails.
    assert_eq!(sandbox.run(&["intent", "select", "OLD", "--session", "s"]).code, 1);
    let missing = sandbox.run(&["intent", "select", "AUHT", "--session", "s"]);
    assert!(missing.stderr.contains("sprag intent show AUTH"), "{}", missing.stderr);
    sandbox.write(".sprag/intents.yaml", &INTENTS.replace("name: Sign in", "name: Sign out"));
    assert_eq!(code(&write(&sandbox, "s", "docs/guide.md")), "intent_changed");
    select(&sandbox, "s", "AUTH");
    assert_eq!(write(&sandbox, "s", "src/auth/a.rs"), json!({}));
    sandbox.write(".sprag/intents.yaml", &INTENTS.replace("id: AUTH", "id: LOGIN"));
    let gone = told(&write(&sandbox, "s", "src/auth/a.rs"));
    assert_eq!(gone["code"], "intent_not_found");
    let done = INTENTS.replacen("name: Sign in", "name: Sign out\n    status: DONE", 1);
    sandbox.write(".sprag/intents.yaml", &done);
    assert_eq!(write(&sandbox, "s", "src/auth/a.rs"), json!({}), "the records know better than the file");
    sandbox.write(".sprag/intents.yaml", "active_intents:\n  - id: A\n  - id: A\n");
    let bad = told(&write(&sandbox, "s", "src/auth/a.rs"));
    assert_eq!(bad["code"], "bad_intents");
    assert!(bad["message"].as_str().unwrap().contains(".sprag/intents.yaml:3:9"), "{bad}");
    fs::remove_file(sandbox.project.join(".sprag/intents.yaml")).unwrap();
    sandbox.accept();
    assert_eq!(write(&sandbox, "s", "docs/x"), json!({}), "no file, no question");
}

#[test]
fn where_somebody_is_there_a_doubt_is_a_question() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    assert_eq!(code(&sandbox.bash("s", "echo x > \"$X\"")), "ask");
    sandbox.write(".sprag/intents.yaml", "active_intents: [*a]\n");
    assert_eq!(code(&write(&sandbox, "s", "src/auth/a.rs")), "ask");
}

#[test]
fn tools_of_other_servers_are_what_they_are_said_to_be() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home.join(".config/sprag")).unwrap();
    fs::write(
        sandbox.home.join(".config/sprag/config.toml"),
        "[intent]\nwriters = [\"mcp__files__move source destination\"]\nreaders = [\"mcp__docs__*\"]\n",
    )
    .unwrap();
    let call = |tool: &str, input: Value| {
        code(&sandbox.event("s", "PreToolUse", json!({"tool_name": tool, "tool_input": input})))
    };
    assert_eq!(call("mcp__docs__find", json!({"path": "x"})), "");
    assert_eq!(call("mcp__sprag__select_active_intent", json!({"intent_id": "AUTH"})), "");
    assert_eq!(call("mcp__any__thing", json!({})), "intent_required");
    select(&sandbox, "s", "AUTH");
    let moved = |from: &str, to: &str| call("mcp__files__move", json!({"source": from, "destination": to}));
    assert_eq!(moved("src/auth/a.rs", "src/auth/b.rs"), "");
    assert_eq!(moved("src/auth/a.rs", "docs/b.rs"), "scope_violation");
    assert_eq!(moved("docs/a.md", "src/auth/b.rs"), "scope_violation");
    assert_eq!(call("mcp__any__thing", json!({})), "");
}

#[test]
fn a_delicate_intent_wants_a_word_for_each_change() {
    let sandbox = headless(sandbox());
    sandbox.write(".orchestration/.intentignore", "CARE\n");
    select(&sandbox, "s", "CARE");
    let refused = told(&write(&sandbox, "s", "care/a"));
    assert_eq!(refused["code"], "approval_required");
    let code_of = |refused: &Value| {
        refused["suggestion"].as_str().unwrap().split_once("sprag approve ").unwrap().1[..6].to_owned()
    };
    let first = code_of(&refused);
    assert_eq!(sandbox.run(&["approve", &first]).code, 1, "nobody is at a terminal");
    assert_eq!(at_terminal(&sandbox, &["approve", &first]).0, 0);
    assert_eq!(code(&write(&sandbox, "s", "care/b")), "approval_required", "it is for that call alone");
    assert_eq!(code(&write(&sandbox, "t", "care/a")), "intent_required", "and for that session");
    assert_eq!(write(&sandbox, "s", "care/a"), json!({}));
    let again = told(&write(&sandbox, "s", "care/a"));
    assert_eq!(again["code"], "approval_required", "once");
    assert_eq!(at_terminal(&sandbox, &["approve", &code_of(&again), "--reject"]).0, 0);
    assert_eq!(code(&write(&sandbox, "s", "care/a")), "user_rejected");
    // Reading needs no approval. Sprag refuses a path outside the scope before it asks a user.
    assert_eq!(sandbox.bash("s", "git status"), json!({}));
    assert_eq!(code(&write(&sandbox, "s", "docs/x")), "scope_violation");
    // If a user is present, the client asks.
    let mut attended = sandbox;
    attended.vars.truncate(1);
    assert_eq!(code(&write(&attended, "s", "care/z")), "ask");
}

#[test]
fn an_exclusive_intent_is_one_sessions_at_a_time() {
    let sandbox = sandbox();
    select(&sandbox, "a", "ONE");
    sandbox.event("b", "SessionStart", json!({"source": "startup"}));
    let busy = sandbox.run(&["intent", "select", "ONE", "--session", "b"]);
    assert_eq!(busy.code, 1);
    assert!(busy.stderr.contains("session `a`"), "{}", busy.stderr);
    assert_eq!(write(&sandbox, "a", "one/x"), json!({}));
    // The selection of a shared intent lists the other sessions.
    select(&sandbox, "b", "DOCS");
    let shared = sandbox.run(&["intent", "select", "DOCS", "--session", "a"]);
    assert!(shared.stdout.contains("<overlapping_sessions>\n    - b on DOCS"), "{}", shared.stdout);
    let taken = sandbox.run(&["intent", "select", "ONE", "--session", "b"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    // The intent became exclusive while two sessions had it: the first session keeps it.
    sandbox.write(".sprag/intents.yaml", &INTENTS.replace("    exclusive: true\n", ""));
    assert_eq!(sandbox.run(&["intent", "select", "ONE", "--session", "a"]).code, 0);
    sandbox.write(".sprag/intents.yaml", INTENTS);
    assert_eq!(write(&sandbox, "b", "one/x"), json!({}));
    assert_eq!(code(&write(&sandbox, "a", "one/x")), "intent_busy");
    sandbox.event("b", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(write(&sandbox, "a", "one/x"), json!({}));
}

#[test]
fn an_intent_is_done_when_checks_and_a_person_say_so() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    let done = || sandbox.run(&["intent", "done", "AUTH", "--session", "s"]);
    let unmet = done();
    assert_eq!(unmet.code, 1);
    assert!(unmet.stderr.contains("`it works` needs a person"), "{}", unmet.stderr);
    // Only a person may accept.
    assert_eq!(sandbox.run(&["intent", "accept", "AUTH"]).code, 1);
    assert_eq!(at_terminal(&sandbox, &["intent", "accept", "AUTH", "--criterion", "9"]).0, 1);
    assert_eq!(at_terminal(&sandbox, &["intent", "accept", "AUTH"]).0, 0);
    let failed = done();
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.contains("check `AUTH:tests` failed with exit code 1"), "{}", failed.stderr);
    sandbox.write("src/auth/ok", "");
    let ran = done();
    assert_eq!(ran.code, 0, "{}", ran.told(&sandbox));
    assert_eq!(code(&write(&sandbox, "s", "src/auth/a.rs")), "intent_closed");
    // Reopening is for people only.
    assert_eq!(sandbox.run(&["intent", "select", "AUTH", "--session", "s"]).code, 1);
    assert_eq!(sandbox.run(&["intent", "reopen", "AUTH"]).code, 1);
    assert_eq!(sandbox.json(&["intent", "show", "AUTH", "--json"])["intent"]["status"], "DONE");
    let synced = sandbox.json(&["intent", "sync", "--json"]);
    assert_eq!(
        synced["changed"][0],
        json!({"id": "AUTH", "from": "NOT_STARTED", "to": "DONE", "file": ".sprag/intents.yaml"})
    );
    let text = fs::read_to_string(sandbox.project.join(".sprag/intents.yaml")).unwrap();
    assert_eq!(text, INTENTS.replacen("- id: AUTH\n", "- id: AUTH\n    status: DONE\n", 1));
    assert_eq!(at_terminal(&sandbox, &["intent", "reopen", "AUTH"]).0, 0);
    assert_eq!(write(&sandbox, "s", "src/auth/a.rs"), json!({}));
    // Sprag does not run a check that the rules deny.
    let bad = INTENTS.replace("test -f src/auth/ok", "git reset --hard HEAD~1");
    sandbox.write(".sprag/intents.yaml", &bad);
    at_terminal(&sandbox, &["intent", "accept", "AUTH"]);
    let forbidden = done();
    assert_eq!(forbidden.code, 1);
    assert!(forbidden.stderr.contains("did not run: rule `core."), "{}", forbidden.stderr);
}

#[test]
fn a_person_widens_a_scope() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    assert_eq!(sandbox.run(&["intent", "expand", "AUTH", "docs/**"]).code, 1);
    assert_eq!(code(&sandbox.bash("s", "sprag intent expand AUTH 'docs/**'")), "self.switch");
    assert_eq!(code(&sandbox.bash("s", "sprag intent new MINE --name x --scope '**'")), "self.switch");
    assert_eq!(at_terminal(&sandbox, &["intent", "expand", "AUTH", "../x"]).0, 2);
    assert_eq!(at_terminal(&sandbox, &["intent", "expand", "AUTH", "docs/**"]).0, 0);
    assert_eq!(code(&write(&sandbox, "s", "docs/x")), "intent_changed");
    select(&sandbox, "s", "AUTH");
    assert_eq!(write(&sandbox, "s", "docs/x"), json!({}));
    let text = fs::read_to_string(sandbox.project.join(".sprag/intents.yaml")).unwrap();
    assert_eq!(text, INTENTS.replace("'notes/*.md']", "'notes/*.md', \"docs/**\"]"));
}

#[test]
fn a_file_of_intents_is_begun_and_looked_at() {
    let sandbox = Sandbox::new().of_a_person();
    let new = sandbox.run(&["intent", "new", "A-1", "--name", "First: one", "--scope", "src/**"]);
    assert_eq!(new.told(&sandbox), "exit 0\n--- stdout\nadded intent `A-1` to `.sprag/intents.yaml`");
    assert_eq!(sandbox.run(&["intent", "new", "A-1", "--name", "x"]).code, 1);
    assert_eq!(sandbox.run(&["intent", "new", "a b", "--name", "x"]).code, 2);
    assert_eq!(sandbox.run(&["intent", "new", "A-2", "--name", "x", "--scope", "/x"]).code, 2);
    assert_eq!(sandbox.run(&["intent", "new", "A-2", "--name", "Second"]).code, 0);
    assert_eq!(
        sandbox.run(&["intent", "list"]).stdout,
        "ID   STATUS       NAME        SCOPE\nA-1  NOT_STARTED  First: one  src/**\nA-2  NOT_STARTED  Second\n"
    );
    assert_eq!(sandbox.run(&["intent", "check"]).told(&sandbox), "exit 0\n--- stdout\n2 intents, no errors");
    sandbox.write(
        ".sprag/intents.yaml",
        "active_intents:\n  - id: A\n    owned_scope: [../x]\n  - id: A\n    color: red\n",
    );
    let check = sandbox.run(&["intent", "check"]);
    assert_eq!(check.code, 1);
    assert_eq!(
        check.stdout,
        ".sprag/intents.yaml:3:19: `../x`: a pattern must be relative to the repository, without `..`\n\
         .sprag/intents.yaml:4:9: intent `A` is already in line 2\n"
    );
    let json = sandbox.json(&["intent", "check", "--json"]);
    assert_eq!(
        json["problems"][1],
        json!({"file": ".sprag/intents.yaml", "line": 4, "column": 9, "what": "intent `A` is already in line 2"})
    );
    assert_eq!(json["v"], 1);
}

#[test]
fn the_files_of_others_are_read_in_place() {
    let sandbox = sandbox();
    sandbox.write(
        ".orchestration/active_intents.yaml",
        "active_intents:\n  - id: AUTH\n    name: theirs\n    owned_scope: ['**']\n  - id: WIDE\n    name: Wide\n    team: x\n",
    );
    sandbox.write(
        ".orchestration/agent_trace.jsonl",
        "{\"id\":\"1\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"mutation_class\":\"AST_REFACTOR\",\"files\":[{\"relative_path\":\"src/x.ts\",\"conversations\":[{\"related\":[{\"type\":\"specification\",\"value\":\"WIDE\"}]}]}]}\nnot json\n",
    );
    let listed = sandbox.json(&["intent", "list", "--json"]);
    let names: Vec<&str> =
        listed["intents"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Sign in", "Guide", "Finished", "One at a time", "Delicate", "Wide"]);
    assert_eq!(listed["intents"][5]["rest"], json!({"team": "x"}));
    select(&sandbox, "s", "WIDE");
    assert_eq!(write(&sandbox, "s", "anything/at/all"), json!({}));
    assert_eq!(code(&write(&sandbox, "s", ".orchestration/agent_trace.jsonl")), "protected_path");
    let shown = sandbox.run(&["intent", "show", "WIDE"]).stdout;
    assert!(shown.contains("- 2026-01-02T03:04:05Z src/x.ts AST_REFACTOR"), "{shown}");
    let check = sandbox.run(&["intent", "check"]);
    assert!(
        check.stderr.contains("intent `WIDE` has no `owned_scope`: it may change everything"),
        "{}",
        check.stderr
    );
}

#[test]
fn hostile_files_of_intents_hold_no_hook_up() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let hostile: [Vec<u8>; 5] = [
        b"a: &a [x,x]\nb: &b [*a,*a]\nactive_intents: [*b]\n".to_vec(),
        vec![b' '; 1024 * 1024 + 1],
        b"active_intents:\n  - id: \xff\n".to_vec(),
        "[".repeat(500_000).into_bytes(),
        b"active_intents:\n  - id: A\n  - id: A\n".to_vec(),
    ];
    for bytes in hostile {
        fs::write(sandbox.project.join(".sprag/intents.yaml"), &bytes).unwrap();
        sandbox.accept();
        assert_eq!(code(&write(&sandbox, "s", "src/auth/a.rs")), "bad_intents");
        assert_eq!(sandbox.run(&["intent", "check"]).code, 1);
        assert_eq!(sandbox.bash("s", "git status"), json!({}));
    }
    fs::remove_file(sandbox.project.join(".sprag/intents.yaml")).unwrap();
    assert!(sandbox.command("mkfifo").arg(".sprag/intents.yaml").output().unwrap().status.success());
    assert_eq!(code(&write(&sandbox, "s", "src/auth/a.rs")), "bad_intents");
}

/// A client that answers its own questions would not ask a user.
#[test]
fn a_question_that_nobody_would_hear_is_a_refusal() {
    let sandbox = sandbox();
    sandbox.write(".intentignore", "CARE\n");
    select(&sandbox, "s", "CARE");
    let call = |mode: &str, tool: &str, input: Value| {
        let call = json!({"tool_name": tool, "tool_input": input, "permission_mode": mode});
        code(&sandbox.event("s", "PreToolUse", call))
    };
    for (mode, unknown, delicate) in [
        ("default", "ask", "ask"),
        ("acceptEdits", "ask", "ask"),
        ("bypassPermissions", "scope_unknown", "approval_required"),
        ("dontAsk", "scope_unknown", "approval_required"),
    ] {
        assert_eq!(call(mode, "Bash", json!({"command": "echo x > $X"})), unknown, "{mode}");
        assert_eq!(call(mode, "Write", json!({"file_path": "care/x", "content": ""})), delicate, "{mode}");
    }
}
