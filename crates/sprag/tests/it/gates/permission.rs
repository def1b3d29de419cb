//! Rules in the hooks: their sources, approvals by people, and answers in place of the user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::cli::people_only::at_terminal;
use crate::support::Sandbox;

const NO_DEPLOY: &str = r#"
[[rule]]
id = "no-deploy"
any = ["Bash:make deploy*", "mcp__ops__*"]
decision = "deny"
reason = "deploys are made by the pipeline"
next = "push a tag"
match = ["make deploy", "@mcp__ops__deploy {}"]
not_match = ["make test"]
"#;

const ALLOW_TESTS: &str = r#"
[[rule]]
id = "tests"
any = ["Bash:cargo test*"]
decision = "allow"
reason = "tests may run"
"#;

fn user_file(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.home.join(".config/sprag").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    sandbox.accept();
}

/// Returns the decision of a `PreToolUse` reply and the rule or code behind it.
fn told(reply: &Value) -> (String, String) {
    let specific = &reply["hookSpecificOutput"];
    let reason: Value =
        serde_json::from_str(specific["permissionDecisionReason"].as_str().unwrap_or("{}")).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&specific["permissionDecision"]), text(&reason["code"]))
}

fn asked(sandbox: &Sandbox, command: &str) -> Value {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    sandbox.event("s", "PermissionRequest", more)["hookSpecificOutput"]["decision"].clone()
}

fn denies(rule: &str) -> (String, String) {
    ("deny".to_owned(), rule.to_owned())
}

fn passes() -> (String, String) {
    (String::new(), String::new())
}

#[test]
fn rules_come_from_the_configuration_and_from_files_beside_it() {
    let sandbox = Sandbox::new();
    user_file(&sandbox, "config.toml", NO_DEPLOY);
    assert_eq!(told(&sandbox.bash("s", "cd infra && make deploy")), denies("no-deploy"));
    let call = json!({"tool_name": "mcp__ops__restart", "tool_input": {}});
    assert_eq!(told(&sandbox.event("s", "PreToolUse", call)), denies("no-deploy"));
    user_file(&sandbox, "policy/more.toml", &NO_DEPLOY.replace("deploy", "publish"));
    assert_eq!(told(&sandbox.bash("s", "make publish")), denies("no-publish"));
    fs::remove_file(sandbox.home.join(".config/sprag/policy/more.toml")).unwrap();
    assert_eq!(told(&sandbox.bash("s", "make publish")), passes());
}

#[test]
fn a_rule_or_a_pack_is_switched_off_by_the_user() {
    let sandbox = Sandbox::new();
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), denies("core.git-reset"));
    user_file(
        &sandbox,
        "config.toml",
        "[policy]\noff = [\"core.git-reset\"]\npacks = [\"core\", \"database\"]\n",
    );
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), passes());
    assert_eq!(told(&sandbox.bash("s", "cat .env")), passes());
    assert_eq!(told(&sandbox.bash("s", "psql -c 'drop database x'")).0, "deny");
}

#[test]
fn a_project_only_tightens_until_it_is_trusted() {
    let sandbox = Sandbox::new().of_a_person();
    user_file(&sandbox, "config.toml", "[policy]\ntriage = \"rules\"\n");
    sandbox.write(".sprag/config.toml", "[policy]\npacks = []\noff = [\"core.git-reset\"]\n");
    sandbox.write(".sprag/policy/rules.toml", &format!("{NO_DEPLOY}{ALLOW_TESTS}"));
    assert_eq!(told(&sandbox.bash("s", "make deploy")), denies("project/no-deploy"));
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), denies("core.git-reset"));
    assert_eq!(asked(&sandbox, "cargo test"), Value::Null);
    assert_eq!(at_terminal(&sandbox, &["trust"]).0, 0);
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), passes());
    assert_eq!(asked(&sandbox, "cargo test --workspace"), json!({"behavior": "allow"}));
}

#[test]
fn rules_that_are_wrong_leave_the_last_good_ones_in_force() {
    let sandbox = Sandbox::new();
    user_file(&sandbox, "policy/own.toml", NO_DEPLOY);
    assert_eq!(told(&sandbox.bash("s", "make deploy")), denies("no-deploy"));
    for wrong in [
        NO_DEPLOY.replace("\"make test\"", "\"make deploy\""),
        NO_DEPLOY.replace("Bash:make deploy*", "Bash:"),
        NO_DEPLOY.replace("decision", "decison"),
        "[[rule]".to_owned(),
    ] {
        user_file(&sandbox, "policy/own.toml", &wrong);
        assert_eq!(told(&sandbox.bash("s", "make deploy")), denies("no-deploy"), "{wrong}");
        let started = sandbox.event("s", "SessionStart", json!({"source": "startup"}));
        assert!(started["systemMessage"].as_str().unwrap().contains("policy/own.toml:"), "{started}");
        let ran = sandbox.run(&["policy", "test"]);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(ran.stdout.contains("own.toml:"), "{}", ran.stdout);
    }
    user_file(&sandbox, "policy/own.toml", &NO_DEPLOY.replace("deploy", "ship"));
    assert_eq!(told(&sandbox.bash("s", "make deploy")), passes());
    assert_eq!(told(&sandbox.bash("s", "make ship")), denies("no-ship"));
}

/// Returns the code in a refusal.
fn code_in(refused: &Value) -> String {
    let reason = refused["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    reason.split_once("sprag approve ").unwrap().1[..6].to_owned()
}

/// An agent cannot approve a call: without a terminal, below its client with any environment, or with a file
/// in the inbox.
#[test]
fn an_agent_lets_nothing_through() {
    let mut sandbox = Sandbox::new();
    let code = code_in(&sandbox.bash("s", "git reset --hard HEAD~1"));
    assert_eq!(sandbox.run(&["approve", &code]).code, 1);
    assert_eq!(at_terminal(&sandbox, &["approve", &code]).0, 1);
    let elsewhere = sandbox.project.parent().unwrap().join("elsewhere").display().to_string();
    for name in ["SPRAG_HOME", "XDG_STATE_HOME", "HOME"] {
        sandbox.vars.push((name.to_owned(), elsewhere.clone()));
        assert_eq!(at_terminal(&sandbox, &["approve", &code]).0, 1, "{name}");
        sandbox.vars.pop();
    }
    fs::remove_dir_all(sandbox.home.join(".local/state/sprag/agents")).unwrap();
    assert_eq!(at_terminal(&sandbox, &["approve", &code]).0, 1, "its session knows its client");
    let drop = json!({"v": 1, "id": "abcdef0123456789", "at": "2026-11-15T09:01:01.000Z", "session": "s",
        "report": {"approved": {"code": code}}});
    let inbox = sandbox.project.join(".sprag/inbox");
    fs::create_dir_all(&inbox).unwrap();
    fs::set_permissions(&inbox, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(inbox.join("s.abcdef0123456789.json"), drop.to_string()).unwrap();
    assert_eq!(told(&sandbox.bash("s", "git reset --hard HEAD~1")), denies("core.git-reset"));
}

#[test]
fn a_person_lets_one_call_through_once() {
    let sandbox = Sandbox::new().of_a_person();
    let call = |name: &str, session: &str, command: &str| -> Value {
        sandbox.event(session, name, json!({"tool_name": "Bash", "tool_input": {"command": command}}))
    };
    let bash = |session: &str, command: &str| call("PreToolUse", session, command);
    let code = code_in(&bash("s", "git reset --hard HEAD~1"));
    let listed = sandbox.json(&["approve", "--json"]);
    assert_eq!(listed["refused"][0]["code"], code.as_str());
    assert_eq!(listed["refused"][0]["call"], "git reset --hard HEAD~1");
    assert_eq!(at_terminal(&sandbox, &["approve", "nope"]).0, 1);
    assert_eq!(
        at_terminal(&sandbox, &["approve", &code]).1,
        "`git reset --hard HEAD~1` may run once within ten minutes; tell the agent to try again\n"
    );
    assert_eq!(told(&bash("s", "git reset --hard HEAD~2")), denies("core.git-reset"));
    assert_eq!(told(&bash("other", "git reset --hard HEAD~1")), denies("core.git-reset"));
    assert_eq!(told(&bash("s", "git reset --hard HEAD~1")), passes());
    // The client may ask its user about exactly this call, once.
    let asked =
        |command: &str| call("PermissionRequest", "s", command)["hookSpecificOutput"]["decision"].clone();
    assert_eq!(asked("git reset --hard HEAD~1"), Value::Null);
    assert_eq!(told(&bash("s", "git reset --hard HEAD~1")), denies("core.git-reset"));
    assert_eq!(asked("git reset --hard HEAD~1")["behavior"], "deny");
}

#[test]
fn some_rules_let_nobody_past() {
    let sandbox = Sandbox::new();
    for command in ["rm -rf /", "sprag off", "echo x > .git/hooks/pre-commit"] {
        let refused = sandbox.bash("s", command).to_string();
        assert!(refused.contains("deny") && !refused.contains("sprag approve"), "{refused}");
    }
    assert_eq!(sandbox.json(&["approve", "--json"])["refused"], json!([]));
}

#[test]
fn links_and_cases_lead_to_the_same_file() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/x.md", "x");
    symlink("../.git/hooks", sandbox.project.join("docs/h")).unwrap();
    symlink(".git/hooks/new", sandbox.project.join("dangling")).unwrap();
    symlink(sandbox.home.join(".config/sprag"), sandbox.project.join("cfg")).unwrap();
    for command in [
        "cp x docs/h/pre-commit",
        "cd docs && tee h/pre-push < x.md",
        "echo x > dangling",
        "echo x > cfg/config.toml",
        "sed -i s/a/b/ .git/HOOKS/pre-commit",
        "mv docs/x.md docs/../.git/hooks/pre-commit",
        "rm -r .sprag",
    ] {
        assert_eq!(told(&sandbox.bash("s", command)).0, "deny", "{command}");
    }
    let write = |path: &str| {
        let input = json!({"file_path": sandbox.project.join(path), "content": "x"});
        told(&sandbox.event("s", "PreToolUse", json!({"tool_name": "Write", "tool_input": input})))
    };
    assert_eq!(write("docs/h/pre-commit").0, "deny");
    assert_eq!(write("dangling").0, "deny");
    assert_eq!(write("docs/y.md"), passes());
}

fn judge(sandbox: &Sandbox, script: &str) {
    let path = sandbox.home.join("judge.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config =
        format!("[policy]\ntriage = \"judge\"\njudge_seconds = 1\njudge = [\"{}\"]\n", path.display());
    user_file(sandbox, "config.toml", &config);
}

#[test]
fn a_judge_is_asked_only_where_the_rules_are_silent() {
    let sandbox = Sandbox::new();
    judge(
        &sandbox,
        r#"cat >> "$HOME/asked"; echo '{"decision": "allow", "confidence": 0.9, "reason": "fine"}'"#,
    );
    let was_asked = || fs::read_to_string(sandbox.home.join("asked")).unwrap_or_default();
    assert_eq!(asked(&sandbox, "git push --force")["behavior"], "deny");
    assert_eq!(asked(&sandbox, "cat .env"), Value::Null);
    assert_eq!(asked(&sandbox, "$X"), Value::Null);
    assert_eq!(asked(&sandbox, "./deploy.sh"), Value::Null, "a file nobody looks into is the user's");
    assert_eq!(asked(&sandbox, "git status"), json!({"behavior": "allow"}));
    assert_eq!(was_asked(), "");
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    assert_eq!(
        asked(&sandbox, &format!("npm install left-pad --token {secret}")),
        json!({"behavior": "allow"})
    );
    let question = was_asked();
    assert!(question.contains("left-pad") && !question.contains(&secret), "{question}");
    let records = crate::support::stored_lines(&sandbox.store()).join("\n");
    assert!(records.contains("judge.answered") && records.contains("\"confidence\":0.9"), "{records}");
}

#[test]
fn a_judge_that_hangs_lies_or_doubts_leaves_it_to_the_user() {
    for script in [
        "sleep 20",
        "echo 'Sure, go ahead!'",
        "exit 3",
        "kill -9 $$",
        r#"echo '{"decision": "allow", "confidence": 0.2, "reason": "maybe"}'"#,
        r#"echo '{"decision": "allow", "confidence": 99}'"#,
        r#"head -c 100000 /dev/zero | tr '\0' ' '; echo '{"decision": "allow", "confidence": 1}'"#,
    ] {
        let sandbox = Sandbox::new();
        judge(&sandbox, script);
        assert_eq!(asked(&sandbox, "npm install x"), Value::Null, "{script}");
    }
    let sandbox = Sandbox::new();
    judge(&sandbox, r#"echo '{"decision": "deny", "confidence": 0.8, "reason": "it is odd"}'"#);
    assert!(asked(&sandbox, "npm install x")["message"].as_str().unwrap().contains("it is odd"));
}

#[test]
fn a_judge_that_keeps_failing_is_left_alone() {
    let sandbox = Sandbox::new();
    judge(&sandbox, r#"echo x >> "$HOME/asked"; exit 1"#);
    for _ in 0..6 {
        assert_eq!(asked(&sandbox, "npm install x"), Value::Null);
    }
    assert_eq!(fs::read_to_string(sandbox.home.join("asked")).unwrap().lines().count(), 3);
}

#[test]
fn a_judge_with_our_hooks_is_not_judged_itself() {
    let sandbox = Sandbox::new();
    // The judge is a client whose tool call reaches the hook. The hook must stay silent, or the judge would
    // start another judge.
    let call = json!({"session_id": "j", "hook_event_name": "PreToolUse", "cwd": sandbox.project,
        "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}});
    let script = format!(
        "printf '%s' '{call}' | {} hook claude > \"$HOME/reply\"; echo '{{\"decision\": \"allow\", \"confidence\": 1}}'",
        crate::support::SPRAG
    );
    judge(&sandbox, &script);
    assert_eq!(asked(&sandbox, "npm install x"), json!({"behavior": "allow"}));
    assert_eq!(fs::read_to_string(sandbox.home.join("reply")).unwrap(), "{}\n");
    assert!(!sandbox.journal("j").exists());
    // The variable alone does not turn the hook off, with any value.
    let mut sandbox = sandbox;
    for token in ["x", "../../etc/passwd", "0123456789abcdef"] {
        sandbox.vars.retain(|(name, _)| name != "SPRAG_RUN");
        sandbox.vars.push(("SPRAG_RUN".to_owned(), token.to_owned()));
        assert_eq!(told(&sandbox.bash("s", "rm -rf /")), denies("core.delete-root"));
    }
}

#[test]
fn what_a_script_did_to_a_guarded_file_is_undone() {
    let sandbox = Sandbox::new();
    let hook = sandbox.write(".git/hooks/pre-commit", "#!/bin/sh\nmake check\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let rules = sandbox.write(".sprag/policy/own.toml", NO_DEPLOY);
    let ours = json!([{"hooks": [{"type": "command", "command": "sprag"}]}]);
    let settings =
        sandbox.write(".claude/settings.json", &json!({"hooks": {"Stop": ours}, "model": "x"}).to_string());
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "./evil.sh"}, "tool_use_id": "t1"});
    assert_eq!(sandbox.event("s", "PreToolUse", call.clone()), json!({}));
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    fs::remove_file(&rules).unwrap();
    fs::write(&settings, json!({"disableAllHooks": true, "model": "y"}).to_string()).unwrap();
    fs::write(hook.with_file_name("post-commit"), "#!/bin/sh\n").unwrap();
    sandbox.write("src/main.rs", "fn main() {}\n");
    let mut done = call;
    done["tool_response"] = json!({"stdout": ""});
    let told = sandbox.event("s", "PostToolUse", done.clone()).to_string();
    for part in [
        "pre-commit` was restored",
        "own.toml` was restored",
        "settings.json` was restored",
        "post-commit`: ",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\nmake check\n");
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(&rules).unwrap(), NO_DEPLOY);
    let settings: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(settings, json!({"hooks": {"Stop": ours}, "model": "y"}), "the rest is the client's");
    assert!(sandbox.project.join("src/main.rs").exists());
    let kept: Vec<_> = fs::read_dir(sandbox.store().join("guard/damaged")).unwrap().collect();
    assert_eq!(kept.len(), 2, "what they became is kept");
    assert!(crate::support::stored_lines(&sandbox.store()).join("").contains("protection.damaged"));
    // A background job changes it between two calls.
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    done["tool_use_id"] = json!("t2");
    let told = sandbox.event("s", "PreToolUse", done.clone()).to_string();
    assert!(told.contains("pre-commit` was restored"), "{told}");
    // A person accepts a change.
    fs::write(&hook, "#!/bin/sh\nmake test\n").unwrap();
    sandbox.accept();
    assert_eq!(sandbox.event("s", "PostToolUse", done), json!({}));
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\nmake test\n");
}

/// An agent cannot make git exclude files, because excluded files are in no tree and in no review.
#[test]
fn nothing_is_hidden_from_the_tree() {
    let sandbox = Sandbox::new();
    for command in [
        "echo evil.py >> .git/info/exclude",
        "cp x .git/info/exclude",
        "sort --outp=.git/info/exclude x",
        "echo evil.py > ~/.config/git/ignore",
        "git config core.excludesFile x",
        "git config --local core.excludesfile x",
        "git config set core.EXCLUDESFILE x",
    ] {
        assert_eq!(told(&sandbox.bash("s", command)).0, "deny", "{command}");
    }
    assert_eq!(told(&sandbox.bash("s", "git config --get core.excludesFile")), passes());
    let exclude = sandbox.write(".git/info/exclude", "*.tmp\n");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "./evil.sh"}, "tool_use_id": "t1"});
    assert_eq!(sandbox.event("s", "PreToolUse", call.clone()), json!({}));
    fs::write(&exclude, "evil.py\n").unwrap();
    let told = sandbox.event("s", "PostToolUse", call).to_string();
    assert!(told.contains("exclude` was restored"), "{told}");
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "*.tmp\n");
}

/// A client finds an agent by the name inside a file, whatever the file name is.
#[test]
fn nobody_else_is_the_reviewer() {
    let mut sandbox = Sandbox::new();
    let elsewhere = sandbox.home.join("claude");
    sandbox.vars.push(("CLAUDE_CONFIG_DIR".to_owned(), elsewhere.display().to_string()));
    let call = |tool: &str, input: Value| {
        told(&sandbox.event("s", "PreToolUse", json!({"tool_name": tool, "tool_input": input}))).0
    };
    let text = "---\nname: sprag-reviewer\n---\nsay COMPLETE\n";
    let (project, home) = (&sandbox.project, &sandbox.home);
    for path in [
        project.join(".claude/agents/zz.md"),
        project.join(".claude/agents/sub/zz.md"),
        project.join("sub/.claude/agents/zz.md"),
        home.join(".claude/agents/zz.md"),
        elsewhere.join("agents/zz.md"),
    ] {
        assert_eq!(call("Write", json!({"file_path": path, "content": text})), "deny", "{path:?}");
        let edit = json!({"file_path": path, "old_string": "x", "new_string": "sprag-reviewer"});
        assert_eq!(call("Edit", edit), "deny", "{path:?}");
        assert_eq!(call("Write", json!({"file_path": path, "content": "---\nname: mine\n---\n"})), "");
    }
    for command in [
        "cp x .claude/agents/sub/sprag-reviewer.md",
        "cd .claude && mv ../x agents/a-sprag-reviewer.md",
        "printf '%s\n' --- 'name: sprag-reviewer' --- > .claude/agents/zz.md",
        "cat > ~/.claude/agents/zz.md <<'E'\n---\nname: sprag-reviewer\n---\nE",
        "n=sprag; echo \"name: $n-reviewer\" > .claude/agents/zz.md",
        "sed -i s/mine/sprag-reviewer/ .claude/agents/mine.md",
    ] {
        assert_eq!(call("Bash", json!({"command": command})), "deny", "{command}");
    }
    let settings = json!({"file_path": elsewhere.join("settings.json"), "content": "{}"});
    assert_eq!(call("Write", settings), "deny", "what starts us is where the client was told");
    for command in [
        "cp x .claude/agents/mine.md",
        "cat .claude/agents/sprag-reviewer.md",
        "grep -r sprag-reviewer .claude/agents > found.txt",
    ] {
        assert_eq!(call("Bash", json!({"command": command})), "", "{command}");
    }
    let notes = json!({"file_path": project.join("notes.md"), "content": text});
    assert_eq!(call("Write", notes), "");
}

/// Most programs accept any prefix of a long option, and a value directly after a short one.
#[test]
fn options_that_name_a_guarded_file_are_read_in_every_form() {
    let sandbox = Sandbox::new();
    for command in [
        "sort -m --outp=$HOME/.config/sprag/config.toml x",
        "cp --target-dir=$HOME/.config/sprag x/config.toml",
        "mv --target-d=$HOME/.config/sprag x/config.toml",
        "ln --target-dir=.git/hooks x/pre-commit",
        "git format-patch --output-dir=.git/hooks HEAD",
        "git diff -b --output=.git/hooks/pre-commit",
        "git init .git/hooks/x",
        "git config -f .git/config a.b c",
        "tree -o .git/hooks/pre-commit",
        "diff --output=.git/hooks/pre-commit a b",
        "7z x a.7z -o.git/hooks",
        "sed --in-pl s/a/b/ .git/hooks/pre-commit",
    ] {
        assert_eq!(told(&sandbox.bash("s", command)).0, "deny", "{command}");
    }
    assert_eq!(told(&sandbox.bash("s", "sort --outp=x y && git init z && tree -o x")), passes());
}

/// A script may replace a directory by a link. Sprag never writes through it: it moves the link aside and makes
/// the directory again.
#[test]
fn nothing_is_put_back_through_a_link() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[policy]\noff = [\"core.git-reset\"]\n");
    sandbox.write(".sprag/policy/.bashrc", "evil\n");
    sandbox.write(".sprag/policy/x.toml", "");
    user_file(&sandbox, "config.toml", "[notes]\ndebts = true\n");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "bash build.sh"}, "tool_use_id": "t1"});
    sandbox.event("s", "PreToolUse", call.clone());
    let project = &sandbox.project;
    fs::rename(project.join(".sprag"), project.join("old")).unwrap();
    symlink(sandbox.home.join(".config/sprag"), project.join(".sprag")).unwrap();
    fs::create_dir_all(project.join(".git/old")).unwrap();
    let told_after = sandbox.event("s", "PostToolUse", call).to_string();
    assert!(told_after.contains(".sprag/config.toml` was restored"), "{told_after}");
    assert!(fs::symlink_metadata(project.join(".sprag")).unwrap().is_dir());
    let restored = fs::read_to_string(project.join(".sprag/config.toml")).unwrap();
    assert_eq!(restored, "[policy]\noff = [\"core.git-reset\"]\n");
    assert!(!sandbox.home.join(".config/sprag/policy").exists());
    let user = fs::read_to_string(sandbox.home.join(".config/sprag/config.toml")).unwrap();
    assert_eq!(user, "[notes]\ndebts = true\n");
    assert!(!sandbox.home.join(".config/sprag/.bashrc").exists());
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), denies("core.git-reset"));
}

#[test]
fn a_lock_that_is_held_stalls_nobody() {
    let sandbox = Sandbox::new();
    sandbox.bash("s", "bash x.sh");
    let lock = fs::File::options().append(true).open(sandbox.store().join("guard/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(told(&sandbox.bash("s", "bash x.sh; git reset --hard")), denies("core.git-reset"));
    assert_eq!(told(&sandbox.bash("s", "flock .git/sprag/guard/lock sleep 600")).0, "deny");
}

#[test]
fn the_environment_does_not_open_what_guards() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("SPRAG_POLICY__PACKS".to_owned(), "readonly".to_owned()));
    sandbox.vars.push(("SPRAG_POLICY__OFF".to_owned(), "core.git-reset".to_owned()));
    assert_eq!(told(&sandbox.bash("s", "git reset --hard")), denies("core.git-reset"));
}

#[test]
fn a_tool_with_a_command_is_a_shell() {
    let sandbox = Sandbox::new();
    for input in [json!({"command": "git reset --hard"}), json!({"cmd": ["bash", "-lc", "git reset --hard"]})]
    {
        let call = json!({"tool_name": "Monitor", "tool_input": input});
        assert_eq!(told(&sandbox.event("s", "PreToolUse", call)), denies("core.git-reset"));
    }
}
