//! Runs with all failures: agents that crash, hang, conflict and fail, and a run that is killed at any time.
//! No work is lost or done twice, and no process or file is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use sprag_base::result::Discard as _;

use crate::support::desk::Desk;

/// Returns the last state of every stage from the output of the run.
fn states(told: &str) -> BTreeMap<String, String> {
    let lines = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| (text(&line["stage"]), text(&line["state"]))).collect()
}

/// Returns the processes of sessions of this run.
fn of_run(run: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has_it = |bytes: &Vec<u8>| {
        bytes
            .split(|&byte| byte == 0)
            .any(|entry| entry.starts_with(format!("SPRAG_SESSION={run}").as_bytes()))
    };
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| fs::read(format!("/proc/{pid}/environ")).ok().is_some_and(|bytes| has_it(&bytes)))
        .collect()
}

/// Returns the script of the agent at a position in the large diamond.
fn trouble(desk: &Desk, at: usize) -> String {
    let once = format!("{}/once-{at}", desk.sandbox.home.display());
    let first = |then: &str| format!("if [ ! -e {once} ]; then touch {once}; {then}; fi\n");
    let work = format!("mkdir -p out; echo {at} >out/s{at}");
    match at % 7 {
        // The agent crashes after a commit, and before one.
        1 => format!("{}{work}", first("echo half >half; git add -A; git commit -qm half; exit 3")),
        2 => format!("{}{work}", first("kill -9 $$")),
        // The account of the agent reached a limit for a moment.
        3 => {
            let limited = r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(date +%s)'}}'; echo '{"type":"result","is_error":true,"api_error_status":429}'; exit 1"#;
            format!("{}{work}", first(limited))
        }
        // Two stages change the same file. The second one gets the conflict in its brief and merges.
        4 | 6 => format!(
            "if grep -q '^## Conflict' $SPRAG_BRIEF; then git merge -q -X ours refs/sprag/p/trunk; else {work}; echo {at} >README; fi"
        ),
        // The work fails its check until the brief lists the failure.
        5 => format!("{work}; if grep -q '^## Failures to fix' $SPRAG_BRIEF; then echo good >out/g{at}; fi"),
        _ => work,
    }
}

#[test]
fn a_large_diamond_ends_merged_or_with_a_person_whatever_its_agents_do() {
    let desk = Desk::new();
    let mut stages = Vec::new();
    let name = |at: usize| format!("s{at}");
    for at in 0..28 {
        let needs: Vec<String> = match at {
            0 => vec![],
            1..=7 => vec![name(0)],
            27 => (22..27).map(name).collect(),
            _ => vec![name(at - 7), name(if at % 7 == 0 { at - 1 } else { at - 6 })],
        };
        let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
        let acceptance =
            if at % 7 == 5 { format!("test -f out/g{at}") } else { format!("test -f out/s{at}") };
        let stage = desk.stage(&name(at), &needs, &trouble(&desk, at), &acceptance);
        let stage = if at % 7 == 3 { stage.replace(".sh]}", ".sh], stream: claude}") } else { stage };
        stages.push(stage);
    }
    // The agent exceeds its time budget, and a person must decide about more.
    let hangs = desk.stage("hangs", &["s2"], "sleep 600", "true");
    stages.push(format!("{hangs}    budget: {{time: 2s}}\n"));
    // The check of this stage always fails.
    stages.push(desk.stage("never", &["s1"], "date +%N >never", "false"));
    desk.plan(&stages);
    let ran = desk.run_with(&["--json"]);
    assert_eq!(ran.code, 1, "two of them are a person's: {}", ran.stderr);
    let states = states(&ran.stdout);
    assert_eq!(states.len(), 30);
    for (stage, state) in &states {
        let wanted = match stage.as_str() {
            "never" => "review",
            "hangs" => "blocked",
            _ => "done",
        };
        assert_eq!(state, wanted, "{stage}: {states:?}");
    }
    desk.assert_all_landed_was_tested();
    let tree = desk.git("ls-tree -r --name-only refs/sprag/p/trunk");
    (0..28).for_each(|at| assert!(tree.lines().any(|path| path == format!("out/s{at}")), "{at}: {tree}"));
    let conflicted =
        desk.records().iter().filter(|it| it["body"]["outcome"]["outcome"] == "conflicted").count();
    assert!(conflicted > 0, "they have met");
    let limited = desk.records().iter().filter(|it| it["body"]["ended"]["ended"] == "rate_limited").count();
    assert_eq!(limited, 4, "a limit is no failure");
    assert_eq!(of_run(&desk.run_id()), Vec::<String>::new());
}

/// Returns the next pseudo-random number; the sequence is the same in every run.
fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn a_run_that_is_killed_at_any_time_loses_nothing_and_does_nothing_twice() {
    let rounds: u32 = std::env::var("SPRAG_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    let (mut killed, mut state) = (0, 20_261_116);
    while killed < rounds {
        let desk = Desk::new();
        desk.plan(&[
            desk.stage("a", &[], "sleep 0.2; echo a >a", "test -f a"),
            desk.stage("b", &["a"], "sleep 0.1; echo b >b", "test -f b"),
            desk.stage("c", &["a"], "echo c >c; sleep 0.3", "test -f c"),
            desk.stage("d", &["a"], "echo d >README", "true"),
            desk.stage("e", &["b", "c", "d"], "cat b c >e", "grep -q b e"),
        ]);
        let mut is_over = false;
        while !is_over {
            // The kill may come at any time: the assertions must hold after each.
            let until = Duration::from_millis(chance(&mut state) % 400);
            match code_unless_killed(desk.start(), until) {
                Some(code) => {
                    assert_eq!(code, 0, "{:?}", desk.records().last());
                    is_over = true;
                }
                None => killed += 1,
            }
        }
        for stage in ["a", "b", "c", "d", "e"] {
            assert_eq!(desk.runs(stage), 1, "`{stage}` is worked at once");
        }
        desk.assert_all_landed_was_tested();
        assert_eq!((desk.on_trunk("e"), desk.on_trunk("README")), ("b\nc".to_owned(), "d".to_owned()));
        assert_eq!(desk.git("worktree list --porcelain").matches("worktree ").count(), 1);
        assert_eq!(desk.git("branch --list sprag/*"), "");
        assert_eq!(of_run(&desk.run_id()), Vec::<String>::new());
        let keys = desk
            .records()
            .iter()
            .filter(|it| it["kind"] == "effect.outcome")
            .map(|it| it["body"]["key"].to_string())
            .collect::<Vec<_>>();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "every effect is settled once");
    }
}

/// Returns the exit code, or `None` if the run was killed after this time.
fn code_unless_killed(mut run: Child, until: Duration) -> Option<i32> {
    let (tell, told) = std::sync::mpsc::channel();
    let pid = Pid::from_child(&run);
    let killer = std::thread::spawn(move || {
        if told.recv_timeout(until).is_err() {
            kill_process(pid, Signal::KILL).discard("the process may have ended by itself");
        }
    });
    let code = run.wait().unwrap().code();
    tell.send(()).discard("the killer may have ended already");
    killer.join().unwrap();
    code
}

/// `SPRAG_WORKTREES=1000` makes as many.
#[test]
fn of_many_worktrees_none_is_left_and_nothing_in_them_is_lost_whoever_dies() {
    let count: usize = std::env::var("SPRAG_WORKTREES").map_or(12, |count| count.parse().unwrap());
    let desk = Desk::new();
    desk.git("switch -q -c elsewhere");
    let once = |at: usize| format!("{}/once-{at}", desk.sandbox.home.display());
    let stage = |at: usize| {
        // Every third agent crashes with uncommitted work and starts again.
        let crash = match at % 3 {
            0 => format!("if [ ! -e {0} ]; then touch {0}; echo half >half-{at}; exit 3; fi", once(at)),
            _ => String::new(),
        };
        let stage = desk.stage(&format!("s{at}"), &[], &format!("{crash}\necho {at} >out-{at}"), "true");
        format!("{stage}    retries: 9\n")
    };
    desk.plan(&(0..count).map(stage).collect::<Vec<_>>());
    let mut state = 20_261_117;
    let mut is_over = false;
    while !is_over {
        // The time is long enough for some progress; reading a long plan takes longer.
        let until = Duration::from_millis((500 + chance(&mut state) % 2500) * (1 + count as u64 / 200));
        let code = code_unless_killed(desk.start(), until);
        is_over = code.is_some();
        assert!(matches!(code, None | Some(0)), "{:?}", desk.records().last());
    }
    let tree = desk.git("ls-tree --name-only main");
    let landed: BTreeSet<&str> = tree.lines().collect();
    for at in 0..count {
        assert!(landed.contains(format!("out-{at}").as_str()), "{at} is lost");
        assert!(at % 3 != 0 || landed.contains(format!("half-{at}").as_str()), "half of {at} is lost");
    }
    assert_eq!(desk.git("worktree list --porcelain").matches("worktree ").count(), 1);
    assert_eq!(fs::read_dir(desk.sandbox.project.join(".worktrees")).unwrap().count(), 0);
    assert_eq!(desk.git("for-each-ref refs/heads/sprag refs/sprag/p/salvage"), "");
    assert_eq!(of_run(&desk.run_id()), Vec::<String>::new());
    assert_eq!(desk.sandbox.run(&["run", "repair"]).stdout, "no leftovers\n");
}
