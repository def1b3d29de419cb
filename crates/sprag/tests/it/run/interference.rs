//! Other processes that change the target, the trunk, worktrees or records of a run.

use std::fs::{self, File};
use std::io::Write as _;

use crate::support::SPRAG;
use crate::support::desk::Desk;

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
    let (code, stdout, stderr) = desk.ended(run);
    assert_eq!(code, 1, "a person has to say something: {stdout}");
    assert_eq!(desk.runs("a"), 4, "three sessions have tried in vain to bring both together");
    let review = desk.sandbox.run(&["stage", "review", "@p-1"]);
    assert!(review.stdout.contains("README"), "{}", review.stdout);
    assert!(stderr.contains("`main` has commits that conflict with the trunk: `README`"), "{stderr}");
    assert_eq!(desk.git("rev-parse main"), theirs);
    assert_eq!((desk.on_trunk("README"), desk.on_trunk("b")), ("ours".to_owned(), "b".to_owned()));
}

#[test]
fn what_others_commit_and_what_conflicts_is_brought_together_by_a_session_that_is_told_of_it() {
    let desk = Desk::new();
    let pipe = desk.pipe("pipe");
    let told = desk.sandbox.home.join("told");
    // The resolver keeps `README` of the plan. It also keeps `.sprag/kept` of the target, which no agent may
    // change.
    let script = format!(
        "if grep -q '^# Brief: a plan, in conflict with its target' $SPRAG_BRIEF; then cp $SPRAG_BRIEF {}; git merge -q -X ours main; else echo ours >README; fi",
        told.display()
    );
    desk.plan(&[
        desk.stage("a", &[], &script, "grep -q ours README"),
        desk.stage("b", &["a"], &format!("echo b >b; {}", pipe.wait()), "true"),
    ]);
    let run = desk.start_heard();
    pipe.is_up();
    desk.sandbox.write("README", "theirs\n");
    desk.sandbox.write(".sprag/kept", "theirs\n");
    desk.git("add -f README .sprag/kept");
    desk.git("commit -qm theirs");
    let theirs = desk.git("rev-parse main");
    pipe.go_on();
    let (code, stdout, stderr) = desk.ended(run);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let brief = fs::read_to_string(told).unwrap();
    assert!(brief.contains(&format!("Merge `{theirs}` into this branch. Both changed:")), "{brief}");
    assert!(brief.contains("README"), "{brief}");
    let on_trunk = ["README", "b", ".sprag/kept"].map(|path| desk.on_trunk(path));
    assert_eq!(on_trunk, ["ours", "b", "theirs"]);
    desk.assert_all_landed_was_tested();
    desk.git("merge -q --ff-only refs/sprag/p/trunk");
    assert!(!desk.sandbox.project.join(".worktrees/@p-1").exists(), "and nothing is left of it");
}

#[test]
fn what_somebody_merges_by_hand_needs_no_session_any_more() {
    let desk = Desk::new();
    let (pipe, other) = (desk.pipe("pipe"), desk.pipe("other"));
    let script =
        format!("if [ $SPRAG_STAGE = a ]; then echo ours >README; else {}; sleep 600; fi", other.wait());
    desk.plan(&[
        desk.stage("a", &[], &script, "true"),
        desk.stage("b", &["a"], &format!("echo b >b; {}", pipe.wait()), "true"),
    ]);
    let run = desk.start_heard();
    pipe.is_up();
    desk.sandbox.write("README", "theirs\n");
    desk.git("commit -qam theirs");
    // The other stage wakes the loop.
    pipe.go_on();
    other.is_up();
    desk.git("merge -q -X theirs refs/sprag/p/trunk");
    desk.sandbox.run(&["stage", "hold", "@p-1"]);
    let (code, stdout, stderr) = desk.ended(run);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!((desk.on_trunk("README"), desk.on_trunk("b")), ("ours".to_owned(), "b".to_owned()));
    desk.assert_all_landed_was_tested();
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
    assert!(stderr.contains("`main` lost commits that it had"), "{stderr}");
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
    // The agent continues as if nothing happened. The other stage wakes the loop.
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
    // A limit on the size of files: the records are the longest and reach the limit at a different place each
    // time.
    for blocks in [6, 9, 12, 15, 18, 21] {
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {SPRAG} run {} --trust --foreground",
            plan.display()
        );
        let output = desk.sandbox.command("sh").args(["-c", &script]).output().unwrap();
        if output.status.code() != Some(0) {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains("cannot write the run's records: File too large"), "{told}");
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
    // The records name a merge commit that the trunk never had, or a commit that does not exist.
    for commit in [other, "1".repeat(40)] {
        fs::write(&log, records.replace(&first, &commit)).unwrap();
        let ran = desk.run();
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("is missing or lacks commits of merged stages"), "{}", ran.stderr);
    }
    fs::write(&log, records).unwrap();
    assert!(!desk.run().stderr.contains("commits of merged stages"));
}

#[test]
fn what_is_red_as_a_commit_does_not_land_however_good_its_worktree_looks() {
    let desk = Desk::new();
    // The commit lacks a file that the check needs; the ignored file in the worktree is not part of the
    // commit.
    let script = "printf 'ignored/\\n' >.gitignore; mkdir -p ignored; echo PASS >ignored/t";
    desk.plan(&[desk.stage("a", &[], script, "grep -q PASS ignored/t")]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(!desk.git("ls-tree --name-only refs/sprag/p/trunk").contains(".gitignore"));
}

#[test]
fn a_history_that_parted_from_the_trunk_in_several_ways_is_sent_back() {
    let desk = Desk::new();
    let scoped = |id: &str, needs: &[&str], script: &str| {
        let files = format!("    files: [\"{id}/**\"]\n    acceptance");
        desk.stage(id, needs, script, "true").replace("    acceptance", &files)
    };
    // The stage starts before the others have landed and makes a merge by hand. Its history has two merge
    // bases with the trunk, and its tree equals one of them.
    let takes = "until git cat-file -e refs/sprag/p/trunk:a/one && git cat-file -e refs/sprag/p/trunk:b/two; do sleep 0.1; done 2>/dev/null; \
        H=$(git log --format=%H --grep='^a$' -1 refs/sprag/p/trunk); J=$(git log --format=%H --grep='^b$' -1 refs/sprag/p/trunk); \
        B=$(git merge-base refs/sprag/p/trunk $(git commit-tree -p HEAD -p $H -p $J -m x HEAD^{tree})); \
        mkdir c; echo c >c/three; export GIT_INDEX_FILE=$PWD/.index; git read-tree $B; git add c; T=$(git write-tree); \
        unset GIT_INDEX_FILE; rm .index; git reset -q --hard $(git commit-tree -p HEAD -p $H -p $J -m taken $T)";
    desk.plan(&[
        scoped("a", &[], "mkdir a; echo a >a/one"),
        scoped("b", &[], "mkdir b; echo b >b/two"),
        scoped("c", &[], takes),
    ]);
    assert_eq!(desk.run().code, 1);
    let told = desk.records().iter().map(|record| record["body"].to_string()).collect::<String>();
    assert!(told.contains("the branch has several merge bases with the trunk"), "{told}");
    assert_eq!(desk.on_trunk("a/one"), "a", "what is merged stays so");
    assert_eq!(desk.on_trunk("b/two"), "b");
}

#[test]
fn two_plans_do_not_share_a_stage_and_a_new_run_does_not_start_on_an_old_branch() {
    let desk = Desk::new();
    desk.plan(&[desk
        .stage("a", &[], "echo x >x; git add -A; git commit -qm left; exit 1", "true")
        .replace("    acceptance", "    retries: 0\n    acceptance")]);
    assert_eq!(desk.run().code, 1);
    let plan = desk.sandbox.home.join("plan.md");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("name: p", "name: q")).unwrap();
    let ran = desk.run();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("an unfinished run of plan `p` already uses the stage name `a`"),
        "{}",
        ran.stderr
    );
    assert_eq!(desk.sandbox.run(&["stage", "skip", "a", "--why", "enough"]).code, 0);
    fs::write(&plan, text).unwrap();
    assert_eq!(desk.run().code, 0, "what is left of it is cleared away");
    desk.plan(&[desk.stage("a", &[], "test ! -e x; echo y >y", "true")]);
    assert_eq!(desk.run().code, 0);
    assert_eq!(desk.git("ls-tree --name-only refs/sprag/p/trunk"), "README\ny");
    assert!(desk.git("for-each-ref --format=%(refname) refs/sprag/p/salvage/a").contains("before-"));
}

#[test]
fn a_commit_on_no_branch_is_kept_when_its_stage_is_left_out() {
    let desk = Desk::new();
    let script = "git checkout -q --detach; echo x >x; git add -A; git commit -qm adrift; exit 1";
    desk.plan(&[desk
        .stage("a", &[], script, "true")
        .replace("    acceptance", "    retries: 0\n    acceptance")]);
    assert_eq!(desk.run().code, 1);
    assert_eq!(desk.sandbox.run(&["stage", "skip", "a", "--why", "enough"]).code, 0);
    desk.run();
    let kept = desk.git("for-each-ref --format=%(contents:subject) refs/sprag/p/salvage/a");
    assert!(kept.contains("adrift"), "{kept}");
}

#[test]
fn a_daemon_whose_records_somebody_else_writes_to_ends_and_the_next_one_goes_on() {
    let desk = Desk::new();
    let pipe = desk.pipe("pipe");
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", pipe.wait()), "test -f a")]);
    let run = desk.start_heard();
    pipe.is_up();
    // Another daemon that believes it holds the lock would write like this.
    let log = desk.sandbox.store().join("run/plans/p.jsonl");
    let line = "{\"v\":1,\"kind\":\"later.kind\",\"id\":\"\",\"at\":\"2026-11-16T10:00:00.000Z\"}\n";
    File::options().append(true).open(log).unwrap().write_all(line.as_bytes()).unwrap();
    pipe.go_on();
    let (code, _, stderr) = desk.ended(run);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("another process wrote to the records of plan `p`"), "{stderr}");
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((desk.on_trunk("a"), desk.runs("a")), ("a".to_owned(), 1));
    desk.assert_all_landed_was_tested();
}

#[test]
fn a_reference_that_somebody_left_locked_is_told_and_moves_once_the_lock_is_gone() {
    let desk = Desk::new();
    let lock = desk.sandbox.project.join(".git/refs/sprag/p/trunk.lock");
    let (told, config) =
        (desk.sandbox.home.join("told"), desk.sandbox.home.join(".config/sprag/config.toml"));
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    // The notification command shows the status and removes the lock.
    let help = format!(
        "echo \"$1\" >{told}; {SPRAG} status >>{told}; rm {lock}",
        told = told.display(),
        lock = lock.display()
    );
    fs::write(config, format!("[notify]\ncommand = [\"sh\", \"-c\", {help:?}, \"-\"]\n")).unwrap();
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; touch {}", lock.display()), "test -f a")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("a"), "a");
    let told = fs::read_to_string(told).unwrap();
    assert_eq!(told.matches("could not be moved 3 times").count(), 2, "in words and on the screen: {told}");
    assert!(told.contains("trunk.lock"), "{told}");
}
