//! The end of runs, and the fate of their agents.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Child;
use std::{fs, thread};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::processes;
use sprag_orchestrator::daemon::orphans;
use sprag_orchestrator::lock;
use sprag_orchestrator::session_dir::SessionDir;
use sprag_orchestrator::socket::protocol::{self, DaemonReply, DaemonRequest, PROTOCOL};
use sprag_plan::stage::command::CommandRole;

use super::{House, waits};

impl House {
    /// Writes a plan of one stage: its first agent waits, and the next one works.
    fn patient(&self, more: &str) {
        let script =
            format!("{more}if test -f started; then echo a >a; else touch started; {}; fi", waits(self));
        self.desk.plan(&[self.desk.stage("a", &[], &script, "test -f a")]);
    }

    fn is_up(&self) {
        assert_eq!(fs::read_to_string(self.home("pipe")).unwrap(), "up\n");
    }

    fn nobody_lives(&self) {
        assert_eq!(orphans::find(&self.folder()).unwrap(), []);
    }

    /// Asserts that the run continues in the same attempt and finishes.
    fn goes_on(&self) {
        let ran = self.sprag(&["run", "resume", "--wait"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let keys =
            self.desk.records().into_iter().filter_map(|it| it["body"]["key"].as_str().map(str::to_owned));
        assert!(!keys.into_iter().any(|key| key.contains("/a/2/")), "it was no fault of the agent");
        assert_eq!(self.desk.on_trunk("a"), "a");
    }
}

/// Removes a folder, including files that other processes write there meanwhile.
fn take_away(folder: &Path) {
    let is_gone = |_: &usize| fs::remove_dir_all(folder).is_ok();
    assert!((0..1000).find(is_gone).is_some(), "`{}` comes back for ever", folder.display());
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Starts a daemon that ends instead of answering the last of `requests` requests.
fn goes_after(house: &House, requests: usize) -> thread::JoinHandle<()> {
    let folder = house.folder();
    fs::create_dir_all(folder.join("door")).unwrap();
    let reign = lock::begin(&folder, &RealDisk).unwrap().unwrap();
    let listener = UnixListener::bind(folder.join("door/sock")).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for heard in 1..=requests {
            protocol::read::<DaemonRequest>(&mut stream).unwrap();
            if heard < requests {
                let (version, role) = (String::new(), CommandRole::Admin);
                let hello = DaemonReply::Hello { proto: PROTOCOL, version, epoch: reign.epoch, role };
                protocol::write(&mut stream, &hello).unwrap();
            }
        }
        drop((stream, reign));
    })
}

#[test]
fn a_daemon_that_is_gone_before_its_answer_is_there_has_stopped() {
    let house = House::new();
    let daemon = goes_after(&house, 2);
    let ran = house.sprag(&["run", "stop"]);
    daemon.join().unwrap();
    let stopped = "stopped; worktrees are unchanged\n  next: sprag run resume\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, stopped), "{}", ran.stderr);
    fs::remove_file(house.folder().join("door/sock")).unwrap();
    let daemon = goes_after(&house, 1);
    let ran = house.sprag(&["run", "stop"]);
    daemon.join().unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("no plan was run here"), "as if it had come a moment later: {}", ran.stderr);
}

#[test]
fn the_first_interrupt_of_a_run_in_the_terminal_sends_agents_home() {
    let house = House::new();
    house.patient("");
    let run = house.desk.start_heard();
    house.is_up();
    signal(&run, Signal::INT);
    let (code, out, err) = house.desk.ended(run);
    assert_eq!(code, 130, "{out}{err}");
    assert!(out.ends_with("stopped; worktrees are unchanged\n  next: sprag run resume p\n"), "{out}");
    assert_eq!(err, "sprag: stopping agents (press Ctrl-C again to kill them)\n");
    house.nobody_lives();
    house.goes_on();
}

#[test]
fn the_second_interrupt_ends_them_at_once() {
    let house = House::new();
    house.patient("trap '' TERM\n");
    let mut run = house.desk.start_heard();
    house.is_up();
    signal(&run, Signal::INT);
    let mut heard = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    heard.read_line(&mut line).unwrap();
    signal(&run, Signal::INT);
    heard.read_to_string(&mut line).unwrap();
    assert!(line.ends_with("sprag: killing agents\n"), "{line}");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    house.nobody_lives();
}

#[test]
fn a_daemon_that_is_told_to_end_by_a_signal_sends_agents_home() {
    for told in [Signal::TERM, Signal::HUP] {
        let house = House::new();
        house.patient("");
        assert_eq!(house.run(&[]).code, 0);
        house.is_up();
        kill_process(Pid::from_raw(house.pid()).unwrap(), told).unwrap();
        house.wait();
        house.nobody_lives();
        let diary = fs::read_to_string(house.folder().join("daemon.log")).unwrap();
        assert!(diary.ends_with(" ends: stopped\n"), "{diary}");
        house.goes_on();
    }
}

#[test]
fn agents_that_outlived_a_killed_daemon_are_ended_by_a_stop_that_says_so() {
    for how in [&["run", "stop"][..], &["run", "stop", "--kill"]] {
        let house = House::new();
        house.patient("");
        assert_eq!(house.run(&[]).code, 0);
        house.is_up();
        house.kill();
        assert_eq!(
            orphans::find(&house.folder()).unwrap().len(),
            1,
            "it is a normal event, and nobody ends for it"
        );
        let ran = house.sprag(how);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.starts_with("ending the agent of stage `a` of plan `p`, which has no daemon\n"),
            "{}",
            ran.stdout
        );
        house.nobody_lives();
        let again = house.sprag(how);
        assert_eq!((again.code, again.stdout.as_str()), (1, ""), "there is nobody to end any more");
        house.goes_on();
    }
}

#[test]
fn while_nobody_runs_a_plan_its_stages_are_judged_by_who_is_gone() {
    let house = House::new();
    house.patient("");
    assert_eq!(house.run(&[]).code, 0);
    house.is_up();
    assert_eq!(house.sprag(&["run", "stop"]).code, 0);
    let told = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(told.starts_with("stage `a` of plan `p` is ready, attempt 1"), "{told}");
    let ran = house.sprag(&["stage", "reset", "a"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The daemon and the supervisor are killed, so nothing records the end of the agent.
    assert_eq!(house.sprag(&["run", "resume"]).code, 0);
    house.is_up();
    house.kill();
    for folder in fs::read_dir(house.folder().join("s")).unwrap().flatten() {
        let site = SessionDir::at(&folder.path());
        processes::signal(site.keeper().unwrap(), Signal::KILL);
        site.wait().unwrap();
    }
    let told = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(told.starts_with("stage `a` of plan `p` is ready, attempt 2"), "{told}");
    let ran = house.sprag(&["stage", "hold", "a"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(told.contains("next: sprag stage release a"), "{told}");
}

#[test]
fn a_daemon_whose_ground_is_taken_away_ends_and_its_agents_with_it() {
    for is_all in [false, true] {
        let house = House::new();
        house.patient("");
        assert_eq!(house.run(&[]).code, 0);
        house.is_up();
        let session = fs::read_dir(house.folder().join("s")).unwrap().flatten().next().unwrap();
        let site = SessionDir::at(&session.path());
        let daemon = Pid::from_raw(house.pid()).unwrap();
        let (agent, keeper) = (site.agent().unwrap(), site.keeper().unwrap());
        let ends: Vec<OwnedFd> = [agent, keeper]
            .map(|process| Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap())
            .into_iter()
            .chain([daemon])
            .map(|pid| pidfd_open(pid, PidfdFlags::empty()).unwrap())
            .collect();
        let project = &house.desk.sandbox.project;
        if is_all {
            take_away(project);
            fs::create_dir(project).unwrap();
        } else {
            take_away(&house.folder());
        }
        for end in &ends {
            poll(&mut [PollFd::new(end, PollFlags::IN)], None).unwrap();
        }
    }
}
