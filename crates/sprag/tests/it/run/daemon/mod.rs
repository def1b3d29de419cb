//! The daemon: plans in the background, its requests, and the fate of a run after any failure. Git and
//! processes are real; agents are small scripts.

mod commands;
mod peers;
mod questions;
mod stopped;

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use sprag_base::result::Discard as _;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::lock;

use crate::support::desk::Desk;
use crate::support::{Ran, SPRAG};

/// A desk whose daemon ends with it.
pub(super) struct House {
    pub desk: Desk,
}

impl Drop for House {
    fn drop(&mut self) {
        self.desk.sandbox.run(&["run", "stop", "--kill"]);
    }
}

impl House {
    pub(super) fn new() -> House {
        House { desk: Desk::new() }
    }

    pub(super) fn sprag(&self, args: &[&str]) -> Ran {
        self.desk.sandbox.run(args)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.desk.sandbox.store().join("run")
    }

    pub(super) fn home(&self, name: &str) -> PathBuf {
        self.desk.sandbox.home.join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home(name)).unwrap_or_default()
    }

    /// Makes a pipe. A read blocks until another process writes.
    pub(super) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.home(name);
        assert!(self.desk.sandbox.command("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    pub(super) fn run(&self, more: &[&str]) -> Ran {
        let plan = self.home("plan.md").display().to_string();
        self.sprag(&[&["run", &plan, "--trust"], more].concat())
    }

    /// Waits until the daemon has ended.
    pub(super) fn wait(&self) {
        lock::wait(&self.folder()).unwrap();
    }

    pub(super) fn pid(&self) -> i32 {
        i32::try_from(lock::ruler(&self.folder()).unwrap().expect("a daemon rules")).unwrap()
    }

    pub(super) fn kill(&self) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), Signal::KILL).unwrap();
        self.wait();
    }
}

/// Returns the script of an agent that reports its start and waits for a signal to continue.
fn waits(house: &House) -> String {
    let pipe = house.pipe("pipe");
    format!("echo up >{0}; cat {0} >/dev/null", pipe.display())
}

#[test]
fn a_plan_runs_in_the_background_and_the_daemon_ends_with_it() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[desk.stage("a", &[], "echo a >a", "test -f a"), desk.stage("b", &["a"], "cat a >b", "true")]);
    let ran = house.run(&["--wait", "--slots", "1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.ends_with("next: sprag run land p\n"), "{}", ran.stdout);
    house.wait();
    assert_eq!(desk.on_trunk("b"), "a");
    assert!(!house.folder().join("door/sock").exists());
    let diary = fs::read_to_string(house.folder().join("daemon.log")).unwrap();
    assert!(diary.contains(" b done\n") && diary.ends_with(" ends: over\n"), "{diary}");
}

#[test]
fn a_second_daemon_is_refused_by_the_number_of_the_first() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", waits(&house)), "true")]);
    assert_eq!(house.run(&[]).code, 0);
    assert_eq!(fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    for ran in [house.run(&[]), house.run(&["--foreground"]), house.sprag(&["run", "resume"])] {
        assert_eq!(ran.code, 1);
        let told = format!("plan `p` already runs in this clone, in process `{}`", house.pid());
        assert!(ran.stderr.contains(&told), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("next: sprag status\n"), "{}", ran.stderr);
    }
    fs::write(house.home("pipe"), "go\n").unwrap();
    house.wait();
    assert_eq!(desk.runs("a"), 1);
}

#[test]
fn a_killed_daemon_leaves_a_stale_socket_and_the_run_goes_on_without_a_second_agent() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[
        desk.stage("a", &[], &format!("echo a >a; {}", waits(&house)), "test -f a"),
        desk.stage("b", &["a"], "cat a >b", "true"),
    ]);
    assert_eq!(house.run(&[]).code, 0);
    assert_eq!(fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    house.kill();
    assert!(house.folder().join("door/sock").exists());
    let ran = house.sprag(&["run", "repair"]);
    assert!(ran.stdout.contains("is the socket of a daemon that ended"), "{}", ran.stdout);
    assert_eq!(house.sprag(&["run", "resume"]).code, 0);
    fs::write(house.home("pipe"), "go\n").unwrap();
    house.wait();
    assert_eq!((desk.runs("a"), desk.runs("b")), (1, 1));
    assert_eq!(desk.on_trunk("b"), "a");
    desk.assert_all_landed_was_tested();
}

#[test]
fn who_is_stopped_goes_home_and_comes_back_to_the_same_attempt() {
    let house = House::new();
    let desk = &house.desk;
    let script = format!("if test -f started; then echo a >a; else touch started; {}; fi", waits(&house));
    desk.plan(&[desk.stage("a", &[], &script, "test -f a")]);
    for how in [&["run", "stop"][..], &["run", "stop", "--kill"]] {
        fs::remove_file(desk.sandbox.project.join(".worktrees/a/started"))
            .discard("the file exists from the second round on");
        let begun = if how.len() == 2 { house.run(&[]) } else { house.sprag(&["run", "resume"]) };
        assert_eq!(begun.code, 0, "{}", begun.stderr);
        assert_eq!(fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
        let ran = house.sprag(how);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(desk.sandbox.project.join(".worktrees/a/started").exists(), "its worktree is as it was");
    }
    assert_eq!(house.sprag(&["run", "stop"]).code, 1);
    let ran = house.sprag(&["run", "resume", "--wait"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let records = desk.records();
    let attempts = records.iter().filter(|record| {
        record["body"]["key"].as_str().is_some_and(|key| key.contains("/a/1/spawn."))
            && record["body"]["effect"]["effect"] == "spawn"
    });
    assert_eq!((attempts.count(), desk.runs("a")), (3, 3));
}

#[test]
fn a_file_that_is_edited_during_the_run_is_told_and_changes_nothing_until_it_is_amended() {
    let house = House::new();
    let desk = &house.desk;
    let first = desk.stage("a", &[], &format!("echo a >a; {}", waits(&house)), "test -f a");
    desk.plan(std::slice::from_ref(&first));
    assert_eq!(house.run(&[]).code, 0);
    assert_eq!(fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    let file = desk.plan(&[first, desk.stage("b", &[], "echo b >b", "true")]).display().to_string();
    house.kill();
    let ran = house.sprag(&["run", "resume"]);
    assert!(ran.stderr.contains("changed since the start; the run uses its earlier plan"), "{}", ran.stderr);
    let ran = house.sprag(&["plan", "amend", &file]);
    assert_eq!(ran.code, 1, "nobody has said that its programs are wanted");
    assert!(ran.stderr.ends_with(&format!("next: sprag plan amend {file} --trust\n")), "{}", ran.stderr);
    let ran = house.sprag(&["plan", "amend", &file, "--trust"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let again = house.sprag(&["plan", "amend", &file, "--trust"]);
    assert!(again.stderr.contains("the plan is unchanged"), "{}", again.stderr);
    fs::write(house.home("pipe"), "go\n").unwrap();
    house.wait();
    assert_eq!((desk.on_trunk("b").as_str(), desk.runs("a")), ("b", 1));
}

#[test]
fn a_plan_is_amended_while_nobody_runs_it_and_what_was_begun_stays() {
    let house = House::new();
    let desk = &house.desk;
    let a = desk.stage("a", &[], &format!("{SPRAG} stage block --why later; sleep 1000"), "true");
    desk.plan(&[a.clone(), desk.stage("b", &["a"], "echo b >b", "true")]);
    assert_eq!(house.run(&["--wait"]).code, 1);
    assert_eq!(house.sprag(&["run", "stop"]).code, 0);
    let file = desk.plan(&[desk.stage("b", &[], "echo b >b", "true")]).display().to_string();
    let ran = house.sprag(&["plan", "amend", &file, "--trust"]);
    assert!(ran.stderr.contains("stage `a` was begun and cannot leave the plan"), "{}", ran.stderr);
    desk.plan(&[a, desk.stage("b", &[], "echo b >b", "true")]);
    // The plan is read from another file, and the run uses this file from then on.
    let other = house.home("other.md").display().to_string();
    fs::rename(&file, &other).unwrap();
    fs::write(&file, "no plan at all\n").unwrap();
    assert_eq!(house.sprag(&["plan", "amend", &other, "--trust"]).code, 0);
    assert_eq!(house.sprag(&["stage", "skip", "a", "--why", "not now"]).code, 0);
    let ran = house.sprag(&["run", "resume", "p", "--wait"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(desk.on_trunk("b"), "b");
    assert!(
        ran.stdout.ends_with("1 merged, 1 skipped: `refs/sprag/p/trunk`\n  next: sprag run land p\n"),
        "{}",
        ran.stdout
    );
    house.wait();
    let over = "the run of plan `p` is over: 1 merged, 1 skipped\n";
    for named in [&["run", "resume"][..], &["run", "resume", "p"]] {
        let ran = house.sprag(named);
        assert_eq!(
            (ran.code, ran.stdout),
            (0, format!("{over}  next: sprag run land p\n")),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(house.sprag(&["run", "land"]).code, 0);
    assert_eq!(house.sprag(&["run", "resume"]).stdout, format!("{over}`main` has all merged work\n"));
}

#[test]
fn merged_work_lands_by_fast_forward_and_through_nothing_that_is_open() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[desk.stage("a", &[], "echo a >a", "true")]);
    assert_eq!(house.run(&["--wait"]).code, 0);
    house.wait();
    desk.sandbox.write("README", "changed\n");
    let ran = house.sprag(&["run", "land"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("there are changes that are not committed"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(desk.sandbox.project.join("README")).unwrap(), "changed\n");
    desk.git("checkout -q -- README");
    let ran = house.sprag(&["run", "land", "p"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(desk.sandbox.project.join("a")).unwrap(), "a\n");
    assert_eq!(desk.git("rev-parse main"), desk.git("rev-parse refs/sprag/p/trunk"));
    assert_eq!(house.sprag(&["run", "land"]).stdout, "`main` has all merged work\n");
}

#[test]
fn what_a_dead_run_left_behind_is_found_and_cleared_away() {
    let house = House::new();
    let desk = &house.desk;
    assert_eq!(house.sprag(&["run", "repair"]).stdout, "no leftovers\n");
    let folder = house.folder();
    fs::create_dir_all(folder.join("s/half")).unwrap();
    fs::write(folder.join("s/half/spawn.json"), "{}").unwrap();
    fs::create_dir_all(folder.join("door")).unwrap();
    fs::write(folder.join("door/sock"), "").unwrap();
    for path in [folder.join("gates/p-1").display().to_string(), ".worktrees/gone".to_owned()] {
        desk.git(&format!("worktree add -q --detach {path}"));
    }
    fs::remove_dir_all(desk.sandbox.project.join(".worktrees/gone")).unwrap();
    desk.git("update-ref refs/sprag/old/cand/1 HEAD");
    desk.git("update-ref refs/sprag/old/salvage/a/1 HEAD");
    let found = house.sprag(&["run", "repair"]);
    assert_eq!((found.code, found.stdout.lines().filter(|line| !line.starts_with("  next")).count()), (1, 6));
    let mended = house.sprag(&["run", "repair", "--fix"]);
    assert_eq!(mended.stdout.matches("removed: ").count(), 5, "{}", mended.stdout);
    assert_eq!(mended.code, 1);
    assert!(mended.stdout.contains("git update-ref -d refs/sprag/old/salvage/a/1"), "{}", mended.stdout);
    assert_eq!(desk.git("for-each-ref --format=%(refname) refs/sprag"), "refs/sprag/old/salvage/a/1");
    assert_eq!(desk.git("worktree list --porcelain").matches("worktree ").count(), 1);
    let rule = lock::begin(&folder, &RealDisk).unwrap().unwrap();
    let ran = house.sprag(&["run", "repair", "--fix"]);
    assert!(ran.stderr.contains("a plan already runs in this clone"), "{}", ran.stderr);
    drop(rule);
}
