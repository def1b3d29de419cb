use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_policy::call::{Effect, Tool};

use super::*;
use crate::facts::Staged;
use crate::gates::needs::Facts;

const TOOLS: &[Tool] = &[Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") }];
const SIGNED: &str = "git commit -m 'a\n\nCo-Authored-By: Claude <noreply@anthropic.com>'";

fn input(actor: Actor, command: &str, whole: Whole) -> Input {
    let given = json!({"command": command, "description": "x"});
    let event = Event::ToolRequested { call: ToolCall::new(TOOLS, "Bash", given, None, whole) };
    Input { actor, ..Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w") }
}

fn vote(policy: &Policy, facts: &Facts, input: &Input) -> Vote {
    let mut effects = Vec::new();
    let about = About::default();
    Commit::default().step(&mut Cx { about: &about, input, facts, policy, effects: &mut effects })
}

fn code(policy: &Policy, facts: &Facts, command: &str) -> String {
    match vote(policy, facts, &input(Actor::Main, command, Whole::Yes)) {
        Vote::Hold(reason) => reason.code.to_string(),
        other => format!("{other:?}"),
    }
}

fn always() -> Policy {
    Policy { mode: Mode::Always, ..Policy::default() }
}

fn found(faults: &[(&str, Fault)]) -> Facts {
    let found =
        faults.iter().map(|(path, fault)| Finding { path: Text::from(*path), line: 3, fault: fault.clone() });
    Facts { staged: Some(Staged { found: found.collect(), is_whole: true }), ..Facts::default() }
}

#[test]
fn a_bare_repository_sees_nothing_of_it() {
    let helper = Actor::Subagent { id: Text::from("a"), kind: Text::from("helper") };
    let policy = Policy::default();
    let facts = found(&[("x", Fault::Markers)]);
    for command in ["git add -A", "git commit -am x", SIGNED] {
        let input = input(helper.clone(), command, Whole::Yes);
        assert_eq!(vote(&policy, &facts, &input), Vote::Pass);
        let asked = Asked { about: &About::default(), input: &input, policy: &policy };
        assert_eq!(Commit::default().needs(&asked), Needs::NONE);
    }
}

#[test]
fn only_a_commit_has_its_lines_looked_at() {
    let needs = |policy: &Policy, command: &str| {
        Commit::default().needs(&Asked {
            about: &About::default(),
            input: &input(Actor::Main, command, Whole::Yes),
            policy,
        })
    };
    assert_eq!(needs(&always(), "git commit -m x"), Needs::STAGED);
    assert_eq!(needs(&always(), "cd $X && git commit -m x"), Needs::STAGED);
    assert_eq!(needs(&always(), "git add x && make"), Needs::NONE);
    let free = Policy { secrets: Guard::Allow, markers: Guard::Allow, ..always() };
    assert_eq!(needs(&free, "git commit -m x"), Needs::NONE);
}

#[test]
fn what_is_unfit_is_named_by_its_place() {
    let secret = Fault::Secret { kind: Text::from("aws_key") };
    let facts = found(&[("src/`a.rs", secret.clone()), ("docs/b", Fault::Markers)]);
    let policy = always();
    let Vote::Hold(reason) = vote(&policy, &facts, &input(Actor::Main, "git commit -m x", Whole::Yes)) else {
        panic!("not held");
    };
    assert_eq!(reason.why.as_str(), "this commit would add a secret: `src/'a.rs:3` (aws_key)");
    assert_eq!(code(&Policy { secrets: Guard::Allow, ..always() }, &facts, "git commit"), "staged_markers");
    let ignoring = Policy { ignore: vec!["src/".to_owned(), "docs/".to_owned()], ..always() };
    assert_eq!(code(&ignoring, &facts, "git commit"), "Pass");
    // What git could not say is let through.
    assert_eq!(code(&always(), &Facts::default(), "git commit"), "Pass");
}

#[test]
fn a_call_that_was_cut_is_not_rewritten() {
    let policy = Policy { trailers: Trailers::Strip, ..Policy::default() };
    let of = |whole| vote(&policy, &Facts::default(), &input(Actor::Main, SIGNED, whole));
    assert!(matches!(of(Whole::Yes), Vote::Rewrite(Rewrite { input, .. })
        if input == json!({"command": "git commit -m 'a'", "description": "x"})));
    assert!(matches!(of(Whole::Cut { names_us: false }), Vote::Hold(_)));
}

#[test]
fn guards_come_before_corrections() {
    let policy = Policy { trailers: Trailers::Strip, ..always() };
    assert_eq!(code(&policy, &Facts::default(), &format!("git add . && {SIGNED}")), "add_all");
    assert_eq!(code(&policy, &Facts::default(), "git commit -F x"), "attribution");
}
