//! The supervisor of an agent: it starts the agent once and keeps its output. It leaves no process behind,
//! however the agent or the supervisor ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::agent::sweep;
use sprag_orchestrator::session_dir::limits::AgentLimits;
use sprag_orchestrator::session_dir::{SessionDir, SessionProbe, SpawnRequest, SupervisorSignal};
use sprag_plan::agent::exit::{EndedBy, ExitStatus};

use crate::support::Sandbox;

/// A repository with a folder for sessions.
struct Desk {
    sandbox: Sandbox,
}

impl Desk {
    fn new() -> Desk {
        let sandbox = Sandbox::new();
        sandbox.git(&["checkout", "-q", "-b", "sprag/one"]);
        Desk { sandbox }
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.sandbox.store().join("run/s").join(id)
    }

    fn site(&self, id: &str) -> SessionDir {
        SessionDir::at(&self.folder(id))
    }

    fn spawn(&self, script: &str) -> SpawnRequest {
        SpawnRequest {
            v: 1,
            epoch: 1,
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            worktree: self.sandbox.project.clone(),
            dir: self.sandbox.project.clone(),
            branch: "sprag/one".to_owned(),
            seconds: 600,
            grace: 0,
            stdin: None,
            watch: AgentLimits::default(),
            confined: None,
        }
    }

    fn ask(&self, id: &str, spawn: &SpawnRequest) -> SessionDir {
        self.site(id).ask(&RealDisk, spawn).unwrap();
        self.site(id)
    }

    fn supervise(&self, id: &str) -> i32 {
        self.sandbox.run(&["supervise", &self.folder(id).display().to_string()]).code
    }

    fn start(&self, id: &str) -> Child {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_sprag"));
        command
            .arg("supervise")
            .arg(self.folder(id))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Makes a pipe that an agent writes to. A read blocks until it does.
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.sandbox.home.join(name);
        assert!(self.sandbox.command("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

fn exit_of(site: &SessionDir) -> (ExitStatus, EndedBy) {
    match site.probe().unwrap() {
        SessionProbe::Ended(exit) => (exit.ended, exit.by),
        other => panic!("{other:?}"),
    }
}

fn lives(pid: &str) -> bool {
    // A zombie process does nothing any more.
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

fn word(path: &Path) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn an_agent_runs_once_and_its_words_are_kept() {
    let desk = Desk::new();
    let site = desk.ask("s1", &desk.spawn("echo said; echo $SPRAG_SESSION >&2; echo x >>ran; exit 3"));
    assert_eq!(site.probe().unwrap(), SessionProbe::Nothing);
    assert_eq!(desk.supervise("s1"), 0);
    assert_eq!(exit_of(&site), (ExitStatus::Code(3), EndedBy::Itself));
    assert_eq!((word(&site.out()), word(&site.err())), ("said".to_owned(), "s1".to_owned()));
    assert_eq!(desk.supervise("s1"), 1, "a session is never run twice");
    assert_eq!(word(&desk.sandbox.project.join("ran")), "x");
}

#[test]
fn of_many_keepers_one_takes_it_on() {
    let desk = Desk::new();
    desk.ask("s1", &desk.spawn("echo x >>ran"));
    let keepers: Vec<Child> = (0..8).map(|_| desk.start("s1")).collect();
    let codes: Vec<i32> = keepers.into_iter().filter_map(|mut it| it.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(word(&desk.sandbox.project.join("ran")), "x");
}

#[test]
fn what_an_agent_leaves_in_the_background_goes_with_it() {
    let desk = Desk::new();
    let site = desk.ask(
        "s1",
        &desk.spawn("setsid sh -c 'sh -c \"echo \\$\\$ >hidden; exec sleep 1000\" & sleep 1000' & until test -s hidden; do :; done"),
    );
    assert_eq!(desk.supervise("s1"), 0);
    assert_eq!(exit_of(&site), (ExitStatus::Code(0), EndedBy::Itself));
    assert!(!lives(&word(&desk.sandbox.project.join("hidden"))));
}

#[test]
fn an_agent_without_time_is_ended() {
    let desk = Desk::new();
    let site = desk.ask("s1", &SpawnRequest { seconds: 0, ..desk.spawn("sleep 1000") });
    assert_eq!(desk.supervise("s1"), 0);
    assert_eq!(exit_of(&site).1, EndedBy::Deadline);
}

#[test]
fn an_agent_that_does_not_listen_is_ended_all_the_same() {
    let desk = Desk::new();
    let pipe = desk.pipe("started");
    let script = format!("trap '' TERM; echo up >{}; sleep 1000", pipe.display());
    let site = desk.ask("s1", &desk.spawn(&script));
    let mut keeper = desk.start("s1");
    assert_eq!(word(&pipe), "up");
    site.tell(SupervisorSignal::Stop).unwrap();
    assert!(keeper.wait().unwrap().success());
    assert_eq!(exit_of(&site), (ExitStatus::Signal(9), EndedBy::Told));
}

#[test]
fn an_agent_is_ended_when_the_keeper_is_told_to() {
    let desk = Desk::new();
    let pipe = desk.pipe("started");
    let script = format!("echo up >{}; sleep 1000", pipe.display());
    let site = desk.ask("s1", &SpawnRequest { grace: 60, ..desk.spawn(&script) });
    let mut keeper = desk.start("s1");
    assert_eq!(word(&pipe), "up");
    assert_eq!(site.probe().unwrap(), SessionProbe::Running);
    site.tell(SupervisorSignal::Stop).unwrap();
    assert!(keeper.wait().unwrap().success());
    assert_eq!(exit_of(&site), (ExitStatus::Signal(15), EndedBy::Told));
}

#[test]
fn a_killed_keeper_takes_its_agent_along_and_the_rest_is_found() {
    let desk = Desk::new();
    let pipe = desk.pipe("started");
    let script = format!("setsid sleep 1000 & echo $! $$ >{}; wait", pipe.display());
    let site = desk.ask("s1", &desk.spawn(&script));
    let mut keeper = desk.start("s1");
    let told = word(&pipe);
    let (left, agent) = told.split_once(' ').unwrap();
    kill_process(Pid::from_child(&keeper), Signal::KILL).unwrap();
    keeper.wait().unwrap();
    assert_eq!(site.probe().unwrap(), SessionProbe::Died);
    assert!(lives(left), "what it hid lives on");
    assert!(sweep("s1") >= 1);
    while lives(left) || lives(agent) {
        std::thread::yield_now();
    }
    assert_eq!(desk.supervise("s1"), 1, "what has begun is not begun again");
}

#[test]
fn an_agent_is_not_started_where_it_was_not_sent() {
    let desk = Desk::new();
    let ran = |spawn: &SpawnRequest, id: &str| {
        let site = desk.ask(id, spawn);
        assert_eq!(desk.supervise(id), 0);
        match exit_of(&site).0 {
            ExitStatus::Refused { why } => desk.sandbox.plain(why.as_str()),
            other => panic!("{other:?}"),
        }
    };
    let spawn = desk.spawn("echo x >>ran");
    let elsewhere = SpawnRequest { branch: "sprag/two".to_owned(), ..spawn.clone() };
    assert!(ran(&elsewhere, "s1").ends_with("is on `sprag/one`, not on `sprag/two`"));
    let outside = SpawnRequest { dir: desk.sandbox.home.clone(), ..spawn.clone() };
    assert!(ran(&outside, "s2").ends_with("is not a worktree"));
    let missing = SpawnRequest { argv: vec!["no-such-agent".to_owned()], ..spawn };
    let site = desk.ask("s3", &missing);
    assert_eq!(desk.supervise("s3"), 0);
    assert_eq!(exit_of(&site), (ExitStatus::Code(1), EndedBy::Itself));
    assert!(word(&site.err()).contains("cannot start the agent `no-such-agent`"));
    assert!(!desk.sandbox.project.join("ran").exists());
}

#[test]
fn a_daemon_that_was_replaced_starts_nothing() {
    let desk = Desk::new();
    let site = desk.ask("s1", &desk.spawn("echo x >>ran"));
    fs::write(desk.sandbox.store().join("run/epoch"), "2\n").unwrap();
    assert_eq!(desk.supervise("s1"), 1);
    assert_eq!(site.probe().unwrap(), SessionProbe::Nothing);
}

#[test]
fn an_agent_whose_folder_is_cleared_away_is_ended() {
    let desk = Desk::new();
    let pipe = desk.pipe("started");
    let script = format!("echo $$ >{}; exec sleep 1000", pipe.display());
    let site = desk.ask("s1", &desk.spawn(&script));
    let mut keeper = desk.start("s1");
    let agent = word(&pipe);
    while site.agent().is_none() {
        std::thread::yield_now();
    }
    // Without the folder no process owns the session, and a daemon would start another agent.
    fs::remove_dir_all(site.dir()).unwrap();
    assert_eq!(keeper.wait().unwrap().code(), Some(1), "nobody hears how it went");
    assert!(!lives(&agent));
    assert!(!site.dir().exists());
}
