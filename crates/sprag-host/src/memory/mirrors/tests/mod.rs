//! One test suite for all backends, and tests of undelivered entries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_memory::learning::Candidate;

use super::in_memory::TestBackend;
use super::*;
use crate::store::{new_record, outbox};
use crate::sys::disk::RealDisk;
use crate::sys::locations::{Locations, UserLocations};

mod stand_in;

/// A worktree with its own records.
struct Bench {
    temp: tempfile::TempDir,
    env: Env,
    policy: MirrorSettings,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_794_733_261_000 + seconds * 1000)
}

fn learning(id: &str, summary: &str, scope: &str) -> Learning {
    let candidate = Candidate::read(&json!({
        "category": "pitfall", "summary": summary,
        "detail": "The lexer drops the last line\n<!-- sprag:end --> of a file without a final newline.",
        "tags": ["lexer", "io"], "criteria_met": ["stable_fact"], "scope": scope,
        "context_files": ["src/lexer.rs"],
    }));
    Learning::new(id, candidate.unwrap(), &SessionId::new("s1"), None, at(0))
}

impl Bench {
    fn new() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = Env::Given(BTreeMap::from([("PATH".to_owned(), path)]));
        for dir in [
            "work/.git/objects",
            "work/.git/refs",
            "work/.sprag",
            "work/memory",
            "work/.claude/rules",
            "user",
        ] {
            fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        fs::write(temp.path().join("work/.claude/rules/total-recall.md"), "").unwrap();
        fs::write(temp.path().join("work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Bench { temp, env, policy: MirrorSettings::default() }
    }

    fn worktree(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    fn site(&self) -> MirrorContext<'_> {
        MirrorContext {
            worktree: Some(self.worktree()),
            store: Store::at(self.worktree().join(".git/sprag")),
            disk: &RealDisk,
            env: &self.env,
            policy: &self.policy,
        }
    }

    fn world(&self) -> World<'_> {
        let mut places = Locations::find(&self.worktree(), &self.env).unwrap();
        let user = self.temp.path().join("user");
        places.user = Some(UserLocations { config: user.clone(), state: user });
        let mut world = World::new(&self.env, &RealDisk, places);
        world.config.settings.backends = self.policy.clone();
        world
    }

    fn log(&self, kind: &str, body: Value) -> Record {
        let record = new_record::from_parts(kind, at(0), None, None, body);
        self.site().store.log(&RealDisk, std::slice::from_ref(&record)).unwrap();
        record
    }
}

/// Checks the behaviour that all backends share. The log is written first, as in production.
fn conforms(bench: &Bench, open: &dyn Fn() -> Box<dyn Mirror>) {
    let ids = |mirror: &mut Box<dyn Mirror>, query: &str| -> Vec<String> {
        let mut ids: Vec<String> = mirror.search(query, 10).unwrap().into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    let one = learning("0192aaaa-one", "The lexer needs a final newline", "project");
    let two = learning("0192bbbb-two", "The <b>parser</b> --> keeps `comments`", "team");
    let mut mirror = open();
    mirror.ping().unwrap();
    assert_eq!(ids(&mut mirror, "needs lexer"), Vec::<String>::new());
    for learning in [&one, &two, &one] {
        bench.log("learning.accepted", json!(learning));
        mirror.write(learning).unwrap();
    }
    assert_eq!(ids(&mut mirror, "lexer drops"), ["0192aaaa-one", "0192bbbb-two"]);
    assert_eq!(ids(&mut mirror, "parser comments"), ["0192bbbb-two"]);
    assert_eq!(mirror.search("lexer", 1).unwrap().len(), 1);
    assert_eq!(ids(&mut mirror, "kubernetes deployment"), Vec::<String>::new());

    // Another connection finds the same entries, and a repeated write adds none.
    drop(mirror);
    let mut mirror = open();
    mirror.write(&one).unwrap();
    assert_eq!(ids(&mut mirror, "needs"), ["0192aaaa-one"]);
    let hit = mirror.search("needs", 10).unwrap().remove(0);
    assert_eq!(hit.summary, "The lexer needs a final newline");
    assert!(hit.detail.contains("drops the last line"), "{hit:?}");
    assert_eq!(hit.tags, ["lexer", "io"]);

    let corrected = learning("0192aaaa-one", "The scanner wants a trailing feed", "project");
    bench.log("learning.corrected", json!(corrected));
    mirror.write(&corrected).unwrap();
    assert_eq!(ids(&mut mirror, "scanner trailing"), ["0192aaaa-one"]);
    assert_eq!(
        mirror.search("scanner trailing", 10).unwrap()[0].summary,
        "The scanner wants a trailing feed"
    );

    for _ in 0..2 {
        bench.log("learning.archived", json!({"ids": ["0192aaaa-one"]}));
        mirror.archive("0192aaaa-one").unwrap();
        assert_eq!(ids(&mut mirror, "lexer drops"), ["0192bbbb-two"]);
    }
    for _ in 0..2 {
        bench.log("learning.restored", json!({"ids": ["0192aaaa-one"]}));
        mirror.restore("0192aaaa-one").unwrap();
        assert_eq!(ids(&mut mirror, "lexer drops"), ["0192aaaa-one", "0192bbbb-two"]);
    }
    mirror.archive("0192ffff-nobody").unwrap();
    mirror.restore("0192ffff-nobody").unwrap();

    let mut newer = learning("0192cccc-new", "The lexer was written anew", "project");
    newer.supersedes = vec![Text::from("0192bbbb-two")];
    bench.log("learning.accepted", json!(newer));
    bench.log("learning.superseded", json!({"id": "0192bbbb-two", "by": "0192cccc-new"}));
    mirror.write(&newer).unwrap();
    mirror.archive("0192bbbb-two").unwrap();
    assert_eq!(ids(&mut mirror, "lexer"), ["0192aaaa-one", "0192cccc-new"]);
}

#[test]
fn in_memory_conforms() {
    let shelf = TestBackend::default();
    conforms(&Bench::new(), &|| Box::new(shelf.clone()));
    assert_eq!(shelf.writes(), 4, "what is there is not written again");
}

#[test]
fn total_recall_conforms() {
    let bench = Bench::new();
    conforms(&bench, &|| (total_recall::BACKEND.open)(&bench.site()).unwrap());
    let days: Vec<_> = fs::read_dir(bench.worktree().join("memory/daily")).unwrap().flatten().collect();
    assert_eq!(days.len(), 1);
    let text = fs::read_to_string(days[0].path()).unwrap();
    assert!(text.starts_with("# 2026-11-15\n"), "{text}");
    assert_eq!(text.matches("<!-- sprag:learning 0192aaaa-one -->").count(), 2, "original and correction");
}

#[test]
fn markdown_conforms() {
    let bench = Bench::new();
    conforms(&bench, &|| (markdown::BACKEND.open)(&bench.site()).unwrap());
}

#[test]
fn a_memory_server_conforms() {
    let mut bench = Bench::new();
    let file = bench.temp.path().join("memory.json");
    // The variable names a real server to test instead.
    bench.policy.mcp.command = match std::env::var("SPRAG_TEST_MEMORY_SERVER") {
        Ok(server) => {
            vec!["env".into(), format!("MEMORY_FILE_PATH={}", file.display()), "node".into(), server]
        }
        Err(_) => stand_in::command(&file),
    };
    assert!((mcp::BACKEND.probe)(&bench.site()));
    conforms(&bench, &|| (mcp::BACKEND.open)(&bench.site()).unwrap());
    let kept = fs::read_to_string(file).unwrap();
    assert!(kept.contains("supersedes"), "{kept}");
}

#[test]
fn a_server_that_is_none_is_an_error_in_time() {
    let mut bench = Bench::new();
    bench.policy.mcp.seconds = 1;
    let absolute = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for command in [
        absolute(&["/bin/sh", "-c", "exit 3"]),
        absolute(&["/bin/sh", "-c", "sleep 1000 & sleep 1000"]),
        absolute(&[
            "/bin/sh",
            "-c",
            "while read x; do echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}'; done",
        ]),
        absolute(&["/no/such/program"]),
        absolute(&["relative/program"]),
    ] {
        bench.policy.mcp.command = command.clone();
        assert!((mcp::BACKEND.open)(&bench.site()).is_err(), "{command:?}");
    }
    // A program that comes with the project.
    let program = bench.worktree().join("server");
    fs::write(&program, "#!/bin/sh\ntouch started\n").unwrap();
    bench.env = Env::Given(BTreeMap::from([("PATH".to_owned(), bench.worktree().into())]));
    bench.policy.mcp.command = absolute(&["server"]);
    assert!((mcp::BACKEND.open)(&bench.site()).is_err());
    assert!(!bench.worktree().join("started").exists());
}

#[test]
fn what_is_found_and_not_switched_off_is_used() {
    let mut bench = Bench::new();
    let names = |bench: &Bench| in_use(&bench.site()).iter().map(|backend| backend.name).collect::<Vec<_>>();
    assert_eq!(names(&bench), ["total-recall", "markdown"]);
    bench.policy.overrides.total_recall = false;
    assert_eq!(names(&bench), ["markdown"]);
    bench.policy.mcp.command = vec!["x".to_owned()];
    assert_eq!(names(&bench), ["mcp", "markdown"]);
    bench.policy.always = vec!["markdown".to_owned(), "nobody".to_owned()];
    assert_eq!(names(&bench), ["markdown", "mcp"]);
    bench.policy.discovery = vec!["markdown".into()];
    assert_eq!(names(&bench), ["markdown"]);
    fs::remove_dir(bench.worktree().join(".sprag")).unwrap();
    assert_eq!(names(&bench), Vec::<&str>::new());
}

#[test]
fn a_memory_that_leads_out_of_the_project_is_not_written_to() {
    let bench = Bench::new();
    let elsewhere = bench.temp.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, bench.worktree().join("memory/daily")).unwrap();
    let mut mirror = (total_recall::BACKEND.open)(&bench.site()).unwrap();
    assert!(mirror.write(&learning("0192aaaa-one", "The lexer needs a newline", "project")).is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

fn waiting(bench: &Bench) -> usize {
    outbox::waiting(&bench.site().store).values().sum()
}

#[test]
fn what_is_personal_or_a_sessions_own_goes_nowhere() {
    let bench = Bench::new();
    let world = bench.world();
    for scope in ["personal", "ephemeral"] {
        let kept =
            bench.log("learning.accepted", json!(learning("0192dddd-mine", "I like short lines", scope)));
        let archived = bench.log("learning.archived", json!({"ids": ["0192dddd-mine"]}));
        assert_eq!(mirror(&world, &[kept, archived], at(1)), Vec::<String>::new());
    }
    assert_eq!(waiting(&bench), 0);
    assert!(!bench.worktree().join("memory/daily").exists());
}

#[test]
fn what_a_backend_does_not_take_waits_and_is_tried_again() {
    let mut bench = Bench::new();
    bench.policy.overrides.markdown = false;
    // A file in place of the directory makes every write fail.
    fs::write(bench.worktree().join("memory/daily"), "in the way").unwrap();
    let world = bench.world();
    let one = bench
        .log("learning.accepted", json!(learning("0192aaaa-one", "The lexer needs a newline", "project")));
    let two =
        bench.log("learning.accepted", json!(learning("0192bbbb-two", "The parser needs a rest", "project")));
    let warned = mirror(&world, &[one, two], at(1));
    assert!(
        warned.len() == 1 && warned[0].contains("`total-recall`") && warned[0].contains("2 wait"),
        "{warned:?}"
    );
    assert_eq!(waiting(&bench), 2);

    // The entry waits for its time, and longer after each failure.
    fs::remove_file(bench.worktree().join("memory/daily")).unwrap();
    assert_eq!(
        crate::memory::mirrors::deliver::replay(&world, at(20), 8).unwrap(),
        outbox::DeliveryReport::default()
    );
    fs::write(bench.worktree().join("memory/daily"), "in the way").unwrap();
    assert_eq!(crate::memory::mirrors::deliver::replay(&world, at(31), 8).unwrap().waiting, 2);
    assert_eq!(
        crate::memory::mirrors::deliver::replay(&world, at(62), 8).unwrap().waiting,
        0,
        "the second wait is longer"
    );
    fs::remove_file(bench.worktree().join("memory/daily")).unwrap();
    let replayed = crate::memory::mirrors::deliver::replay(&world, at(92), 8).unwrap();
    assert_eq!((replayed.delivered, replayed.waiting, waiting(&bench)), (2, 0, 0));
    let mut mirror = (total_recall::BACKEND.open)(&bench.site()).unwrap();
    assert_eq!(mirror.search("needs", 10).unwrap().len(), 2);
    let log = fs::read_to_string(bench.site().store.log_files().remove(0)).unwrap();
    let acked = log.lines().find(|line| line.contains("backend.acked")).unwrap();
    assert!(acked.contains("0192aaaa-one") && acked.contains("0192bbbb-two"), "{acked}");
}

#[test]
fn a_hook_takes_eight_at_most() {
    let mut bench = Bench::new();
    bench.policy.overrides.markdown = false;
    let world = bench.world();
    let records: Vec<Record> = (0..20)
        .map(|n| {
            json!(learning(&format!("0192aaaa-{n:04}"), &format!("The lexer needs {n} lines"), "project"))
        })
        .map(|body| bench.log("learning.accepted", body))
        .collect();
    enqueue(&world, &records, at(1)).unwrap();
    assert_eq!(
        crate::memory::mirrors::deliver::replay(&world, at(2), outbox::PER_HOOK).unwrap().delivered,
        8
    );
    assert_eq!(waiting(&bench), 12);
    assert_eq!(crate::memory::mirrors::deliver::replay(&world, at(3), usize::MAX).unwrap().delivered, 12);
}

#[test]
fn a_backend_that_fails_midway_keeps_the_order() {
    let shelf = TestBackend::default();
    shelf.fail_after(1);
    let orders = [
        MirrorOrder::Write(Box::new(learning("0192aaaa-one", "The lexer needs a newline", "project"))),
        MirrorOrder::Archive("0192aaaa-one".to_owned()),
    ];
    let mut mirror: Box<dyn Mirror> = Box::new(shelf.clone());
    assert!(orders[0].perform(mirror.as_mut()).is_ok());
    assert!(orders[1].perform(mirror.as_mut()).is_err());
    shelf.mend();
    assert!(orders[1].perform(mirror.as_mut()).is_ok());
    assert_eq!(mirror.search("lexer", 5).unwrap(), Vec::new());
}

#[test]
fn a_registers_lines_are_found() {
    let bench = Bench::new();
    let registers = bench.worktree().join("memory/registers");
    fs::create_dir_all(&registers).unwrap();
    let text =
        "# Tech\n\n- The build needs clang 17 on every machine\n- [superseded] The build needs gcc\n- x\n";
    fs::write(registers.join("tech-stack.md"), text).unwrap();
    let mut mirror = (total_recall::BACKEND.open)(&bench.site()).unwrap();
    let hits = mirror.search("which compiler does the build need", 10).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(
        (hits[0].summary.as_str(), hits[0].tags[0].as_str()),
        ("The build needs clang 17 on every machine", "tech-stack")
    );
    assert!(Path::new(&bench.worktree()).join("memory").exists());
}

#[test]
fn a_backend_that_comes_late_is_told_everything_once() {
    let mut bench = Bench::new();
    bench.policy.overrides.markdown = false;
    let world = bench.world();
    for n in 0..3 {
        bench.log(
            "learning.accepted",
            json!(learning(&format!("0192aaaa-{n:04}"), &format!("The lexer needs {n} lines"), "project")),
        );
    }
    bench.log("learning.accepted", json!(learning("0192dddd-mine", "I like short lines", "personal")));
    bench.log("learning.archived", json!({"ids": ["0192aaaa-0001"]}));
    let count =
        |world: &World<'_>| missing(world).unwrap().iter().map(|(_, orders)| orders.len()).sum::<usize>();
    assert_eq!(count(&world), 3);
    for (backend, orders) in missing(&world).unwrap() {
        put_all(&world, &[backend], &orders, at(1)).unwrap();
    }
    assert_eq!(crate::memory::mirrors::deliver::replay(&world, at(2), usize::MAX).unwrap().delivered, 3);
    assert_eq!(count(&world), 0);
    let mut mirror = (total_recall::BACKEND.open)(&bench.site()).unwrap();
    assert_eq!(mirror.search("lexer needs", 10).unwrap().len(), 2);
    bench.log("learning.restored", json!({"ids": ["0192aaaa-0001"]}));
    assert_eq!(count(&world), 1);
}
