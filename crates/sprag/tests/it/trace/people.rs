//! Sprag distinguishes the changes of people from those of agents where it can. Other changes have no author.

use std::fs;
use std::time::{Duration, SystemTime};

use super::work::{Work, ours};

/// Makes a change by hand, a minute from now: long after the last action of the session.
fn by_hand(work: &Work, path: &str, text: &str) {
    let file = work.sandbox.write(path, text);
    let then = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(file).unwrap().set_modified(then).unwrap();
}

/// Returns the author of each change that Sprag only found, by path.
fn found(work: &Work) -> Vec<(String, String)> {
    let records = work.records();
    let found = records.iter().filter(|record| ours(record)["source"] == "found");
    let mut all: Vec<(String, String)> = found
        .flat_map(|record| record["files"].as_array().unwrap())
        .map(|file| {
            let who = &file["conversations"][0]["contributor"]["type"];
            (file["path"].as_str().unwrap().to_owned(), who.as_str().unwrap().to_owned())
        })
        .collect();
    all.sort();
    all
}

fn told(work: &Work) -> String {
    found(work).iter().map(|(path, who)| format!("{path} {who}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_no_call_can_have_made_is_a_persons() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "src/a.rs", "one();", "two();");
    work.shell("s", "git status && cat notes.txt");
    by_hand(&work, "by-hand.txt", "a line that a person wrote by hand\n");
    // A person writes beside the agent's lines, and in their place.
    by_hand(&work, "notes.txt", "first\nsecond\nthird\nfourth, by hand\n");
    by_hand(&work, "src/a.rs", "fn a() {\n    three();\n}\n");
    work.stop("s");
    assert_eq!(told(&work), "by-hand.txt human, notes.txt human, src/a.rs mixed");
    for record in work.records().iter().filter(|record| ours(record)["source"] == "found") {
        assert!(ours(record).get("intent_id").is_none(), "{record}");
        super::form::check(record);
    }
    // The commit keeps the person as the author.
    work.git("add -A && git commit -qm all");
    assert_eq!(work.sandbox.run(&["trace", "reindex"]).code, 0);
    let blamed = work.sandbox.json(&["trace", "blame", "by-hand.txt", "--json"]);
    assert_eq!(blamed["lines"][0]["contributor"], "human", "{blamed}");
}

#[test]
fn where_a_command_may_have_made_it_nobody_knows() {
    // The command may have left a process running, or have changed the same file before.
    for line in
        ["make || true", "(sleep 9 > x 2>&1 &)", "python3 x.py || true", "sed -i s/first/1st/ notes.txt"]
    {
        let work = Work::new();
        work.session("s", "INT-1");
        work.shell("s", line);
        by_hand(&work, "by-hand.txt", "a line that a person wrote by hand\n");
        work.stop("s");
        assert!(told(&work).starts_with("by-hand.txt unknown"), "{line}: {}", told(&work));
    }
    // Another session may have, too.
    let work = Work::new();
    work.session("s", "INT-1");
    work.session("t", "INT-2");
    work.edit("s", "src/a.rs", "one();", "two();");
    by_hand(&work, "by-hand.txt", "a line that a person wrote by hand\n");
    work.stop("s");
    assert_eq!(told(&work), "by-hand.txt unknown");
}
