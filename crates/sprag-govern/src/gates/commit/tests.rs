use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_policy::call::{ToolEffect, ToolRow};

use super::*;
use crate::facts::Staged;
use crate::gates::needs::Answers;

const TOOLS: &[ToolRow] =
    &[ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") }];
const SIGNED: &str = "git commit -m 'a\n\nCo-Authored-By: Claude <noreply@anthropic.com>'";

fn input(actor: Actor, command: &str, whole: InputCompleteness) -> Input {
    let given = json!({"command": command, "description": "x"});
    let event = Event::ToolRequested { call: ToolCall::new(TOOLS, "Bash", given, None, whole) };
    Input { actor, ..Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w") }
}

fn vote(policy: &Settings, facts: &Answers, input: &Input) -> Vote {
    let mut effects = Vec::new();
    let about = SessionFacts::default();
    CommitGate::default().step(&mut GateCx { about: &about, input, facts, policy, effects: &mut effects })
}

fn code(policy: &Settings, facts: &Answers, command: &str) -> String {
    match vote(policy, facts, &input(Actor::Main, command, InputCompleteness::Yes)) {
        Vote::Hold(reason) => reason.code.to_string(),
        other => format!("{other:?}"),
    }
}

fn always() -> Settings {
    Settings { mode: CommitMode::Always, ..Settings::default() }
}

fn found(faults: &[(&str, StagedFault)]) -> Answers {
    let found = faults.iter().map(|(path, fault)| StagedFinding {
        path: Text::from(*path),
        line: 3,
        fault: fault.clone(),
    });
    Answers { staged: Some(Staged { found: found.collect(), is_whole: true }), ..Answers::default() }
}

#[test]
fn a_bare_repository_sees_nothing_of_it() {
    let helper = Actor::Subagent { id: Text::from("a"), kind: Text::from("helper") };
    let policy = Settings::default();
    let facts = found(&[("x", StagedFault::Markers)]);
    for command in ["git add -A", "git commit -am x", SIGNED] {
        let input = input(helper.clone(), command, InputCompleteness::Yes);
        assert_eq!(vote(&policy, &facts, &input), Vote::Pass);
        let asked = Ask { about: &SessionFacts::default(), input: &input, policy: &policy };
        assert_eq!(CommitGate::default().needs(&asked), SharedNeeds::NONE);
    }
}

#[test]
fn only_a_commit_has_its_lines_looked_at() {
    let needs = |policy: &Settings, command: &str| {
        CommitGate::default().needs(&Ask {
            about: &SessionFacts::default(),
            input: &input(Actor::Main, command, InputCompleteness::Yes),
            policy,
        })
    };
    assert_eq!(needs(&always(), "git commit -m x"), SharedNeeds::STAGED);
    assert_eq!(needs(&always(), "cd $X && git commit -m x"), SharedNeeds::STAGED);
    assert_eq!(needs(&always(), "git add x && make"), SharedNeeds::NONE);
    let free = Settings { secrets: CommitGuard::Allow, markers: CommitGuard::Allow, ..always() };
    assert_eq!(needs(&free, "git commit -m x"), SharedNeeds::NONE);
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
    // What git could not say is let through.
    assert_eq!(code(&always(), &Answers::default(), "git commit"), "Pass");
}

#[test]
fn a_call_that_was_cut_is_not_rewritten() {
    let policy = Settings { trailers: Trailers::Strip, ..Settings::default() };
    let of = |whole| vote(&policy, &Answers::default(), &input(Actor::Main, SIGNED, whole));
    assert!(matches!(of(InputCompleteness::Yes), Vote::Rewrite(Rewrite { input, .. })
        if input == json!({"command": "git commit -m 'a'", "description": "x"})));
    assert!(matches!(of(InputCompleteness::Cut { names_us: false }), Vote::Hold(_)));
}

#[test]
fn guards_come_before_corrections() {
    let policy = Settings { trailers: Trailers::Strip, ..always() };
    assert_eq!(code(&policy, &Answers::default(), &format!("git add . && {SIGNED}")), "add_all");
    assert_eq!(code(&policy, &Answers::default(), "git commit -F x"), "attribution");
}
