//! Stdout, stderr and exit code of whole commands, as people read them.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{CONFLICT, Sandbox, stored_lines};

/// Returns a sandbox with a session that was held once and ended with a debt.
fn lived_in() -> Sandbox {
    lived_in_by(Sandbox::new())
}

fn lived_in_by(sandbox: Sandbox) -> Sandbox {
    sandbox.event("s-1", "SessionStart", json!({"source": "startup"}));
    sandbox.event("s-1", "UserPromptSubmit", json!({"prompt": "merge it"}));
    sandbox.bash("s-1", "git merge other");
    sandbox.write("a.txt", CONFLICT);
    sandbox.event("s-1", "Stop", json!({"last_assistant_message": "Done."}));
    sandbox.event("s-1", "SessionEnd", json!({"reason": "other"}));
    sandbox
}

#[test]
fn a_fresh_repository_has_nothing_to_say() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["status"]).told(&sandbox), @r"
    exit 0
    --- stdout
    live sessions: 0
    open obligations: 0
    debts: 0
    tracker: session
    ");
    assert_snapshot!(sandbox.run(&["session", "list"]).told(&sandbox), @r"
    exit 0
    --- stdout
    no sessions here yet
      next: sprag doctor
    ");
    assert_snapshot!(sandbox.run(&["debt", "list"]).told(&sandbox), @r"
    exit 0
    --- stdout
    no open debts
    ");
}

#[test]
fn a_story_is_told_from_the_records() {
    let sandbox = lived_in();
    assert_snapshot!(sandbox.run(&["session", "explain", "s-1"]).told(&sandbox), @r"
    exit 0
    --- stdout
    session s-1
    CLOCK  the session started (startup) in `ROOT/project`
    CLOCK  the user asked: merge it
    CLOCK  the agent wanted to use `Bash`: git merge other
    CLOCK  the agent wanted to stop -> hold by `integrity`: conflict markers in `a.txt:2`
    CLOCK  debt `d-c9756b6e` was opened: conflict markers in `a.txt:2`
    CLOCK  the session ended (other)
    ");
    let story = sandbox.json(&["session", "explain", "s", "--json"]);
    assert_eq!(
        (&story["v"], &story["session"], story["story"].as_array().unwrap().len()),
        (&json!(1), &json!("s-1"), 6)
    );
}

#[test]
fn open_obligations_show_with_what_settles_them() {
    let sandbox = Sandbox::new();
    sandbox.bash("s-1", "make");
    sandbox.write("a.txt", CONFLICT);
    sandbox.event("s-1", "Stop", json!({}));
    assert_snapshot!(sandbox.run(&["status"]).told(&sandbox), @r"
    exit 0
    --- stdout
    live sessions: 1
      s-1  claude  2 events, 1 holds
    open obligations: 1
      integrity (s-1): conflict markers in `a.txt:2`
        next: resolve the conflicts, then stop again
    debts: 0
    tracker: session
    ");
}

#[test]
fn debts_are_listed_and_cleared() {
    let sandbox = lived_in_by(Sandbox::new().of_a_person());
    assert_snapshot!(sandbox.run(&["debt", "list"]).told(&sandbox), @r"
    exit 0
    --- stdout
    d-c9756b6e  integrity  TIME  open when the session ended
      conflict markers in `a.txt:2`
      next: fix the files in a session
      next: sprag debt clear d-c9756b6e --reason TEXT
    ");
    assert_snapshot!(sandbox.run(&["debt", "clear", "d-1", "--reason", "r"]).told(&sandbox), @r"
    exit 1
    --- stderr
    sprag: there is no open debt `d-1`
      next: sprag debt list
    ");
    assert_eq!(
        sandbox.run(&["debt", "clear", "d-c9756b6e", "--reason", "a fixture"]).stdout,
        "cleared `d-c9756b6e`\n"
    );
    assert_eq!(sandbox.json(&["debt", "list", "--json"]), json!({"v": 1, "debts": []}));
    assert_eq!(sandbox.event("s-2", "SessionStart", json!({"source": "startup"})), json!({}));
}

#[test]
fn records_are_shown_as_data() {
    let sandbox = lived_in();
    let all = sandbox.json(&["session", "records", "s-1", "--json"]);
    let kinds: Vec<&str> =
        all["records"].as_array().unwrap().iter().map(|record| record["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["session.started", "prompted", "tool.requested", "stop.requested", "debt.opened", "session.ended"]
    );
    let some =
        sandbox.json(&["session", "records", "s-1", "--event", "stop.requested", "--limit", "1", "--json"]);
    assert_eq!(some["records"][0]["body"]["reason"]["code"], "conflict_markers");
    assert_eq!(sandbox.run(&["session", "records", "s-1"]).stdout.lines().count(), 6);
}

#[test]
fn a_session_is_found_or_the_candidates_are_named() {
    let sandbox = lived_in();
    assert_snapshot!(sandbox.run(&["session", "explain", "nobody"]).told(&sandbox), @r"
    exit 1
    --- stderr
    sprag: there is no session `nobody`
      next: sprag session list
    ");
    assert_snapshot!(sandbox.run(&["observe", "x"]).told(&sandbox), @r"
    exit 1
    --- stderr
    sprag: no live session in this worktree
      next: sprag session list
    ");
    sandbox.bash("s-2", "make");
    assert_eq!(sandbox.run(&["observe", "it wants a newline"]).stdout, "noted in session `s-2` (recorded)\n");
    sandbox.bash("s-3", "make");
    assert_snapshot!(sandbox.run(&["observe", "x"]).told(&sandbox), @r"
    exit 1
    --- stderr
    sprag: several sessions match: `s-2`, `s-3`; give the id of one
      next: sprag session list
    ");
    assert_eq!(sandbox.json(&["observe", "x", "--session", "s-3", "--json"])["delivery"], "recorded");
}

#[test]
fn errors_are_objects_for_programs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["session", "explain", "nobody", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let read: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        read,
        json!({"v": 1, "error": {"code": "not_found", "message": "there is no session `nobody`", "next": ["sprag session list"]}})
    );
}

#[test]
fn words_are_refused_where_there_are_none_or_too_many() {
    let sandbox = Sandbox::new();
    sandbox.bash("s-1", "make");
    let before = stored_lines(&sandbox.store()).len();
    let long = |count| "é".repeat(count);
    for (args, wanted) in [
        (&["observe", ""][..], "the note is empty; allowed are 1 to 2000\n  next: sprag help observe\n"),
        (&["observe", " \n"], "the note is empty; allowed are 1 to 2000\n  next: sprag help observe\n"),
        (
            &["observe", &long(2001)],
            "the note has 2001 characters; allowed are 1 to 2000\n  next: sprag help observe\n",
        ),
        (&["skip", ""], "the reason is empty; allowed are 1 to 500\n  next: sprag help skip\n"),
        (
            &["skip", &long(501)],
            "the reason has 501 characters; allowed are 1 to 500\n  next: sprag help skip\n",
        ),
        (&["ref", "x", "--how", ""], "`--how` is empty; allowed are 1 to 500\n  next: sprag help ref\n"),
        (&["ref", "", "--how", "x"], "an id is empty; allowed are 1 to 64\n  next: sprag help ref\n"),
        (
            &["decide", "COMPLETE", "--summary", "", "--token", "x"],
            "`--summary` is empty; allowed are 1 to 500\n  next: sprag help decide\n",
        ),
    ] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code, ran.stderr), (2, format!("sprag: {wanted}")), "{args:?}");
    }
    assert_eq!(stored_lines(&sandbox.store()).len(), before, "nothing is kept of it");
    assert_eq!(sandbox.run(&["help", "ref"]).code, 0);
    assert_eq!(sandbox.run(&["observe", &long(2000)]).code, 0);
}

#[test]
fn usage_errors_exit_with_two() {
    let sandbox = Sandbox::new();
    for args in
        [&["nothing"][..], &["store", "clean", "--before", "sometime"], &["config", "get", "x.y"], &["debt"]]
    {
        assert_eq!(sandbox.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn configuration_shows_where_every_value_comes_from() {
    let mut sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[circuit_breaker]\nmax_blocks = 5\n[notes]\ndebts = false\n");
    sandbox.vars.push(("SPRAG_INTEGRITY__IGNORE".to_owned(), "tests/merge/, docs/".to_owned()));
    assert_eq!(sandbox.run(&["config", "set", "circuit_breaker.cooldown_seconds", "60"]).code, 0);
    assert_snapshot!(sandbox.run(&["config"]).told(&sandbox), @r##"
    exit 0
    --- stdout
    key                                 layer        value
    backends.always                     default      []
    backends.discovery                  default      ["config", "total-recall", "mcp", "markdown"]
    backends.mcp.command                default      []
    backends.mcp.seconds                default      10
    backends.overrides.markdown         default      true
    backends.overrides.mcp              default      true
    backends.overrides.total_recall     default      true
    circuit_breaker.cooldown_seconds    user         60
    circuit_breaker.max_blocks          project      5
    circuit_breaker.max_per_turn        default      6
    commit.add_all                      default      "deny"
    commit.ignore                       default      []
    commit.markers                      default      "deny"
    commit.mode                         default      "stages"
    commit.secrets                      default      "deny"
    commit.subagents                    default      "deny"
    commit.trailers                     default      "keep"
    completion.check                    default      []
    completion.mandatory                default      []
    completion.markers                  default      ["#done"]
    completion.on_tool_failure          default      "off"
    completion.phrases                  default      []
    completion.profile                  default      "standard"
    decay.immunity_hit_rate.convention  default      0.3
    decay.immunity_hit_rate.debugging   default      0.2
    decay.immunity_hit_rate.dependency  default      0.2
    decay.immunity_hit_rate.domain      default      0.3
    decay.immunity_hit_rate.pattern     default      0.4
    decay.immunity_hit_rate.pitfall     default      0.4
    decay.immunity_hit_rate.process     default      0.2
    decay.passive_duration_days         default      90
    delegation.insist_at                default      5
    delegation.mode                     default      "advise"
    delegation.note_at                  default      3
    delegation.window_minutes           default      10
    episodes.notes                      default      true
    gate.auto_skip.decider              default      "agent"
    gate.auto_skip.enabled              default      true
    gate.auto_skip.line_threshold       default      5
    gate.write_gate.mode                default      "strict"
    gate.write_gate.quality_check       default      "enforce"
    hooks.unjudged                      default      "debt"
    integrity.conflict_markers          default      "hold"
    integrity.ignore                    environment  ["tests/merge/", "docs/"]
    intent.readers                      default      []
    intent.required                     default      "auto"
    intent.writers                      default      []
    memory.judge                        default      []
    memory.judge_seconds                default      120
    notes.debts                         default      true
    notify.command                      default      []
    policy.judge                        default      []
    policy.judge_confidence             default      0.7
    policy.judge_seconds                default      2
    policy.off                          default      []
    policy.packs                        default      ["core", "self", "secrets", "places", "flows", "system", "readonly"]
    policy.strict                       default      false
    policy.triage                       default      "deny-only"
    protection.restore                  default      "on"
    qa.auto                             default      false
    qa.notes                            default      true
    reflection.session                  default      "once"
    retention.journal_events            default      500
    retrieval.max_injections            default      0
    retrieval.strategy                  default      "moderate"
    review.agents                       default      ["sprag-reviewer", "sprag:sprag-reviewer"]
    review.gates.approval_scope         default      "prompt"
    review.gates.approval_ttl_seconds   default      0
    review.gates.tools                  default      []
    review.markers                      default      ["#review", "#roz"]
    review.mode                         default      "prompt"
    stale.mode                          default      "auto"
    templates.active                    default      ""
    templates.weights                   default      []
    terminal.command                    default      []
    ticketing.discovery                 default      ["tissue", "beads", "github", "tasks", "session"]
    ticketing.overrides.beads           default      true
    ticketing.overrides.github          default      true
    ticketing.overrides.session         default      true
    ticketing.overrides.tasks           default      true
    ticketing.overrides.tissue          default      true
    trace.class_mismatch                default      "hold"
    trace.docs_are_behaviour            default      false
    trace.mode                          default      "auto"
    --- stderr
    sprag: `notes.debts` in `ROOT/project/.sprag/config.toml` is ignored: an untrusted project may set it towards `true`
      next: sprag trust
    "##);
    assert_eq!(sandbox.run(&["config", "get", "circuit_breaker.max_blocks"]).stdout, "5\n");
    assert_snapshot!(sandbox.run(&["config", "path"]).told(&sandbox), @r"
    exit 0
    --- stdout
    user     ROOT/home/.config/sprag/config.toml
    project  ROOT/project/.sprag/config.toml
    local    ROOT/project/.sprag/local.toml (missing)
    ");
}

#[test]
fn configuration_mistakes_are_named_before_any_work() {
    let sandbox = Sandbox::new();
    sandbox.write(".sprag/config.toml", "[circuit_breaker]\nmax_block = 5\n");
    assert_snapshot!(sandbox.run(&["config", "show"]).told(&sandbox), @r"
    exit 2
    --- stderr
    sprag: ROOT/project/.sprag/config.toml:2: unknown key `circuit_breaker.max_block`, did you mean `circuit_breaker.max_blocks`?
      next: sprag config show --defaults
    ");
    assert_snapshot!(sandbox.run(&["config", "set", "notes.debts", "maybe"]).told(&sandbox), @r"
    exit 2
    --- stderr
    sprag: ROOT/home/.config/sprag/config.toml:2: `notes.debts` is of type boolean, not string
      next: sprag config show --defaults
    ");
    assert!(!sandbox.home.join(".config/sprag/config.toml").exists());
}

#[test]
fn the_cache_can_be_deleted_at_any_time() {
    let sandbox = lived_in();
    let views = |sandbox: &Sandbox| {
        [sandbox.run(&["debt", "list", "--json"]).stdout, sandbox.run(&["session", "list", "--json"]).stdout]
    };
    let before = views(&sandbox);
    let rebuilt = sandbox.json(&["store", "rebuild", "--json"]);
    assert_eq!((&rebuilt["open_debts"], &rebuilt["sessions"]), (&json!(1), &json!(1)));
    assert_eq!(views(&sandbox), before);
    fs::remove_dir_all(sandbox.store().join("cache")).unwrap();
    fs::remove_dir_all(sandbox.home.join(".local/state/sprag/cache")).unwrap();
    assert_eq!(views(&sandbox), before);
}

#[test]
fn a_migration_replays_the_log_and_keeps_the_old_one() {
    let sandbox = lived_in();
    let log = sandbox.store().join("log");
    let file = fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    let first = text.lines().next().unwrap();
    fs::write(&file, format!("{text}{first}\nno record\n{{\"v\":1,\"torn")).unwrap();
    let dry = sandbox.json(&["store", "migrate", "--dry-run", "--json"]);
    assert_eq!((&dry["records"], &dry["duplicates"], &dry["unreadable"]), (&json!(6), &json!(1), &json!(1)));
    assert_eq!(dry["set_aside"], Value::Null);
    let done = sandbox.json(&["store", "migrate", "--json"]);
    assert_eq!(done["records"], 6);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 6);
    let aside = done["set_aside"].as_str().unwrap();
    assert!(
        fs::read_to_string(std::path::Path::new(aside).join(file.file_name().unwrap()))
            .unwrap()
            .contains("torn")
    );
    assert_eq!(sandbox.json(&["debt", "list", "--json"])["debts"].as_array().unwrap().len(), 1);
}

#[test]
fn cleaning_moves_old_journals_and_drops_no_record() {
    let sandbox = Sandbox::new();
    sandbox.bash("s-1", "make");
    sandbox.write("a.txt", CONFLICT);
    sandbox.event("s-1", "Stop", json!({}));
    let events = stored_lines(&sandbox.store()).len();
    assert_eq!(sandbox.json(&["store", "clean", "--json"])["journals"], 0);
    let journal = sandbox.journal("s-1");
    let old = fs::read_to_string(&journal).unwrap().replace("\"at\":\"2", "\"at\":\"1");
    fs::write(&journal, old).unwrap();
    let dry = sandbox.json(&["store", "clean", "--dry-run", "--json"]);
    assert_eq!(dry["sessions"], json!(["s-1"]));
    let swept = sandbox.json(&["store", "clean", "--json"]);
    assert_eq!(
        (&swept["journals"], &swept["moved_records"], &swept["debts"]),
        (&json!(1), &json!(events), &json!(1))
    );
    assert!(!journal.exists());
    assert_eq!(stored_lines(&sandbox.store()).len(), events + 1, "all of them, and the debt it left");
}

#[test]
fn a_report_from_a_sandbox_is_taken_in_by_the_next_hook() {
    let sandbox = Sandbox::new();
    sandbox.bash("s-1", "make");
    let drop = |name: &str, session: &str, id: &str| {
        let dir = sandbox.project.join(".sprag/inbox");
        fs::create_dir_all(&dir).unwrap();
        let text = json!({"v": 1, "id": id, "at": "2026-11-15T09:01:01.000Z", "session": session, "report": {"observed": {"note": "from inside"}}});
        fs::write(dir.join(name), text.to_string()).unwrap();
        dir.join(name)
    };
    let mine = drop("s-1.1.json", "s-1", "0190f3c1-1");
    let again = drop("s-1.2.json", "s-1", "0190f3c1-1");
    let foreign = drop("s-1.3.json", "s-9", "0190f3c1-3");
    fs::write(sandbox.project.join(".sprag/inbox/s-1.4.json"), "{ no json").unwrap();
    sandbox.bash("s-1", "make");
    let records = sandbox.json(&["session", "records", "s-1", "--event", "observed", "--json"]);
    assert!(!mine.exists());
    assert!(foreign.exists(), "what names another session is not this session's");
    sandbox.bash("s-1", "make");
    assert!(!again.exists());
    let after = sandbox.json(&["session", "records", "s-1", "--event", "observed", "--json"]);
    assert_eq!(records["records"].as_array().unwrap().len(), 1, "{records}");
    assert_eq!(after, records, "the same drop twice is one record");
}

#[test]
fn the_demo_runs_a_plan_with_a_crash_and_a_conflict() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["demo", "--plan"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let count = |text: &str| ran.stdout.lines().filter(|line| line.contains(text)).count();
    let told = ["its agent has crashed; it is tried again", "`list.txt` conflicts", "  landed"];
    assert_eq!(told.map(count), [1, 1, 4], "{}", ran.stdout);
    let figures = "by 6 agents: 1 crashed and was replaced, 1 resolved a conflict";
    assert_eq!(count(figures), 1, "{}", ran.stdout);
    assert_eq!(count("moved `main` to `"), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("  english: Hello\n  german: Hallo\n"), "{}", ran.stdout);
}

#[test]
fn the_demo_shows_the_main_job_and_touches_nothing() {
    let sandbox = Sandbox::new();
    let short = [
        "sprag  refuses: `git reset --hard HEAD~3` discards uncommitted work",
        "sprag  holds the stop: conflict markers in `greeting.txt:1`",
        "sprag  holds the stop: a review is due",
        "sprag  refuses: the author cannot approve its own work",
        "sprag  holds the stop: the review found issues: Eve is greeted twice",
        "sprag  holds the stop: reflection is due",
        "sprag  adds to the context: notes of earlier sessions",
        "sprag  refuses: `notes.txt` is outside the scope of intent `GREET`.",
        "greetings.txt` changed since this session read it: session `session-5` wrote it",
        "GREET   ai  ",
        "\nNext\n",
    ];
    let full = [
        "adds to the context: debt",
        "a reviewer decided COMPLETE",
        "You must cite a valid active Intent ID.",
        "no open debts",
    ];
    let ran = sandbox.run(&["demo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(short.iter().all(|part| ran.stdout.contains(part)), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("holds the stop").count(), 4, "{}", ran.stdout);
    assert!(ran.stdout.lines().count() <= 60, "{}", ran.stdout);
    let ran = sandbox.run(&["demo", "--full"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(short.iter().chain(&full).all(|part| ran.stdout.contains(part)), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("holds the stop").count(), 7, "{}", ran.stdout);
    assert!(!sandbox.store().exists());
    assert_eq!(fs::read_dir(&sandbox.home).unwrap().count(), 0);
}

#[test]
fn a_dry_run_of_a_hook_writes_nothing() {
    let sandbox = Sandbox::new();
    let event = crate::support::payload(
        "s",
        "PreToolUse",
        &sandbox.project,
        json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf .git/sprag"}}),
    );
    let ran = sandbox.run_with(&["hook", "claude", "--dry-run"], event.to_string().as_bytes());
    assert!(ran.stdout.contains("\"deny\""));
    assert!(!sandbox.store().join("journal").exists());
}

#[test]
fn payloads_and_replies_can_be_kept() {
    let mut sandbox = Sandbox::new();
    let dir = sandbox.home.join("kept");
    fs::create_dir_all(&dir).unwrap();
    sandbox.vars.push(("SPRAG_RECORD".to_owned(), dir.display().to_string()));
    sandbox.bash("s", "make");
    let mut names: Vec<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 2);
    assert!(
        names[0].ends_with("-PreToolUse.payload.json") && names[1].ends_with("-PreToolUse.reply.json"),
        "{names:?}"
    );
}
