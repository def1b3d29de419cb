//! Findings of a stop in the worktree of real repositories: conflict markers and uncommitted work.

use serde_json::json;

use crate::support::{CONFLICT, Sandbox};

fn committed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    git(&sandbox, "git add -A && git commit -qm x");
    sandbox
}

/// Returns the same repository, where only uncommitted work is an obligation.
fn owing() -> Sandbox {
    let sandbox = committed();
    assert_eq!(sandbox.run(&["config", "set", "commit.mode", "always"]).code, 0);
    assert_eq!(sandbox.run(&["config", "set", "reflection.session", "off"]).code, 0);
    sandbox
}

/// Runs a shell command in the root of the worktree.
#[track_caller]
fn git(sandbox: &Sandbox, command: &str) {
    let ran = sandbox
        .command("sh")
        .args(["-c", command])
        .envs(
            ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
                .map(|name| (name, "test")),
        )
        // The command replaces an editor.
        .env("GIT_EDITOR", "echo done >")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Returns the reason of a held stop, or the whole reply.
fn stop(sandbox: &Sandbox) -> String {
    let reply = sandbox.event("s", "Stop", json!({"last_assistant_message": "ok.", "background_tasks": []}));
    reply["reason"].as_str().map_or_else(|| reply.to_string(), str::to_owned)
}

fn next(told: &str) -> &str {
    told.lines().find_map(|line| line.strip_prefix("  next: ")).unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn markers_are_seen_in_a_file_with_a_long_path() {
    let sandbox = committed();
    sandbox.bash("s", "make");
    let path = format!("{0}/{0}/{0}/c.txt", "d".repeat(90));
    sandbox.write(&path, CONFLICT);
    let told = stop(&sandbox);
    assert!(told.contains("conflict markers in `dddd"), "{told}");
    sandbox.write(&path, "one\n");
    assert_eq!(stop(&sandbox), "{}");
}

#[test]
fn markers_are_seen_in_the_last_of_many_files() {
    let sandbox = committed();
    sandbox.bash("s", "make");
    (0..600).for_each(|at| drop(sandbox.write(&format!("n/{at:04}"), "")));
    sandbox.write("z.txt", CONFLICT);
    let told = stop(&sandbox);
    assert!(told.contains("conflict markers in `z.txt:2`"), "{told}");
}

/// Above the limit of files Sprag does not claim that all files are clean.
#[test]
fn more_files_than_are_looked_at_are_not_called_sound() {
    let sandbox = committed();
    assert_eq!(sandbox.run(&["config", "set", "reflection.session", "off"]).code, 0);
    sandbox.bash("s", "make");
    (0..2001).for_each(|at| drop(sandbox.write(&format!("n/{at:04}"), "")));
    sandbox.write("z.txt", CONFLICT);
    let told = stop(&sandbox);
    assert!(told.contains("systemMessage") && told.contains("more than 2000 files changed"), "{told}");
    assert_eq!(stop(&sandbox), told, "nor are they at the next stop");
    // A conflict that Sprag found holds the stop, whatever else exists.
    sandbox.write("a.txt", CONFLICT);
    assert!(stop(&sandbox).contains("`a.txt:2`"));
}

#[test]
fn the_way_to_a_commit_can_be_pasted() {
    for paths in [&["-n"][..], &["it's", "a b.txt", "$(x)"], &["b[1].txt", ":x"], &["1", "2", "3", "4", "5"]]
    {
        let sandbox = owing();
        sandbox.write("b1.txt", "the user's\n");
        sandbox.bash("s", "make");
        for path in paths {
            sandbox.write(path, "x\n");
        }
        let told = stop(&sandbox);
        assert!(told.contains("not committed"), "{told}");
        git(&sandbox, next(&told));
        assert_eq!(stop(&sandbox), "{}", "{told}");
        let left = sandbox.git(&["status", "--porcelain"]).stdout;
        assert_eq!(String::from_utf8(left).unwrap(), "?? b1.txt\n", "{told}");
    }
}

/// A command with half of the work, or with another file, would be worse than a list.
#[test]
fn what_cannot_be_named_in_a_command_is_listed_first() {
    let long = format!("{0}/{0}/{0}", "d".repeat(90));
    let long: Vec<String> = (0..3).map(|at| format!("{at}{}", &long[..180])).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    for paths in [&["1", "2", "3", "4", "5", "6"][..], &["a\nb"], &long] {
        let sandbox = owing();
        sandbox.bash("s", "make");
        for path in paths {
            sandbox.write(path, "x\n");
        }
        let told = stop(&sandbox);
        assert_eq!(next(&told), "git status --short", "{told}");
    }
}

#[test]
fn work_behind_a_bit_of_the_index_is_in_no_commit() {
    for bit in ["--assume-unchanged", "--skip-worktree"] {
        let sandbox = owing();
        sandbox.bash("s", "make");
        git(&sandbox, &format!("git update-index {bit} a.txt"));
        sandbox.write("a.txt", "one\n2\nthree\n");
        let told = stop(&sandbox);
        assert!(told.contains("are not committed: `a.txt`"), "{bit}: {told}");
        git(&sandbox, &format!("git update-index --no-{} a.txt && git commit -qam y", &bit[2..]));
        assert_eq!(stop(&sandbox), "{}", "{bit}");
    }
}

#[test]
fn a_stash_is_no_commit() {
    let sandbox = owing();
    git(&sandbox, "echo mine >> a.txt && git stash -q");
    sandbox.bash("s", "make");
    sandbox.write("a.txt", "one\n2\nthree\n");
    assert!(stop(&sandbox).contains("are not committed: `a.txt`"));
    git(&sandbox, "git stash -q");
    sandbox.bash("s", "git stash");
    let told = stop(&sandbox);
    assert!(told.contains("stashed, not committed: `a.txt`"), "{told}");
    assert!(stop(&sandbox).contains("stashed, not committed"), "it still is");
    git(&sandbox, next(&told));
    sandbox.event("s", "UserPromptSubmit", json!({"prompt": "go on"}));
    sandbox.write("b.txt", "b\n");
    let told = stop(&sandbox);
    assert!(told.contains("are not committed: `a.txt`, `b.txt`"), "{told}");
    // A stash may hold other content.
    git(&sandbox, "git add b.txt && git commit -qam y && echo other >> a.txt && git stash -q");
    sandbox.bash("s", "git commit");
    assert_eq!(stop(&sandbox), "{}");
}

#[test]
fn work_that_was_given_up_is_not_owed() {
    let sandbox = owing();
    git(&sandbox, "echo mine >> a.txt && git stash -q");
    sandbox.bash("s", "make");
    sandbox.write("a.txt", "one\n2\nthree\n");
    assert!(stop(&sandbox).contains("are not committed: `a.txt`"));
    git(&sandbox, "git checkout -q a.txt");
    sandbox.bash("s", "git checkout a.txt");
    assert_eq!(stop(&sandbox), "{}");
}

/// An empty agent id counts as none.
#[test]
fn a_stop_with_an_empty_id_is_the_sessions_own() {
    for client in ["claude", "codex"] {
        let sandbox = committed();
        let session = |name: &str, more| crate::support::payload("s", name, &sandbox.project, more);
        sandbox.hook(
            client,
            &session("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "make"}})),
        );
        sandbox.write("a.txt", CONFLICT);
        let reply = sandbox.hook(
            client,
            &session("Stop", json!({"agent_id": "", "agent_type": "", "background_tasks": []})),
        );
        assert!(reply["reason"].to_string().contains("`a.txt:2`"), "{client}: {reply}");
    }
}
