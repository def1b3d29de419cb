//! Sprag records every change: changes of a call, changes that it only found, and changes in a commit. The
//! records form a valid chain.

mod blame;
mod classify;
mod form;
mod killed;
mod odd;
mod people;
mod tampered;
pub(crate) mod work;

use std::collections::BTreeSet;
use std::process::Child;

use serde_json::{Value, json};

use crate::store::parallel::start;
use crate::support::{Sandbox, payload, stored_lines};
use work::{Work, hash, lines_of, ours};

#[test]
fn an_edit_leaves_a_record_of_its_lines() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\nand a half\n");
    let records = work.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(lines_of(record), ["notes.txt:2-3"]);
    let talk = &record["files"][0]["conversations"][0];
    assert_eq!(talk["ranges"][0]["content_hash"], hash("2nd\nand a half\n"));
    assert_eq!(talk["contributor"]["type"], "ai");
    assert_eq!(talk["related"][0]["url"], "intent:INT-1");
    assert!(record.get("vcs").is_none());
    assert_eq!(ours(record)["provisional"], true);
    assert_eq!(ours(record)["tool_call"], "Edit");
    assert_eq!(ours(record)["deleted"][0]["content_hash"], hash("second\n"));
    assert_eq!(ours(record)["declared_class"], "INTENT_EVOLUTION");
    let head = work.sandbox.git(&["rev-parse", "HEAD"]).stdout;
    assert_eq!(ours(record)["base"], String::from_utf8(head).unwrap().trim());
    // No record contains text of the file.
    let lines = stored_lines(&work.sandbox.store());
    assert!(lines.iter().all(|line| !line.contains("and a half")), "{lines:?}");
}

/// `intent show` lists earlier work for the intent.
#[test]
fn an_intent_tells_what_was_done_for_it() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\n");
    work.session("t", "INT-2");
    work.edit("t", "src/a.rs", "one();", "two();");
    let shown = |id: &str| work.sandbox.run(&["intent", "show", id]).stdout;
    assert!(shown("INT-1").contains("Z notes.txt INTENT_EVOLUTION"), "{}", shown("INT-1"));
    assert!(!shown("INT-1").contains("src/a.rs"), "{}", shown("INT-1"));
    // Changes that a commit contains are listed once.
    work.shell("s", "git commit -qam work");
    assert_eq!(shown("INT-1").matches("notes.txt").count(), 1, "{}", shown("INT-1"));
    assert!(!shown("INT-A").contains("recent_trace"));
}

#[test]
fn a_function_is_named_by_a_hash_that_formatting_keeps() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "src/a.rs", "one();", "two();");
    work.edit("s", "src/a.rs", "    two();", "        two();  // said");
    let units: Vec<Value> = work.records().iter().map(|record| ours(record)["units"][0].clone()).collect();
    assert_eq!(units[0]["unit"], "fn a");
    assert_eq!(units[0]["hash"], units[1]["hash"]);
    let last = &work.records()[1];
    assert_eq!(
        (&ours(last)["verdict"], &ours(last)["mutation_class"]),
        (&json!("PROVED"), &json!("AST_REFACTOR"))
    );
}

#[test]
fn a_commit_makes_it_final() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "2nd\nand a half\n");
    work.write("s", "new.txt", "a\nb\nc\n");
    work.shell("s", "git add -A && git commit -qm work");
    let finals = work.finals();
    let [record] = &finals[..] else { panic!("{finals:?}") };
    assert_eq!(lines_of(record), ["new.txt:1-3", "notes.txt:2-3"]);
    let head = String::from_utf8(work.sandbox.git(&["rev-parse", "HEAD"]).stdout).unwrap();
    assert_eq!(record["vcs"], json!({"type": "git", "revision": head.trim()}));
    assert_eq!(ours(record)["intent_id"], "INT-1");
    assert_eq!(ours(record)["provisional"], false);
    let related = record["files"][0]["conversations"][0]["related"].as_array().unwrap();
    let all = work.records();
    let provisional: BTreeSet<String> = all
        .iter()
        .filter(|it| it.get("vcs").is_none())
        .map(|it| format!("urn:uuid:{}", it["id"].as_str().unwrap()))
        .collect();
    let superseded = related
        .iter()
        .filter(|it| it["type"] == "supersedes")
        .map(|it| it["url"].as_str().unwrap().to_owned());
    assert!(superseded.clone().count() == 1 && superseded.into_iter().all(|url| provisional.contains(&url)));
    // Superseded records are shown only with `--all`.
    assert_eq!(work.sandbox.json(&["trace", "log", "--json"])["count"], 1);
    assert_eq!(work.sandbox.json(&["trace", "log", "--json", "--all"])["count"], 3);
    // A second reindex finds nothing new.
    assert_eq!(work.sandbox.json(&["trace", "reindex", "--json"])["final"], 0);
    assert_eq!(work.verify().code, 0);
}

#[test]
fn a_commit_by_hand_is_found_at_the_next_stop_and_by_reindex() {
    for is_stop in [true, false] {
        let work = Work::new();
        work.session("s", "INT-1");
        work.edit("s", "notes.txt", "second\n", "2nd\n");
        work.git("commit -qam by-hand");
        if is_stop {
            drop(work.stop("s"))
        } else {
            assert_eq!(work.sandbox.json(&["trace", "reindex", "--json"])["final"], 1)
        }
        let finals = work.finals();
        assert_eq!(finals.len(), 1, "{finals:?}");
        assert_eq!(lines_of(&finals[0]), ["notes.txt:2-2"]);
        assert_eq!(ours(&finals[0])["intent_id"], "INT-1");
    }
}

#[test]
fn what_a_command_did_is_the_sessions_and_what_nobody_saw_is_nobodys() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.shell("s", "sed -i s/first/1st/ notes.txt && echo made > made.txt");
    // Between two calls a person changes the same files.
    pass_time();
    work.sandbox.write("by-hand.txt", "x\n");
    work.stop("s");
    let records = work.records();
    let of = |source: &str| -> Vec<String> {
        let found = records.iter().filter(|record| ours(record)["source"] == source);
        let mut claimed: Vec<String> = found.flat_map(lines_of).collect();
        claimed.sort();
        claimed
    };
    assert_eq!(of("command"), ["made.txt:1-1", "notes.txt:1-1"]);
    assert_eq!(of("found"), ["by-hand.txt:1-1"]);
    for record in &records {
        let is_known = ours(record)["source"] != "found";
        assert_eq!(ours(record).get("intent_id").is_some(), is_known, "{record}");
        let who = &record["files"][0]["conversations"][0]["contributor"]["type"];
        assert_eq!(who, if is_known { "ai" } else { "unknown" });
    }
    // Without a change since then there is no new record.
    let count = work.records().len();
    work.stop("s");
    assert_eq!(work.records().len(), count);
}

#[test]
fn what_was_unfinished_before_the_session_is_not_its() {
    let work = Work::new();
    work.sandbox.write("notes.txt", "first\nsecond\nthird\nthe user's own\n");
    work.session("s", "INT-1");
    work.shell("s", "sed -i s/first/1st/ notes.txt");
    work.stop("s");
    for record in work.records() {
        assert!(ours(&record).get("intent_id").is_none(), "{record}");
    }
}

#[test]
fn lines_of_two_sessions_in_one_commit_keep_their_intents() {
    let work = Work::new();
    work.session("a", "INT-A");
    work.session("b", "INT-B");
    work.edit("a", "notes.txt", "first\n", "first\nfrom a\nfrom a too\n");
    work.edit("b", "notes.txt", "third\n", "third\nfrom b\n");
    work.edit("b", "notes.txt", "from a\n", "b was here\n");
    work.git("commit -qam both");
    work.sandbox.json(&["trace", "reindex", "--json"]);
    let mut claimed: Vec<(String, Vec<String>)> = work
        .finals()
        .iter()
        .map(|record| (ours(record)["intent_id"].as_str().unwrap().to_owned(), lines_of(record)))
        .collect();
    claimed.sort();
    let wanted = [
        ("INT-A".to_owned(), vec!["notes.txt:3-3".to_owned()]),
        ("INT-B".to_owned(), vec!["notes.txt:2-2".to_owned(), "notes.txt:6-6".to_owned()]),
    ];
    assert_eq!(claimed, wanted);
}

/// Must-beat 17: the trace hashes blocks, not single lines by number.
#[test]
fn the_trace_of_a_block_survives_a_move() {
    let block =
        "fn total(cart: &Cart) -> u32 {\n    let sum = cart.items.iter().map(price).sum();\n    sum\n}\n";
    let work = Work::new();
    work.session("s", "INT-1");
    work.write("s", "src/cart.rs", block);
    let written = work.records();
    let known = &written[0]["files"][0]["conversations"][0]["ranges"][0]["content_hash"];
    // A person writes above the block before the commit.
    pass_time();
    work.sandbox.write("src/cart.rs", &format!("//! Carts.\n\nuse crate::price;\n\n{block}"));
    work.git("add -A && git commit -qm moved");
    work.stop("s");
    let finals = work.finals();
    let record =
        finals.iter().find(|it| ours(it)["intent_id"] == "INT-1").expect("it is still known whose it is");
    assert_eq!(lines_of(record), ["src/cart.rs:5-8"]);
    let range = &record["files"][0]["conversations"][0]["ranges"][0];
    assert_eq!(&range["content_hash"], known);
    assert_eq!(*known, hash(block));
    // The lines above belong to no intent.
    assert!(
        finals
            .iter()
            .all(|it| ours(it)["intent_id"] == "INT-1"
                || !lines_of(it).contains(&"src/cart.rs:5-8".to_owned()))
    );
    let unit = &ours(record)["units"][0];
    assert_eq!(unit["hash"], ours(&written[0])["units"][0]["hash"]);
}

#[test]
fn a_refactoring_that_is_none_holds_the_stop() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.select("s", "INT-1", "AST_REFACTOR");
    work.edit("s", "src/a.rs", "    one();\n", "    one();\n    launch(\"missiles\");\n");
    let held = work.stop("s");
    let judged = work.records().into_iter().find(|it| ours(it)["source"] == "stop").unwrap();
    assert_eq!(ours(&judged)["verdict"], "CHANGED", "{judged}");
    assert_eq!(ours(&judged)["declared_class"], "AST_REFACTOR");
    let reason = held["reason"].as_str().unwrap();
    assert!(reason.contains("declared as a refactoring, but behaviour changes at `src/a.rs:"), "{reason}");
    assert!(reason.contains("sprag intent select INT-1 --class INTENT_EVOLUTION --session s"), "{reason}");
    work.select("s", "INT-1", "INTENT_EVOLUTION");
    let after = work.stop("s");
    assert!(!after["reason"].as_str().unwrap_or_default().contains("declared as a refactoring"), "{after}");
}

/// In some projects a comment is a promise about behaviour.
#[test]
fn comments_count_where_they_are_behaviour() {
    for (setting, verdict) in [("false", "PROVED"), ("true", "CHANGED")] {
        let mut work = Work::new();
        work.sandbox.vars.push(("SPRAG_TRACE__DOCS_ARE_BEHAVIOUR".to_owned(), setting.to_owned()));
        work.session("s", "INT-1");
        work.select("s", "INT-1", "AST_REFACTOR");
        work.edit("s", "src/a.rs", "    one();\n", "    // Never fails.\n    one();\n");
        let held = work.stop("s");
        let judged = work.records().into_iter().find(|it| ours(it)["source"] == "stop").unwrap();
        assert_eq!(ours(&judged)["verdict"], verdict, "{judged}");
        let told = held["reason"].as_str().unwrap_or_default();
        assert_eq!(told.contains("at `src/a.rs:2`: `Never fails.` was added"), setting == "true", "{held}");
        // A change of layout is not a change of behaviour.
        work.edit("s", "src/a.rs", "    // Never fails.\n", "");
        work.edit("s", "src/a.rs", "    one();\n", "        one();\n");
        assert!(!work.stop("s").to_string().contains("declared as a refactoring"));
    }
}

#[test]
fn fifty_at_once_lose_no_record_and_keep_the_chain() {
    let work = Work::new();
    for n in 0..50 {
        work.sandbox.write(&format!("f{n}.txt"), "text\n");
    }
    let done = |n: usize| {
        let file = work.sandbox.project.join(format!("f{n}.txt"));
        let more = json!({
            "tool_name": "Write", "tool_use_id": format!("call-{n}"),
            "tool_input": {"file_path": file, "content": "text\n"},
        });
        payload(&format!("s{}", n % 5), "PostToolUse", &work.sandbox.project, more)
    };
    let children: Vec<Child> = (0..50).map(|n| start(&work.sandbox, &done(n))).collect();
    for child in children {
        assert_eq!(child.wait_with_output().unwrap().stdout, b"{}\n");
    }
    let claimed: BTreeSet<String> = work.records().iter().flat_map(lines_of).collect();
    assert_eq!(claimed.len(), 50, "{claimed:?}");
    let verified = work.verify();
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    assert_eq!(serde_json::from_str::<Value>(&verified.stdout).unwrap()["records"], 50);
}

#[test]
fn where_nobody_asks_for_it_nothing_is_written_down() {
    let work = Work::of(Sandbox::new());
    std::fs::remove_dir_all(work.sandbox.project.join(".sprag")).unwrap();
    work.write("s", "a.txt", "x\n");
    work.stop("s");
    assert_eq!(work.records().len(), 0);
    let mut work = work;
    work.sandbox.vars.push(("SPRAG_TRACE__MODE".to_owned(), "always".to_owned()));
    work.write("s", "b.txt", "x\n");
    assert_eq!(work.records().len(), 1);
    work.sandbox.vars.push(("SPRAG_TRACE__MODE".to_owned(), "off".to_owned()));
    work.write("s", "c.txt", "x\n");
    assert_eq!(work.records().len(), 1);
}

#[test]
fn the_commands_tell_people_too() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "src/a.rs", "one();", "two();");
    work.shell("s", "git commit -qam work");
    let id = work.finals()[0]["id"].as_str().unwrap().to_owned();
    let told = |args: &[&str]| {
        let ran = work.sandbox.run(args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert!(told(&["trace", "log"]).contains("INT-1"));
    assert!(told(&["trace", "show", &id]).contains("fn a"));
    assert!(told(&["trace", "map"]).contains("src/a.rs"));
    assert!(told(&["trace", "stats"]).contains("INT-1"));
    assert!(told(&["trace", "verify"]).contains("all records are unchanged"));
    assert_eq!(told(&["trace", "export"]).lines().count(), 1);
    let map = work.sandbox.json(&["trace", "map", "INT-1", "--json"]);
    assert_eq!(map["intents"][0]["files"][0]["symbols"][0], "fn a");
    assert_eq!(map["intents"][0]["state"], "covered");
    let states = |map: &Value| -> Vec<String> {
        let rows = map["intents"].as_array().unwrap().iter();
        rows.map(|row| format!("{} {}", row["intent"].as_str().unwrap(), row["state"].as_str().unwrap()))
            .collect()
    };
    let map = work.sandbox.json(&["trace", "map", "--json"]);
    assert_eq!(states(&map)[..2], ["INT-1 covered", "INT-2 uncovered"]);
    // The intent changes its meaning, and then disappears.
    let text = work.text(".sprag/intents.yaml");
    work.sandbox.write(".sprag/intents.yaml", &text.replacen("name: work", "name: other work", 1));
    assert_eq!(states(&work.sandbox.json(&["trace", "map", "--json"]))[0], "INT-1 suspect");
    work.sandbox.write(".sprag/intents.yaml", &text.replacen("id: INT-1", "id: INT-X", 1));
    let map = work.sandbox.json(&["trace", "map", "--json"]);
    assert_eq!(states(&map).last().unwrap(), "INT-1 orphaned");
    let stats = work.sandbox.json(&["trace", "stats", "--json"]);
    assert_eq!((&stats["total"]["records"], &stats["superseded"]), (&json!(1), &json!(1)));
    let missing = work.sandbox.run(&["trace", "show", "nonsense"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("next: sprag trace log"), "{}", missing.stderr);
}

/// Waits until file times have advanced, because they have a coarse resolution.
fn pass_time() {
    let dir = tempfile::tempdir().unwrap();
    let stamp = |name: &str| {
        std::fs::write(dir.path().join(name), "x").unwrap();
        std::fs::metadata(dir.path().join(name)).unwrap().modified().unwrap()
    };
    let first = stamp("a");
    let mut at = 0;
    // The time must exceed the window in which a change may count as made during a command.
    while stamp(&format!("b{at}")).duration_since(first).unwrap_or_default()
        < std::time::Duration::from_millis(40)
    {
        at += 1;
    }
}
