use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_policy::call::{ToolEffect, ToolRow};

use super::*;
use crate::facts::Staged;
use crate::gates::fixture::StepFixture;

const TOOLS: &[ToolRow] =
    &[ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") }];
const SIGNED: &str = "git commit -m 'a\n\nCo-Authored-By: Claude <noreply@anthropic.com>'";

fn input(actor: Actor, command: &str, whole: InputCompleteness) -> Input {
    let given = json!({"command": command, "description": "x"});
    let event = Event::ToolRequested { call: ToolCall::new(TOOLS, "Bash", given, None, whole) };
    Input { actor, ..Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w") }
}

fn vote(settings: &Settings, answer: &Answer, input: &Input) -> Vote {
    let (settings, answer) = (settings.clone(), answer.clone());
    StepFixture { settings, answer, ..StepFixture::default() }.step(&mut CommitGate::default(), input)
}

fn question(settings: &Settings, input: &Input) -> Option<Question> {
    let session = &SessionFacts::default();
    CommitGate::default().ask(&Ask { session, input, settings }, &SharedFacts::default())
}

fn code(policy: &Settings, facts: &Answer, command: &str) -> String {
    match vote(policy, facts, &input(Actor::Main, command, InputCompleteness::Yes)) {
        Vote::Hold(reason) => reason.code.to_string(),
        other => format!("{other:?}"),
    }
}

fn always() -> Settings {
    Settings { mode: CommitMode::Always, ..Settings::default() }
}

fn found(faults: &[(&str, StagedFault)]) -> Answer {
    let found = faults.iter().map(|(path, fault)| StagedFinding {
        path: Text::from(*path),
        line: 3,
        fault: fault.clone(),
    });
    Answer { staged: Some(Staged { found: found.collect(), is_whole: true }), ..Answer::default() }
}

#[test]
fn a_bare_repository_sees_nothing_of_it() {
    let helper = Actor::Subagent { id: Text::from("a"), kind: Text::from("helper") };
    let policy = Settings::default();
    let facts = found(&[("x", StagedFault::Markers)]);
    for command in ["git add -A", "git commit -am x", SIGNED] {
        let input = input(helper.clone(), command, InputCompleteness::Yes);
        assert_eq!(vote(&policy, &facts, &input), Vote::Pass);
        assert!(question(&policy, &input).is_none());
    }
}

#[test]
fn only_a_commit_has_its_lines_looked_at() {
    let is_asked = |policy: &Settings, command: &str| {
        question(policy, &input(Actor::Main, command, InputCompleteness::Yes)).is_some()
    };
    assert!(is_asked(&always(), "git commit -m x"));
    assert!(is_asked(&always(), "cd $X && git commit -m x"));
    assert!(!is_asked(&always(), "git add x && make"));
    let free = Settings { secrets: CommitGuard::Allow, markers: CommitGuard::Allow, ..always() };
    assert!(!is_asked(&free, "git commit -m x"));
}

#[test]
fn what_is_unfit_is_named_by_its_place() {
    let secret = StagedFault::Secret { kind: Text::from("aws_key") };
    let facts = found(&[("src/`a.rs", secret.clone()), ("docs/b", StagedFault::Markers)]);
    let policy = always();
    let Vote::Hold(reason) =
        vote(&policy, &facts, &input(Actor::Main, "git commit -m x", InputCompleteness::Yes))
    else {
        panic!("not held");
    };
    assert_eq!(reason.why.as_str(), "this commit would add a secret: `src/'a.rs:3` (aws_key)");
    assert_eq!(
        code(&Settings { secrets: CommitGuard::Allow, ..always() }, &facts, "git commit"),
        "staged_markers"
    );
    let ignoring = Settings { ignore: vec!["src/".to_owned(), "docs/".to_owned()], ..always() };
    assert_eq!(code(&ignoring, &facts, "git commit"), "Pass");
    // A call passes if git could not answer.
    assert_eq!(code(&always(), &Answer::default(), "git commit"), "Pass");
}

#[test]
fn a_call_that_was_cut_is_not_rewritten() {
    let policy = Settings { trailers: Trailers::Strip, ..Settings::default() };
    let of = |whole| vote(&policy, &Answer::default(), &input(Actor::Main, SIGNED, whole));
    assert!(matches!(of(InputCompleteness::Yes), Vote::Rewrite(Rewrite { input, .. })
        if input == json!({"command": "git commit -m 'a'", "description": "x"})));
    assert!(matches!(of(InputCompleteness::Cut { names_us: false }), Vote::Hold(_)));
}

#[test]
fn guards_come_before_corrections() {
    let policy = Settings { trailers: Trailers::Strip, ..always() };
    assert_eq!(code(&policy, &Answer::default(), &format!("git add . && {SIGNED}")), "add_all");
    assert_eq!(code(&policy, &Answer::default(), "git commit -F x"), "attribution");
}
