use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_policy::call::{Tool, Whole};
use sprag_trace::finding::Judged;
use sprag_trace::{Contributor, SEEN, Spot, Stage};

use super::*;
use crate::event::{Input, Stop};
use crate::gates::needs::Facts;

const TOOLS: &[Tool] = &[
    Tool { name: "Edit", effect: Effect::Write, paths: &["file_path"], command: None },
    Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
    Tool { name: "Read", effect: Effect::Read, paths: &["file_path"], command: None },
];

fn finished(tool: &str, input: serde_json::Value) -> Input {
    let call = ToolCall::new(TOOLS, tool, input, None, Whole::Yes);
    let event = Event::ToolFinished { call, outcome: Outcome::Ok };
    Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w")
}

fn stop() -> Input {
    let event = Event::StopRequested(Stop::default());
    Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w")
}

fn about(class: Class) -> About {
    let chosen = Chosen { id: Text::from("INT-1"), fingerprint: Text::from("f"), class };
    About { intent: Some(chosen), changed: true, worked: true, ..About::default() }
}

fn witness() -> Witness {
    let spot = |text: &str| Some(Spot { line: 3, text: Text::from(text) });
    Witness { path: Text::from("a.rs"), unit: None, before: spot("x + 1"), after: spot("x - 1") }
}

fn trace(source: Source, verdict: Verdict) -> Record {
    Record {
        stage: Stage::Provisional { base: None },
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

fn step(gate: &mut Trace, about: &About, input: &Input, facts: &Facts) -> (Vote, Vec<serde_json::Value>) {
    let mut effects = Vec::new();
    let policy = Policy::default();
    let vote = gate.step(&mut Cx { about, input, facts, policy: &policy, effects: &mut effects });
    (vote, effects.into_iter().map(|effect| effect.body).collect())
}

#[test]
fn only_what_may_have_changed_something_is_looked_at() {
    let gate = Trace::default();
    let needs = |input: &Input, policy: Policy| {
        gate.needs(&Asked { about: &about(Class::Evolution), input, policy: &policy })
    };
    let on = Policy::default;
    assert!(needs(&finished("Edit", json!({"file_path": "a"})), on()).has(Needs::CHANGED));
    assert!(needs(&finished("Bash", json!({"command": "git commit -m x"})), on()).has(Needs::UNTRACED));
    assert!(needs(&finished("Bash", json!({"command": "make"})), on()).is_none());
    assert!(needs(&finished("Read", json!({"file_path": "a"})), on()).is_none());
    assert!(needs(&stop(), on()).has(Needs::UNTRACED));
    let off = Policy { mode: Mode::Off, ..Policy::default() };
    assert!(needs(&finished("Edit", json!({"file_path": "a"})), off).is_none());
}

#[test]
fn only_what_the_session_did_is_for_its_intent() {
    let call = Source::Call { tool: Text::from("Edit"), id: None };
    let unproven = || Verdict::unproven("language");
    let traces = vec![
        (SEEN, trace(call, unproven())),
        (SEEN, trace(Source::Command, unproven())),
        (SEEN, trace(Source::Found, unproven())),
    ];
    let changed = Changed { traces, ..Changed::default() };
    let facts = Facts { changed: Some(changed), ..Facts::default() };
    let input = finished("Edit", json!({"file_path": "a"}));
    let (_, records) = step(&mut Trace::default(), &about(Class::Refactor), &input, &facts);
    let intents: Vec<&str> =
        records.iter().map(|body| body["intent"]["id"].as_str().unwrap_or("none")).collect();
    assert_eq!(intents, ["INT-1", "INT-1", "none"]);
    assert_eq!(records[0]["declared"], "AST_REFACTOR");
    assert!(records[2].get("declared").is_none());
}

#[test]
fn a_refactoring_that_changes_behaviour_holds_the_stop_until_it_is_declared() {
    let judged = |verdict| Facts {
        changed: Some(Changed {
            judged: Some(Judged { digest: Digest::of(["x"]), verdict }),
            ..Changed::default()
        }),
        ..Facts::default()
    };
    let mut gate = Trace::default();
    let facts = judged(Verdict::Changed { witness: witness() });
    let (vote, _) = step(&mut gate, &about(Class::Refactor), &stop(), &facts);
    let Vote::Owe(owed) = vote else { panic!("{vote:?}") };
    assert_eq!(owed.reason.code.as_str(), "class_mismatch");
    assert!(owed.reason.why.as_str().contains("`a.rs:3`: `x + 1` became `x - 1`"), "{}", owed.reason.why);
    // Nothing was looked at since, and it is still so.
    assert!(matches!(step(&mut gate, &about(Class::Refactor), &stop(), &Facts::default()).0, Vote::Owe(_)));
    assert_eq!(step(&mut gate, &about(Class::Evolution), &stop(), &Facts::default()).0, Vote::Pass);
    for other in
        [Verdict::unproven("ambiguous"), Verdict::Proved { level: Text::from("L1"), proof: json!({}) }]
    {
        assert_eq!(step(&mut gate, &about(Class::Refactor), &stop(), &judged(other)).0, Vote::Pass);
    }
}

#[test]
fn right_after_a_write_it_is_only_noted() {
    let call = Source::Call { tool: Text::from("Edit"), id: None };
    let traces = vec![(SEEN, trace(call, Verdict::Changed { witness: witness() }))];
    let facts = Facts { changed: Some(Changed { traces, ..Changed::default() }), ..Facts::default() };
    let input = finished("Edit", json!({"file_path": "a"}));
    let (vote, _) = step(&mut Trace::default(), &about(Class::Refactor), &input, &facts);
    assert!(matches!(&vote, Vote::Note(note) if note.as_str().starts_with("class_mismatch: ")), "{vote:?}");
    let (vote, _) = step(&mut Trace::default(), &about(Class::Evolution), &input, &facts);
    assert_eq!(vote, Vote::Pass);
}
