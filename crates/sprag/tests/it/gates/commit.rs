//! The commit gate in real repositories: staged and unstaged changes, merges, hostile repositories.

use std::fs;

use serde_json::{Value, json};

use sprag_base::result::Discard as _;

use crate::support::{CONFLICT, Sandbox, payload};

const SECRET: &str = "DB_PASSWORD=correcthorsebattery\n";

/// Returns a repository with one commit and the guards on.
fn guarded() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    sandbox.write("sub/b.txt", "b\n");
    commit_all(&sandbox);
    assert_eq!(sandbox.run(&["config", "set", "commit.mode", "always"]).code, 0);
    assert_eq!(sandbox.run(&["config", "set", "commit.add_all", "allow"]).code, 0);
    sandbox
}

fn commit_all(sandbox: &Sandbox) {
    git(sandbox, &["add", "-A"]);
    git(sandbox, &["commit", "-qm", "x"]);
}

#[track_caller]
fn git(sandbox: &Sandbox, args: &[&str]) {
    let ran = sandbox.git(args);
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Returns the reason of a refusal, or the whole reply.
fn told(sandbox: &Sandbox, command: &str) -> String {
    reason(&sandbox.bash("s-1", command))
}

fn reason(reply: &Value) -> String {
    match reply["hookSpecificOutput"]["permissionDecisionReason"].as_str() {
        Some(reason) => {
            serde_json::from_str::<Value>(reason).unwrap()["message"].as_str().unwrap().to_owned()
        }
        None => reply.to_string(),
    }
}

#[test]
fn a_staged_secret_is_named_by_its_place_only() {
    let sandbox = guarded();
    sandbox.write("a.txt", &format!("one\ntwo\n{SECRET}three\n"));
    // The secret is not staged, so no commit would add it.
    assert_eq!(told(&sandbox, "git commit -m x"), "{}");
    git(&sandbox, &["add", "a.txt"]);
    let wanted = "sprag: this commit would add a secret: `a.txt:3` (secret)";
    assert_eq!(told(&sandbox, "git commit -m x"), wanted);
    assert_eq!(told(&sandbox, "cd sub && git commit -m x"), wanted);
    assert_eq!(told(&sandbox, "git -C sub commit --amend --no-edit"), wanted);
    assert_eq!(told(&sandbox, "git status && git diff"), "{}");
    let reply = sandbox.bash("s-1", "git commit -m x").to_string();
    assert!(!reply.contains("correcthorse") && reply.contains("commit.secrets allow"), "{reply}");

    // The secret is gone from the worktree but still in the index. A command that stages the file again
    // before the commit passes.
    sandbox.write("a.txt", "one\ntwo\nfour\n");
    assert_eq!(told(&sandbox, "git commit -m x"), wanted);
    assert_eq!(told(&sandbox, "git add a.txt && git commit -m x"), "{}");
    assert_eq!(told(&sandbox, "git add . && git commit -m x"), "{}");
    assert_eq!(told(&sandbox, "git commit -am x"), "{}");
    assert_eq!(told(&sandbox, "git commit a.txt -m x"), "{}");
    assert_eq!(told(&sandbox, "git add sub && git commit -m x"), wanted);
}

#[test]
fn what_is_about_to_be_staged_counts() {
    let sandbox = guarded();
    sandbox.write("a.txt", &format!("one\ntwo\nthree\n{SECRET}"));
    sandbox.write("sub/new.txt", &format!("\n{SECRET}"));
    let tracked = "sprag: this commit would add a secret: `a.txt:4` (secret)";
    let new = "sprag: this commit would add a secret: `sub/new.txt:2` (secret)";
    for (command, wanted) in [
        ("git commit -am x", tracked),
        ("git commit a.txt -m x", tracked),
        ("git add -u && git commit -m x", tracked),
        ("git add a.txt && git commit -m x", tracked),
        ("cd sub && git add ../a.txt && git commit -m x", tracked),
        ("git add sub && git commit -m x", new),
        ("cd sub && git add new.txt && git commit -m x", new),
        ("git add 'su*' && git commit -m x", new),
        ("git add sub/b.txt && git commit -m x", "{}"),
        ("git commit sub -m x", new),
        ("git add a.txt", "{}"),
    ] {
        assert_eq!(told(&sandbox, command), wanted, "{command}");
    }
    let both = told(&sandbox, "git add -A && git commit -m x");
    assert!(both.contains("`a.txt:4`") && both.contains("`sub/new.txt:2`"), "{both}");
    // Git does not add ignored files either.
    sandbox.write(".gitignore", "new.txt\n");
    assert_eq!(told(&sandbox, "git add sub && git commit -m x"), "{}");
}

#[test]
fn conflict_markers_are_seen_before_they_are_committed() {
    let mut sandbox = guarded();
    sandbox.write("c.txt", CONFLICT);
    let wanted = "sprag: this commit would add conflict markers: `c.txt:2`";
    assert_eq!(told(&sandbox, "git add c.txt && git commit -m x"), wanted);
    git(&sandbox, &["add", "c.txt"]);
    assert_eq!(told(&sandbox, "git commit -m x"), wanted);
    sandbox.vars.push(("SPRAG_COMMIT__IGNORE".to_owned(), "c.txt".to_owned()));
    assert_eq!(told(&sandbox, "git commit -m x"), "{}");
}

#[test]
fn a_merge_that_is_not_resolved_is_not_committed() {
    let sandbox = guarded();
    git(&sandbox, &["checkout", "-qb", "other"]);
    sandbox.write("a.txt", "one\n2\nthree\n");
    commit_all(&sandbox);
    git(&sandbox, &["checkout", "-q", "main"]);
    sandbox.write("a.txt", "one\nzwei\nthree\n");
    commit_all(&sandbox);
    assert!(!sandbox.git(&["merge", "other"]).status.success());
    let wanted = "sprag: this commit would add conflict markers: `a.txt:2`";
    for command in
        ["git commit -am x", "git add a.txt && git commit --no-edit", "git add -A; git commit -m x"]
    {
        assert_eq!(told(&sandbox, command), wanted, "{command}");
    }
    sandbox.write("a.txt", "one\nboth\nthree\n");
    assert_eq!(told(&sandbox, "git add a.txt && git commit --no-edit"), "{}");
}

#[test]
fn a_first_commit_is_looked_at_too() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[commit]\nmode = \"always\"\nadd_all = \"deny\"\n");
    sandbox.write("a.txt", SECRET);
    let wanted = "sprag: this commit would add a secret: `a.txt:1` (secret)";
    assert_eq!(told(&sandbox, "git add a.txt && git commit -m x"), wanted);
    git(&sandbox, &["add", "a.txt"]);
    assert_eq!(told(&sandbox, "git commit -m x"), wanted);
    assert_eq!(told(&sandbox, "git commit a.txt -m x"), wanted);
}

/// Git runs programs that its configuration names. The queries of Sprag must not run them.
#[test]
fn a_hostile_repository_runs_nothing() {
    let sandbox = guarded();
    let mark = sandbox.home.join("ran");
    let program = sandbox.home.join("evil.sh");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let program = program.display().to_string();
    for key in [
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.e=v il.process",
        "core.fsmonitor",
        "core.pager",
        "pager.diff",
    ] {
        git(&sandbox, &["config", key, &program]);
    }
    for key in ["diff.noprefix", "diff.mnemonicPrefix", "filter.evil.required", "diff.relative"] {
        git(&sandbox, &["config", key, "true"]);
    }
    git(&sandbox, &["config", "color.ui", "always"]);
    fs::write(sandbox.project.join(".git/info/attributes"), "*.txt diff=evil filter=evil\n").unwrap();
    sandbox.write("a.txt", &format!("one\n{SECRET}"));
    fs::remove_file(&mark).discard("the mark may not exist");
    let wanted = "sprag: this commit would add a secret: `a.txt:2` (secret)";
    for command in
        ["git commit -am x", "git add a.txt && git commit -m x", "cd sub; git add -A; git commit -m x"]
    {
        assert_eq!(told(&sandbox, command), wanted, "{command}");
    }
    assert!(!mark.exists(), "a program of the repository was run");
}

/// Sprag checks the part that it can read, and reports that the rest was not checked.
#[test]
fn a_very_long_change_is_looked_at_as_far_as_it_goes() {
    let sandbox = guarded();
    sandbox.write("big.txt", &format!("{SECRET}{}", "a line of text\n".repeat(400_000)));
    let wanted = "sprag: this commit would add a secret: `big.txt:1` (secret)";
    assert_eq!(told(&sandbox, "git add big.txt && git commit -m x"), wanted);
    git(&sandbox, &["add", "big.txt"]);
    assert_eq!(told(&sandbox, "git commit -m x"), wanted);
    sandbox.write("big.txt", &"a line of text\n".repeat(400_000));
    git(&sandbox, &["add", "big.txt"]);
    assert!(told(&sandbox, "git commit -m x").contains("not all lines of the commit could be checked"));
}

/// A git that does not answer must not block the user.
#[test]
fn what_git_cannot_say_is_told_and_passes() {
    let sandbox = guarded();
    for command in
        ["cd nowhere && git commit -m x", "cd $WHERE && git commit -m x", "git add $FILES && git commit -m x"]
    {
        let reply = sandbox.bash("s-1", command);
        let warning = reply["systemMessage"].as_str().unwrap_or_default();
        assert!(warning.contains("not all lines of the commit could be checked"), "{command}: {reply}");
        assert_eq!(reply["hookSpecificOutput"], Value::Null, "{command}");
    }
    fs::write(sandbox.project.join(".git/index"), "broken").unwrap();
    assert!(told(&sandbox, "git commit -m x").contains("not all lines of the commit could be checked"));
}

#[test]
fn codex_is_told_what_to_leave_out() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["config", "set", "commit.trailers", "strip"]).code, 0);
    let body = "word ".repeat(200);
    let command = format!("git commit -m 'x\n\n{body}\n\nCo-authored-by: Codex <codex@openai.com>'");
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let reply = sandbox.hook("codex", &payload("s-1", "PreToolUse", &sandbox.project, more));
    let wanted =
        "sprag: only people may sign messages; leave this out: `Co-authored-by: Codex <codex@openai.com>`";
    assert_eq!(reason(&reply), wanted);
}

#[test]
fn a_rewrite_is_on_record() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["config", "set", "commit.trailers", "strip"]).code, 0);
    let reply = sandbox.bash("s-1", "git commit -m \"$(cat <<'EOF'\nx\n\nCo-Authored-By: Claude\nEOF\n)\"");
    let wanted = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\""},
    }});
    assert_eq!(reply, wanted);
    let record = &sandbox.json(&["session", "records", "s-1", "--json"])["records"][0]["body"];
    assert_eq!(
        (&record["verdict"], &record["rewritten"]),
        (&json!("pass"), &json!("only people may sign messages; leave this out: `Co-Authored-By: Claude`"))
    );
}

/// An untrusted repository cannot change the user's commit messages.
#[test]
fn an_untrusted_project_strips_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[commit]\ntrailers = \"strip\"\n");
    assert_eq!(told(&sandbox, "git commit -m $'x\\n\\nCo-Authored-By: Claude'"), "{}");
}
