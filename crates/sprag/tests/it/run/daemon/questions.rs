//! Questions to a person about a stage, and the effects of the answers.

use std::fs;

use super::{House, waits};
use crate::support::SPRAG;

impl House {
    /// Returns a stage with additional keys.
    fn stage_with(&self, script: &str, acceptance: &str, more: &str) -> String {
        self.desk
            .stage("a", &[], script, acceptance)
            .replace("    acceptance", &format!("{more}    acceptance"))
    }

    /// Runs the plan until stage `a` waits for a person, and returns the review of the stage. Every command
    /// in it must succeed.
    fn review(&self, stage: String) -> String {
        self.desk.plan(&[stage]);
        let ran = self.run(&["--wait"]);
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        let told = self.sprag(&["stage", "review", "a"]).stdout;
        let looks = told.lines().filter_map(|line| line.strip_prefix("  next: "));
        for look in looks.filter(|look| !look.starts_with("sprag stage")) {
            let look = look.replace("sprag ", &format!("{SPRAG} "));
            let seen = self.desk.sandbox.command("sh").args(["-c", &look]).output().unwrap();
            assert!(seen.status.success(), "{look}: {}", String::from_utf8_lossy(&seen.stderr));
        }
        told
    }
}

#[test]
fn whatever_stops_a_stage_is_told_with_where_it_shows_and_what_can_be_said() {
    let blocked =
        "  next: sprag stage retry a\n  next: sprag stage reset a\n  next: sprag stage skip a --why TEXT\n";
    for (script, more, what) in [
        ("exit 3", "    retries: 0\n", "its agent has crashed\nthe last agent ended with exit code 3\n"),
        (
            "true",
            "    setup: ['echo no make >&2; exit 1']\n",
            "setup failed: setup `echo no make >&2; exit 1` failed: no make\n",
        ),
        (
            "true",
            "    before_stage: ['test -f never']\n",
            "setup failed: before the stage, `test -f never`: exit code 1, expected 0",
        ),
    ] {
        let house = House::new();
        let told = house.review(house.stage_with(script, "true", more));
        assert!(told.starts_with(&format!("stage `a` of plan `p` is blocked, attempt 1\n{what}")), "{told}");
        assert!(told.contains("  next: sprag run logs a --plan p\n"), "{told}");
        assert!(told.ends_with(blocked), "{told}");
    }
}

#[test]
fn what_an_agent_asks_moves_no_cursor_and_tells_no_secret() {
    let house = House::new();
    let secret = "ghp_R8sT2vW4xY6zA1bC3dE5fG7hJ9kL0mN2pQ4r";
    let ask = format!("{SPRAG} stage ask \"$(printf 'may I \\033[2J\\342\\200\\256push with {secret}')\"");
    let told = house.review(house.stage_with(&ask, "true", ""));
    assert!(told.contains("question: may I  [2J push with "), "{told:?}");
    assert!(!told.contains(['\u{1b}', '\u{202e}']) && !told.contains(secret), "{told:?}");
    let records = format!("{:?}", house.desk.records());
    assert!(records.contains("push with") && !records.contains(secret), "{records}");
}

#[test]
fn a_stage_that_changed_nothing_is_told_as_that() {
    let house = House::new();
    let told = house.review(house.stage_with("true", "true", ""));
    assert!(
        told.contains("is review, attempt 1\nits agent claimed twice to be done, but committed nothing"),
        "{told}"
    );
    assert!(told.contains("/.worktrees/a status\n"), "{told}");
    assert!(told.contains("  next: sprag stage resume a --answer TEXT\n"), "{told}");
    assert!(!told.contains("stage merge"), "there is nothing to merge: {told}");
}

#[test]
fn what_a_person_has_to_merge_is_merged_by_their_word() {
    let house = House::new();
    let told = house.review(house.stage_with("echo a >a", "test -f a", "    auto_merge: false\n"));
    assert!(told.contains("a person has to approve the merge (`auto_merge: false`)\n"), "{told}");
    assert!(
        told.contains("  next: git diff refs/sprag/p/trunk...sprag/a/work\n  next: sprag stage merge a\n"),
        "{told}"
    );
    assert_eq!(house.desk.count("effect.intent"), house.desk.count("effect.outcome"));
    let ran = house.sprag(&["stage", "merge", "a"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    house.wait();
    assert_eq!((house.desk.runs("a"), house.desk.on_trunk("a").as_str()), (1, "a"));
    house.desk.assert_all_landed_was_tested();
}

#[test]
fn checks_that_a_person_lets_run_again_may_be_green_by_then() {
    let house = House::new();
    let key = house.home("key");
    let told = house.review(house.stage_with("date +%N >>a", &format!("test -f {}", key.display()), ""));
    assert!(
        told.contains("its checks have failed too often\nfailed checks:\n- acceptance `test -f"),
        "{told}"
    );
    let red = house.sprag(&["stage", "verify", "a"]);
    assert_eq!(red.code, 1, "{}", red.stdout);
    fs::write(key, "k").unwrap();
    let green = house.sprag(&["stage", "verify", "a"]);
    assert_eq!((green.code, green.stdout.as_str()), (0, "passed: all checks passed\n"), "{}", green.stderr);
    house.wait();
    assert_eq!(house.desk.runs("a"), 4, "nobody worked at it again");
    house.desk.assert_all_landed_was_tested();
}

#[test]
fn a_stage_that_is_held_while_its_agent_works_is_merged_once_it_is_let_go() {
    let house = House::new();
    let desk = &house.desk;
    let script = format!("echo a >a; {}", waits(&house));
    desk.plan(&[desk.stage("a", &[], &script, "test -f a"), desk.stage("b", &["a"], "cat a >b", "true")]);
    let run = desk.start_heard();
    assert_eq!(fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    let held = house.sprag(&["stage", "hold", "a"]);
    assert!(
        held.stdout.starts_with("stage `a` finishes its present step; after that no new agent starts for it"),
        "{}{}",
        held.stdout,
        held.stderr
    );
    let held = house.sprag(&["stage", "hold", "b"]);
    assert!(held.stdout.starts_with("stage `b` will be on hold once it could start\n"), "{}", held.stdout);
    fs::write(house.home("pipe"), "go\n").unwrap();
    let (code, out, err) = desk.ended(run);
    assert_eq!(code, 1, "{out}{err}");
    let told = "the run waits:\n  stage `a` is review: its checks passed; on hold by a person\n  stage `b` is waiting: waits for `a`, not merged yet\n  next: sprag stage review a\n  next: sprag status --why\n";
    assert!(out.ends_with(told), "{out}");
    for stage in ["a", "b"] {
        let ran = house.sprag(&["stage", "release", stage]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let ran = house.sprag(&["run", "resume", "--wait"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!((desk.runs("a"), desk.on_trunk("b").as_str()), (1, "a"));
}

#[test]
fn whoever_blocked_a_stage_is_answered_and_the_next_agent_is_told_both() {
    let house = House::new();
    let script = format!(
        "if grep -q 'it is in the safe' $SPRAG_BRIEF && grep -q 'no key' $SPRAG_BRIEF; then echo a >a; else {SPRAG} stage block --why 'no key'; sleep 1000; fi"
    );
    let told = house.review(house.stage_with(&script, "test -f a", ""));
    assert!(told.contains("is blocked, attempt 1\nblocked: no key\n"), "{told}");
    assert!(told.contains("  next: sprag stage resume a --answer TEXT\n"), "{told}");
    let ran = house.sprag(&["stage", "resume", "a", "--answer", "it is in the safe"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    house.wait();
    assert_eq!((house.desk.runs("a"), house.desk.on_trunk("a").as_str()), (2, "a"));
    let brief = fs::read_to_string(house.folder().join("briefs/p/a.md")).unwrap();
    assert!(brief.contains("Asked:\n\n> no key\n\nAnswered:\n\n> it is in the safe\n"), "{brief}");
}
