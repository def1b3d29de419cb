//! Agents of plans in a sandbox: the files they reach, the files they do not reach, and no leftovers. Each
//! story runs with every sandbox of this machine, and once without any, to show that the sandbox protects.

mod checks;
mod fixture;
mod moved_worktree;
mod review;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use rustix::process::{Pid, Signal, kill_process};

use sprag_govern::session_facts::Process;
use sprag_orchestrator::session_dir::{SessionProbe, SupervisorSignal};
use sprag_plan::agent::exit::{EndedBy, ExitStatus};

use crate::support::SPRAG;
use fixture::{Desk, WALLS, is_there, lives};

/// Actions of an agent, each in a separate shell, and whether it may do them.
const TRIES: &[(&str, &str, bool)] = &[
    ("worktree", "echo x >made", true),
    ("commit", "git add made && git commit -qm made", true),
    ("amend", "git commit -q --amend -m again", true),
    ("temporary", "echo x >$TMPDIR/x && cat $TMPDIR/x", true),
    ("brief", "cat $SPRAG_BRIEF", true),
    ("history", "git log -1 main", true),
    ("device", "echo x >/dev/null", true),
    ("home", "echo x >$HOME/outside", false),
    ("checkout", "echo x >../../README", false),
    ("other worktree", "echo x >../b/README", false),
    ("hooks", "echo x >$G/hooks/pre-commit", false),
    ("config", "git config core.fsmonitor evil", false),
    ("exclude", "echo x >>$G/info/exclude", false),
    ("packed", "echo x >>$G/packed-refs", false),
    ("pack", "echo x >$G/objects/pack/x", false),
    ("alternates", "echo x >$G/objects/info/alternates", false),
    ("main", "git update-ref refs/heads/main HEAD~1", false),
    ("other branch", "git update-ref refs/heads/sprag/b/work HEAD", false),
    ("trunk", "git update-ref refs/sprag/p/trunk HEAD", false),
    ("other index", "echo x >$G/worktrees/b/index", false),
    ("key", "cat $HOME/.ssh/id_x", false),
    ("key by a link", "ln -sf $HOME/.ssh keys && cat keys/id_x", false),
    ("write by a link", "ln -sf $HOME out && echo x >out/outside", false),
    ("records of the run", "cat $G/sprag/run/plans/p.jsonl", true),
    ("change of records", "echo x >>$G/sprag/run/plans/p.jsonl", false),
    ("tokens of people", "cat $G/sprag/run/token || cat $G/sprag/run/admin", false),
    ("keeper", "test -n \"$K\" && cat /proc/$K/stat", true),
    ("environment of others", "cat /proc/$K/environ", false),
    ("eyes of others", "cat /proc/$K/root$HOME/.ssh/id_x", false),
    ("memory of others", "echo x >/proc/$K/mem", false),
    ("own spawn record", "echo x >>$(dirname $TMPDIR)/spawn.json", false),
];

/// Returns a script that writes a name and a result to each line of `tried`.
fn script() -> String {
    let tries = TRIES.iter().map(|(name, what, _)| {
        format!(
            "if sh -c '{what}' >/dev/null 2>&1; then echo '{name}: yes'; else echo '{name}: no'; fi >>$L\n"
        )
    });
    let tries: String = tries.collect();
    format!(
        "export G=$(git rev-parse --git-common-dir) K=$(tr -c 0-9 \" \" <$(dirname $TMPDIR)/claim | cut -d \" \" -f 8)\nL=$PWD/tried\n{tries}rm -f keys out made\ngit rm -q --cached made\n"
    )
}

#[test]
fn an_agent_commits_on_its_branch_and_reaches_nothing_else() {
    for wall in WALLS {
        let desk = Desk::new();
        if !is_there(wall) {
            continue;
        }
        let desk = desk.within(wall);
        desk.git("branch sprag/b/work");
        desk.git("worktree add -q .worktrees/b sprag/b/work");
        desk.git("pack-refs --all");
        fs::create_dir(desk.sandbox.home.join(".ssh")).unwrap();
        fs::write(desk.sandbox.home.join(".ssh/id_x"), "secret").unwrap();
        let main = desk.git("rev-parse main");
        desk.plan(&[desk.stage("a", &script())], "");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}", ran.stdout, ran.stderr, desk.said());
        let tried = desk.on_trunk("tried");
        let wanted: Vec<String> = TRIES
            .iter()
            .map(|(name, _, may)| format!("{name}: {}", if *may { "yes" } else { "no" }))
            .collect();
        assert_eq!(tried.lines().collect::<Vec<_>>(), wanted, "{wall}");
        assert_eq!(desk.git("rev-parse refs/heads/sprag/b/work"), main);
        assert!(!desk.sandbox.home.join("outside").exists());
        assert!(
            !desk.sandbox.project.join(".git/refs/heads/sprag/a").exists(),
            "nothing of the branch is left"
        );
    }
}

#[test]
fn without_a_wall_all_of_it_goes_through() {
    let desk = Desk::new();
    let reach =
        [("home", "echo x >$HOME/outside"), ("branch", "git update-ref refs/heads/sprag/b/work HEAD")];
    let script: String =
        reach.iter().map(|(name, what)| format!("sh -c '{what}' && echo {name} >>tried\n")).collect();
    desk.plan(&[desk.stage("a", &script)], "");
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("tried"), "home\nbranch");
}

#[test]
fn a_plan_that_insists_is_refused_before_anything_is_begun() {
    let desk = Desk::new();
    desk.plan(&[desk.stage("a", "echo x >>$HOME/ran")], "sandbox: required\n");
    let ran = desk.run();
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains(
            "stage `a` needs a sandbox, which is not available here: bubblewrap is not available: `SPRAG_SANDBOX` is `off`"
        ),
        "{}",
        ran.stderr
    );
    assert!(!desk.sandbox.store().join("run").exists());
    // A restricted network is required, too.
    desk.plan(&[desk.stage("a", "echo x >>$HOME/ran")], "sandbox: {network: none}\n");
    assert_eq!(desk.run().code, 2);
    assert!(!desk.sandbox.home.join("ran").exists());
}

#[test]
fn walls_that_cannot_be_built_block_the_stage_and_no_agent_starts() {
    let mut desk = Desk::new().within("bubblewrap");
    // This bwrap works in the probe, but not for the agent.
    let script =
        "for last; do :; done; test \"$last\" = : && exit 0; echo 'bwrap: no namespaces left' >&2; exit 1";
    desk.sandbox.with_program("bwrap", script);
    desk.plan(&[desk.stage("a", "echo x >ran")], "sandbox: required\n");
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("a ") && line.ends_with("blocked")),
        "{}",
        ran.stdout
    );
    let records = desk.records();
    assert!(records.contains("\"failure\":\"sandbox\""), "{records}");
    let exit = fs::read_to_string(desk.site().dir().join("exit.json")).unwrap();
    assert!(exit.contains("unconfined") && exit.contains("no namespaces left"), "{exit}");
    assert!(!desk.sandbox.project.join(".worktrees/a/ran").exists());
}

#[test]
fn a_worktree_behind_a_link_is_not_worked_at() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let elsewhere = desk.sandbox.home.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, desk.sandbox.project.join(".worktrees")).unwrap();
        desk.plan(&[desk.stage("a", "echo x >ran")], "sandbox: required\n");
        assert_eq!(desk.run().code, 1);
        assert!(desk.records().contains("belongs to another worktree"), "{wall}: {}", desk.records());
        assert!(!elsewhere.join("a/ran").exists());
    }
}

#[test]
fn whoever_points_git_elsewhere_is_not_looked_at_with_git() {
    let desk = Desk::new();
    // Git would run this filter to check whether a file of the same length changed.
    let script = "git init -q evil && cp README evil && git -C evil add README\n\
        git -C evil -c user.name=e -c user.email=e commit -qm x && git -C evil checkout -q -b sprag/a/work\n\
        git -C evil config filter.evil.clean \"touch $HOME/evil; cat\"\n\
        echo '* filter=evil' >.gitattributes; echo other >README\n\
        echo \"gitdir: $PWD/evil/.git\" >.git\nexit 0";
    desk.plan(&[desk.stage("a", script)], "");
    assert_eq!(desk.run().code, 1);
    assert!(desk.records().contains("/.git` does not point to this repository"), "{}", desk.records());
    assert!(!desk.sandbox.home.join("evil").exists());
}

#[test]
fn a_killed_keeper_leaves_nothing_behind_the_wall() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let pipe = desk.pipe();
        let script = format!("setsid sleep 1000 & echo $! $$ >{}; wait", pipe.display());
        desk.plan(&[desk.stage("a", &script)], "sandbox: required\n");
        let mut run = desk.start();
        let told = fs::read_to_string(&pipe).unwrap();
        let claim = fs::read_to_string(desk.site().dir().join("claim")).unwrap();
        let keeper: Process = serde_json::from_str(&claim).unwrap();
        let keeper = Pid::from_raw(i32::try_from(keeper.pid).unwrap()).unwrap();
        assert!(told.split_whitespace().all(lives), "{wall}");
        kill_process(keeper, Signal::KILL).unwrap();
        // The run finds processes that survived the end of the sandbox.
        while told.split_whitespace().any(lives) {
            std::thread::yield_now();
        }
        run.kill().unwrap();
        run.wait().unwrap();
    }
}

#[test]
fn an_agent_that_is_told_to_end_may_say_goodbye() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let pipe = desk.pipe();
        let script = format!(
            "trap 'echo bye >said; exit 0' TERM; echo up >{}; while :; do sleep 1000 & wait; done",
            pipe.display()
        );
        desk.plan(&[desk.stage("a", &script)], "sandbox: required\n");
        let mut run = desk.start();
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
        let site = desk.site();
        // The run would start the next agent.
        run.kill().unwrap();
        run.wait().unwrap();
        site.tell(SupervisorSignal::Stop).unwrap();
        site.wait().unwrap();
        match site.probe().unwrap() {
            SessionProbe::Ended(exit) => {
                assert_eq!((exit.ended, exit.by), (ExitStatus::Code(0), EndedBy::Told), "{wall}")
            }
            other => panic!("{wall}: {other:?}"),
        }
        assert_eq!(fs::read_to_string(desk.sandbox.project.join(".worktrees/a/said")).unwrap(), "bye\n");
    }
}

#[test]
fn hooks_work_behind_a_wall_and_whoever_is_behind_it_is_no_person() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let payload = r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push --force"}}"#;
        let sprag = env!("CARGO_BIN_EXE_sprag");
        let script = format!(
            "echo '{payload}' | {sprag} hook claude >answer\n{sprag} off >off 2>&1 || echo refused >>off\n"
        );
        desk.plan(&[desk.stage("a", &script)], "sandbox: required\n");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}", ran.stdout, ran.stderr, desk.said());
        assert!(desk.on_trunk("answer").contains("\"deny\""), "{wall}: {}", desk.on_trunk("answer"));
        let journal = fs::read_to_string(desk.sandbox.store().join("stages/a/s.jsonl")).unwrap();
        assert!(journal.contains("git push --force"), "{wall}: {journal}");
        assert!(
            desk.on_trunk("off").contains("an agent started this command"),
            "{wall}: {}",
            desk.on_trunk("off")
        );
    }
}

#[test]
fn the_network_is_as_the_plan_says() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "t() {{ if bash -c \"$2\" 2>/dev/null; then echo $1; else echo not $1; fi >>tried; }}\n\
         t direct 'exec 3<>/dev/tcp/127.0.0.1/{port}'\n\
         ask='exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; printf \"CONNECT '\n\
         t named \"${{ask}}localhost:{port} HTTP/1.1\\\\r\\\\n\\\\r\\\\n\\\" >&3; head -1 <&3 | grep -q 200\"\n\
         t other \"${{ask}}127.0.0.1:{port} HTTP/1.1\\\\r\\\\n\\\\r\\\\n\\\" >&3; head -1 <&3 | grep -q 200\"\n"
    );
    let all = [("open", "direct\nnot named\nnot other"), ("none", "not direct\nnot named\nnot other")];
    let named = [("[localhost]", "not direct\nnamed\nnot other")];
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        for (network, wanted) in all.iter().chain(&named) {
            if *network != "open" && !fixture::has_ports() {
                continue;
            }
            let desk = Desk::new().within(wall);
            desk.plan(
                &[desk.stage("a", &script)],
                &format!("sandbox: {{confine: required, network: {network}}}\n"),
            );
            let ran = desk.run();
            assert_eq!(ran.code, 0, "{wall} {network}: {}{}{}", ran.stdout, ran.stderr, desk.said());
            assert_eq!(desk.on_trunk("tried"), *wanted, "{wall} {network}");
        }
    }
}

#[test]
fn an_agent_and_whoever_asks_the_doctor_are_told_of_the_wall() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        desk.plan(&[desk.stage("a", "cat $SPRAG_BRIEF >brief")], "");
        assert_eq!(desk.run().code, 0);
        let name = if wall == "landlock" { "Landlock" } else { wall };
        assert!(desk.on_trunk("brief").contains(&format!("You run in a {name} sandbox:")), "{wall}");
        let told = desk.sandbox.json(&["doctor", "--json"]).to_string();
        assert!(told.contains(&format!("agents of plans run in a {name} sandbox")), "{told}");
    }
    let told = Desk::new().sandbox.json(&["doctor", "--json"]).to_string();
    assert!(
        told.contains("agents of plans run without a sandbox; bubblewrap: `SPRAG_SANDBOX` is `off`"),
        "{told}"
    );
}

#[test]
fn a_stage_finds_its_files_and_ports_and_cannot_commit_the_files() {
    let desk = Desk::new();
    desk.sandbox.write(".env", "KEY=1\n");
    let stage = |id: &str, script: &str| format!("{}    copy: [.env]\n", desk.stage(id, script));
    let keeps = "cat .env >seen; echo $SPRAG_PORT >port; git add -A";
    let commits = "cat .env >seen2; git add -f .env seen2; git commit -qm b; exit 0";
    desk.plan(&[stage("a", keeps), stage("b", commits)], "");
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}{}", ran.stdout, ran.stderr, desk.said());
    assert_eq!(desk.on_trunk("seen"), "KEY=1");
    let port: u16 = desk.on_trunk("port").parse().unwrap();
    assert_eq!(port % 10, 0);
    let leases = desk.sandbox.home.join(".local/state/sprag/ports");
    assert!(
        !leases.join(port.to_string()).exists()
            || fs::read_to_string(leases.join(port.to_string())).unwrap().ends_with("/b")
    );
    assert!(desk.records().contains("`.env` was copied here for you and must not be committed"));
    assert!(!desk.git("ls-tree --name-only refs/sprag/p/trunk").contains(".env"));
}

#[test]
fn an_agent_behind_a_wall_speaks_to_its_daemon_and_leaves_notes() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let script = format!(
            "{SPRAG} note 'the tests need a port'\necho next | {SPRAG} handoff\necho a >a; git add -A; git commit -qm a\n\
             {SPRAG} stage hold a; cat {}/token; {SPRAG} stage complete",
            desk.sandbox.store().join("run").display()
        );
        desk.plan(&[desk.stage("a", &script)], "sandbox: required\n");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}", ran.stdout, ran.stderr, desk.said());
        let notes = fs::read_to_string(desk.sandbox.store().join("run/notes/p/a.jsonl")).unwrap_or_default();
        assert!(notes.contains("the tests need a port"), "{wall}: {notes}{}", desk.said());
        assert!(desk.records().contains("\"say\":\"complete\""), "{wall}: {}", desk.said());
        assert!(desk.sandbox.store().join("run/handoffs/p/a/1.yaml").exists(), "{wall}: {}", desk.said());
        assert!(desk.said().contains("this is for a person to say"), "{wall}: {}", desk.said());
        assert!(!desk.said().contains("sprt_"), "no token is seen: {}", desk.said());
    }
}

#[test]
fn an_agent_behind_bubblewrap_writes_no_journal_of_another_session() {
    if !is_there("bubblewrap") {
        return;
    }
    let desk = Desk::new().within("bubblewrap");
    let store = desk.sandbox.store();
    for dir in ["journal", "stages/b"] {
        fs::create_dir_all(store.join(dir)).unwrap();
        fs::write(store.join(dir).join("other.jsonl"), "").unwrap();
    }
    let payload = r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#;
    let script = format!(
        "t() {{ if sh -c \"$2\" 2>/dev/null; then echo $1; else echo not $1; fi >>tried; }}\n\
         t journal 'echo x >>{0}/journal/other.jsonl'\nt new 'echo x >{0}/journal/new.jsonl'\n\
         t stage 'echo x >>{0}/stages/b/other.jsonl'\nt place 'mv {0}/stages {0}/x || mv {0}/journal {0}/x'\n\
         echo '{payload}' | {SPRAG} hook claude\n\
         {SPRAG} session explain s >told\n",
        store.display()
    );
    desk.plan(&[desk.stage("a", &script)], "sandbox: required\n");
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}{}", ran.stdout, ran.stderr, desk.said());
    assert_eq!(desk.on_trunk("tried"), "not journal\nnot new\nnot stage\nnot place");
    let own = fs::read_to_string(store.join("stages/a/s.jsonl")).unwrap();
    assert_eq!(own.matches("\"kind\":\"prompted\"").count(), 1, "{own}");
    assert!(desk.on_trunk("told").contains("the user asked: hi"), "{}", desk.on_trunk("told"));
}
