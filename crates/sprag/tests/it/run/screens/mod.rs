//! Screens of a run for people and programs, from its records alone, with or without a daemon.

mod logs;
mod pane;
mod scene;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::Duration;

use insta::assert_snapshot;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::observe::file_watch::{FileWatch, WatchEvent};
use sprag_orchestrator::session_dir::TerminalPane;
use sprag_plan::agent::activity::{AgentActivity, ContextUsage, SessionCost};
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::record::RunRecord;
use sprag_plan::stage::command::StageCommand;
use sprag_plan::stage::{ReviewReason, StageEvent};

use crate::support::{SPRAG, Sandbox};
use pane::Pane;
use scene::Scene;

fn seen(tokens: u64, micros: u64) -> AgentActivity {
    AgentActivity {
        context: Some(ContextUsage { tokens, window: 200_000 }),
        used: Some(SessionCost { tokens, micros: Some(micros) }),
        last_tool: Some(Text::new("Bash\u{1b}[2J")),
        at: Some(Timestamp::from_millis(4_000_000_000_000)),
        ..AgentActivity::default()
    }
}

/// Returns a run with one merged stage, one running, one that needs a person, and two that wait.
fn under_way() -> (Scene, EffectKey) {
    let mut scene = Scene::new(&[
        ("model", &[]),
        ("docs", &[]),
        ("view", &["model"]),
        ("server", &["model"]),
        ("all", &["view", "server", "docs"]),
    ]);
    let first = scene.merge("model");
    scene.seen(&first, &seen(90_000, 1_250_000));
    let session = scene.start("view");
    scene.seen(&session, &seen(160_000, 430_000));
    scene.start("docs");
    scene.happened("docs", StageEvent::Raised { case: ReviewReason::ProtectedFiles });
    (scene, session)
}

#[test]
fn status_shows_a_run_without_anybody_who_runs_it() {
    let (scene, _) = under_way();
    let told = |args: &[&str]| {
        let told = scene.sandbox.run(args).told(&scene.sandbox);
        let (stages, rest) = told.split_at(told.find("agents at work").unwrap());
        (stages.to_owned(), rest.to_owned())
    };
    let (stages, rest) = told(&["status"]);
    assert_snapshot!(stages, @"
    exit 0
    --- stdout
    run p: 1 of 5 done, 1 active, 1 ready, 1 waiting, 1 for a person, $1.68, 0s
       level  stage   state    merged    context  cost   elapsed  try
    ?  0      docs    review   -         ?        ?      0s       1
    ✓  0      model   done     c0ffee00  45%      $1.25  35s      -
    ◎  1      server  ready    -         ?        ?      -        1
    ●  1      view    running  -         80%      $0.43  0s       1
    ○  2      all     waiting  -         ?        ?      -        -
    ");
    assert_snapshot!(rest, @"
    agents at work: 2
      stage  client  tool      reported  activity                      session
      docs   claude  ?         ?         protected files were changed  r1/docs/1/spawn.0
      view   claude  Bash [2J  0s ago    its agent is at work          r1/view/1/spawn.0
    no process runs this plan
      next: sprag run resume p
    needs a person: `docs`: protected files were changed
      next: sprag stage review docs
    warning: `view`: its context is 80% full
      next: sprag stage review view
    live sessions: 0
    open obligations: 0
    debts: 0
    tracker: session
    ");
    let (stages, same) = told(&["status", "--why"]);
    assert_snapshot!(stages, @"
    exit 0
    --- stdout
    run p: 1 of 5 done, 1 active, 1 ready, 1 waiting, 1 for a person, $1.68, 0s
       level  stage   state    merged    context  cost   elapsed  try  why
    ?  0      docs    review   -         ?        ?      0s       1    protected files were changed
    ✓  0      model   done     c0ffee00  45%      $1.25  35s      -
    ◎  1      server  ready    -         ?        ?      -        1    about to continue
    ●  1      view    running  -         80%      $0.43  0s       1    its agent is at work
    ○  2      all     waiting  -         ?        ?      -        -    waits for `view`, `server`, `docs`
    ");
    assert_eq!(same, rest);
    assert_snapshot!(scene.sandbox.run(&["status", "--compact"]).told(&scene.sandbox), @"
    exit 0
    --- stdout
    p: 1 of 5 done, 1 active, 1 ready, 1 waiting, 1 for a person, $1.68, 0s
    ");
}

#[test]
fn status_tells_which_merged_stages_the_target_has_and_who_left_others_out() {
    let mut scene = Scene::new(&[("a", &[]), ("b", &[]), ("c", &[])]);
    let commit = |scene: &Scene, name: &str| {
        scene.sandbox.write(name, "x\n");
        for args in [&["add", "-A"][..], &["commit", "-qm", name], &["branch", "-f", "main"]] {
            scene.sandbox.git(args);
        }
        String::from_utf8(scene.sandbox.git(&["rev-parse", "HEAD"]).stdout).unwrap().trim().to_owned()
    };
    scene.sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    let (one, two) = (commit(&scene, "one"), commit(&scene, "two"));
    scene.merge_as("a", &one);
    scene.merge_as("b", &two);
    let (by, why) = (Text::new("ada"), Text::new("no `need`"));
    scene.happened("c", StageEvent::Command { by, command: StageCommand::Skip { why } });
    let landed = |scene: &Scene| {
        let told = scene.sandbox.json(&["status", "--json"]);
        let stages = told["run"]["stages"].as_array().unwrap().clone();
        stages.iter().map(|stage| stage["landed"].clone()).collect::<Vec<_>>()
    };
    let unknown = serde_json::Value::Null;
    assert_eq!(landed(&scene), [unknown.clone(), unknown.clone(), unknown.clone()], "there is no trunk");
    scene.sandbox.git(&["update-ref", "refs/sprag/p/trunk", &two]);
    scene.sandbox.git(&["branch", "-f", "main", &one]);
    assert_eq!(landed(&scene), [true.into(), false.into(), unknown]);
    let told = |scene: &Scene| {
        let told = scene.sandbox.run(&["status"]).told(&scene.sandbox);
        told.lines().filter(|line| !line.starts_with(['✓', '-'])).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(told(&scene), @"
    exit 0
    run p: 2 of 3 done, 1 skipped, 1m25s
       level  stage  state    merged    context  cost  elapsed  try
    skipped: `c`: `ada` skipped it: no 'need'
    1 of 2 merged stages are on `main`, only on the trunk: `b`
      next: sprag run land p
    live sessions: 0
    open obligations: 0
    debts: 0
    tracker: session
    ");
    let advised = |scene: &Scene| {
        let told = told(scene);
        let mut lines = told.lines().skip_while(|line| !line.contains("only on the trunk")).skip(1);
        lines.by_ref().take_while(|line| !line.starts_with("live")).map(str::to_owned).collect::<Vec<_>>()
    };
    let git = |args: &[&str]| drop(scene.sandbox.git(args));
    git(&["checkout", "-q", "main"]);
    assert_eq!(advised(&scene), ["  next: sprag run land p"]);
    // Sprag does not suggest a command that would be refused.
    scene.sandbox.write("one", "changed\n");
    let [why, next] = &advised(&scene)[..] else { panic!("{:?}", advised(&scene)) };
    assert!(
        why.starts_with("`main` cannot move now: there are changes that are not committed in `"),
        "{why}"
    );
    assert!(next.ends_with(" status --short"), "{next}");
    git(&["commit", "-qam", "of others"]);
    let [why, next] = &advised(&scene)[..] else { panic!("{:?}", advised(&scene)) };
    assert!(why.starts_with("`main` cannot move now: it has commits that"), "{why}");
    assert_eq!(next, "  next: git log --oneline refs/sprag/p/trunk..main");
    assert_eq!(scene.sandbox.run(&["run", "land", "p"]).code, 1, "and is refused");
    git(&["checkout", "-q", "elsewhere"]);
    scene.sandbox.git(&["branch", "-f", "main", &two]);
    assert!(told(&scene).contains("all 2 merged stages are on `main`\n"), "{}", told(&scene));
    let whys = scene.sandbox.run(&["status", "--why"]).stdout;
    assert!(whys.contains("-    `ada` skipped it: no 'need'"), "{whys}");
}

#[test]
fn status_tells_programs_the_same() {
    let (scene, session) = under_way();
    let told = scene.sandbox.json(&["status", "--json"]);
    let run = &told["run"];
    assert_eq!((&told["v"], &run["plan"], &run["percent"]), (&1.into(), &"p".into(), &20.into()));
    assert_eq!(run["progress"]["stuck"], 1);
    assert_eq!(run["stages"].as_array().unwrap().len(), 5);
    let agent = run["sessions"].as_array().unwrap().iter().find(|it| it["stage_id"] == "view").unwrap();
    assert_eq!(agent["session_id"], session.0.as_str());
    assert_eq!(agent["context_percent"], 80);
    assert_eq!(agent["timestamp"], "2096-10-02T07:06:40.000Z");
    assert_eq!(agent["last_tool"], "Bash\u{1b}[2J", "for programs it is as it came");
    assert_eq!(agent["activity"], "its agent is at work");
    assert_eq!(agent["client"], "claude");
    assert_eq!((&run["target"], &run["is_run"]), (&"main".into(), &false.into()));
    let quiet = run["sessions"].as_array().unwrap().iter().find(|it| it["stage_id"] == "docs").unwrap();
    assert!(quiet["context_percent"].is_null() && quiet["last_tool"].is_null(), "unknown is not zero");
}

#[test]
fn without_a_run_there_is_none() {
    let sandbox = Sandbox::new();
    assert!(sandbox.json(&["status", "--json"])["run"].is_null());
    assert!(!sandbox.run(&["status"]).stdout.contains("run "));
    assert_snapshot!(sandbox.run(&["status", "--compact"]).told(&sandbox), @"
    exit 0
    --- stdout
    no plan was run here
    ");
    assert_snapshot!(sandbox.run(&["run", "graph"]).told(&sandbox), @"
    exit 1
    --- stderr
    sprag: no plan was run here
      next: sprag run PLAN
    ");
    assert_snapshot!(sandbox.run(&["status", "--plan", "q"]).told(&sandbox), @"
    exit 1
    --- stderr
    sprag: no plan `q` was run here
      next: sprag status
    ");
}

#[test]
fn a_run_of_many_stages_shows_those_that_tell_something() {
    let names: Vec<String> = (0..200).map(|number| format!("s{number}")).collect();
    let stages: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
    let mut scene = Scene::new(&stages);
    scene.start("s7");
    let few = scene.sandbox.run(&["status"]).stdout;
    assert!(few.contains(" s7 ") && !few.contains(" s8 "), "{few}");
    assert!(few.contains("199 more, 0 of them active or stuck\n  next: sprag status --all"), "{few}");
    let all = scene.sandbox.run(&["status", "--all"]).stdout;
    assert!(names.iter().all(|name| all.contains(&format!(" {name} "))), "{all}");
}

#[test]
fn a_graph_shows_levels_and_states() {
    let (scene, _) = under_way();
    assert_snapshot!(scene.sandbox.run(&["run", "graph"]).told(&scene.sandbox), @"
    exit 0
    --- stdout
    level 0
      ? docs   review
      ✓ model  done
    level 1
      ◎ server  ready       <- model
      ● view    running     <- model
    level 2
      ○ all  waiting     <- view, server, docs
    no process runs this plan
      next: sprag run resume p
    ");
    assert_snapshot!(scene.sandbox.run(&["run", "graph", "--mermaid"]).told(&scene.sandbox), @r#"
    exit 0
    --- stdout
    graph LR
      s0["model: done"]
      s1["docs: review"]
      s2["view: running"]
      s3["server: ready"]
      s4["all: waiting"]
      s0 --> s2
      s0 --> s3
      s1 --> s4
      s2 --> s4
      s3 --> s4
    "#);
    assert_snapshot!(scene.sandbox.run(&["run", "graph", "--dot"]).told(&scene.sandbox), @r#"
    exit 0
    --- stdout
    digraph "p" {
      rankdir=LR;
      node [shape=box];
      "model" [label="model: done" style=bold];
      "docs" [label="docs: review"];
      "view" [label="view: running" style=bold];
      "server" [label="server: ready"];
      "all" [label="all: waiting" style=bold];
      "model" -> "view";
      "model" -> "server";
      "docs" -> "all";
      "view" -> "all";
      "server" -> "all";
    }
    "#);
    let told = scene.sandbox.json(&["run", "graph", "--json"]);
    assert_eq!(told["stages"][4]["state"], "waiting");
    assert_eq!(told["stages"][4]["level"], 2);
    assert_eq!(told["critical_path"], serde_json::json!(["model", "view", "all"]));
}

#[test]
fn sessions_and_worktrees_of_runs_are_listed() {
    let (scene, _) = under_way();
    let sandbox = &scene.sandbox;
    assert_snapshot!(sandbox.run(&["session", "list"]).told(sandbox), @"
    exit 0
    --- stdout
    agent               plan  stage  began                     ended                     state
    r1/docs/1/spawn.0   p     docs   TIME  -                         open
    r1/view/1/spawn.0   p     view   TIME  -                         open
    r1/model/1/spawn.0  p     model  TIME  TIME  ended
    ");
    let session = EffectKey(Text::new("r1/view/1/spawn.0"));
    fs::write(scene.site(&session).dir().join("claim"), "").unwrap();
    let agents = sandbox.json(&["session", "list", "--json"])["agents"].as_array().unwrap().clone();
    let states: Vec<&str> = agents.iter().filter_map(|agent| agent["state"].as_str()).collect();
    assert_eq!(states, ["open", "gone", "ended"], "nobody was there to see that one go");
    assert_snapshot!(sandbox.run(&["run", "worktrees"]).told(sandbox), @"
    exit 0
    --- stdout
    no worktrees of runs here
      next: sprag status --why
    ");
    sandbox.write("README", "x\n");
    for args in ["add -A", "commit -qm start", "worktree add -q -b sprag/view/work .worktrees/view"] {
        let args: Vec<&str> = args.split(' ').collect();
        assert!(sandbox.git(&args).status.success());
    }
    let told = sandbox.json(&["run", "worktrees", "--json"]);
    let row = &told["worktrees"][0];
    assert_eq!(
        (&row["stage_id"], &row["state"], &row["is_clean"], &row["branch"]),
        (&"view".into(), &"running".into(), &true.into(), &"refs/heads/sprag/view/work".into())
    );
    fs::write(sandbox.project.join(".worktrees/view/new"), "x").unwrap();
    assert_eq!(sandbox.json(&["run", "worktrees", "--json"])["worktrees"][0]["is_clean"], false);
    assert!(sandbox.run(&["run", "worktrees"]).stdout.contains("uncommitted changes"));
}

/// Returns a script that saves the terminal's settings before and after a command.
fn around(sandbox: &Sandbox, command: &str) -> String {
    let home = sandbox.home.display();
    format!(
        "stty -g >{home}/before\n{command}\necho ended with $?\nstty -g >{home}/after\necho is $((1 + 1)) now"
    )
}

fn assert_given_back(scene: &Scene, pane: &mut Pane<'_>) {
    pane.shows("is 2 now");
    let read = |name: &str| fs::read_to_string(scene.sandbox.home.join(name)).unwrap();
    assert_eq!(read("before"), read("after"));
    assert!(pane.is_given_back(), "{}", pane.screen());
}

#[test]
fn the_live_screen_draws_moves_follows_and_gives_the_terminal_back() {
    let (scene, _) = under_way();
    if !pane::is_possible(&scene.sandbox) {
        return;
    }
    let script = around(&scene.sandbox, &format!("{SPRAG} status --live"));
    let hold = scene.written(&RunRecord::Happened {
        stage: StageId::new("server"),
        what: StageEvent::Command { by: Text::default(), command: StageCommand::Hold },
    });
    let mut pane = Pane::new(&scene.sandbox, &script, 100, 30);
    pane.shows("Enter attach");
    let screen = pane.screen();
    for shown in ["plan p  running", "20%  1 of 5 done", "needs you: docs", "● 1   view", "80%", "$1.68"] {
        assert!(screen.contains(shown), "`{shown}`:\n{screen}");
    }
    pane.keys("End");
    pane.shows("waits for");
    // A new record appears on the screen without a key press.
    OpenOptions::new().append(true).open(scene.log()).unwrap().write_all(&hold).unwrap();
    pane.shows("on hold by a person");
    assert!(pane.screen().contains("held"), "{}", pane.screen());
    pane.tmux(&["resize-window", "-x", "40", "-y", "10"]);
    pane.shows("1 of 5 done, 1 for a person\n");
    pane.shows("(3) needs you: docs");
    pane.tmux(&["resize-window", "-x", "200", "-y", "60"]);
    pane.shows("attention (3)");
    pane.keys("q");
    pane.shows("ended with 0");
    assert_given_back(&scene, &mut pane);
}

#[test]
fn a_narrow_terminal_has_the_columns_that_tell_most() {
    let (scene, _) = under_way();
    if !pane::is_possible(&scene.sandbox) {
        return;
    }
    let mut pane = Pane::new(&scene.sandbox, &format!("{SPRAG} status"), 40, 30);
    pane.shows("tracker: session");
    assert_snapshot!(pane.screen().lines().take(11).collect::<Vec<_>>().join("\n"), @"
    run p: 1 of 5 done, 1 active, 1 ready, 1
     waiting, 1 for a person, $1.68, 0s
       stage   state    context  elapsed
    ?  docs    review   ?        0s
    ✓  model   done     45%      35s
    ◎  server  ready    ?        -
    ●  view    running  80%      0s
    ○  all     waiting  ?        -
    agents at work: 2
      stage  client  tool      reported
      docs   claude  ?         ?
    ");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for signal in ["TERM", "HUP", "INT"] {
        let (scene, _) = under_way();
        if !pane::is_possible(&scene.sandbox) {
            return;
        }
        let pid = scene.sandbox.home.join("pid");
        let live = format!("sh -c 'echo $$ >{}; exec {SPRAG} status --live'", pid.display());
        let mut pane = Pane::new(&scene.sandbox, &around(&scene.sandbox, &live), 80, 24);
        pane.shows("Enter attach");
        let pid = fs::read_to_string(pid).unwrap();
        let killed = scene.sandbox.command("kill").args([&format!("-{signal}"), pid.trim()]).status();
        assert!(killed.unwrap().success());
        assert_given_back(&scene, &mut pane);
    }
}

#[test]
fn enter_goes_where_the_agent_is() {
    let (scene, session) = under_way();
    if !pane::is_possible(&scene.sandbox) {
        return;
    }
    let site = scene.site(&session);
    fs::write(site.out(), "what the agent says\n").unwrap();
    let window = TerminalPane { server: "sprag-nobody".to_owned(), name: "agent".to_owned() };
    let script = around(&scene.sandbox, &format!("{SPRAG} status --live"));
    let mut pane = Pane::new(&scene.sandbox, &script, 100, 30);
    pane.shows("Enter attach");
    pane.keys("End");
    pane.shows("waits for");
    pane.keys("Up");
    pane.shows("its agent is at work");
    pane.keys("Enter");
    pane.shows("out| what the agent says");
    // The view of an ended session closes.
    fs::write(site.dir().join("claim"), "").unwrap();
    pane.shows("ended with");
    assert!(pane.is_given_back());
    fs::remove_file(site.dir().join("claim")).unwrap();
    // `attach` starts tmux for a session with a terminal, and tmux refuses to run inside tmux.
    site.note_window(&RealDisk, &window).unwrap();
    let ran = scene.sandbox.run(&["run", "attach", "view"]);
    assert!(ran.code != 0 && ran.stderr.contains("session"), "{}", ran.told(&scene.sandbox));
}

#[test]
fn a_screen_needs_a_terminal_and_a_window_a_program() {
    let (scene, _) = under_way();
    assert_snapshot!(scene.sandbox.run(&["status", "--live"]).told(&scene.sandbox), @"
    exit 1
    --- stderr
    sprag: `--live` needs a terminal
      next: sprag status
    ");
    assert_snapshot!(scene.sandbox.run(&["run", "attach", "view", "--window"]).told(&scene.sandbox), @r#"
    exit 1
    --- stderr
    sprag: no known terminal program to open a window with
      next: sprag config set terminal.command '["xterm", "-e"]'
      next: sprag run attach view
    "#);
    let opened = scene.sandbox.home.join("opened");
    let mut sandbox = scene.sandbox;
    sandbox.with_program("xterm", &format!("echo \"$@\" >{0}.tmp; mv {0}.tmp {0}", opened.display()));
    sandbox.vars.push(("DISPLAY".to_owned(), ":0".to_owned()));
    let watch = FileWatch::new([sandbox.home.as_path()]).unwrap();
    assert_eq!(sandbox.run(&["run", "attach", "view", "--window"]).code, 0);
    while !opened.exists() {
        assert_eq!(watch.wait(Duration::from_secs(60)).unwrap(), WatchEvent::Changed);
    }
    assert_eq!(fs::read_to_string(opened).unwrap(), format!("-e {SPRAG} run attach --plan p view\n"));
}
