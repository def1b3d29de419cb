//! `sprag init` and `sprag doctor` on settings files of a temporary home.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::support::{SPRAG, Sandbox};

/// Returns a home with the settings of a client, and programs with the names of the clients on PATH.
fn with_clients(settings: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(SPRAG, bin.join("sprag")).unwrap();
    for (name, says) in [("claude", "2.1.325 (Claude Code)"), ("codex", "codex-cli 0.166.0")] {
        let program = bin.join(name);
        fs::write(&program, format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{says}'\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    sandbox.vars.push(("PATH".to_owned(), path));
    fs::create_dir_all(sandbox.home.join(".claude")).unwrap();
    fs::write(sandbox.home.join(".claude/settings.json"), settings).unwrap();
    sandbox
}

const SETTINGS: &str = "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"chime\" }] }]\n  }\n}\n";

#[test]
fn the_change_is_shown_and_nothing_is_written_unasked() {
    let sandbox = with_clients(SETTINGS);
    let ran = sandbox.run(&["init"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.ends_with("sprag: nothing was changed\n  next: sprag init --yes\n"), "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout, @"
    Claude Code: 14 hooks in `~/.claude/settings.json`, 1 agent file `~/.claude/agents/sprag-reviewer.md`
    Codex: 10 hooks in `~/.codex/hooks.json`
    ");
    assert_eq!(fs::read_to_string(sandbox.home.join(".claude/settings.json")).unwrap(), SETTINGS);
    let ran = sandbox.run(&["init", "--dry-run"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("+            \"command\": \"sprag\""), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("nothing was changed\n"));
    assert!(!sandbox.project.join(".sprag").exists());
}

#[test]
fn installed_twice_and_removed_leaves_the_file_byte_for_byte() {
    let sandbox = with_clients(SETTINGS);
    let settings = sandbox.home.join(".claude/settings.json");
    let hooks = sandbox.home.join(".codex/hooks.json");
    assert_eq!(sandbox.run(&["init", "--yes", "--permissions"]).code, 0);
    let once = fs::read_to_string(&settings).unwrap();
    assert!(
        once.contains("// mine") && once.contains("chime") && once.contains("Bash(sprag observe:*)"),
        "{once}"
    );
    let read: Value = serde_json::from_str(&fs::read_to_string(&hooks).unwrap()).unwrap();
    assert_eq!(read["hooks"]["Stop"][0]["hooks"][0]["command"], "sprag hook codex");
    let ran = sandbox.run(&["init", "--yes", "--permissions"]);
    assert!(ran.stdout.contains("Claude Code: up to date\n"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(&settings).unwrap(), once);
    assert_eq!(sandbox.run(&["init", "--remove", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS);
    assert!(!hooks.exists(), "a file that was not there is not there");
}

#[test]
fn the_reviewer_is_installed_with_the_hooks_and_goes_with_them() {
    let sandbox = with_clients("{}");
    let agent = sandbox.home.join(".claude/agents/sprag-reviewer.md");
    let shown = sandbox.run(&["init", "--dry-run"]).stdout;
    assert!(shown.contains("+name: sprag-reviewer"), "{shown}");
    assert!(!agent.exists());
    assert_eq!(sandbox.run(&["init", "--yes", "--permissions"]).code, 0);
    let text = fs::read_to_string(&agent).unwrap();
    assert_eq!(text, include_str!("../../../../../plugin/agents/sprag-reviewer.md"));
    let settings = fs::read_to_string(sandbox.home.join(".claude/settings.json")).unwrap();
    for rule in ["Bash(sprag decide:*)", "Bash(sprag review context:*)"] {
        assert!(settings.contains(rule), "{settings}");
    }
    assert!(!settings.contains("Bash(sprag review:*)") && !settings.contains("approve"), "{settings}");
    assert_eq!(sandbox.run(&["init", "--remove", "--yes"]).code, 0);
    assert!(!agent.parent().unwrap().exists(), "nothing of it is left");
    // Sprag leaves a foreign file unchanged.
    fs::create_dir_all(agent.parent().unwrap()).unwrap();
    fs::write(&agent, "mine").unwrap();
    assert_eq!(sandbox.run(&["init", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["init", "--remove", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&agent).unwrap(), "mine");
    assert_eq!(sandbox.run(&["init", "--project", "--yes"]).code, 0);
    assert!(sandbox.project.join(".claude/agents/sprag-reviewer.md").is_file());
}

#[test]
fn a_repository_gets_its_folder_unless_told_otherwise() {
    let sandbox = with_clients("{}");
    sandbox.run(&["init", "--yes", "--hooks-only"]);
    assert!(!sandbox.project.join(".sprag").exists());
    sandbox.run(&["init", "--yes"]);
    assert_eq!(
        fs::read_to_string(sandbox.project.join(".sprag/.gitignore")).unwrap(),
        "local.toml\ninbox/\n"
    );
    assert_eq!(sandbox.run(&["config", "show"]).code, 0);
}

#[test]
fn project_settings_are_written_where_colleagues_share_them() {
    let sandbox = with_clients("{}");
    let ran = sandbox.run(&["init", "--project", "--client", "claude", "--yes", "--fail-closed", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = fs::read_to_string(sandbox.project.join(".claude/settings.json")).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"], "block");
    assert_eq!(read["hooks"]["Stop"][0]["hooks"][0].get("onFailure"), None);
    let outside = Sandbox::without_git();
    let ran = outside.run(&["init", "--project", "--client", "claude", "--yes"]);
    assert_eq!(
        ran.told(&outside),
        "exit 1\n--- stderr\nsprag: a project's settings needs a git repository\n  next: git init"
    );
}

#[test]
fn settings_that_are_no_settings_are_left_alone() {
    let sandbox = with_clients("{ \"hooks\": [ }");
    let ran = sandbox.run(&["init", "--client", "claude", "--yes"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is not a settings file"), "{}", ran.stderr);
    assert_eq!(sandbox.run(&["init", "--client", "nobody"]).code, 2);
}

#[test]
fn an_installed_hook_is_what_the_client_calls() {
    let sandbox = with_clients("{}");
    sandbox.run(&["init", "--yes", "--hooks-only"]);
    let text = fs::read_to_string(sandbox.home.join(".claude/settings.json")).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    for (event, entries) in read["hooks"].as_object().unwrap() {
        let hook = &entries[0]["hooks"][0];
        assert_eq!(
            (&hook["command"], &hook["args"]),
            (&json!("sprag"), &json!(["hook", "claude"])),
            "{event}"
        );
        assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds > 0));
    }
    assert!(read["hooks"].get("WorktreeCreate").is_none());
}

#[test]
fn the_doctor_sends_an_event_through_the_installed_hook() {
    let sandbox = with_clients("{}");
    let before = sandbox.json(&["doctor", "--json"]);
    let told = |report: &Value| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter();
        findings
            .map(|found| {
                format!(
                    "{} {}: {}",
                    found["level"].as_str().unwrap(),
                    found["about"].as_str().unwrap(),
                    found["what"].as_str().unwrap()
                )
            })
            .collect()
    };
    assert!(told(&before).contains(&"bad claude: no hooks are installed".to_owned()), "{before}");
    sandbox.run(&["init", "--yes", "--hooks-only"]);
    let after = sandbox.json(&["doctor", "--json"]);
    let lines = told(&after);
    assert!(lines.contains(&"ok claude: the hook `sprag hook claude` answers".to_owned()), "{lines:?}");
    assert!(lines.contains(&"ok claude: 2.1.325 (Claude Code), the tested version".to_owned()), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("warning codex: the trust of the hooks is unknown")),
        "{lines:?}"
    );
    assert!(!sandbox.store().join("journal").exists(), "the doctor's event is in nobody's records");
    for finding in after["findings"].as_array().unwrap() {
        assert_eq!(finding["level"] != "ok", finding["next"].is_string(), "{finding}");
    }
    // `doctor` reports a missing program.
    fs::remove_file(sandbox.home.join("bin/sprag")).unwrap();
    let gone = told(&sandbox.json(&["doctor", "--json"]));
    assert!(gone.contains(&"bad claude: the hook runs `sprag`, which is not on PATH".to_owned()), "{gone:?}");
    assert_eq!(sandbox.run(&["doctor"]).code, 1);
}
