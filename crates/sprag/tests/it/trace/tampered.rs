//! Sprag detects changed, removed, moved and truncated records, in the log and in shared files.

use std::fs;

use serde_json::Value;

use super::work::Work;

/// Returns a repository with ten changes, each committed.
fn worked() -> Work {
    let work = Work::new();
    work.session("s", "INT-1");
    for n in 0..4 {
        work.write("s", &format!("f{n}.txt"), &format!("one {n}\ntwo {n}\n"));
        work.shell("s", &format!("git add -A && git commit -qm {n}"));
    }
    assert_eq!(work.verify().code, 0, "{}", work.verify().stdout);
    work
}

fn first_bad(work: &Work) -> String {
    let ran = work.verify();
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["first_bad"].as_str().unwrap().to_owned()
}

fn id(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_log() {
    let work = worked();
    let (path, lines) = work.log();
    let at: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].contains("\"kind\":\"trace.final\"")).collect();
    assert_eq!(at.len(), 4);
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        fs::write(&path, format!("{}\n", changed.join("\n"))).unwrap();
        let bad = first_bad(&work);
        fs::write(&path, format!("{}\n", lines.join("\n"))).unwrap();
        bad
    };
    // The line after a changed one no longer follows it.
    assert_eq!(with(&|it| it[at[1]] = it[at[1]].replace("INT-1", "INT-2")), id(&lines[at[2]]));
    assert_eq!(with(&|it| drop(it.remove(at[1]))), id(&lines[at[2]]));
    assert_eq!(with(&|it| it.swap(at[1], at[2])), id(&lines[at[2]]));
    // The noted head of the chain protects the last line.
    assert_eq!(with(&|it| it[at[3]] = it[at[3]].replace("INT-1", "INT-2")), id(&lines[at[3]]));
    assert_eq!(with(&|it| it.truncate(at[3])), id(&lines[at[3]]));
    assert_eq!(work.verify().code, 0);
}

#[test]
fn the_chain_goes_on_after_it() {
    let work = worked();
    let (path, lines) = work.log();
    fs::remove_file(work.sandbox.store().join("trace.head")).unwrap();
    work.write("s", "more.txt", "x\n");
    assert_eq!(work.verify().code, 0, "{}", work.verify().stdout);
    // A torn line is not a record, and hides none.
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(&lines[0][..40]);
    fs::write(&path, text).unwrap();
    work.write("s", "yet-more.txt", "x\n");
    assert_eq!(work.verify().code, 0, "{}", work.verify().stdout);
}

#[test]
fn what_is_shared() {
    let work = worked();
    work.sandbox.run(&["trace", "reindex"]);
    let dir = work.sandbox.project.join(".sprag/share");
    let file =
        fs::read_dir(&dir).unwrap().map(|it| it.unwrap().path()).find(|it| it.extension().is_some()).unwrap();
    let first = fs::read_to_string(&file).unwrap();
    assert_eq!(first.lines().count(), 4, "{first}");
    work.git("add -A && git commit -qm share");
    work.write("s", "g.txt", "one\ntwo\n");
    work.shell("s", "git add -A && git commit -qm g");
    work.sandbox.run(&["trace", "reindex"]);
    let second = fs::read_to_string(&file).unwrap();
    assert!(second.starts_with(&first) && second.lines().count() == 5);
    work.git("add -A && git commit -qm 'share again'");
    assert_eq!(work.verify().code, 0, "{}", work.verify().stdout);
    let lines: Vec<&str> = second.lines().collect();
    // Changes of the file in the worktree.
    let put = |lines: &[&str]| fs::write(&file, format!("{}\n", lines.join("\n"))).unwrap();
    let other = lines[1].replace("INT-1", "INT-2");
    put(&[lines[0], &other, lines[2], lines[3], lines[4]]);
    assert_eq!(first_bad(&work), id(lines[2]));
    put(&[lines[0], lines[2], lines[1], lines[3], lines[4]]);
    assert_eq!(first_bad(&work), id(lines[2]));
    put(&[lines[1], lines[2], lines[3], lines[4]]);
    assert_eq!(first_bad(&work), id(lines[1]));
    // Changes in commits: a commit that removed a record stays visible forever.
    put(&lines[..3]);
    work.git("add -A && git commit -qm 'take back'");
    put(&lines);
    work.git("add -A && git commit -qm 'put back'");
    assert_eq!(first_bad(&work), id(lines[3]));
}

#[test]
fn a_proof_that_is_not_one() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "src/a.rs", "one();", "one(); // said");
    work.shell("s", "git add -A && git commit -qm said");
    let report: Value = serde_json::from_str(&work.verify().stdout).unwrap();
    assert_eq!((&report["ok"], &report["proofs"]), (&true.into(), &1.into()), "{report}");
    let (path, lines) = work.log();
    let at = lines.iter().position(|line| line.contains("trace.final")).unwrap();
    let mut record: Value = serde_json::from_str(&lines[at]).unwrap();
    record["body"]["verdict"]["proved"]["proof"]["before_root"] = "00".into();
    // If a forger rewrites the chain too, replaying the proof detects it.
    let forged: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(n, line)| if n == at { record.to_string() } else { line.clone() })
        .collect();
    fs::write(&path, format!("{}\n", forged.join("\n"))).unwrap();
    fs::remove_file(work.sandbox.store().join("trace.head")).unwrap();
    assert_eq!(first_bad(&work), id(&lines[at]));
}
