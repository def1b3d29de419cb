//! Output of `sprag run logs`: the run, and the output of its agents.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use insta::assert_snapshot;

use sprag_plan::run::record::{CommitProgress, SessionOutcome};
use sprag_plan::stage::StageFailure;

use super::scene::Scene;
use crate::support::SPRAG;

#[test]
fn logs_tell_records_as_sentences_and_what_an_agent_printed() {
    let mut scene = Scene::new(&[("a", &[]), ("b", &["a"])]);
    let session = scene.start("a");
    let site = scene.site(&session);
    fs::write(site.out(), "hello\n\u{1b}]0;owned\u{7}\u{1b}[31mred\u{1b}[0m\nno end").unwrap();
    fs::write(site.err(), b"bad \xff\n").unwrap();
    let failed = SessionOutcome::Failed { failure: StageFailure::Crash, progress: CommitProgress::Nothing };
    scene.end("a", &session, failed);
    assert_snapshot!(scene.sandbox.run(&["run", "logs"]).told(&scene.sandbox), @"
    exit 0
    --- stdout
    TIME the run of `p` began with 2 stages
    TIME a: making its worktree
    TIME a: worktree: made from `t`
    TIME a: starting its agent
    TIME a: start of its agent: started
    TIME a: session `r1/a/1/spawn.0` ended: its agent has crashed
    ");
    assert_snapshot!(scene.sandbox.run(&["run", "logs", "a"]).told(&scene.sandbox), @"
    exit 0
    --- stdout
    TIME a: making its worktree
    TIME a: worktree: made from `t`
    TIME a: starting its agent
    TIME a: start of its agent: started
    out| hello
    out| red
    err| bad �
    out| no end
    TIME a: session `r1/a/1/spawn.0` ended: its agent has crashed
    ");
    let told = scene.sandbox.json(&["run", "logs", "a", "--json"]);
    let red = told["lines"].as_array().unwrap().iter().find(|line| line["text"] == "red").unwrap();
    assert_eq!((&red["stream"], &red["session_id"]), (&"out".into(), &session.0.as_str().into()));
    let lines = scene.sandbox.run(&["run", "logs", "--jsonl"]).stdout;
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{lines}");
    assert_snapshot!(scene.sandbox.run(&["run", "logs", "c"]).told(&scene.sandbox), @"
    exit 1
    --- stderr
    sprag: the run has no stage `c`
      next: sprag run graph
    ");
    assert_snapshot!(scene.sandbox.run(&["run", "attach", "b"]).told(&scene.sandbox), @"
    exit 1
    --- stderr
    sprag: stage `b` has had no agent yet
      next: sprag status --why
    ");
}

#[test]
fn people_are_told_the_last_lines_and_programs_all() {
    let mut scene = Scene::new(&[("a", &[])]);
    let session = scene.start("a");
    let printed: String = (0..300).map(|number| format!("line {number}\u{1b}[2J\u{9b}1m\r\n")).collect();
    fs::write(scene.site(&session).out(), printed).unwrap();
    let told = scene.sandbox.run(&["run", "logs", "a"]);
    assert_snapshot!(told.stderr, @"
    sprag: 104 earlier lines are not shown
      next: sprag run logs a --plan p --all
    ");
    assert_eq!(told.stdout.lines().count(), 200);
    assert!(!told.stdout.contains(['\u{1b}', '\u{9b}', '\r']), "{}", told.stdout);
    assert!(told.stdout.starts_with("out| line 100"), "{}", told.stdout);
    let all = scene.sandbox.run(&["run", "logs", "a", "--all"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (304, ""));
    assert_eq!(scene.sandbox.json(&["run", "logs", "a", "--json"])["lines"].as_array().unwrap().len(), 304);
    fs::write(scene.site(&session).dir().join("claim"), "").unwrap();
    let followed = scene.sandbox.run(&["run", "logs", "a", "-f"]).stdout;
    assert_eq!((followed.lines().count(), followed.lines().last()), (200, told.stdout.lines().last()));
}

#[test]
fn whoever_follows_a_stage_without_an_agent_waits_for_it() {
    let mut scene = Scene::new(&[("a", &[])]);
    let mut child =
        scene.sandbox.command(SPRAG).args(["run", "logs", "a", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let session = scene.start("a");
    fs::write(scene.site(&session).out(), "at last\n").unwrap();
    fs::write(scene.site(&session).dir().join("claim"), "").unwrap();
    assert!(lines.any(|line| line.unwrap() == "out| at last"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn following_ends_with_the_session_and_loses_nothing() {
    let mut scene = Scene::new(&[("a", &[])]);
    let session = scene.start("a");
    let site = scene.site(&session);
    fs::write(site.out(), "one\n").unwrap();
    let mut command = scene.sandbox.command(SPRAG);
    let mut child = command.args(["run", "logs", "a", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(Result::unwrap);
    while next().unwrap() != "out| one" {}
    let mut out = OpenOptions::new().append(true).open(site.out()).unwrap();
    out.write_all(b"two\nth").unwrap();
    assert_eq!(next().unwrap(), "out| two");
    out.write_all(b"ree").unwrap();
    // No process holds the lock: the supervisor is gone.
    fs::write(site.dir().join("claim"), "").unwrap();
    assert_eq!(next().unwrap(), "out| three");
    assert_eq!(next(), None);
    assert!(child.wait().unwrap().success());
}
