//! Others who do something to what a run works with: to the target, to the trunk, to worktrees.

use std::fs;

use crate::desk::Desk;
use crate::support::SPRAG;

#[test]
fn what_others_commit_to_the_target_is_merged_and_tested_too() {
    let desk = Desk::new();
    let pipe = desk.pipe("pipe");
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", pipe.wait()), "test -f a")]);
    let mut run = desk.start();
    pipe.is_up();
    desk.sandbox.write("theirs", "x\n");
    desk.git("add -A");
    desk.git("commit -qm theirs");
    pipe.go_on();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!((desk.on_trunk("a"), desk.on_trunk("theirs")), ("a".to_owned(), "x".to_owned()));
    desk.assert_all_landed_was_tested();
    assert_eq!(desk.count("target.foreign"), 1);
    desk.git("merge -q --ff-only refs/sprag/p/trunk");
}

#[test]
fn what_others_commit_and_what_does_not_go_is_told_and_the_target_is_left_alone() {
    let desk = Desk::new();
    let pipe = desk.pipe("pipe");
    desk.plan(&[
        desk.stage("a", &[], "echo ours >README", "true"),
        desk.stage("b", &["a"], &format!("echo b >b; {}", pipe.wait()), "true"),
    ]);
    let run = desk.start_heard();
    pipe.is_up();
    desk.sandbox.write("README", "theirs\n");
    desk.git("commit -qam theirs");
    let theirs = desk.git("rev-parse main");
    pipe.go_on();
    let (code, _, stderr) = desk.ended(run);
    assert_eq!(code, 0, "all stages are merged");
    assert!(stderr.contains("`main` has commits that do not go with the trunk: `README`"), "{stderr}");
    assert_eq!(desk.git("rev-parse main"), theirs);
    assert_eq!((desk.on_trunk("README"), desk.on_trunk("b")), ("ours".to_owned(), "b".to_owned()));
}

#[test]
fn a_target_that_was_rewritten_is_not_moved_on() {
    let desk = Desk::new();
    desk.git("commit -q --allow-empty -m second");
    desk.git("switch -q -c elsewhere");
    let pipe = desk.pipe("pipe");
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", pipe.wait()), "true")]);
    let run = desk.start_heard();
    pipe.is_up();
    desk.git("branch -f main main~1");
    let now = desk.git("rev-parse main");
    pipe.go_on();
    let (code, _, stderr) = desk.ended(run);
    assert_eq!(code, 0);
    assert!(stderr.contains("`main` does not have any more what it had"), "{stderr}");
    assert_eq!(desk.git("rev-parse main"), now, "what was taken from it is not brought back");
    assert_eq!(desk.on_trunk("a"), "a");
}

#[test]
fn a_target_that_is_checked_out_by_nobody_follows_the_trunk() {
    let desk = Desk::new();
    desk.git("switch -q -c elsewhere");
    desk.plan(&[desk.stage("a", &[], "echo a >a", "true")]);
    assert_eq!(desk.run().code, 0);
    assert_eq!(desk.git("rev-parse main"), desk.git("rev-parse refs/sprag/p/trunk"));
}

#[test]
fn an_agent_that_moves_the_trunk_has_moved_nothing() {
    let desk = Desk::new();
    desk.git("switch -q -c elsewhere");
    let script = "echo bad >bad; git add -A; git commit -qm bad; git update-ref refs/sprag/p/trunk HEAD; git rm -q bad; echo a >a";
    desk.plan(&[desk.stage("a", &[], script, "test ! -e bad")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    desk.assert_all_landed_was_tested();
    assert_eq!(desk.git("ls-tree --name-only refs/sprag/p/trunk"), "README\na");
    assert_eq!(desk.git("rev-parse main"), desk.git("rev-parse refs/sprag/p/trunk"));
}

#[test]
fn a_trunk_that_was_deleted_is_put_back() {
    let desk = Desk::new();
    desk.plan(&[desk.stage("a", &[], "git update-ref -d refs/sprag/p/trunk; echo a >a", "true")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("a"), "a");
}

#[test]
fn a_worktree_that_was_deleted_is_made_again_with_all_that_was_committed() {
    let desk = Desk::new();
    let marker = desk.sandbox.home.join("deleted");
    let script = format!(
        "if [ ! -e {0} ]; then touch {0}; echo one >one; git add -A; git commit -qm one; rm -rf \"$PWD\"; exit 1; fi\necho two >two",
        marker.display()
    );
    desk.plan(&[desk.stage("a", &[], &script, "test -f one && test -f two")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.runs("a"), 2);
    assert_eq!((desk.on_trunk("one"), desk.on_trunk("two")), ("one".to_owned(), "two".to_owned()));
    assert_eq!(desk.count("worktree.lost"), 1);
}

#[test]
fn a_worktree_that_a_person_deletes_under_an_agent_ends_that_agent_and_not_the_stage() {
    let desk = Desk::new();
    let pipe = desk.pipe("pipe");
    let marker = desk.sandbox.home.join("once");
    let script = format!(
        "if [ ! -e {0} ]; then touch {0}; {1}; sleep 600; fi\necho a >a",
        marker.display(),
        pipe.wait()
    );
    let other = desk.pipe("other");
    desk.plan(&[
        desk.stage("a", &[], &script, "true"),
        desk.stage("b", &[], &format!("echo b >b; {}", other.wait()), "true"),
    ]);
    let mut run = desk.start();
    pipe.is_up();
    other.is_up();
    fs::remove_dir_all(desk.sandbox.project.join(".worktrees/a")).unwrap();
    // Its agent goes on as if nothing had happened; what makes the loop look is the other stage.
    pipe.go_on();
    other.go_on();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!((desk.runs("a"), desk.on_trunk("a")), (2, "a".to_owned()));
}

#[test]
fn a_disk_that_is_full_ends_the_run_with_a_word_and_loses_nothing() {
    let desk = Desk::new();
    desk.plan(&[
        desk.stage("a", &[], "echo a >a", "test -f a"),
        desk.stage("b", &["a"], "echo b >b", "test -f b"),
    ]);
    let plan = desk.sandbox.home.join("plan.md");
    let mut full = 0;
    // A bound on the size of files: the records are the longest, and come to it at another place each time.
    for blocks in [6, 9, 12, 15, 18, 21] {
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {SPRAG} run {} --trust --foreground",
            plan.display()
        );
        let output = desk.sandbox.command("sh").args(["-c", &script]).output().unwrap();
        if output.status.code() != Some(0) {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains("cannot be written down: File too large"), "{told}");
            full += 1;
        }
    }
    assert!(full > 1, "it was full");
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!((desk.runs("a"), desk.runs("b")), (1, 1), "nobody has worked twice");
    assert_eq!((desk.on_trunk("a"), desk.on_trunk("b")), ("a".to_owned(), "b".to_owned()));
    desk.assert_all_landed_was_tested();
}

#[test]
fn merged_is_what_git_has_and_not_what_was_written_down() {
    let desk = Desk::new();
    let fails =
        desk.stage("c", &["b"], "exit 1", "true").replace("    acceptance", "    retries: 0\n    acceptance");
    desk.plan(&[
        desk.stage("a", &[], "echo a >a", "true"),
        desk.stage("b", &["a"], "echo b >b", "true"),
        fails,
    ]);
    assert_eq!(desk.run().code, 1, "two are merged, and one is a person's");
    let first = desk.git("rev-parse refs/sprag/p/trunk^1");
    desk.git("commit -q --allow-empty -m elsewhere");
    let other = desk.git("rev-parse HEAD");
    let log = desk.sandbox.store().join("run/plans/p.jsonl");
    let records = fs::read_to_string(&log).unwrap();
    assert!(records.contains(&first), "as which `a` is merged");
    // The records say that it was merged as a commit the trunk has never had, or one that nobody has.
    for commit in [other, "1".repeat(40)] {
        fs::write(&log, records.replace(&first, &commit)).unwrap();
        let ran = desk.run();
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("stages that count as merged are not in the trunk"), "{}", ran.stderr);
    }
    fs::write(&log, records).unwrap();
    assert!(!desk.run().stderr.contains("count as merged"));
}
