//! Tests of write leases: who gets a file, for how long, and which content is kept.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::gates::stale::file_access;
use sprag_policy::call::InputCompleteness;

use super::*;
use crate::clients::claude::TOOLS;
use crate::pipeline::{self, PipelineMode};
use crate::sys::disk::{ReadOnly, RealDisk};
use crate::sys::env::Env;
use crate::sys::locations::Locations;

/// A repository with a session at work.
struct Desk {
    temp: TempDir,
    env: Env,
}

impl Desk {
    fn new() -> Desk {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join("repo/.git");
        for part in ["objects", "refs"] {
            fs::create_dir_all(git.join(part)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let home = temp.path().join("home").into_os_string();
        Desk { temp, env: Env::Given(BTreeMap::from([("SPRAG_HOME".to_owned(), home)])) }
    }

    fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("repo")
    }

    fn claims(&self) -> PathBuf {
        self.root().join(".git/sprag/claims")
    }

    fn world(&self) -> World<'_> {
        World::new(&self.env, &RealDisk, Locations::find(&self.root(), &self.env).unwrap())
    }

    fn input(&self, session: &str, event: Event, seconds: i64) -> Input {
        let at = Timestamp::from_millis(1_800_000_000_000).plus_seconds(seconds);
        Input::new(at, SessionId::new(session), event).within(&self.root().to_string_lossy())
    }

    fn call(&self, tool: &str, input: Value) -> ToolCall {
        ToolCall::new(TOOLS, tool, input, Some("t1"), InputCompleteness::Yes)
    }

    /// Requests a file and returns the state of its lease.
    fn asks(&self, session: &str, file: &str, seconds: i64) -> LeaseState {
        let call = self.call("Write", json!({"file_path": self.root().join(file), "content": "new\n"}));
        let input = self.input(session, Event::ToolRequested { call }, seconds);
        let seen = leases(&self.world(), &input).unwrap();
        seen.files[0].claim.clone()
    }

    /// Reports a finished write.
    fn wrote(&self, session: &str, file: &str, seconds: i64) -> WriteReport {
        let call = self.call("Write", json!({"file_path": self.root().join(file), "content": "new\n"}));
        let event = Event::ToolFinished { call, outcome: ToolOutcome::Ok };
        let seen = leases(&self.world(), &self.input(session, event, seconds)).unwrap();
        seen.files[0].wrote.clone().unwrap()
    }
}

/// Reads files and takes leases as the pipeline does, for a session that has read nothing.
fn leases(world: &World<'_>, input: &Input) -> Option<StaleFacts> {
    let (Event::ToolRequested { call } | Event::ToolFinished { call, .. }) = &input.event else {
        unreachable!("only calls touch files");
    };
    let files = file_access::touches(call, input);
    let (session, history) = (SessionFacts::default(), ReadHistory::default());
    if !files.iter().any(|file| matches!(file.how, FileUse::Writes(_))) {
        return read_files(world, input, &session, &files);
    }
    lease_files(world, input, &session, &files, &history, LeaseMode::Take)
}

fn is_held(claim: &LeaseState) -> bool {
    matches!(claim, LeaseState::Theirs { .. })
}

#[test]
fn a_file_is_one_writers_until_it_is_written() {
    let desk = Desk::new();
    fs::write(desk.root().join("a"), "old\n").unwrap();
    assert_eq!(desk.asks("one", "a", 0), LeaseState::Ours);
    let LeaseState::Theirs { by, seconds } = desk.asks("two", "a", 3) else { panic!() };
    assert_eq!((by.session.as_str(), seconds), ("one", 7));
    assert_eq!(desk.asks("two", "b", 3), LeaseState::Ours, "another file is another matter");
    assert_eq!(desk.asks("one", "a", 4), LeaseState::Ours, "it may ask again");
    fs::write(desk.root().join("a"), "new\n").unwrap();
    assert_eq!(desk.wrote("one", "a", 5).fit, EditFit::Planned);
    assert_eq!(desk.asks("two", "a", 5), LeaseState::Ours);
}

#[test]
fn a_writer_that_died_stands_in_nobodys_way_for_long() {
    let desk = Desk::new();
    assert_eq!(desk.asks("one", "a", 0), LeaseState::Ours);
    assert!(is_held(&desk.asks("two", "a", 9)));
    assert_eq!(desk.asks("two", "a", 10), LeaseState::Ours);
    assert!(is_held(&desk.asks("one", "a", 11)), "it is the other's now");
}

#[test]
fn whoever_takes_too_long_is_told_what_was_written_before_it() {
    let desk = Desk::new();
    assert_eq!(desk.asks("slow", "a", 0), LeaseState::Ours);
    assert_eq!(desk.asks("two", "a", 10), LeaseState::Ours);
    fs::write(desk.root().join("a"), "new\n").unwrap();
    assert_eq!(desk.wrote("two", "a", 11).fit, EditFit::Planned);
    // The slow call writes its planned content, but it no longer has the lease.
    let call = desk.call("Write", json!({"file_path": desk.root().join("a"), "content": "late\n"}));
    fs::write(desk.root().join("a"), "late\n").unwrap();
    let event = Event::ToolFinished { call, outcome: ToolOutcome::Ok };
    let seen = leases(&desk.world(), &desk.input("slow", event, 12)).unwrap();
    let Some(WriteReport { fit: EditFit::Shared { kept: Some(kept) }, .. }) = &seen.files[0].wrote else {
        panic!("{:?}", seen.files[0].wrote);
    };
    assert_eq!(fs::read_to_string(kept).unwrap(), "new\n");
}

#[test]
fn what_a_file_was_like_is_known_after_it_was_written() {
    let desk = Desk::new();
    let path = desk.root().join("a");
    let text = path.to_string_lossy().into_owned();
    let call = desk.call("Write", json!({"file_path": path, "content": "new\n"}));
    let one = SessionId::new("one");
    assert_eq!(before(&desk.world(), &one, &call, &text), None, "nobody looked");
    desk.asks("one", "a", 0);
    assert_eq!(before(&desk.world(), &one, &call, &text), Some(FileBefore::Absent));
    fs::write(&path, "new\n").unwrap();
    desk.wrote("one", "a", 1);
    assert_eq!(before(&desk.world(), &one, &call, &text), Some(FileBefore::Absent), "also when it has ended");

    desk.asks("two", "a", 2);
    fs::write(&path, "other\n").unwrap();
    desk.wrote("two", "a", 3);
    let was =
        FileBefore::File { hash: Some(ContentHash::hash_bytes(b"new\n")), text: Some(b"new\n".to_vec()) };
    assert_eq!(before(&desk.world(), &SessionId::new("two"), &call, &text), Some(was));
    symlink(&path, desk.root().join("link")).unwrap();
    let link = desk.root().join("link").to_string_lossy().into_owned();
    assert!(before(&desk.world(), &SessionId::new("two"), &call, &link).is_some(), "by any of its names");
}

#[test]
fn a_call_that_is_refused_lets_go_of_its_files() {
    let desk = Desk::new();
    let call = desk.call("Write", json!({"file_path": desk.root().join("a"), "content": "new\n"}));
    let input = desk.input("one", Event::ToolRequested { call }, 0);
    let world = desk.world();
    let found = leases(&world, &input).unwrap();
    release(&world, &input, &found, &Ruling::Pass);
    assert!(is_held(&desk.asks("two", "a", 1)));
    let reason = sprag_govern::reason::Reason::new("x", "x", "x");
    release(&world, &input, &found, &Ruling::Hold { gate: "scope", reason, also: Vec::new() });
    assert_eq!(desk.asks("two", "a", 1), LeaseState::Ours);
}

/// Only Sprag writes there, but a disk may be damaged.
#[test]
fn what_is_no_claim_of_ours_is_none() {
    let desk = Desk::new();
    desk.asks("one", "a", 0);
    let page = fs::read_dir(desk.claims()).unwrap().flatten().map(|entry| entry.path());
    let page = page.into_iter().find(|path| path.extension().is_some_and(|it| it == "json")).unwrap();
    let whole = fs::read_to_string(&page).unwrap();
    assert!(is_held(&desk.asks("two", "a", 1)));
    let far = whole.replace("2027-01-15T08:00:00.000Z", "9999-01-15T08:00:00.000Z");
    assert_ne!(far, whole);
    let huge = format!("{whole}{}", " ".repeat(100_000));
    for text in ["", "{", "[]", "\0\0", &far, &huge, &whole[..whole.len() / 2], &"[".repeat(50_000)] {
        fs::write(&page, text).unwrap();
        assert_eq!(desk.asks("two", "a", 1), LeaseState::Ours, "{}", &text[..text.len().min(40)]);
        fs::write(&page, &whole).unwrap();
    }
    let elsewhere = desk.root().join("elsewhere");
    fs::write(&elsewhere, &whole).unwrap();
    fs::remove_file(&page).unwrap();
    symlink(&elsewhere, &page).unwrap();
    assert_eq!(desk.asks("two", "a", 1), LeaseState::Ours, "a link is not followed");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), whole, "and not written through");
    fs::remove_file(&page).unwrap();
    fs::create_dir_all(page.join("x")).unwrap();
    assert_eq!(desk.asks("two", "a", 1), LeaseState::None, "nothing can be kept, and nobody is stopped");
}

#[test]
fn kept_contents_are_what_their_name_says_or_nothing() {
    let desk = Desk::new();
    fs::write(desk.root().join("a"), "old\n").unwrap();
    desk.asks("one", "a", 0);
    let content = ContentHash::hash_bytes(b"old\n");
    let kept = desk.claims().join("kept").join(content.to_string());
    let ledger = Ledger::to_look(&RealDisk, &desk.world().places.store);
    assert_eq!(ledger.kept(content).as_deref(), Some(&b"old\n"[..]));
    fs::write(&kept, "forged").unwrap();
    assert_eq!(ledger.kept(content), None);
}

#[test]
fn alone_a_read_is_not_looked_at_before_it_is_made() {
    let desk = Desk::new();
    fs::write(desk.root().join("a"), "old\n").unwrap();
    let looked = |name: &str| {
        let call = desk.call(name, json!({"file_path": desk.root().join("a"), "command": "cat a"}));
        let input = desk.input("one", Event::ToolRequested { call }, 0);
        let seen = leases(&desk.world(), &input).unwrap();
        (seen.guard, seen.files.len())
    };
    assert_eq!([looked("Read"), looked("Bash")], [(GuardLevel::Off, 0); 2]);
    fs::create_dir_all(desk.root().join(".sprag")).unwrap();
    fs::write(desk.root().join(".sprag/intents.yaml"), "").unwrap();
    assert_eq!([looked("Read"), looked("Bash")], [(GuardLevel::Intents, 1); 2]);
}

#[test]
fn a_session_is_at_work_until_it_ends_or_is_not_heard_of() {
    let desk = Desk::new();
    let journals = desk.root().join(".git/sprag/journal");
    fs::create_dir_all(&journals).unwrap();
    let at = Timestamp::from_millis(1_800_000_000_000);
    let put = |name: &str, text: &str, minutes: u64| {
        let file = fs::File::create(journals.join(name)).unwrap();
        std::io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
        let then = Duration::from_secs(1_800_000_000 - 60 * minutes);
        file.set_modified(SystemTime::UNIX_EPOCH + then).unwrap();
    };
    let mut session = SessionFacts::default();
    let input = Input::new(at, SessionId::new("mine"), Event::Tick);
    let guard = || guard::guard(&desk.world(), &SessionFacts::default(), &input);
    put("mine.jsonl", "{}", 0);
    put("notes.txt", "{}", 0);
    put("idle.jsonl", r#"{"set":{"about":{"ended":false}}}"#, 31);
    put("ended.jsonl", r#"{"set":{"about":{"ended":false}}} {"set":{"about":{"ended":true}}}"#, 0);
    symlink("/dev/zero", journals.join("link.jsonl")).unwrap();
    assert_eq!(guard(), GuardLevel::Off);
    // A stage always counts as guarded, from its record or from the run that started it.
    session.stage = Some(Text::from("parser"));
    assert_eq!(guard::guard(&desk.world(), &session, &input), GuardLevel::Sessions);
    let of_run = Input { stage: Some(Text::from("parser")), ..input.clone() };
    assert_eq!(guard::guard(&desk.world(), &SessionFacts::default(), &of_run), GuardLevel::Sessions);
    put("other.jsonl", "not even a record", 29);
    assert_eq!(guard(), GuardLevel::Sessions);
}

#[test]
fn a_pipe_is_told_from_a_file_without_being_opened() {
    let desk = Desk::new();
    let pipe = desk.root().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    symlink("pipe", desk.root().join("link")).unwrap();
    for name in ["pipe", "link"] {
        let call = desk.call("Write", json!({"file_path": desk.root().join(name), "content": "x"}));
        let input = desk.input("one", Event::ToolRequested { call }, 0);
        let seen = leases(&desk.world(), &input).unwrap();
        assert_eq!(seen.files[0].found, FileKind::Odd, "{name}");
    }
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let desk = Desk::new();
    let call = desk.call("Write", json!({"file_path": desk.root().join("a"), "content": "x"}));
    let input = desk.input("one", Event::ToolRequested { call }, 0);
    let world = World::new(&desk.env, &ReadOnly, Locations::find(&desk.root(), &desk.env).unwrap());
    pipeline::process_event(&world, &input, PipelineMode::DryRun);
    assert!(!desk.claims().exists());
}

#[test]
fn what_is_old_or_too_much_is_swept() {
    let desk = Desk::new();
    let kept = desk.claims().join("kept");
    fs::create_dir_all(&kept).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    let put = |name: &str, bytes: usize, age: u64| {
        let file = fs::File::create(kept.join(name)).unwrap();
        file.set_len(bytes as u64).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    };
    put("old", 1, 2 * 24 * 60 * 60);
    put("new", 40 << 20, 1);
    put("newer", 20 << 20, 0);
    put("third", 10 << 20, 2);
    ledger::sweep(&RealDisk, &desk.world().places.store, now).unwrap();
    let mut left: Vec<_> = fs::read_dir(&kept).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["new", "newer"]);
}
