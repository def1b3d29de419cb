//! Each way to find the author of a line, each kind of doubt, and hostile repositories.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use sprag_base::result::Discard as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::store::new_record;
use sprag_syntax::Lang;
use sprag_trace::{ChangeRecord, TracedFile, TracedUnit, blocks};

use super::repository::{intent, trace};
use crate::support::Sandbox;
use crate::trace::work::Work;

struct Story {
    sandbox: Sandbox,
}

/// Three distinctive lines.
const BLOCK: &str = "let alpha = first(1);\nlet beta = second(2);\nlet gamma = third(3);\n";

impl Story {
    fn new() -> Story {
        let story = Story { sandbox: Sandbox::new() };
        story.sandbox.write("readme", "hello\n");
        story.commit("start");
        story
    }

    fn git(&self, args: &[&str]) -> String {
        let done = self.sandbox.git(args);
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes a commit that writes this file, with a record of the intent.
    fn wrote(&self, number: usize, path: &str, text: &str) -> String {
        let before = fs::read(self.sandbox.project.join(path)).unwrap_or_default();
        self.sandbox.write(path, text);
        let revision = self.commit("work");
        let file = file(path, &before, text);
        self.log(&revision, number, file);
        revision
    }

    fn log(&self, revision: &str, number: usize, file: TracedFile) {
        append(&self.sandbox.store().join("log/2026-09.jsonl"), &record(revision, number, file));
    }

    /// Removes everything that no branch has.
    fn forget(&self) {
        for name in ["ORIG_HEAD", "FETCH_HEAD", "REBASE_HEAD"] {
            fs::remove_file(self.sandbox.project.join(".git").join(name))
                .discard("most of these files do not exist");
        }
        self.git(&["reflog", "expire", "--expire=now", "--all"]);
        self.git(&["gc", "-q", "--prune=now"]);
    }

    fn lines(&self, path: &str) -> Vec<Value> {
        let told = self.sandbox.json(&["trace", "blame", path, "--json"]);
        told["lines"].as_array().unwrap_or_else(|| panic!("{told}")).clone()
    }

    /// Returns for each line the author and the evidence, or the reason for the doubt.
    fn told(&self, path: &str) -> Vec<String> {
        let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        self.lines(path)
            .iter()
            .map(|line| match word(line, "state").as_str() {
                "found" => format!("{} {}", word(line, "intent"), word(line, "how")),
                state => format!("{state} {}", word(line, "why")),
            })
            .collect()
    }
}

fn file(path: &str, before: &[u8], text: &str) -> TracedFile {
    let ranges = blocks::between(before, text.as_bytes()).ranges;
    let units = Lang::of_path(path).map(|lang| sprag_syntax::units(lang, text.as_bytes()));
    let units = units.into_iter().flatten().map(|unit| TracedUnit {
        unit: Text::from(unit.name.as_str()),
        start: *unit.lines.start(),
        end: *unit.lines.end(),
        hash: Text::from(unit.hash.as_str()),
    });
    let (units, after) = (units.collect(), Some(Sha256Sum::hash_bytes(text.as_bytes())));
    TracedFile { path: path.to_owned(), after, ranges, units, ..TracedFile::default() }
}

fn record(revision: &str, number: usize, file: TracedFile) -> Vec<u8> {
    let now = Timestamp::from_millis(1_790_000_000_000);
    new_record::record(&ChangeRecord::Final(trace(revision, number, vec![file])), now, None, None).line()
}

fn append(path: &std::path::Path, line: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut all = fs::read(path).unwrap_or_default();
    all.extend(line);
    fs::write(path, all).unwrap();
}

#[test]
fn blame_and_a_record_are_enough() {
    let story = Story::new();
    story.wrote(1, "a.rs", BLOCK);
    story.sandbox.write("a.rs", &format!("let own = typed();\n{BLOCK}"));
    story.commit("by a person");
    story.sandbox.write("a.rs", &format!("let own = typed();\n{BLOCK}let open = now();\n"));
    let found = ["INT-1 blame"; 3];
    assert_eq!(story.told("a.rs"), [&["lost unrecorded"], &found[..], &["lost unrecorded"]].concat());
    let lines = story.lines("a.rs");
    assert_eq!((&lines[4]["commit"], &lines[1]["contributor"]), (&Value::Null, &json!("ai")));
}

#[test]
fn a_person_reads_rows() {
    let story = Story::new();
    let revision = story.wrote(1, "a.rs", BLOCK);
    story.sandbox.write("a.rs", &format!("{BLOCK}let open = now();\n"));
    let ran = story.sandbox.run(&["trace", "blame", "a.rs"]);
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["lines", "intent", "by", "commit", "how"]);
    assert_eq!(rows[1][..5], ["1-3", "INT-1", "ai", &revision[..12], "blame,"]);
    assert_eq!(rows[2], ["4", "lost", "uncommitted", "no", "record"]);
    let some = story.sandbox.json(&["trace", "blame", "a.rs", "-L", "2,+2", "--json"]);
    assert_eq!((some["lines"].as_array().unwrap().len(), &some["lines"][0]["line"]), (2, &json!(2)));
    for bad in ["0,1", "3,2", "1,5", "x", "1,+0", "99999999999999999999"] {
        let ran = story.sandbox.run(&["trace", "blame", "a.rs", "-L", bad]);
        assert_eq!(ran.code, 2, "{bad}: {}", ran.stderr);
    }
}

#[test]
fn an_amended_commit_is_still_the_intents_but_what_was_added_to_it_is_not() {
    let story = Story::new();
    story.wrote(1, "a.rs", "let only = one(1);\n");
    story.sandbox.write("a.rs", "let only = one(1);\nlet more = typed(2);\n");
    story.git(&["commit", "-q", "-a", "--amend", "-m", "more"]);
    assert_eq!(story.told("a.rs"), ["INT-1 rewritten", "lost unrecorded"]);
}

#[test]
fn a_block_that_a_person_moved_is_whose_it_was() {
    let story = Story::new();
    story.wrote(1, "a.rs", &format!("let stays = here(0);\n{BLOCK}"));
    story.wrote(2, "b.rs", "let other = file(9);\n");
    story.sandbox.write("a.rs", "let stays = here(0);\n");
    story.sandbox.write("b.rs", &format!("let other = file(9);\n{BLOCK}"));
    story.commit("moved");
    assert_eq!(story.told("b.rs"), ["INT-2 blame", "INT-1 moved", "INT-1 moved", "INT-1 moved"]);
}

#[test]
fn what_a_revert_brings_back_is_whose_it_was() {
    let story = Story::new();
    story.wrote(1, "a.rs", &format!("{BLOCK}let short = line(4);\n"));
    story.wrote(2, "a.rs", "let none = left(5);\n");
    story.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(story.told("a.rs"), ["INT-1 reverted"; 4]);
}

#[test]
fn another_layout_leaves_lines_to_whom_they_were() {
    let story = Story::new();
    story.wrote(1, "a.txt", "call_something(alpha, beta);\nsecond line of it\n");
    story
        .sandbox
        .write("a.txt", "call_something(\n    alpha,\n    beta,\n);\n  second line of it\n  and a third\n");
    story.commit("formatted");
    let told = story.told("a.txt");
    assert_eq!(told[..2], ["INT-1 reformatted"; 2]);
    assert_eq!(told[4..], ["INT-1 reformatted", "lost unrecorded"]);
}

#[test]
fn bytes_are_known_again_when_commits_are_gone_if_they_tell_enough() {
    let story = Story::new();
    story.wrote(1, "a.rs", BLOCK);
    story.wrote(2, "b.rs", "let few = lines(1);\nlet so = few(2);\n");
    // Only the files are left, and they have other names and more lines.
    story.git(&["checkout", "-q", "--orphan", "new"]);
    story.git(&["rm", "-q", "-rf", "--cached", "."]);
    fs::remove_file(story.sandbox.project.join("a.rs")).unwrap();
    fs::remove_file(story.sandbox.project.join("b.rs")).unwrap();
    story.sandbox.write("c.rs", &format!("let head = typed();\n{BLOCK}"));
    story.sandbox.write("d.rs", "let head = typed();\nlet few = lines(1);\nlet so = few(2);\n");
    story.commit("all anew");
    story.git(&["branch", "-q", "-D", "main"]);
    story.forget();
    assert_eq!(story.told("c.rs")[1..], ["INT-1 range_hash"; 3]);
    assert_eq!(story.told("d.rs"), ["lost unrecorded"; 3], "two lines are too few to be sure");
}

#[test]
fn a_block_that_two_intents_wrote_is_nobodys_once_it_is_known_by_its_bytes_alone() {
    let story = Story::new();
    story.wrote(1, "a.rs", BLOCK);
    story.wrote(2, "b.rs", BLOCK);
    assert_eq!(story.told("a.rs"), ["INT-1 blame"; 3]);
    assert_eq!(story.told("b.rs"), ["INT-2 blame"; 3]);
    story.git(&["checkout", "-q", "--orphan", "new"]);
    fs::remove_file(story.sandbox.project.join("b.rs")).unwrap();
    story.sandbox.write("a.rs", &format!("let head = typed();\n{BLOCK}"));
    story.commit("all anew");
    story.git(&["branch", "-q", "-D", "main"]);
    story.forget();
    assert_eq!(story.told("a.rs")[1..], ["lost ambiguous"; 3]);
}

#[test]
fn a_function_is_known_again_by_its_tree_but_not_its_comments() {
    let story = Story::new();
    let written = "fn total(items: &[u32]) -> u32 {\n    let mut sum = 0;\n    for item in items { sum += item; }\n    sum + offset()\n}\n";
    story.wrote(1, "a.rs", written);
    let laid_out = "fn total(items: &[u32]) -> u32 {\n  let mut sum = 0;\n  // typed by a person\n  for item in items {\n    sum += item;\n  }\n  sum + offset()\n}\n";
    story.git(&["checkout", "-q", "--orphan", "new"]);
    story.sandbox.write("a.rs", laid_out);
    story.commit("all anew");
    story.git(&["branch", "-q", "-D", "main"]);
    story.forget();
    let told = story.told("a.rs");
    assert_eq!((told[1].as_str(), told[2].as_str()), ("INT-1 unit_hash", "lost unrecorded"), "{told:?}");
    assert_eq!(told.iter().filter(|it| it.as_str() == "INT-1 unit_hash").count(), 7, "{told:?}");
}

#[test]
fn a_hook_of_git_tells_what_no_text_could() {
    let story = Story::new();
    let old = story.wrote(1, "a.rs", "let only = one(1);\n");
    story.git(&["commit", "-q", "--amend", "--date", "2001-01-01T00:00:00Z", "-m", "other"]);
    let new = story.git(&["rev-parse", "HEAD"]);
    story.forget();
    assert_eq!(story.told("a.rs"), ["lost unrecorded"]);
    let ran = story.sandbox.run_with(&["trace", "rewritten", "amend"], format!("{old} {new}\n").as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(story.told("a.rs"), ["INT-1 range_hash"]);
}

#[test]
fn records_follow_a_rewrite_and_outlive_the_old_commits() {
    let story = Story::new();
    story.wrote(1, "a.rs", "let only = one(1);\n");
    story.wrote(2, "b.rs", "let other = two(2);\n");
    story.sandbox.write("a.rs", "let only = one(1);\nlet typed = three(3);\n");
    story.git(&["add", "-A"]);
    story.git(&["reset", "-q", "--soft", "HEAD~2"]);
    story.commit("both as one");
    let done = story.sandbox.json(&["trace", "reindex", "--json"]);
    assert_eq!(done["rewritten"], 2, "{done}");
    assert_eq!(story.sandbox.json(&["trace", "reindex", "--json"])["rewritten"], 0, "once is enough");
    story.forget();
    assert_eq!(story.told("a.rs"), ["INT-1 blame", "lost unrecorded"]);
    assert_eq!(story.told("b.rs"), ["INT-2 blame"]);
}

#[test]
fn another_clone_may_speak_for_its_own_commits_and_against_nobody() {
    let story = Story::new();
    let share = story.sandbox.project.join(".sprag/share");
    let ours = story.wrote(1, "a.rs", BLOCK);
    story.sandbox.write("b.rs", BLOCK);
    let theirs = story.commit("theirs");
    let forge = |clone: &str, revision: &str, number: usize, file: TracedFile| {
        append(&share.join(format!("{clone}.jsonl")), &record(revision, number, file));
    };
    // A record with a wrong content hash, one that contradicts a record of this clone, and one that may be
    // right.
    let mut wrong = file("a.rs", b"", BLOCK);
    wrong.ranges[0].content_hash = Sha256Sum::hash_bytes(b"something else");
    forge("forger", &ours, 3, file("a.rs", b"", BLOCK));
    forge("forger", &theirs, 3, TracedFile { path: "b.rs".to_owned(), ..wrong });
    assert_eq!(story.told("a.rs"), ["INT-1 blame"; 3]);
    assert_ne!(story.told("b.rs")[0], "INT-3 blame");
    forge("friend", &theirs, 2, file("b.rs", b"", BLOCK));
    assert_eq!(story.told("b.rs"), ["INT-2 blame"; 3]);
    assert_eq!(story.lines("b.rs")[0]["clone"], "friend");
    forge("forger", &theirs, 3, file("b.rs", b"", BLOCK));
    assert_eq!(story.told("b.rs"), ["lost ambiguous"; 3], "two strangers disagree");
}

#[test]
fn what_is_no_text_file_of_the_worktree_is_refused() {
    let story = Story::new();
    story.wrote(1, "a.rs", BLOCK);
    symlink("a.rs", story.sandbox.project.join("link")).unwrap();
    fs::create_dir(story.sandbox.project.join("dir")).unwrap();
    fs::write(story.sandbox.project.join("binary"), b"a\0b\n").unwrap();
    let large = fs::File::create(story.sandbox.project.join("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    for path in ["link", "dir", "binary", "large", "missing", "../home", "/etc/passwd", ".."] {
        let ran = story.sandbox.run(&["trace", "blame", path]);
        assert_eq!(ran.code, 1, "{path}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("next:"), "{path}: {}", ran.stderr);
    }
    let ran = Sandbox::without_git().run(&["trace", "blame", "x"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}

#[test]
fn a_repository_without_records_or_commits_has_only_lost_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("a.rs", BLOCK);
    let told = sandbox.json(&["trace", "blame", "a.rs", "--json"]);
    assert!(told["lines"].as_array().unwrap().iter().all(|line| line["state"] == "lost"), "{told}");
    sandbox.write("empty", "");
    assert_eq!(sandbox.json(&["trace", "blame", "empty", "--json"])["lines"], json!([]));
}

#[test]
fn the_edge_of_a_shallow_clone_is_not_who_wrote_it_all() {
    let story = Story::new();
    story.sandbox.write("a.rs", "let old = typed(0);\n");
    story.commit("by a person");
    let edge = story.wrote(1, "a.rs", "let old = typed(0);\nlet new = written(1);\n");
    let shallow = story.sandbox.project.parent().unwrap().join("shallow");
    let from = format!("file://{}", story.sandbox.project.display());
    story.git(&["clone", "-q", "--depth", "1", &from, &shallow.display().to_string()]);
    let log = story.sandbox.store().join("log/2026-09.jsonl");
    let copy = shallow.join(".git/sprag/log/2026-09.jsonl");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(log, copy).unwrap();
    let mut command = story.sandbox.command(crate::support::SPRAG);
    let output = command.args(["trace", "blame", "a.rs", "--json"]).current_dir(&shallow).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["lines"][0]["state"], "lost", "{told}");
    assert_eq!((&told["lines"][1]["intent"], &told["lines"][1]["commit"]), (&json!(intent(1)), &json!(edge)));
}

#[test]
fn a_file_that_only_changed_its_capitals_is_followed() {
    let story = Story::new();
    story.wrote(1, "Name.rs", BLOCK);
    story.git(&["mv", "Name.rs", "name.rs"]);
    story.commit("renamed");
    assert_eq!(story.told("name.rs"), ["INT-1 blame"; 3]);
}

#[test]
fn many_equal_lines_and_odd_names_take_no_longer_than_they_must() {
    let story = Story::new();
    let text = "let same = line(1);\n".repeat(20_000);
    story.wrote(1, "odd \"name\"\t.rs", &text);
    story.git(&["commit", "-q", "--amend", "-m", "other"]);
    let told = story.told("odd \"name\"\t.rs");
    assert_eq!(told.len(), 20_000);
    assert!(told.iter().all(|it| !it.starts_with("INT-") || it.starts_with("INT-1")), "{}", told[0]);
}

#[test]
fn a_hook_of_git_is_installed_only_when_it_is_asked_for() {
    let story = Story::new();
    let hook = story.sandbox.project.join(".git/hooks/post-rewrite");
    let init = |more: &[&str]| {
        let args = [&["init", "--client", "claude", "--yes", "--hooks-only"], more].concat();
        let ran = story.sandbox.run(&args);
        (ran.code, ran.stdout + &ran.stderr)
    };
    assert_eq!(init(&[]).0, 0);
    assert!(!hook.exists());
    let (code, said) = init(&["--git-hook"]);
    assert_eq!(code, 0, "{said}");
    story.wrote(1, "a.rs", "let only = one(1);\n");
    story.git(&["commit", "-q", "--amend", "--date", "2001-01-01T00:00:00Z", "-m", "other"]);
    story.forget();
    assert_eq!(story.told("a.rs"), ["INT-1 range_hash"]);
    assert_eq!(init(&["--remove"]).0, 0);
    assert!(!hook.exists());
    // This works without any client.
    let alone = story.sandbox.run(&["init", "--git-hook", "--yes", "--hooks-only"]);
    assert_eq!((alone.code, hook.exists()), (0, true), "{}{}", alone.stdout, alone.stderr);
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, "#!/bin/sh\nmine\n").unwrap();
    let (code, said) = init(&["--git-hook"]);
    assert!(code == 1 && said.contains("exists already, and Sprag did not write it"), "{said}");
    assert_eq!(init(&["--remove"]).0, 0);
    assert!(hook.exists());
}

/// Returns the blame of each line of a file whose changes the hooks saw.
fn told(work: &Work, path: &str) -> Vec<String> {
    let told = work.sandbox.json(&["trace", "blame", path, "--json"]);
    let lines = told["lines"].as_array().unwrap_or_else(|| panic!("{told}"));
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or("none").to_owned();
    lines.iter().map(|line| format!("{} {}", word(line, "intent"), word(line, "how"))).collect()
}

#[test]
fn what_hooks_saw_is_found_before_a_commit_after_it_and_after_its_rewrite() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.write("s", "new.rs", "let only = one(1);\n");
    assert_eq!(told(&work, "new.rs"), ["INT-1 blame"]);
    work.edit("s", "notes.txt", "second\n", "written by an agent\n");
    assert_eq!(told(&work, "notes.txt"), ["none none", "INT-1 blame", "none none"]);
    work.shell("s", "git add -A && git commit -qm work");
    assert_eq!(told(&work, "notes.txt"), ["none none", "INT-1 blame", "none none"]);
    work.git("commit -q --amend -m other");
    assert_eq!(told(&work, "notes.txt"), ["none none", "INT-1 rewritten", "none none"]);
    assert_eq!(work.sandbox.json(&["trace", "reindex", "--json"])["rewritten"], 1);
    assert_eq!(told(&work, "notes.txt"), ["none none", "INT-1 blame", "none none"]);
    assert_eq!(told(&work, "new.rs"), ["INT-1 blame"]);
    assert_eq!(work.verify().code, 0, "{}", work.verify().stdout);
    let superseding = work.finals().pop().unwrap();
    let related = superseding["files"][0]["conversations"][0]["related"].as_array().unwrap().clone();
    assert!(related.iter().any(|it| it["type"] == "supersedes"), "{superseding}");
}

#[test]
fn a_commit_that_no_hook_saw_is_not_lost_and_what_a_person_added_to_it_is_not_the_intents() {
    let work = Work::new();
    work.session("s", "INT-1");
    work.edit("s", "notes.txt", "second\n", "written by an agent\n");
    let notes = work.sandbox.project.join("notes.txt");
    let text = fs::read_to_string(&notes).unwrap();
    fs::write(&notes, format!("typed by a person\n{text}")).unwrap();
    work.git("commit -qam by-hand && git commit -q --amend -m again");
    assert_eq!(told(&work, "notes.txt"), ["none none", "none none", "INT-1 range_hash", "none none"]);
}
