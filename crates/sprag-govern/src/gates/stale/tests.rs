//! Tests of the gate alone: its questions, its read set, and its votes on the facts of the host.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_policy::call::{InputCompleteness, ToolEffect as Does, ToolRow};

use super::content::ContentHash;
use super::facts::{FileWriter, OwnWrite};
use super::*;
use crate::gates::fixture::StepFixture;
use crate::session_facts::SessionFacts;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: Does::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Read", effect: Does::Read, paths: &["file_path"], command: None },
    ToolRow { name: "Write", effect: Does::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Edit", effect: Does::Write, paths: &["file_path"], command: None },
];

/// A session and one file, `/w/a`.
#[derive(Default)]
struct Play {
    gate: StaleGate,
    policy: Settings,
    now: i64,
}

/// The facts of the host about the file.
#[derive(Clone)]
struct At {
    guard: GuardLevel,
    file: FileKind,
    claim: LeaseState,
    author: Option<FileWriter>,
    own: Option<OwnWrite>,
    wrote: Option<WriteReport>,
}

fn text(text: &str) -> FileKind {
    FileKind::File(FileVersionFact {
        content: Some(ContentHash::hash_bytes(text.as_bytes())),
        stamp: ContentHash::hash_bytes(text.as_bytes()).short(),
        lines: u32::try_from(text.lines().count()).unwrap(),
        bytes: text.len() as u64,
        changed: Timestamp::from_millis(0),
    })
}

fn at(file: FileKind) -> At {
    At { guard: GuardLevel::Intents, file, claim: LeaseState::Ours, author: None, own: None, wrote: None }
}

fn call(tool: &str) -> ToolCall {
    let input = match tool {
        "Bash" => json!({"command": "cargo test --quiet"}),
        _ => json!({"file_path": "/w/a", "content": "x", "old_string": "a", "new_string": "b"}),
    };
    ToolCall::new(TOOLS, tool, input, Some("t"), InputCompleteness::Yes)
}

impl Play {
    fn input(&mut self, event: Event) -> Input {
        self.now += 1;
        Input::new(Timestamp::from_millis(self.now), SessionId::new("s"), event).within("/w")
    }

    fn step(&mut self, event: Event, at: &At) -> Vote {
        let input = self.input(event);
        let (Event::ToolRequested { call } | Event::ToolFinished { call, .. }) = &input.event else {
            unreachable!("only calls touch files");
        };
        let files = file_access::touches(call, &input).into_iter().map(|touch| FileFacts {
            real: touch.path.clone(),
            touch,
            found: at.file,
            claim: at.claim.clone(),
            author: at.author.clone(),
            own: at.own,
            other: None,
            hunk: None,
            elsewhere: None,
            wrote: at.wrote.clone(),
        });
        let answer = Some(StaleFacts { guard: at.guard, files: files.collect() });
        let settings = self.policy.clone();
        StepFixture { answer, settings, ..StepFixture::default() }.step(&mut self.gate, &input)
    }

    fn asks(&mut self, tool: &str, at: &At) -> String {
        match self.step(Event::ToolRequested { call: call(tool) }, at) {
            Vote::Pass => "pass".to_owned(),
            Vote::Note(_) => "note".to_owned(),
            Vote::Hold(reason) => reason.code.to_string(),
            vote => panic!("{vote:?}"),
        }
    }

    fn ended(&mut self, tool: &str, at: &At) -> Vote {
        self.step(Event::ToolFinished { call: call(tool), outcome: ToolOutcome::Ok }, at)
    }

    fn reads(&mut self, found: FileKind) {
        self.asks("Read", &at(found));
        self.ended("Read", &at(found));
    }

    /// Files that the gate asks about, and files that it leases.
    fn looked_at(&mut self, tool: &str) -> (usize, usize) {
        let input = self.input(Event::ToolRequested { call: call(tool) });
        let session = SessionFacts::default();
        let ask = Ask { session: &session, input: &input, settings: &self.policy };
        let read = self.gate.ask(&ask, &SharedFacts::default()).map_or(0, |question| question.files.len());
        let mut actions = Vec::new();
        self.gate.before(&ask, &mut actions);
        (read, actions.len())
    }
}

#[test]
fn nothing_is_asked_for_a_call_that_names_no_file() {
    let mut play = Play::default();
    assert_eq!(play.looked_at("Bash"), (0, 0));
    assert_eq!(play.looked_at("Read"), (1, 0));
    assert_eq!(play.looked_at("Write"), (0, 1));
    play.policy.mode = StaleMode::Off;
    assert_eq!(play.looked_at("Write"), (0, 0));
}

#[test]
fn what_was_read_may_be_written_and_nothing_else() {
    let mut play = Play::default();
    assert_eq!(play.asks("Write", &at(text("one\n"))), "unread_file");
    assert_eq!(play.asks("Edit", &at(text("one\n"))), "pass");
    play.reads(text("one\n"));
    assert_eq!(play.asks("Write", &at(text("one\n"))), "pass");
    assert_eq!(play.asks("Write", &at(text("two\n"))), "stale_file");
    assert_eq!(play.asks("Edit", &at(text("two\n"))), "stale_file");
    assert_eq!(play.asks("Write", &At { guard: GuardLevel::Off, ..at(text("two\n")) }), "pass");
    assert_eq!(play.asks("Write", &at(FileKind::Absent)), "note");
    assert_eq!(play.asks("Write", &at(FileKind::Odd)), "not_a_file");
}

#[test]
fn a_file_that_changed_while_it_was_read_was_not_seen() {
    let mut play = Play::default();
    play.asks("Read", &at(text("one\n")));
    play.ended("Read", &at(text("two\n")));
    assert_eq!(play.asks("Write", &at(text("two\n"))), "unread_file");
    // No other session was active at the start of the read, and one is now.
    play.asks("Read", &At { guard: GuardLevel::Off, ..at(text("two\n")) });
    play.ended("Read", &at(text("two\n")));
    assert_eq!(play.asks("Write", &at(text("two\n"))), "unread_file");
}

#[test]
fn what_was_seen_is_told_before_who_else_writes() {
    let mut play = Play::default();
    let by = FileWriter { session: SessionId::new("o"), agent: None, at: Timestamp::from_millis(0) };
    let theirs =
        |found: FileKind| At { claim: LeaseState::Theirs { by: by.clone(), seconds: 3 }, ..at(found) };
    play.reads(text("one\n"));
    assert_eq!(play.asks("Write", &theirs(text("one\n"))), "write_in_progress");
    assert_eq!(play.asks("Write", &theirs(text("two\n"))), "stale_file");
    assert_eq!(play.asks("Write", &theirs(FileKind::Absent)), "write_in_progress");
    assert_eq!(play.asks("Write", &At { claim: LeaseState::Busy, ..at(text("one\n")) }), "write_in_progress");
    assert_eq!(play.asks("Write", &At { claim: LeaseState::None, ..at(text("one\n")) }), "pass");
}

#[test]
fn a_write_counts_as_seen_only_if_it_is_known_to_be_ones_own() {
    let before = Some(ContentHash::hash_bytes(b"one\n").short());
    for (fit, code) in [
        (EditFit::Planned, "pass"),
        (EditFit::Alone, "pass"),
        (EditFit::Shared { kept: None }, "stale_file"),
        (EditFit::Unplanned { kept: None }, "stale_file"),
        (EditFit::Unknown, "stale_file"),
    ] {
        let mut play = Play::default();
        play.reads(text("one\n"));
        let is_told = matches!(fit, EditFit::Shared { .. } | EditFit::Unplanned { .. });
        let wrote = At { wrote: Some(WriteReport { before, fit: fit.clone() }), ..at(text("two\n")) };
        assert_eq!(play.ended("Write", &wrote) != Vote::Pass, is_told, "{fit:?}");
        assert_eq!(play.asks("Write", &at(text("two\n"))), code, "{fit:?}");
    }
}

#[test]
fn a_write_whose_end_nobody_told_is_ones_own_by_what_it_was_to_be() {
    let mut play = Play::default();
    let own = |before: &str, manner: WriteManner| At {
        own: Some(OwnWrite { before: Some(ContentHash::hash_bytes(before.as_bytes()).short()), manner }),
        ..at(text("two\n"))
    };
    play.reads(text("one\n"));
    assert_eq!(play.asks("Write", &own("one\n", WriteManner::Edit)), "pass", "an edit of what was seen");
    assert_eq!(
        play.asks("Write", &own("else\n", WriteManner::Edit)),
        "stale_file",
        "an edit of something else"
    );
    assert_eq!(play.asks("Write", &own("else\n", WriteManner::Overwrite)), "pass");
}

#[test]
fn git_moves_what_was_seen_and_nobody_else_does() {
    let mut play = Play::default();
    play.reads(text("one\n"));
    let switch =
        ToolCall::new(TOOLS, "Bash", json!({"command": "git switch x"}), None, InputCompleteness::Yes);
    let input = play.input(Event::ToolFinished { call: switch.clone(), outcome: ToolOutcome::Ok });
    play.gate.follow_git(&switch, &ToolOutcome::Ok, &input);
    assert_eq!(play.asks("Write", &at(text("two\n"))), "pass");
    let by = FileWriter { session: SessionId::new("o"), agent: None, at: Timestamp::from_millis(0) };
    assert_eq!(play.asks("Write", &At { author: Some(by), ..at(text("two\n")) }), "stale_file");
    let FileKind::File(version) = text("two\n") else { unreachable!() };
    let later = FileKind::File(FileVersionFact { changed: Timestamp::from_millis(1_000), ..version });
    assert_eq!(play.asks("Write", &at(later)), "stale_file", "it was changed after that");
}

#[test]
fn the_state_is_small_and_survives_being_written() {
    let mut play = Play::default();
    assert_eq!(serde_json::to_value(&play.gate).unwrap(), json!({}));
    play.reads(text("one\n"));
    let written: Value = serde_json::to_value(&play.gate).unwrap();
    assert_eq!(written.to_string().len(), r#"{"seen":""}"#.len() + 28);
    assert_eq!(serde_json::from_value::<StaleGate>(written).unwrap(), play.gate);
    for text in ["", "x", &"ä".repeat(99), &"A".repeat(100_000)] {
        play.gate = StaleGate { seen: text.to_owned(), open: text.to_owned(), moved: None };
        assert_eq!(play.asks("Write", &at(self::text("one\n"))), "unread_file");
    }
}
