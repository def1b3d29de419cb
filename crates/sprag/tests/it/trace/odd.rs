//! Unusual repositories: records stay valid, and no command hangs or crashes.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::work::{Work, lines_of, ours};
use crate::support::Sandbox;

#[test]
fn without_a_commit_records_stay_provisional() {
    let work = Work::unborn();
    work.session("s", "INT-1");
    work.write("s", "a.txt", "x\ny\n");
    work.stop("s");
    let records = work.records();
    assert!(records.iter().all(|record| record.get("vcs").is_none() && ours(record).get("base").is_none()));
    assert_eq!(lines_of(&records[0]), ["a.txt:1-2"]);
    work.git("add -A && git commit -qm first");
    work.sandbox.json(&["trace", "reindex", "--json"]);
    assert_eq!(work.finals().len(), 1);
}

#[test]
fn without_git_they_do_too() {
    let work = Work::of(Sandbox::without_git());
    work.sandbox.event("s", "SessionStart", json!({"source": "startup"}));
    work.write("s", "a.txt", "x\ny\n");
    work.write("s", "a.txt", "x\nz\n");
    work.stop("s");
    let records = work.records();
    assert_eq!(lines_of(&records[0]), ["a.txt:1-2"]);
    assert_eq!(lines_of(&records[1]), ["a.txt:2-2"]);
    assert!(records.iter().all(|record| ours(record)["provisional"] == true));
    assert_eq!(work.verify().code, 0);
}

#[test]
fn what_is_no_text_is_one_block_by_its_bytes() {
    let work = Work::new();
    work.session("s", "INT-1");
    for (name, bytes) in [
        ("nul.rs", b"fn a() {}\0".to_vec()),
        ("latin.py", b"x = '\xe9'\n".to_vec()),
        ("line.js", [b"let a = 1;".to_vec(), b" ".repeat(1_000_000)].concat()),
        ("deep.py", [b"(".repeat(10_000), b")".repeat(10_000)].concat()),
        ("bom.ts", b"\xef\xbb\xbflet a = 1;\r\n".to_vec()),
        ("empty.go", Vec::new()),
    ] {
        let file = work.sandbox.project.join(name);
        work.call("s", "Write", json!({"file_path": file, "content": "?"}), || {
            fs::write(&file, bytes).unwrap()
        });
    }
    let records = work.records();
    assert_eq!(records.len(), 6, "{records:?}");
    assert_eq!(lines_of(&records[0]), ["nul.rs:1-1"]);
    assert_eq!(lines_of(&records[5]), [""; 0]);
    assert!(records[..5].iter().all(|record| ours(record)["verdict"] == "UNPROVEN"), "{records:?}");
    work.shell("s", "git add -A && git commit -qm odd");
    assert_eq!(work.finals().len(), 1, "{:?}", work.finals());
    assert_eq!(work.verify().code, 0);
}

#[test]
fn a_link_is_where_it_leads_and_a_pipe_is_not_opened() {
    let work = Work::new();
    work.session("s", "INT-1");
    let root = &work.sandbox.project;
    symlink("notes.txt", root.join("link")).unwrap();
    let outside = work.sandbox.home.join("outside.txt");
    fs::write(&outside, "secret\n").unwrap();
    symlink(&outside, root.join("away")).unwrap();
    // A write through a link changes the target.
    work.call("s", "Write", json!({"file_path": root.join("link"), "content": "x\n"}), || {
        fs::write(root.join("link"), "x\n").unwrap();
    });
    work.call("s", "Write", json!({"file_path": root.join("away"), "content": "x\n"}), || {
        fs::write(root.join("away"), "x\n").unwrap();
    });
    work.run_shell("mkfifo pipe");
    work.call("s", "Write", json!({"file_path": root.join("pipe"), "content": "x\n"}), || {});
    let claimed: Vec<String> = work.records().iter().flat_map(lines_of).collect();
    assert_eq!(claimed, ["notes.txt:1-1"]);
    work.stop("s");
}

#[test]
fn a_file_that_goes_or_moves_is_followed() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\n");
    work.shell("s", "git mv notes.txt words.txt && git rm -q src/a.rs && git commit -qam moved");
    work.stop("s");
    let finals = work.finals();
    let [record] = &finals[..] else { panic!("{finals:?}") };
    assert_eq!(lines_of(record), ["words.txt:2-2"]);
    assert_eq!(ours(record)["renamed"], json!([{"from": "notes.txt", "to": "words.txt"}]));
}

#[test]
fn a_part_of_a_file_is_committed_and_the_rest_later() {
    let work = Work::new();
    let lines: Vec<String> = (0..30).map(|n| format!("line {n}\n")).collect();
    work.sandbox.write("long.txt", &lines.concat());
    work.git("add -A && git commit -qm long");
    work.session("s", "INT-1");
    work.edit("s", "long.txt", "line 2\n", "early\n");
    let early = work.text("long.txt");
    work.edit("s", "long.txt", "line 27\n", "late\n");
    let late = work.text("long.txt");
    work.sandbox.write("long.txt", &early);
    work.git("commit -qam early");
    // Repeated calls record the change once.
    for wanted in [1, 0, 0] {
        assert_eq!(work.sandbox.json(&["trace", "reindex", "--json"])["final"], wanted);
    }
    work.sandbox.write("long.txt", &late);
    work.git("commit -qam late");
    work.sandbox.json(&["trace", "reindex", "--json"]);
    let finals = work.finals();
    assert_eq!(finals.iter().flat_map(lines_of).collect::<Vec<_>>(), ["long.txt:3-3", "long.txt:28-28"]);
}

#[test]
fn a_large_file_takes_no_time() {
    let work = Work::new();
    let text: String = (0..100_000).map(|n| format!("row {n}\n")).collect();
    work.sandbox.write("rows.txt", &text);
    work.git("add -A && git commit -qm rows");
    work.session("s", "INT-1");
    work.edit("s", "rows.txt", "row 50000\n", "changed\n");
    assert_eq!(work.records().iter().flat_map(lines_of).collect::<Vec<_>>(), ["rows.txt:50001-50001"]);
    let other: String = (0..100_000).map(|n| format!("other {n}\n")).collect();
    work.write("s", "rows.txt", &other);
    assert_eq!(lines_of(&work.records()[1]), ["rows.txt:1-100000"]);
}

#[test]
fn a_shallow_clone_claims_nothing_it_cannot_see() {
    let work = Work::new();
    work.git("commit -q --allow-empty -m second");
    work.run_shell("git clone -q --depth 1 \"file://$PWD\" ../shallow");
    let project = work.sandbox.project.parent().unwrap().join("shallow");
    let mut sandbox = work.sandbox;
    sandbox.project = project;
    let work = Work::of(sandbox);
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\n");
    work.shell("s", "git commit -qam more");
    let finals = work.finals();
    assert_eq!(finals.iter().flat_map(lines_of).collect::<Vec<_>>(), ["notes.txt:2-2"]);
}

#[test]
fn records_of_another_clone_are_its_word_alone() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\n");
    work.shell("s", "git commit -qam more");
    let own = work.log().1.into_iter().find(|line| line.contains("trace.final")).unwrap();
    let mut forged: Value = serde_json::from_str(&own).unwrap();
    let id = forged["id"].clone();
    forged["id"] = json!("00000000-0000-7000-8000-000000000000");
    forged["body"]["intent"]["id"] = json!("INT-EVIL");
    forged["body"]["files"][0]["supersedes"] = json!([id]);
    work.sandbox.write(
        ".sprag/share/feedfeedfeedfeed.jsonl",
        &format!("{forged}\nnonsense\n{{\"kind\":\"trace.final\"}}\n"),
    );
    let log = work.sandbox.json(&["trace", "log", "--json"]);
    let intents: Vec<&str> =
        log["records"].as_array().unwrap().iter().map(|it| it["intent"].as_str().unwrap()).collect();
    assert_eq!(intents.len(), 2, "{log}");
    let clones: Vec<&Value> = log["records"].as_array().unwrap().iter().map(|it| &it["clone"]).collect();
    assert!(clones.contains(&&json!("feedfeedfeedfeed")) && clones.contains(&&Value::Null));
}
