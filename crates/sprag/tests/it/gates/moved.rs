//! A session belongs to the repository where it started, in whatever directory its agent is.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::intents::{code, headless, sandbox, select};
use crate::support::{Sandbox, payload};

fn write_at(sandbox: &Sandbox, cwd: &Path, path: &str) -> Value {
    let more = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}});
    sandbox.hook("claude", &payload("s", "PreToolUse", cwd, more))
}

fn bash_at(sandbox: &Sandbox, cwd: &Path, command: &str) -> Value {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    sandbox.hook("claude", &payload("s", "PreToolUse", cwd, more))
}

/// Makes a repository in this directory.
fn init(sandbox: &Sandbox, dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let made = sandbox.command("git").args(["init", "-q", "-b", "main"]).arg(dir).output().unwrap();
    assert!(made.status.success());
}

#[test]
fn the_scope_follows_the_agent_into_every_directory() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let nested = sandbox.project.join("src/auth/sub");
    init(&sandbox, &nested);
    let temp = sandbox.project.parent().unwrap().join("tmp/scratch");
    init(&sandbox, &temp);
    let plain_temp = sandbox.project.parent().unwrap().join("tmp");
    let root = sandbox.project.display().to_string();
    for cwd in [&nested, &temp, &plain_temp, &sandbox.home, &sandbox.project.join("docs")] {
        let shown = cwd.display();
        assert_eq!(write_at(&sandbox, cwd, &format!("{root}/src/auth/a.rs")), json!({}), "{shown}");
        assert_eq!(
            code(&write_at(&sandbox, cwd, &format!("{root}/docs/guide.md"))),
            "scope_violation",
            "{shown}"
        );
        let up = format!("echo x > $(git rev-parse --show-toplevel)/../x; echo x > {root}/README.md");
        assert_eq!(code(&bash_at(&sandbox, cwd, &up)), "scope_violation", "{shown}");
    }
    assert_eq!(write_at(&sandbox, &nested, "in_scope.rs"), json!({}));
    assert_eq!(code(&bash_at(&sandbox, &nested, "echo x > ../../../README.md")), "scope_violation");
    assert_eq!(code(&bash_at(&sandbox, &nested, "cd ../../.. && echo x > README.md")), "scope_violation");
    assert_eq!(code(&write_at(&sandbox, &nested, "../gen/g.rs")), "scope_violation");
    assert_eq!(code(&write_at(&sandbox, &sandbox.home, "notes.txt")), "scope_violation");
    // The records are in one place: no other repository got a part of them.
    assert!(!nested.join(".git/sprag").exists());
    // The agent still finds its session from there.
    let mut command = sandbox.command(crate::support::SPRAG);
    command.current_dir(&nested).args(["intent", "select", "DOCS", "--session", "s"]);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(write_at(&sandbox, &nested, "../../../docs/guide.md"), json!({}));
}

#[test]
fn a_nested_repository_outside_the_scope_is_outside_too() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let nested = sandbox.project.join("docs/sub");
    init(&sandbox, &nested);
    assert_eq!(code(&write_at(&sandbox, &nested, "x.md")), "scope_violation");
    assert_eq!(code(&bash_at(&sandbox, &nested, "echo x > y.md")), "scope_violation");
}

#[test]
fn a_worktree_of_an_older_commit_has_the_same_intents() {
    let sandbox = headless(sandbox());
    assert!(sandbox.git(&["checkout", "-q", "--orphan", "old"]).status.success());
    assert!(sandbox.git(&["rm", "-rqf", "--cached", ".sprag"]).status.success());
    assert!(sandbox.git(&["commit", "-qm", "without intents"]).status.success());
    assert!(sandbox.git(&["checkout", "-qf", "main"]).status.success());
    select(&sandbox, "s", "AUTH");
    let old = sandbox.project.parent().unwrap().join("old");
    assert!(sandbox.git(&["worktree", "add", "-q", old.to_str().unwrap(), "old"]).status.success());
    assert!(!old.join(".sprag").exists());
    assert_eq!(write_at(&sandbox, &old, "src/auth/a.rs"), json!({}));
    assert_eq!(code(&write_at(&sandbox, &old, "docs/guide.md")), "scope_violation");
    let outer = sandbox.project.join("docs/guide.md").display().to_string();
    assert_eq!(code(&write_at(&sandbox, &old, &outer)), "scope_violation");
}

#[test]
fn the_stop_looks_at_the_repository_of_the_session() {
    for (name, cwd) in [("tmp", "tmp"), ("home", "home"), ("nested", "project/src/auth/sub")] {
        let sandbox = sandbox();
        select(&sandbox, "s", "AUTH");
        let cwd = sandbox.project.parent().unwrap().join(cwd);
        if name == "nested" {
            init(&sandbox, &cwd);
        }
        assert_eq!(bash_at(&sandbox, &cwd, "make"), json!({}), "{name}");
        fs::write(sandbox.project.join("docs/guide.md"), "stray\n").unwrap();
        let done = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {}});
        sandbox.hook("claude", &payload("s", "PostToolUse", &cwd, done));
        let stop = sandbox.hook("claude", &payload("s", "Stop", &cwd, json!({})));
        assert_eq!(stop["decision"], "block", "{name}: {stop}");
        assert!(stop["reason"].as_str().unwrap().contains("docs/guide.md"), "{name}: {stop}");
    }
}

#[test]
fn in_another_repository_both_configurations_apply() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let other = sandbox.project.parent().unwrap().join("other");
    init(&sandbox, &other);
    let rule = |id: &str, word: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\nany = [\"Bash:{word}*\"]\ndecision = \"deny\"\nreason = \"no\"\n\
             next = \"wait\"\n"
        )
    };
    fs::create_dir_all(other.join(".sprag")).unwrap();
    fs::write(other.join(".sprag/config.toml"), rule("theirs", "deploy")).unwrap();
    sandbox.write(".sprag/config.toml", &rule("ours", "publish"));
    assert_eq!(bash_at(&sandbox, &other, "ls"), json!({}));
    assert_ne!(code(&bash_at(&sandbox, &other, "deploy now")), "");
    assert_ne!(code(&bash_at(&sandbox, &other, "publish now")), "");
    assert_eq!(code(&bash_at(&sandbox, &sandbox.project, "deploy now")), "");
}
