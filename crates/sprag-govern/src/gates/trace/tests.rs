use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_policy::call::{InputCompleteness, ToolRow};
use sprag_trace::finding::JudgedChange;
use sprag_trace::{Contributor, FilePosition, Finality, TraceRecord};

use super::*;
use crate::event::{Input, StopRequest};
use crate::gates::fixture::StepFixture;
use crate::session_facts::Activity;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Edit", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
];

fn finished(tool: &str, input: serde_json::Value) -> Input {
    let call = ToolCall::new(TOOLS, tool, input, None, InputCompleteness::Yes);
    let event = Event::ToolFinished { call, outcome: ToolOutcome::Ok };
    Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w")
}

fn stop() -> Input {
    let event = Event::StopRequested(StopRequest::default());
    Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w")
}

fn about(class: DeclaredClass) -> SessionFacts {
    let chosen = SelectedIntent { id: Text::from("INT-1"), fingerprint: Text::from("f"), class };
    SessionFacts { intent: Some(chosen), activity: Activity::Changed, ..SessionFacts::default() }
}

fn witness() -> BehaviourWitness {
    let spot = |text: &str| Some(FilePosition { line: 3, text: Text::from(text) });
    BehaviourWitness { path: Text::from("a.rs"), unit: None, before: spot("x + 1"), after: spot("x - 1") }
}

fn trace(source: ChangeSource, verdict: RecordedClassification) -> TraceRecord {
    TraceRecord {
        stage: Finality::Provisional { base: None },
        source,
        place: None,
        session: None,
        intent: None,
        declared: None,
        contributor: Contributor::UNKNOWN,
        verdict,
        files: Vec::new(),
        is_cut: false,
        prev: None,
    }
}

fn step(
    gate: &mut TraceGate,
    about: &SessionFacts,
    input: &Input,
    answer: &Option<TraceFindings>,
) -> (Vote, Vec<serde_json::Value>) {
    let (session, answer) = (about.clone(), answer.clone());
    let mut fixture = StepFixture { session, answer, ..StepFixture::default() };
    let vote = fixture.step(gate, input);
    (vote, fixture.effects.into_iter().map(|effect| effect.record.body()).collect())
}

#[test]
fn only_what_may_have_changed_something_is_looked_at() {
    let gate = TraceGate::default();
    let asks = |input: &Input, settings: Settings| {
        let session = &about(DeclaredClass::Evolution);
        gate.ask(&Ask { session, input, settings: &settings }, &SharedFacts::default())
    };
    let on = Settings::default;
    assert_eq!(asks(&finished("Edit", json!({"file_path": "a"})), on()), Some(Question::Call));
    assert_eq!(
        asks(&finished("Bash", json!({"command": "git commit -m x"})), on()),
        Some(Question::Commit { since: None })
    );
    assert_eq!(asks(&finished("Bash", json!({"command": "make"})), on()), None);
    assert_eq!(asks(&finished("Read", json!({"file_path": "a"})), on()), None);
    assert_eq!(asks(&stop(), on()), Some(Question::Stop { since: None, judged: None }));
    let off = Settings { mode: TraceMode::Off, ..Settings::default() };
    assert_eq!(asks(&finished("Edit", json!({"file_path": "a"})), off), None);
}

#[test]
fn only_what_the_session_did_is_for_its_intent() {
    let call = ChangeSource::Call { tool: Text::from("Edit"), id: None };
    let unproven = || RecordedClassification::unproven("language");
    let traces = vec![
        ChangeRecord::Seen(trace(call, unproven())),
        ChangeRecord::Seen(trace(ChangeSource::Command, unproven())),
        ChangeRecord::Seen(trace(ChangeSource::Found, unproven())),
    ];
    let changed = TraceFindings { traces, ..TraceFindings::default() };
    let facts = Some(changed);
    let input = finished("Edit", json!({"file_path": "a"}));
    let (_, records) = step(&mut TraceGate::default(), &about(DeclaredClass::Refactor), &input, &facts);
    let intents: Vec<&str> =
        records.iter().map(|body| body["intent"]["id"].as_str().unwrap_or("none")).collect();
    assert_eq!(intents, ["INT-1", "INT-1", "none"]);
    assert_eq!(records[0]["declared"], "AST_REFACTOR");
    assert!(records[2].get("declared").is_none());
}

#[test]
fn a_refactoring_that_changes_behaviour_holds_the_stop_until_it_is_declared() {
    let judged = |verdict| {
        Some(TraceFindings {
            judged: Some(JudgedChange { digest: Digest::hash_parts(["x"]), verdict }),
            ..TraceFindings::default()
        })
    };
    let mut gate = TraceGate::default();
    let facts = judged(RecordedClassification::Changed { witness: witness() });
    let (vote, _) = step(&mut gate, &about(DeclaredClass::Refactor), &stop(), &facts);
    let Vote::Owe(owed) = vote else { panic!("{vote:?}") };
    assert_eq!(owed.reason.code.as_str(), "class_mismatch");
    assert!(owed.reason.why.as_str().contains("`a.rs:3`: `x + 1` became `x - 1`"), "{}", owed.reason.why);
    // No fact is new, so the result stays the same.
    assert!(matches!(step(&mut gate, &about(DeclaredClass::Refactor), &stop(), &None).0, Vote::Owe(_)));
    assert_eq!(step(&mut gate, &about(DeclaredClass::Evolution), &stop(), &None).0, Vote::Pass);
    for other in [
        RecordedClassification::unproven("ambiguous"),
        RecordedClassification::Proved { level: Text::from("L1"), proof: json!({}) },
    ] {
        assert_eq!(step(&mut gate, &about(DeclaredClass::Refactor), &stop(), &judged(other)).0, Vote::Pass);
    }
}

#[test]
fn right_after_a_write_it_is_only_noted() {
    let call = ChangeSource::Call { tool: Text::from("Edit"), id: None };
    let traces =
        vec![ChangeRecord::Seen(trace(call, RecordedClassification::Changed { witness: witness() }))];
    let facts = Some(TraceFindings { traces, ..TraceFindings::default() });
    let input = finished("Edit", json!({"file_path": "a"}));
    let (vote, _) = step(&mut TraceGate::default(), &about(DeclaredClass::Refactor), &input, &facts);
    assert!(matches!(&vote, Vote::Note(note) if note.as_str().starts_with("class_mismatch: ")), "{vote:?}");
    let (vote, _) = step(&mut TraceGate::default(), &about(DeclaredClass::Evolution), &input, &facts);
    assert_eq!(vote, Vote::Pass);
}
