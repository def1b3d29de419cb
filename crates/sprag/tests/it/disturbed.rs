//! Others who do something to what a run works with: to the target, to the trunk, to worktrees.

use std::fs;

use crate::desk::Desk;

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
