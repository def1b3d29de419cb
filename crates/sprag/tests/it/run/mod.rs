//! Plans with real git and real processes; agents are small scripts.

mod agents;
mod briefs;
mod daemon;
mod deep_review;
mod interference;
mod otel;
mod sandbox;
mod screens;
pub(crate) mod stage_checks;
mod supervisor;

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::desk::Desk;

#[test]
fn a_diamond_of_stages_ends_merged_and_nothing_is_left_over() {
    let desk = Desk::new();
    desk.plan(&[
        desk.stage("a", &[], "echo a >a", "test -f a"),
        desk.stage("b", &["a"], "cat a >b", "test -f b"),
        desk.stage("c", &["a"], "cat a >c", "test -f c"),
        desk.stage("d", &["b", "c"], "cat b c >d", "grep -q a d"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("d"), "a\na");
    desk.assert_all_landed_was_tested();
    assert_eq!(desk.git("status --porcelain"), "", "the user's checkout is as it was");
    assert_eq!(desk.git("worktree list --porcelain").matches("worktree ").count(), 1);
    assert_eq!(desk.git("branch --list sprag/*"), "");
    assert_eq!(["a", "b", "c", "d"].map(|id| desk.runs(id)), [1; 4]);
}

#[test]
fn a_plan_is_run_again_only_after_what_was_merged_has_landed() {
    let desk = Desk::new();
    desk.plan(&[desk.stage("a", &[], "date +%s%N >a", "test -f a")]);
    assert_eq!(desk.run().code, 0);
    let merged = desk.git("rev-parse refs/sprag/p/trunk");
    let again = desk.run();
    assert_eq!(again.code, 0);
    assert!(again.stdout.contains("next: sprag run land p"), "{}", again.stdout);
    assert_eq!((desk.runs("a"), desk.git("rev-parse refs/sprag/p/trunk")), (1, merged));
    desk.git("merge -q --ff-only refs/sprag/p/trunk");
    assert_eq!(desk.run().code, 0);
    assert_eq!(desk.runs("a"), 2);
}

#[test]
fn where_the_target_has_followed_nobody_is_told_to_land() {
    let desk = Desk::new();
    desk.git("checkout -q -b elsewhere");
    desk.plan(&[desk.stage("a", &[], "echo a >a", "test -f a")]);
    let ran = desk.run();
    assert!(ran.stdout.ends_with("`main` has all merged work\n"), "{}", ran.stdout);
    let shown = desk.sandbox.run(&["stage", "review", "a"]).stdout;
    assert!(shown.starts_with("stage `a` of plan `p` is done\n"), "{shown}");
    let unknown = desk.sandbox.run(&["stage", "review", "b"]).stderr;
    assert!(unknown.contains("has a stage `b`; known stages: `a`\n"), "{unknown}");
}

#[test]
fn a_conflict_is_resolved_by_a_session_that_is_told_of_it() {
    let desk = Desk::new();
    let script = |id: &str| {
        format!(
            "if grep -q '^## Conflict' $SPRAG_BRIEF; then git merge -q -X ours refs/sprag/p/trunk; echo kept >>merged; else echo {id} >README; fi"
        )
    };
    // Changes from the trunk do not count against the scope of the stage; changes of the resolver do.
    let scoped = |id: &str| {
        desk.stage(id, &[], &script(id), "true")
            .replace("    acceptance", "    files: [README, merged]\n    acceptance")
    };
    desk.plan(&[scoped("a"), scoped("b")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("conflicted"), "{}", ran.stdout);
    assert_eq!(desk.on_trunk("merged"), "kept");
    assert_eq!(desk.runs("a") + desk.runs("b"), 3);
    desk.assert_all_landed_was_tested();
}

#[test]
fn where_a_person_merges_they_also_say_so_of_what_resolved_a_conflict() {
    let desk = Desk::new();
    let merge = "git merge -q -X ours refs/sprag/p/trunk; echo x >unseen";
    let script = |id: &str| {
        format!("if grep -q '^## Conflict' $SPRAG_BRIEF; then {merge}; else echo {id} >README; fi")
    };
    let asked = desk.stage("b", &[], &script("b"), "true");
    let asked = asked.replace("    acceptance", "    auto_merge: false\n    acceptance");
    desk.plan(&[desk.stage("a", &[], &script("a"), "true"), asked]);
    assert_eq!(desk.run().code, 1);
    assert_eq!(desk.sandbox.run(&["stage", "merge", "b"]).code, 0);
    let ran = desk.sandbox.run(&["run", "resume", "--foreground"]);
    assert_eq!((ran.code, desk.runs("b")), (1, 2), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("README"), "a", "what its second agent wrote nobody has seen");
    assert_eq!(desk.sandbox.run(&["stage", "merge", "b"]).code, 0);
    assert_eq!(desk.sandbox.run(&["run", "resume", "--foreground"]).code, 0);
    assert_eq!((desk.on_trunk("README"), desk.on_trunk("unseen")), ("b".to_owned(), "x".to_owned()));
}

#[test]
fn who_resolves_a_conflict_is_told_what_was_red_of_the_try_before() {
    let desk = Desk::new();
    let merge = "git merge -q -X ours refs/sprag/p/trunk";
    let script = |id: &str| {
        format!(
            "if grep -q 'test ! -f half' $SPRAG_BRIEF && grep -q 'Failures of the previous resolution' $SPRAG_BRIEF; then git rm -q half; \
             elif grep -q '^## Conflict' $SPRAG_BRIEF; then {merge}; echo x >half; else echo {id} >README; fi"
        )
    };
    desk.plan(&["a", "b"].map(|id| desk.stage(id, &[], &script(id), "test ! -f half")));
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.runs("a") + desk.runs("b"), 4, "the second one to resolve it knows what to do");
}

#[test]
fn a_red_check_goes_back_to_the_stage_and_at_last_to_a_person() {
    let desk = Desk::new();
    let mends = "if grep -q 'Failures to fix' $SPRAG_BRIEF; then echo good >a; else echo bad >a; fi";
    desk.plan(&[
        desk.stage("a", &[], mends, "grep -q good a"),
        desk.stage("b", &[], "date +%N >>b", "grep -q never b"),
        desk.stage("c", &["b"], "echo c >c", "true"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!((desk.on_trunk("a"), desk.runs("a")), ("good".to_owned(), 2));
    assert_eq!(
        (desk.runs("b"), desk.runs("c")),
        (4, 0),
        "sent back three times, and nobody builds on it: {}{}",
        ran.stdout,
        ran.stderr
    );
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("b ") && line.ends_with("review")),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_killed_run_goes_on_and_no_agent_works_twice() {
    let desk = Desk::new();
    let pipe = desk.sandbox.home.join("pipe");
    assert!(desk.sandbox.command("mkfifo").arg(&pipe).status().unwrap().success());
    let waits = format!("echo a >a; echo up >{0}; cat {0} >/dev/null", pipe.display());
    desk.plan(&[desk.stage("a", &[], &waits, "test -f a"), desk.stage("b", &["a"], "cat a >b", "test -f b")]);
    let mut first = desk.start();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    kill_process(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
    // The agent has outlived the first daemon, and the second one lets it continue.
    let mut second = desk.start();
    fs::write(&pipe, "go\n").unwrap();
    assert!(second.wait().unwrap().success());
    assert_eq!((desk.runs("a"), desk.runs("b")), (1, 1));
    assert_eq!(desk.on_trunk("b"), "a");
    desk.assert_all_landed_was_tested();
}

#[test]
fn two_runs_at_once_are_one_too_many_and_a_stage_stays_in_its_scope() {
    let desk = Desk::new();
    let pipe = desk.sandbox.home.join("pipe");
    assert!(desk.sandbox.command("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("echo x >outside; echo up >{0}; cat {0} >/dev/null", pipe.display());
    let stage = desk
        .stage("a", &[], &script, "true")
        .replace("    acceptance", "    files: [src/**]\n    acceptance");
    desk.plan(&[stage]);
    let mut first = desk.start();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    let second = desk.run();
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("plan `p` already runs in this clone"), "{}", second.stderr);
    fs::write(&pipe, "go\n").unwrap();
    // After each rejection the agent does the same again, so the pipe must be served each time.
    for _ in 0..3 {
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
        fs::write(&pipe, "go\n").unwrap();
    }
    assert_eq!(first.wait().unwrap().code(), Some(1));
    let told = fs::read_to_string(desk.sandbox.store().join("run/plans/p.jsonl")).unwrap();
    assert!(told.contains("1 files outside of the scope were changed, the first is `outside`"));
}

#[test]
fn a_resolver_stays_in_the_scope_of_its_stage() {
    let desk = Desk::new();
    let script = |id: &str| {
        format!(
            "if grep -q '^## Conflict' $SPRAG_BRIEF; then git merge -q -X ours refs/sprag/p/trunk; echo x >outside; else echo {id} >README; fi"
        )
    };
    let scoped = |id: &str| {
        desk.stage(id, &[], &script(id), "true")
            .replace("    acceptance", "    files: [README]\n    acceptance")
    };
    desk.plan(&[scoped("a"), scoped("b")]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.lines().any(|line| line.ends_with("review")), "{}", ran.stdout);
    assert!(!desk.git("ls-tree --name-only refs/sprag/p/trunk").contains("outside"));
}

#[test]
fn who_took_longest_in_an_earlier_run_is_begun_first_in_the_next() {
    let desk = Desk::new();
    let slow = desk
        .stage("slow", &[], "date +%N >slow", "true")
        .replace("    acceptance", "    type: integration-verify\n    acceptance");
    let begun = |stages: &[String]| {
        desk.plan(stages);
        let ran = desk.run_with(&["--slots", "1"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        desk.git("merge -q --ff-only refs/sprag/p/trunk");
        let begins = |record: &&Value| record["body"]["effect"]["effect"] == "add_worktree";
        let records = desk.records();
        records.iter().find(begins).unwrap()["body"]["effect"]["stage"].as_str().unwrap().to_owned()
    };
    begun(std::slice::from_ref(&slow));
    // The stage seems to have taken very long: all later records get a much later time.
    let mut has_begun = false;
    let lines: Vec<String> = desk
        .records()
        .into_iter()
        .map(|mut record| {
            if has_begun {
                let at = record["at"].as_str().unwrap().replacen("20", "21", 1);
                record["at"] = at.into();
            }
            has_begun |= record["body"]["effect"]["effect"] == "add_worktree";
            format!("{record}\n")
        })
        .collect();
    fs::write(desk.sandbox.store().join("run/plans/p.jsonl"), lines.concat()).unwrap();
    let stages = [
        desk.stage("deep", &[], "date +%N >deep", "true"),
        desk.stage("deeper", &["deep"], "date +%N >deeper", "true"),
        slow,
    ];
    assert_eq!(begun(&stages), "slow");
}
