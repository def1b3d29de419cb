//! `sprag store clean` and runs: it removes old finished runs, and keeps everything that a user may need.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::agent::tmux;
use sprag_orchestrator::lock;

use crate::support::desk::Desk;

/// Returns a finished and landed run that looks years old.
fn finished() -> Desk {
    let desk = Desk::new();
    desk.git("switch -q -c elsewhere");
    desk.plan(&[desk.stage("a", &[], "export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; echo a >a", "true")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    desk
}

fn grow_old(desk: &Desk) {
    let log = desk.sandbox.store().join("run/plans/p.jsonl");
    let old = fs::read_to_string(&log).unwrap().replace("\"at\":\"2", "\"at\":\"1");
    fs::write(log, old).unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn references(desk: &Desk) -> String {
    desk.git("for-each-ref --format=%(refname) refs/sprag refs/heads/sprag")
}

#[test]
fn a_run_that_is_over_goes_when_it_is_old_and_its_plan_can_be_run_again() {
    let desk = finished();
    let run = desk.sandbox.store().join("run");
    let before = (names(&run.join("plans")), names(&run.join("s")), references(&desk));
    assert_eq!((before.0.len(), before.1.len()), (2, 1), "its records and their source, and one session");
    assert_eq!(before.2, "refs/sprag/p/cand/1\nrefs/sprag/p/trunk");
    assert_eq!(
        desk.sandbox.run(&["store", "clean", "--dry-run"]).stdout,
        "nothing to remove\n",
        "it is too young"
    );
    grow_old(&desk);
    let dry = desk.sandbox.json(&["store", "clean", "--dry-run", "--json"]);
    let kinds = |rows: &Value| {
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["kind"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&dry["runs"]["leftovers"]), ["run", "reference", "reference"]);
    assert_eq!(dry["runs"]["kept"], json!([]));
    assert_eq!((names(&run.join("plans")), names(&run.join("s")), references(&desk)), before, "only said");
    let id = desk.run_id();
    let swept = desk.sandbox.run(&["store", "clean"]);
    assert_eq!(swept.code, 0, "{}", swept.stderr);
    let told = format!("removed finished run `{id}` of plan `p` with 2 directories\n");
    assert!(swept.stdout.starts_with(&told), "{}", swept.stdout);
    let after = (names(&run.join("plans")), names(&run.join("s")), references(&desk));
    assert_eq!(after, (vec![], vec![], String::new()));
    assert_eq!(names(&run.join("briefs")), Vec::<String>::new());
    assert_eq!(desk.git("show main:a"), "a", "what it has done stays");
    assert_eq!(desk.sandbox.run(&["store", "clean", "--dry-run"]).stdout, "nothing to remove\n");
    assert_eq!(desk.sandbox.run(&["run", "repair"]).stdout, "no leftovers\n");
    desk.plan(&[desk.stage("a", &[], "echo again >a", "true")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(desk.git("show main:a"), "again");
}

#[test]
fn a_run_that_has_not_landed_or_is_not_over_stays() {
    let desk = Desk::new();
    desk.plan(&[desk.stage("a", &[], "export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; echo a >a", "true")]);
    // The target is checked out, so only a person moves it.
    assert_eq!(desk.run().code, 0);
    grow_old(&desk);
    let told = desk.sandbox.run(&["store", "clean"]).stdout;
    let wanted = "kept: merged work of plan `p` is not on its target\n  next: sprag run land p\n";
    assert!(told.starts_with(wanted), "{told}");
    assert_eq!(desk.on_trunk("a"), "a");
    assert_eq!(desk.sandbox.run(&["run", "land", "p"]).code, 0);
    let told = desk.sandbox.run(&["store", "clean"]).stdout;
    assert!(told.starts_with("removed finished run "), "{told}");
    desk.plan(&[desk.stage("b", &[], "exit 1", "true").replace("name: b", "name: b\n    retries: 0")]);
    assert_eq!(desk.run().code, 1, "it waits for somebody");
    grow_old(&desk);
    let worktree = desk.sandbox.project.join(".worktrees/b");
    old(&worktree);
    let told = desk.sandbox.run(&["store", "clean"]).stdout;
    assert!(
        told.starts_with("kept: the run of plan `p` is not over\n  next: sprag run resume p\n"),
        "{told}"
    );
    assert!(worktree.exists() && !told.contains("removed finished run"), "{told}");
}

fn old(path: &Path) {
    File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(90 * 86_400)).unwrap();
}

/// Commits all files of a checkout with a date years ago.
fn commit(desk: &Desk, dir: &Path, file: &str) -> String {
    fs::write(dir.join(file), file).unwrap();
    for args in [&["add", "-A"][..], &["commit", "-qm", file]] {
        let mut git = desk.sandbox.command("git");
        git.args(args).current_dir(dir).env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z");
        assert!(git.status().unwrap().success());
    }
    let head = desk.sandbox.command("git").args(["rev-parse", "HEAD"]).current_dir(dir).output().unwrap();
    String::from_utf8_lossy(&head.stdout).trim().to_owned()
}

#[test]
fn nothing_goes_that_somebody_may_want_and_each_is_saved_by_the_command_that_is_told() {
    let desk = Desk::new();
    let trees = desk.sandbox.project.join(".worktrees");
    fs::create_dir_all(desk.sandbox.store().join("run")).unwrap();
    commit(&desk, &desk.sandbox.project, "merged");
    desk.git("worktree add -q -b sprag/done/work .worktrees/done");
    desk.git("worktree add -q -b sprag/dirty/work .worktrees/dirty");
    fs::write(trees.join("dirty/new"), "unsaved").unwrap();
    desk.git("worktree add -q --detach .worktrees/loose");
    let loose = commit(&desk, &trees.join("loose"), "loose");
    desk.git("worktree add -q --detach .worktrees/made");
    let unmerged = commit(&desk, &trees.join("made"), "unmerged");
    // An agent may choose any branch name.
    let evil = "heads/sprag/$(id>evil)/work";
    for name in [evil, "heads/sprag/alone/work", "sprag/old/salvage/a/1", "sprag/old/cand/1"] {
        desk.git(&format!("update-ref refs/{name} {unmerged}"));
    }
    desk.git("worktree remove --force .worktrees/made");
    for name in ["done", "dirty", "loose"] {
        old(&trees.join(name));
    }
    let told = desk.sandbox.json(&["store", "clean", "--json"])["runs"].clone();
    let removed: Vec<&str> =
        told["removed"].as_array().unwrap().iter().map(|row| row["of"].as_str().unwrap()).collect();
    let done = trees.join("done").display().to_string();
    assert_eq!(removed, [done.as_str(), "refs/heads/sprag/done/work", "refs/sprag/old/cand/1"]);
    let kept = told["kept"].as_array().unwrap();
    assert_eq!(kept.len(), 5, "{kept:#?}");
    assert_eq!(names(&trees), ["dirty", "loose"]);
    assert_eq!(
        references(&desk),
        format!(
            "refs/{evil}\nrefs/heads/sprag/alone/work\nrefs/heads/sprag/dirty/work\nrefs/sprag/old/salvage/a/1"
        )
    );
    for it in kept {
        let next = it["next"].as_str().unwrap();
        let ran = desk.sandbox.command("sh").args(["-c", next]).output().unwrap();
        assert!(ran.status.success(), "{next}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert!(!desk.sandbox.project.join("evil").exists(), "what is pasted does what it says");
    desk.sandbox.run(&["store", "clean"]);
    assert_eq!(names(&trees), Vec::<String>::new(), "all of it is on a branch by now");
    assert_eq!(desk.git("show sprag/dirty/work:new"), "unsaved");
    assert_eq!(desk.git("rev-parse saved/loose"), loose);
    assert_eq!(desk.git("show main:unmerged"), "unmerged");
}

#[test]
fn what_sprag_has_kept_goes_only_if_that_is_said() {
    let desk = Desk::new();
    fs::create_dir_all(desk.sandbox.store().join("run")).unwrap();
    desk.git("switch -q -c aside");
    let old = commit(&desk, &desk.sandbox.project, "left");
    desk.git("update-ref refs/sprag/p/salvage/a/1 HEAD");
    desk.git("switch -q main");
    desk.git("branch -q -D aside");
    desk.sandbox.write("young", "young\n");
    desk.git("switch -q -c aside");
    desk.git("add -A");
    desk.git("commit -qm young");
    desk.git("update-ref refs/sprag/p/salvage/a/2 HEAD");
    desk.git("switch -q main");
    desk.git("branch -q -D aside");
    let told = desk.sandbox.run(&["store", "clean"]).stdout;
    assert!(told.contains("kept: `refs/sprag/p/salvage/a/1` has work that is on no branch"), "{told}");
    assert_eq!(desk.git("rev-parse refs/sprag/p/salvage/a/1"), old);
    let told = desk.sandbox.run(&["store", "clean", "--salvage"]).stdout;
    assert!(told.starts_with("removed `refs/sprag/p/salvage/a/1`\n"), "{told}");
    assert_eq!(references(&desk), "refs/sprag/p/salvage/a/2", "what is young stays in any case");
}

#[test]
fn runs_are_left_alone_while_one_goes_on_and_by_agents() {
    let desk = finished();
    grow_old(&desk);
    let run = desk.sandbox.store().join("run");
    let rule = lock::begin(&run, &RealDisk).unwrap().unwrap();
    let ran = desk.sandbox.run(&["store", "clean"]);
    let pid = std::process::id();
    let told = format!("runs are skipped: process `{pid}` runs a plan\n  next: sprag run stop\n");
    assert!(ran.stdout.starts_with(&told), "{}", ran.stdout);
    assert_eq!(desk.sandbox.json(&["store", "clean", "--json"])["runs"], json!({"at_work": pid}));
    drop(rule);
    // From here on this process counts as a client.
    desk.sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let ran = desk.sandbox.run(&["store", "clean"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert_eq!(names(&run.join("plans")).len(), 2);
}

#[test]
fn terminals_in_which_nobody_is_left_are_ended() {
    let desk = finished();
    let server = tmux::server(&desk.sandbox.store().join("run"));
    let ask = |args: &[&str]| desk.sandbox.command("tmux").args(["-L", &server]).args(args).output();
    let Ok(started) = ask(&["new-session", "-d", "sleep 1000"]) else {
        // Without tmux there are no terminals.
        return;
    };
    assert!(started.status.success());
    let told = desk.sandbox.run(&["store", "clean"]).stdout;
    assert!(told.starts_with(&format!("removed the empty terminals of tmux server `{server}`\n")), "{told}");
    assert!(!ask(&["list-sessions"]).unwrap().status.success());
}
