//! Upkeep of learnings through the program: unused learnings leave, a learning that was shown in vain counts
//! once, and commands print the counts.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use sprag_base::time::Timestamp;

use crate::support::{Sandbox, stored_lines};

const DAY: i64 = 24 * 60 * 60;

/// Returns the time a number of days ago.
fn ago(days: i64) -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap()).plus_seconds(-days * DAY)
}

fn write_line(path: &Path, days: i64, kind: &str, session: &str, body: &Value) {
    let at = ago(days);
    let id = format!("0190f3c1-{:012}", stored_lines(path.parent().unwrap().parent().unwrap()).len());
    let line = json!({
        "v": 1, "kind": kind, "id": id, "at": at, "session": session, "actor": {"client": "claude"}, "body": body,
    });
    // The reader expects the kind at the start of the line.
    let line = line.to_string().replacen('{', &format!("{{\"v\":1,\"kind\":\"{kind}\","), 1);
    let line = line.replacen(&format!(",\"kind\":\"{kind}\",\"session\""), ",\"session\"", 1).replacen(
        ",\"v\":1}",
        "}",
        1,
    );
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, format!("{before}{line}\n")).unwrap();
}

/// Writes a record into the log as it would be a number of days ago.
fn logged(sandbox: &Sandbox, days: i64, kind: &str, session: &str, body: Value) {
    let month = ago(days).month();
    write_line(&sandbox.store().join("log").join(format!("{month}.jsonl")), days, kind, session, &body);
}

fn learned(sandbox: &Sandbox, days: i64, id: &str, summary: &str) {
    let body = json!({
        "id": id, "schema_version": 2, "session": "own", "at": ago(days), "category": "pitfall",
        "summary": summary, "detail": "a detail that is long enough to be one", "tags": ["cache"],
        "criteria_met": ["stable_fact"], "scope": "project", "confidence": "medium",
    });
    logged(sandbox, days, "learning.accepted", "own", body);
}

fn dismissed(sandbox: &Sandbox, days: i64, id: &str, times: usize) {
    for time in 0..times {
        logged(sandbox, days, "learning.dismissed", &format!("d{time}"), json!({ "ids": [id] }));
    }
}

fn records(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let lines = stored_lines(&sandbox.store());
    let parsed = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    parsed.filter(|record| record["kind"] == kind).collect()
}

/// Returns a sandbox with one learning without use for a hundred days, and one that was used.
fn old_and_used() -> Sandbox {
    let sandbox = Sandbox::new();
    learned(&sandbox, 120, "aaaaaaaa", "the cache is keyed by path alone");
    learned(&sandbox, 120, "bbbbbbbb", "orders close at midnight");
    dismissed(&sandbox, 100, "aaaaaaaa", 3);
    dismissed(&sandbox, 100, "bbbbbbbb", 3);
    logged(&sandbox, 5, "learning.referred", "u", json!({"ids": ["bbbbbbbb"], "how": "the nightly job"}));
    sandbox
}

/// Returns the count of an upkeep step.
fn count_of(told: &Value, step: &str) -> i64 {
    let steps = told["steps"].as_array().unwrap();
    steps.iter().find(|row| row["step"] == step).unwrap()["count"].as_i64().unwrap()
}

#[test]
fn what_nobody_uses_leaves_once_and_what_is_used_stays() {
    let sandbox = old_and_used();
    let dry = sandbox.json(&["memory", "maintain", "--dry-run", "--json"]);
    assert_eq!(count_of(&dry, "decay"), 1);
    assert_eq!(records(&sandbox, "learning.archived"), [] as [Value; 0], "nothing was changed");
    let told = sandbox.run(&["memory", "maintain"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let says = "decay         1 learnings archived\n  `aaaaaaaa` the cache is keyed by path alone: 120 days without \
                use; shown 0 times, dismissed 3 times, never used\n";
    assert!(told.stdout.contains(says), "{}", told.stdout);
    assert!(told.stdout.starts_with("lost          0 silent sessions settled\n"), "{}", told.stdout);
    let archived = records(&sandbox, "learning.archived");
    assert_eq!((archived.len(), &archived[0]["body"]["ids"]), (1, &json!(["aaaaaaaa"])));
    assert_eq!(count_of(&sandbox.json(&["memory", "maintain", "--json"]), "decay"), 0, "it has left already");
    assert_eq!(records(&sandbox, "learning.archived").len(), 1);
}

#[test]
fn sessions_that_start_together_do_it_once() {
    let sandbox = old_and_used();
    std::thread::scope(|scope| {
        for session in 0..8 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                sandbox.event(&format!("s{session}"), "SessionStart", json!({"source": "startup"}));
            });
        }
    });
    assert_eq!(records(&sandbox, "learning.archived").len(), 1);
    learned(&sandbox, 120, "cccccccc", "tokens are rotated weekly");
    dismissed(&sandbox, 100, "cccccccc", 3);
    sandbox.event("late", "SessionStart", json!({"source": "startup"}));
    assert_eq!(records(&sandbox, "learning.archived").len(), 1, "once a day is enough");
    fs::write(sandbox.store().join("cache/upkeep"), "2026-01-01").unwrap();
    sandbox.event("later", "SessionStart", json!({"source": "startup"}));
    assert_eq!(records(&sandbox, "learning.archived").len(), 2);
}

/// Adds a session that was shown learnings two days ago and has been silent since.
fn silent(sandbox: &Sandbox, session: &str, last: &str) {
    let shown = json!({"occasion": "start", "shown": [{"id": "aaaaaaaa", "score": 0.7}, {"id": "bbbbbbbb", "score": 0.6}]});
    logged(sandbox, 2, "learning.surfaced", session, shown);
    logged(sandbox, 2, "learning.implied", session, json!({"ids": ["bbbbbbbb"]}));
    let journal = sandbox.journal(session);
    write_line(&journal, 2, "prompted", session, &json!({"text": "go", "author": "user", "verdict": "pass"}));
    let call = json!({"tool": "Bash", "effect": "exec", "input": "make", "verdict": "pass"});
    let stop = json!({"last_message": "Done.", "waiting": false, "again": false, "verdict": "pass"});
    write_line(&journal, 2, last, session, if last == "stop.requested" { &stop } else { &call });
    let then = SystemTime::now() - Duration::from_secs(2 * DAY.unsigned_abs());
    File::options().append(true).open(&journal).unwrap().set_modified(then).unwrap();
}

#[test]
fn a_session_whose_end_was_lost_is_settled_after_a_day() {
    let sandbox = Sandbox::new();
    learned(&sandbox, 10, "aaaaaaaa", "the cache is keyed by path alone");
    learned(&sandbox, 10, "bbbbbbbb", "orders close at midnight");
    silent(&sandbox, "stopped", "stop.requested");
    silent(&sandbox, "crashed", "tool.requested");
    silent(&sandbox, "skipped", "stop.requested");
    logged(&sandbox, 2, "reflection.skipped", "skipped", json!({"why": "a typo", "decider": "agent"}));
    silent(&sandbox, "fresh", "stop.requested");
    sandbox.event("fresh", "Notification", json!({"message": "waiting"}));
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
        let found = records(&sandbox, "learning.dismissed");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (&found[0]["session"], &found[0]["body"]["ids"]),
            (&json!("stopped"), &json!(["aaaaaaaa"]))
        );
    }
}

#[test]
fn the_counts_are_told_in_eighty_columns() {
    let sandbox = old_and_used();
    logged(
        &sandbox,
        9,
        "learning.rejected",
        "own",
        json!({"summary": "be careful", "stage": "specificity", "reason": "vague"}),
    );
    logged(&sandbox, 1, "tool.finished", "plain", json!({"tool": "Bash", "outcome": "failed"}));
    logged(&sandbox, 1, "tool.finished", "plain", json!({"tool": "Bash", "outcome": "ok"}));
    let ran = sandbox.run(&["memory", "stats", "--weeks", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for says in [
        "learnings   2 active, 0 stale, 0 archived, 0 superseded\n",
        "write gate  2 of 3 candidates kept (67%); rejected: specificity 1\n",
        "used        ",
        "pitfall   2      0      1     0        6          14%\n",
        "tool calls               -               2.0\n",
        "retries                  -               1.0\n",
        "most useful\nbbbbbbbb        25%  orders close at midnight\n",
        "DecayWarning: `aaaaaaaa` (the cache is keyed by path alone) is due to be archived: ",
        "  next: if it is still true, run `sprag memory verify aaaaaaaa`\n",
    ] {
        assert!(ran.stdout.contains(says), "{says}\n{}", ran.stdout);
    }
    let table = ran.stdout.lines().take_while(|line| *line != "insights");
    assert!(
        table.clone().count() > 20 && table.into_iter().all(|line| line.chars().count() <= 80),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains('\u{1b}'));
    let data = sandbox.json(&["memory", "stats", "--json"]);
    assert_eq!(
        (&data["v"], &data["learnings"]["active"], &data["write_gate"]["rejected"]),
        (&json!(1), &json!(2), &json!(1))
    );
    assert_eq!(data["weeks"].as_array().unwrap().len(), 12);
    assert_eq!(data["insights"][0]["kind"], "DecayWarning");
}

#[test]
fn a_failed_attempt_is_worth_another_try_after_two_months() {
    let sandbox = Sandbox::new();
    for (id, days) in [("aaaaaaaa", 61), ("bbbbbbbb", 59), ("cccccccc", 10)] {
        let body = json!({
            "id": id, "schema_version": 2, "session": "own", "at": ago(days), "category": "debugging", "kind": "negative",
            "summary": "linking with mold breaks the tests", "detail": "tried with mold 2.3: symbols are missing",
            "tags": ["linker"], "criteria_met": ["stable_fact"], "scope": "project", "confidence": "medium",
        });
        logged(&sandbox, days, "learning.accepted", "own", body);
    }
    logged(
        &sandbox,
        1,
        "learning.outcome",
        "own",
        json!({"ids": ["cccccccc"], "is_success": true, "what": "mold 2.4"}),
    );
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
        let (stale, archived) = (records(&sandbox, "learning.stale"), records(&sandbox, "learning.archived"));
        assert_eq!((stale.len(), &stale[0]["body"]["ids"][0]), (1, &json!("aaaaaaaa")));
        assert_eq!((archived.len(), &archived[0]["body"]["ids"][0]), (1, &json!("cccccccc")));
    }
}

#[test]
fn what_helped_is_told_to_who_fails_the_same_way() {
    let sandbox = Sandbox::new();
    let failed = |session: &str, line: u32| {
        let error = format!("Exit code 2\nmake: *** no rule to make target on line {line}");
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "t", "error": error});
        sandbox.event(session, "PostToolUseFailure", call)
    };
    let done = |session: &str, tool: &str, input: Value| {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t", "tool_response": ""});
        sandbox.event(session, "PostToolUse", call)
    };
    for session in ["a", "b", "c"] {
        let told = failed(session, 7);
        assert_eq!(told == json!({}), session == "a", "{told}");
        done(session, "Edit", json!({"file_path": sandbox.project.join("Makefile")}));
        done(session, "Bash", json!({"command": "make all"}));
    }
    let told = failed("d", 9)["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(
        told.contains("`make all` failed like this 3 times before; recorded fix: changing `Makefile`"),
        "{told}"
    );
    assert!(told.contains("consider a learning"), "{told}");
    assert_eq!(failed("d", 10), json!({}), "once is enough");
    assert_eq!(records(&sandbox, "episode").len(), 3);
    assert!(sandbox.run(&["memory", "stats"]).stdout.contains("worth a learning\n`make all` failed 3 times"));
    assert_eq!(records(&sandbox, "learning.accepted"), [] as [Value; 0], "never a learning by itself");
}

#[test]
fn old_records_are_told_together_a_few_at_a_time_and_none_is_lost() {
    let sandbox = Sandbox::new();
    for record in 0..100 {
        logged(
            &sandbox,
            20 - record / 50,
            "tool.finished",
            "old",
            json!({"tool": "Bash", "outcome": "ok", "record": record}),
        );
    }
    logged(&sandbox, 19, "observed", "old", json!({"note": "the cache is keyed by path"}));
    logged(&sandbox, 1, "observed", "new", json!({"note": "still hot"}));
    let told = |sandbox: &Sandbox| -> u64 {
        records(sandbox, "summary").iter().map(|record| record["body"]["records"].as_u64().unwrap()).sum()
    };
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    assert_eq!(told(&sandbox), 64);
    let before = stored_lines(&sandbox.store()).len();
    sandbox.event("s", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(told(&sandbox), 101);
    assert!(stored_lines(&sandbox.store()).len() > before);
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
        assert_eq!(told(&sandbox), 101, "nothing is told twice");
    }
    let kept: Vec<Value> = records(&sandbox, "summary")
        .iter()
        .flat_map(|it| it["body"]["kept"].as_array().unwrap().clone())
        .collect();
    assert_eq!((kept.len(), &kept[0]["text"]), (1, &json!("the cache is keyed by path")));
    assert_eq!(records(&sandbox, "tool.finished").len(), 100);
    assert_eq!(sandbox.run(&["store", "migrate"]).code, 0);
    assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
    assert_eq!(told(&sandbox), 101, "nor after the log was replayed");
}

#[test]
fn a_question_that_was_answered_is_answered_beside_the_next() {
    let sandbox = Sandbox::new();
    let input = json!({"questions": [{"question": "Which database do the tests use?", "header": "db", "options": []}]});
    let asks = |session: &str| {
        let call = json!({"tool_name": "AskUserQuestion", "tool_input": input, "tool_use_id": "q"});
        sandbox.event(session, "PreToolUse", call)
    };
    assert_eq!(asks("a"), json!({}));
    let response = json!({"answers": {"Which database do the tests use?": "sqlite"}});
    let call = json!({"tool_name": "AskUserQuestion", "tool_input": input, "tool_use_id": "q", "tool_response": response});
    sandbox.event("a", "PostToolUse", call);
    let told = asks("b")["hookSpecificOutput"].clone();
    let note = told["additionalContext"].as_str().unwrap();
    assert!(note.starts_with("sprag: asked before: ") && note.ends_with("): sqlite"), "{note}");
    assert_eq!(told["permissionDecision"], Value::Null, "the user still answers");
    let agents =
        ["answer", "Which port is free?", "--answer", "8080", "--source", "ss -ltn", "--session", "a"];
    assert_eq!(sandbox.run(&agents).code, 0);
    assert_eq!(records(&sandbox, "qa.answered").len(), 2);
    let told = sandbox.run(&["session", "explain", "a"]).stdout;
    assert!(told.contains("the question \"Which port is free?\" has an answer: 8080"), "{told}");
    assert_eq!(sandbox.run(&["config", "set", "qa.auto", "true"]).code, 1, "not an agent's to say");
    fs::create_dir_all(sandbox.home.join(".config/sprag")).unwrap();
    fs::write(sandbox.home.join(".config/sprag/config.toml"), "[qa]\nauto = true\n").unwrap();
    assert_eq!(asks("c")["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(asks("c")["hookSpecificOutput"]["permissionDecision"], Value::Null, "who asks again means it");
}

#[test]
fn what_is_hardly_of_use_is_shown_less_in_small_steps_that_can_be_taken_back() {
    let sandbox = Sandbox::new();
    learned(&sandbox, 20, "aaaaaaaa", "the cache is keyed by path alone");
    for session in 0..60 {
        logged(&sandbox, 3, "learning.dismissed", &format!("d{session}"), json!({"ids": ["aaaaaaaa"]}));
    }
    assert_eq!(sandbox.run(&["memory", "stats", "--revert"]).code, 1);
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["memory", "maintain"]).code, 0);
        let versions = records(&sandbox, "policy");
        assert_eq!(versions.len(), 1, "nothing was judged since");
        assert_eq!(versions[0]["body"]["why"], "0% of 60 were used; fewer are shown from now on");
    }
    let reverted = sandbox.json(&["memory", "stats", "--revert", "--json"])["reverted"].clone();
    assert_eq!((&reverted[0]["version"], &reverted[0]["floor"]), (&json!(2), &json!(1.0)));
    assert_eq!(sandbox.run(&["memory", "stats", "--revert"]).code, 1);
}

#[test]
fn a_learning_is_referred_to_by_the_start_of_its_id() {
    let sandbox = Sandbox::new();
    learned(&sandbox, 5, "aaaaaaaa-1111", "the cache is keyed by path alone");
    learned(&sandbox, 5, "aaaaaaaa-2222", "orders close at midnight");
    sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    let refer = |id: &str| sandbox.run(&["ref", id, "--how", "the rename", "--session", "s"]);
    assert_eq!(refer("aaaaaaaa-2").code, 0);
    assert_eq!(records(&sandbox, "learning.referred")[0]["body"]["ids"], json!(["aaaaaaaa-2222"]));
    assert_eq!((refer("aaaaaaaa").code, refer("bbbbbbbb").code), (1, 1), "two begin so, and none");
    assert_eq!(records(&sandbox, "learning.referred").len(), 1);
}

#[test]
fn learnings_that_could_be_one_are_shown_and_left_alone() {
    let sandbox = Sandbox::new();
    learned(&sandbox, 5, "aaaaaaaa", "the parser cache is keyed by path alone");
    learned(&sandbox, 4, "bbbbbbbb", "the parser cache is keyed by the path alone");
    learned(&sandbox, 3, "cccccccc", "orders close at midnight");
    let groups = sandbox.json(&["memory", "consolidate", "--json"])["groups"].clone();
    let ids: Vec<&str> = groups[0].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!((groups.as_array().unwrap().len(), ids.as_slice()), (1, &["aaaaaaaa", "bbbbbbbb"][..]));
    assert_eq!(sandbox.run(&["memory", "consolidate", "--apply"]).code, 1, "that is for a person");
    assert_eq!(records(&sandbox, "learning.superseded"), [] as [Value; 0]);
}

#[test]
fn past_sessions_are_read_once_and_what_they_taught_is_never_sure() {
    let mut sandbox = Sandbox::new();
    let turn = |role: &str, text: &str| {
        json!({"type": role, "message": {"role": role, "content": text}}).to_string()
    };
    let talk = ["fix the cache", "no, by inode", "and add a test"].map(|text| turn("user", text)).join("\n");
    let path = sandbox.write("old-session.jsonl", &format!("{talk}\n{}\n", turn("assistant", "done")));
    let short = sandbox.write("short.jsonl", &turn("user", "hello"));
    let files = [path.to_str().unwrap(), short.to_str().unwrap()];
    let dry = sandbox.json(&["memory", "backfill", files[0], files[1], "--json"]);
    assert_eq!((dry["sessions"].as_array().unwrap().len(), &dry["dry_run"]), (1, &json!(true)));
    assert!(dry["tokens"].as_u64().unwrap() > 50);
    assert_eq!(sandbox.run(&["memory", "backfill", files[0], "--apply"]).code, 2, "there is no judge");
    let candidate = json!({
        "category": "pitfall", "summary": "`old-session.jsonl` must be keyed by inode 4711, never by path",
        "detail": "because a rename keeps the inode: always call stat on `old-session.jsonl` before version 2.3 reads it",
        "tags": ["cache", "inode"], "criteria_met": ["behavior_changing"], "confidence": "high",
    });
    let answer = sandbox.write("answer.json", &json!({ "candidates": [candidate] }).to_string());
    sandbox.with_program(
        "reader",
        &format!("cat > '{}/asked.json'; cat '{}'", sandbox.home.display(), answer.display()),
    );
    fs::create_dir_all(sandbox.home.join(".config/sprag")).unwrap();
    let judge = format!("[memory]\njudge = [\"{}\"]\n", sandbox.home.join("bin/reader").display());
    fs::write(sandbox.home.join(".config/sprag/config.toml"), judge).unwrap();
    let done = sandbox.json(&["memory", "backfill", files[0], "--apply", "--json"]);
    assert_eq!(done["sessions"][0]["session"], "old-session", "{done}");
    let asked: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.home.join("asked.json")).unwrap()).unwrap();
    assert_eq!(asked["turns"][1]["text"], "no, by inode");
    let (kept, not) = (records(&sandbox, "learning.accepted"), records(&sandbox, "learning.rejected"));
    assert_eq!(kept.len() + not.len(), 1, "{kept:?} {not:?}");
    assert!(kept.iter().all(|record| record["body"]["confidence"] == "low"), "{kept:?}");
    assert_eq!(records(&sandbox, "retroflect").len(), 1);
    let again = sandbox.json(&["memory", "backfill", files[0], "--json"]);
    assert_eq!(again["sessions"], json!([]), "it was read");
}

#[test]
fn a_setting_is_changed_by_a_person_alone() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["memory", "stats"]).code, 0);
    assert!(sandbox.run(&["memory", "stats", "--apply"]).stdout.starts_with("no suggested settings"));
    logged(
        &sandbox,
        3,
        "reflection.skipped",
        "own",
        json!({"why": "auto: 2 lines changed", "decider": "auto"}),
    );
    learned(&sandbox, 2, "aaaaaaaa", "the cache is keyed by path alone");
    let ran = sandbox.run(&["memory", "stats", "--apply"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("people only: this command needs a terminal"), "{}", ran.stderr);
    assert!(
        sandbox
            .run(&["memory", "stats"])
            .stdout
            .contains("next: ask about smaller changes with `sprag memory stats --apply`\n")
    );
}
