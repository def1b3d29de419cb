use proptest::prelude::*;

use super::*;

fn check(value: Value) -> Result<CompletionCheck, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn a_check_is_read_with_its_defaults() {
    let read = check(json!({"name": "tests", "command": "cargo test"})).unwrap();
    assert_eq!((read.profile, read.timeout, read.mandatory), (Profile::Standard, 300, true));
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(check(written).unwrap(), read);
}

#[test]
fn a_check_with_a_mistake_is_refused() {
    for (given, says) in [
        (json!({"name": "x"}), "missing field `command`"),
        (json!({"name": "x", "command": "y", "timeut": 3}), "unknown field `timeut`"),
        (json!({"name": "x", "command": "y", "profile": "huge"}), "unknown variant `huge`"),
        (json!({"name": " ", "command": "y"}), "`name` is ` `: give one line of 1 to 64 characters"),
        (json!({"name": "a`\nb", "command": "y"}), "`name` is `a' b`: "),
        (json!({"name": "x".repeat(65), "command": "y"}), "`name` is `xxx"),
        (json!({"name": "x", "command": " "}), "`command` of check `x` is not a text of 1 to 4000"),
        (json!({"name": "x", "command": "a\u{0}b"}), "`command` of check `x` is not "),
        (json!({"name": "x", "command": "y", "timeout": 0}), "`timeout` of check `x` is `0`: give 1 to 3600"),
        (json!({"name": "x", "command": "y", "timeout": 4000}), "`timeout` of check `x` is `4000`: "),
    ] {
        let told = check(given).unwrap_err();
        assert!(told.starts_with(says), "{told}");
    }
}

#[test]
fn a_digest_names_what_is_run() {
    let of = |value: Value| check(value).unwrap().digest();
    let same = of(json!({"name": "t", "command": "make"}));
    assert_eq!(of(json!({"name": "t", "command": "make", "timeout": 5, "mandatory": false})), same);
    assert_ne!(of(json!({"name": "t", "command": "make all"})), same);
    assert_ne!(of(json!({"name": "u", "command": "make"})), same);
    assert_ne!(of(json!({"name": "t", "command": "make", "profile": "deep"})), same);
}

#[test]
fn profiles_have_an_order() {
    assert!(Profile::Quick < Profile::Standard && Profile::Standard < Profile::Deep);
}

fn ran(check: &str, outcome: CheckOutcome) -> CheckRan {
    CheckRan { check: Text::from(check), mandatory: true, outcome }
}

fn ran_optional(check: &str, outcome: CheckOutcome) -> CheckRan {
    CheckRan { mandatory: false, ..ran(check, outcome) }
}

fn results(ran: Vec<CheckRan>) -> Results {
    Results { profile: Profile::Standard, tree: None, ran }
}

#[test]
fn only_what_is_mandatory_fails_a_run() {
    let failed = || CheckOutcome::Failed { code: Some(1), tail: Text::default() };
    assert_eq!(results(Vec::new()).status(), CheckStatus::Skipped);
    assert_eq!(results(vec![ran("a", CheckOutcome::Passed)]).status(), CheckStatus::Passed);
    assert_eq!(results(vec![ran_optional("a", failed())]).status(), CheckStatus::Passed);
    assert_eq!(
        results(vec![ran("a", CheckOutcome::Passed), ran("b", failed())]).status(),
        CheckStatus::Failed
    );
    for outcome in [
        CheckOutcome::TimedOut { seconds: 1, tail: Text::default() },
        CheckOutcome::ChangedTree { left: Text::from("t"), code: Some(0), tail: Text::default() },
        CheckOutcome::Unrunnable { why: Text::from("no time left") },
    ] {
        assert_eq!(results(vec![ran("a", outcome)]).status(), CheckStatus::Failed);
    }
}

#[test]
fn a_report_says_what_is_wrong_and_what_to_do() {
    let report = results(vec![
        ran("fmt", CheckOutcome::Passed),
        ran("test", CheckOutcome::Failed { code: Some(101), tail: Text::from("1 failed") }),
        ran_optional("slow", CheckOutcome::TimedOut { seconds: 9, tail: Text::default() }),
        ran(
            "gen",
            CheckOutcome::ChangedTree { left: Text::from("abc"), code: Some(0), tail: Text::default() },
        ),
        ran("lint", CheckOutcome::Unrunnable { why: Text::from("no time left") }),
    ])
    .report();
    assert_eq!(
        report["checks"],
        json!([
            {"name": "fmt", "status": "passed", "mandatory": true},
            {"name": "test", "status": "failed", "mandatory": true, "code": 101, "tail": "1 failed"},
            {"name": "slow", "status": "timed_out", "mandatory": false, "seconds": 9, "tail": ""},
            {"name": "gen", "status": "changed_tree", "mandatory": true, "left": "abc", "code": 0, "tail": ""},
            {"name": "lint", "status": "unrunnable", "mandatory": true, "why": "no time left"},
        ])
    );
    assert_eq!(report["status"], "failed");
    assert_eq!(
        report["issues"],
        json!([
            "check `test` failed: exit code 101",
            "check `slow` had no result after 9 s (not mandatory)",
            "the tree changed to `abc` while check `gen` ran: exit code 0",
            "cannot run check `lint`: no time left",
        ])
    );
    assert_eq!(report["next_steps"].as_array().unwrap().len(), 4);
    assert_eq!(
        results(Vec::new()).report(),
        json!({"status": "skipped", "checks": [], "issues": [], "next_steps": []})
    );
}

#[test]
fn results_survive_being_written() {
    let given = results(vec![ran("t", CheckOutcome::Failed { code: None, tail: Text::from("x") })]);
    let text = serde_json::to_string(&given).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), given);
}

#[test]
fn a_tail_is_the_end_without_colours_and_secrets() {
    assert_eq!(tail(b"  all \x1b[1;31mred\x1b[0m \r\nthen\tthis\n").as_str(), "all red \nthen\tthis");
    assert_eq!(tail(b"\xff\xfe bad").as_str(), "\u{fffd}\u{fffd} bad");
    assert_eq!(
        tail(b"key ghp_0123456789abcdefghij\x1b[0m0123456789abcdef").as_str(),
        "key [redacted:github_token]"
    );
    let long = "語".repeat(TAIL - 1) + "!";
    assert_eq!(tail(long.as_bytes()).as_str(), long);
    let longer = tail(("xy".to_owned() + &long).as_bytes());
    assert_eq!(longer.as_str(), format!("…{}", &long["語".len()..]));
    let secret = format!("token=ghp_{} {}", "a1".repeat(1000), "z".repeat(1000));
    assert!(!tail(secret.as_bytes()).as_str().contains("a1a1"));
}

proptest! {
    #[test]
    fn any_output_has_a_tail(output in prop::collection::vec(any::<u8>(), 0..4000)) {
        let tail = tail(&output);
        prop_assert!(tail.as_str().chars().count() <= TAIL);
        prop_assert!(!tail.as_str().contains('\x1b'));
    }

    #[test]
    fn any_path_guards_or_not(path in "\\PC{0,40}") {
        let _guards_or_not = risk::guards(&path);
    }
}
