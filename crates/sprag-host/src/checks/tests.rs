use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use sprag_check::{CheckStatus, TAIL};

use super::*;
use crate::sys::disk::{self, RealDisk};

const LONG: Duration = Duration::from_secs(60);

/// A worktree whose hash is the text of its only file.
struct Place {
    temp: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("tree")).unwrap();
        fs::write(temp.path().join("tree/file"), "one").unwrap();
        let store = Store::at(temp.path().join("store"));
        Place { temp, store }
    }

    fn run(&self, checks: &[CompletionCheck], budget: Duration) -> Results {
        let tree = || fs::read_to_string(self.temp.path().join("tree/file")).ok();
        self.run_on(&tree, checks, budget)
    }

    fn run_on(
        &self,
        tree: &dyn Fn() -> Option<String>,
        checks: &[CompletionCheck],
        budget: Duration,
    ) -> Results {
        let worktree = self.temp.path().join("tree");
        let site = CheckSite {
            store: &self.store,
            worktree: &worktree,
            disk: &RealDisk,
            tree,
            run: "none",
            watch: &|_| (),
        };
        run(&site, checks, Profile::Standard, budget)
    }

    fn outcome(&self, command: &str) -> CheckOutcome {
        self.run(&[check("it", command)], LONG).ran[0].outcome.clone()
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.temp.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn kept(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.store.cache_dir().join("checks")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

fn check(name: &str, command: &str) -> CompletionCheck {
    serde_json::from_value(json!({"name": name, "command": command})).unwrap()
}

fn failed(outcome: &CheckOutcome) -> (Option<i32>, &str) {
    match outcome {
        CheckOutcome::Failed { code, tail } => (*code, tail.as_str()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_check_passes_or_says_why_not() {
    let place = Place::new();
    assert_eq!(place.outcome("test -f file && test \"$SPRAG_CHECK\" = 1"), CheckOutcome::Passed);
    let outcome = place.outcome("echo one; echo two >&2; echo three; exit 3");
    assert_eq!(failed(&outcome), (Some(3), "one\ntwo\nthree"));
    assert_eq!(failed(&place.outcome("kill -9 $$")), (None, ""));
    let syntax = place.outcome("if");
    let (code, tail) = failed(&syntax);
    assert!(code == Some(2) && !tail.is_empty(), "{code:?} {tail}");
}

#[test]
fn one_that_fails_does_not_stop_the_others() {
    let place = Place::new();
    let results = place.run(&[check("a", "exit 1"), check("b", "true")], LONG);
    assert_eq!(failed(&results.ran[0].outcome).0, Some(1));
    assert_eq!(results.ran[1].outcome, CheckOutcome::Passed);
    assert_eq!((results.status(), results.tree), (CheckStatus::Failed, Some(Text::from("one"))));
}

#[test]
fn a_profile_leaves_out_what_is_deeper() {
    let place = Place::new();
    let deep = serde_json::from_value(json!({"name": "d", "command": "exit 1", "profile": "deep"})).unwrap();
    let quick = serde_json::from_value(json!({"name": "q", "command": "true", "profile": "quick"})).unwrap();
    let results = place.run(&[deep, quick, check("s", "true")], LONG);
    assert_eq!(results.ran.iter().map(|ran| ran.check.as_str()).collect::<Vec<_>>(), ["q", "s"]);
    assert_eq!(results.status(), CheckStatus::Passed);
}

#[test]
fn a_timeout_ends_all_that_it_started() {
    let place = Place::new();
    let pipe = place.temp.path().join("pipe");
    let made = place.outcome(&format!("mkfifo '{}'", pipe.display()));
    assert_eq!(made, CheckOutcome::Passed);
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let reader = File::options().read(true).custom_flags(flags).open(&pipe).unwrap();
    // All processes that start after this inherit the other end of the pipe.
    let command = format!("exec 9>'{}'; echo begun; (sleep 60 & sleep 60) & sleep 60", pipe.display());
    let slow = CompletionCheck { timeout: 1, ..check("slow", &command) };
    let results = place.run(&[slow.clone(), check("next", "true")], LONG);
    assert_eq!(results.ran[0].outcome, CheckOutcome::TimedOut { seconds: 1, tail: Text::from("begun") });
    assert_eq!(results.ran[1].outcome, CheckOutcome::Passed);
    let mut waiting = [PollFd::from_borrowed_fd(reader.as_fd(), PollFlags::IN)];
    let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
    poll(&mut waiting, Some(&patience)).unwrap();
    assert!(waiting[0].revents().contains(PollFlags::HUP), "a process is left");
    assert_eq!(place.kept().len(), 2, "a timeout is not stored");
}

#[test]
fn who_is_left_in_the_background_does_not_hold_up_a_check() {
    let place = Place::new();
    let started = Instant::now();
    assert_eq!(place.outcome("sleep 50 & true"), CheckOutcome::Passed);
    assert!(started.elapsed() < Duration::from_secs(40));
}

#[test]
fn of_much_output_the_end_is_kept() {
    let place = Place::new();
    let outcome = place.outcome("head -c 300000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1");
    let (_, tail) = failed(&outcome);
    assert!(tail.starts_with("…xxx") && tail.ends_with("xxx\nthe end"), "{tail}");
    assert_eq!(tail.chars().count(), TAIL);
}

#[test]
fn output_need_not_be_text() {
    let place = Place::new();
    let outcome = place.outcome("printf '\\377\\376 bad \\303\\244'; exit 2");
    assert_eq!(failed(&outcome), (Some(2), "\u{fffd}\u{fffd} bad ä"));
}

#[test]
fn a_secret_is_not_repeated() {
    let place = Place::new();
    let outcome = place.outcome("echo ghp_0123456789abcdefghij0123456789abcdef; exit 1");
    assert_eq!(failed(&outcome).1, "[redacted:github_token]");
}

#[test]
fn what_cannot_be_run_is_told_and_not_kept() {
    let place = Place::new();
    let CheckOutcome::Unrunnable { why } = place.outcome("no-such-program-anywhere") else {
        panic!("it was run");
    };
    assert!(why.as_str().starts_with("exit code 127: ") && why.as_str().contains("no-such-program"), "{why}");
    fs::remove_dir_all(place.temp.path().join("tree")).unwrap();
    assert!(matches!(place.outcome("true"), CheckOutcome::Unrunnable { .. }));
    assert!(place.kept().is_empty());
}

#[test]
fn a_check_that_changes_the_tree_has_not_passed() {
    let place = Place::new();
    let results =
        place.run(&[check("format", "printf two > file"), check("counts", "echo run >> ../runs")], LONG);
    let changed = CheckOutcome::ChangedTree { left: Text::from("two"), code: Some(0), tail: Text::default() };
    assert_eq!(results.ran[0].outcome, changed);
    assert_eq!(results.ran[1].outcome, CheckOutcome::Passed);
    assert_eq!(results.tree, Some(Text::from("one")));
    // On the resulting tree the check changes nothing, and the result of the other check is stored.
    let again =
        place.run(&[check("format", "printf two > file"), check("counts", "echo run >> ../runs")], LONG);
    assert_eq!((again.status(), again.tree, place.runs()), (CheckStatus::Passed, Some(Text::from("two")), 1));
}

#[test]
fn the_same_tree_is_not_checked_twice() {
    let place = Place::new();
    let passing = check("passing", "echo run >> ../runs");
    let failing = check("failing", "echo run >> ../runs; echo why; exit 4");
    let first = place.run(&[passing.clone(), failing.clone()], LONG);
    assert_eq!(place.runs(), 2);
    // Known results need no time.
    assert_eq!(place.run(&[passing.clone(), failing.clone()], Duration::ZERO), first);
    assert_eq!(place.runs(), 2);
    place.run(&[CompletionCheck { command: "echo run  >> ../runs".to_owned(), ..passing.clone() }], LONG);
    assert_eq!(place.runs(), 3, "another command is another check");
    fs::write(place.temp.path().join("tree/file"), "two").unwrap();
    place.run(&[passing.clone(), failing], LONG);
    assert_eq!(place.runs(), 5, "another tree");
    fs::write(place.temp.path().join("tree/file"), "one").unwrap();
    place.run(&[passing], LONG);
    assert_eq!(place.runs(), 5, "the first tree again");
}

#[test]
fn a_damaged_or_foreign_result_is_none() {
    let place = Place::new();
    let counting = check("counting", "echo run >> ../runs; exit 1");
    let outcome = place.run(std::slice::from_ref(&counting), LONG);
    let file = place.kept().remove(0);
    let whole = fs::read_to_string(&file).unwrap();
    let mut forged: serde_json::Value = serde_json::from_str(&whole).unwrap();
    forged["outcome"] = json!("passed");
    forged["tree"] = json!("two");
    let mut never_kept: serde_json::Value = serde_json::from_str(&whole).unwrap();
    never_kept["outcome"] = json!({"unrunnable": {"why": "x"}});
    for damage in [
        "",
        "{",
        "null",
        &whole[..whole.len() / 2],
        &forged.to_string(),
        &never_kept.to_string(),
        &" ".repeat(99_999),
    ] {
        let before = place.runs();
        fs::write(&file, damage).unwrap();
        assert_eq!(place.run(std::slice::from_ref(&counting), LONG), outcome);
        assert_eq!(place.runs(), before + 1, "{damage}");
        assert_eq!(fs::read_to_string(&file).unwrap(), whole);
    }
}

#[test]
fn without_a_tree_nothing_is_kept() {
    let place = Place::new();
    let counting = check("counting", "echo run >> ../runs");
    for nobody_knows in [None, Some(String::new())] {
        let results = place.run_on(&|| nobody_knows.clone(), std::slice::from_ref(&counting), LONG);
        assert_eq!((results.status(), results.tree), (CheckStatus::Passed, None));
    }
    // If the tree is unknown afterwards, it may have changed.
    let asked = Cell::new(0);
    let once = || (asked.replace(asked.get() + 1) == 0).then(|| "one".to_owned());
    place.run_on(&once, &[counting], LONG);
    assert_eq!((place.runs(), place.kept().len()), (3, 0));
}

#[test]
fn a_budget_is_for_all_of_them() {
    let place = Place::new();
    let checks = [check("slow", "sleep 60"), check("next", "echo run >> ../runs")];
    let results = place.run(&checks, Duration::from_secs(1));
    assert!(matches!(results.ran[0].outcome, CheckOutcome::TimedOut { seconds: 1, .. }), "{results:?}");
    assert_eq!(results.ran[1].outcome, CheckOutcome::Unrunnable { why: Text::from("no time left") });
    assert_eq!((place.runs(), place.kept().len()), (0, 0));
    assert_eq!(place.run(&checks[1..], Duration::MAX).status(), CheckStatus::Passed);
}

#[test]
fn old_results_make_room() {
    let place = Place::new();
    let dir = place.store.cache_dir().join("checks");
    fs::create_dir_all(&dir).unwrap();
    for n in 0..KEPT + 5 {
        let file = File::create(dir.join(format!("{n}.json"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(n as u64)).unwrap();
    }
    let counting = check("counting", "echo run >> ../runs");
    place.run(std::slice::from_ref(&counting), LONG);
    assert_eq!(place.kept().len(), KEPT);
    assert!(!dir.join("5.json").exists() && dir.join("6.json").exists());
    place.run(&[counting], LONG);
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_disk_that_takes_nothing_only_costs_time() {
    let place = Place::new();
    let tree = || Some("one".to_owned());
    let worktree = place.temp.path().join("tree");
    let site = CheckSite {
        store: &place.store,
        worktree: &worktree,
        disk: &disk::ReadOnly,
        tree: &tree,
        run: "none",
        watch: &|_| (),
    };
    let checks = [check("counting", "echo run >> ../runs")];
    for runs in 1..=2 {
        assert_eq!(run(&site, &checks, Profile::Deep, LONG).status(), CheckStatus::Passed);
        assert_eq!(place.runs(), runs);
    }
}

#[test]
fn a_check_is_no_part_of_the_session() {
    let unset = unset();
    for name in ["SPRAG_SESSION", "SPRAG_REVIEW_TOKEN", "CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "GIT_DIR"] {
        assert!(unset.contains(&name), "{name}");
    }
}

/// The compiled configuration for hooks is stored in a form without names.
#[test]
fn a_check_survives_being_compiled() {
    let checks =
        vec![check("a", "true"), CompletionCheck { timeout: 5, mandatory: false, ..check("b", "x y") }];
    let bytes = postcard::to_allocvec(&checks).unwrap();
    assert_eq!(postcard::from_bytes::<Vec<CompletionCheck>>(&bytes).unwrap(), checks);
}
