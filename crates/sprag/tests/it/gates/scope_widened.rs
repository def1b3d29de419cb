//! No agent widens its own scope: Sprag undoes every change of a program to the intents.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::intents::{code, headless, sandbox, select, write};
use crate::support::Sandbox;

/// A scope that contains everything.
const WIDE: &str = "active_intents:\n  - id: AUTH\n    name: Sign in\n    owned_scope: ['**']\n";

/// Runs a program that Sprag cannot read in advance, and returns the reply after it.
fn runs(sandbox: &Sandbox, command: &str, does: impl FnOnce()) -> String {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command});
    let before = sandbox.event("s", "PreToolUse", call.clone());
    assert_eq!(before, json!({}), "{command}");
    does();
    let mut done = call;
    done["tool_response"] = json!({"stdout": ""});
    sandbox.event("s", "PostToolUse", done).to_string()
}

fn is_bound(sandbox: &Sandbox) {
    // Selecting the intent again does not widen the scope.
    sandbox.run(&["intent", "select", "AUTH", "--session", "s"]);
    assert_eq!(code(&write(sandbox, "s", "docs/guide.md")), "scope_violation");
    assert_eq!(write(sandbox, "s", "src/auth/a.rs"), json!({}));
}

#[test]
fn intents_that_a_program_rewrote_are_put_back() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let file = sandbox.project.join(".sprag/intents.yaml");
    for command in ["bash src/auth/x.sh", "npm test", "git merge --ff-only HEAD; bash src/auth/x.sh"] {
        let told = runs(&sandbox, command, || fs::write(&file, WIDE).unwrap());
        assert!(told.contains("intents.yaml` was restored"), "{command}: {told}");
        is_bound(&sandbox);
    }
}

#[test]
fn intents_that_a_program_removed_or_replaced_are_put_back() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let ours = sandbox.project.join(".sprag");
    runs(&sandbox, "bash one.sh", || fs::remove_dir_all(&ours).unwrap());
    is_bound(&sandbox);
    // The program replaces the directory.
    runs(&sandbox, "bash two.sh", || {
        fs::rename(&ours, sandbox.project.join("old")).unwrap();
        fs::create_dir(&ours).unwrap();
        fs::write(ours.join("intents.yaml"), WIDE).unwrap();
    });
    is_bound(&sandbox);
    // The program leaves a link; Sprag writes nothing through it.
    let elsewhere = sandbox.home.join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("intents.yaml"), WIDE).unwrap();
    runs(&sandbox, "bash three.sh", || {
        fs::remove_dir_all(&ours).unwrap();
        symlink(&elsewhere, &ours).unwrap();
    });
    is_bound(&sandbox);
    assert_eq!(fs::read_to_string(elsewhere.join("intents.yaml")).unwrap(), WIDE);
    // The program replaces the file by a link.
    runs(&sandbox, "bash four.sh", || {
        fs::remove_file(ours.join("intents.yaml")).unwrap();
        symlink(elsewhere.join("intents.yaml"), ours.join("intents.yaml")).unwrap();
    });
    is_bound(&sandbox);
}

/// A second file of intents could own any file: an intent without a scope owns everything.
#[test]
fn a_file_of_intents_that_a_program_made_does_not_count() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let told = runs(&sandbox, "bash x.sh", || {
        fs::create_dir(sandbox.project.join(".orchestration")).unwrap();
        let file = sandbox.project.join(".orchestration/active_intents.yaml");
        fs::write(file, "active_intents:\n  - {id: ALL, name: x}\n").unwrap();
    });
    assert!(told.contains("active_intents.yaml` was restored"), "{told}");
    assert!(!sandbox.project.join(".orchestration/active_intents.yaml").exists());
    assert_eq!(sandbox.run(&["intent", "select", "ALL", "--session", "s"]).code, 1);
    // A list of delicate intents that lost an entry does not count either.
    sandbox.write(".intentignore", "CARE\n");
    runs(&sandbox, "bash y.sh", || fs::write(sandbox.project.join(".intentignore"), "").unwrap());
    select(&sandbox, "s", "CARE");
    assert_eq!(code(&write(&sandbox, "s", "care/x")), "approval_required");
}

/// Intents that git brings in were written and reviewed elsewhere.
#[test]
fn intents_that_git_brought_along_stay() {
    let sandbox = headless(sandbox());
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write(".sprag/intents.yaml", WIDE);
    sandbox.git(&["commit", "-qam", "side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    select(&sandbox, "s", "AUTH");
    let told = runs(&sandbox, "git merge side && bash x.sh", || drop(sandbox.git(&["merge", "-q", "side"])));
    assert!(!told.contains("was restored"), "{told}");
    assert_eq!(fs::read_to_string(sandbox.project.join(".sprag/intents.yaml")).unwrap(), WIDE);
}

/// The target of a link could be in the scope, so Sprag does not follow it.
#[test]
fn intents_behind_a_link_are_no_intents() {
    let sandbox = headless(sandbox());
    let file = sandbox.project.join(".sprag/intents.yaml");
    let text = fs::read_to_string(&file).unwrap();
    sandbox.write("src/auth/i.yaml", &text);
    select(&sandbox, "s", "AUTH");
    fs::remove_file(&file).unwrap();
    symlink("../src/auth/i.yaml", &file).unwrap();
    let checked = sandbox.run(&["intent", "check"]);
    assert_eq!(checked.code, 1);
    assert!(checked.stdout.contains("it is a symbolic link"), "{}", checked.told(&sandbox));
    assert_eq!(code(&write(&sandbox, "s", "src/auth/a.rs")), "bad_intents");
}

/// In a repository without intents a program may create the first ones: that only adds a rule.
#[test]
fn a_program_may_make_the_first_intents() {
    let sandbox = Sandbox::new();
    let told = runs(&sandbox, "bash x.sh", || {
        fs::create_dir(sandbox.project.join(".sprag")).unwrap();
        fs::write(sandbox.project.join(".sprag/intents.yaml"), WIDE).unwrap();
    });
    assert!(!told.contains("was restored"), "{told}");
    let reply: Value = write(&sandbox, "s", "x");
    assert_eq!(code(&reply), "intent_required");
}
