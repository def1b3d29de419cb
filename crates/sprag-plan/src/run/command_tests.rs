//! Every word in every state: what is offered is heard and does something, and what is not offered is refused.

use serde_json::json;

use super::*;
use crate::ids::Commit;
use crate::merge::Verified;
use crate::run::Dispute;
use crate::spec::values::Readable as _;
use crate::stage::transition_table::states;
use crate::stage::{Failure, Turn};
use crate::testing::{now, plan, started};
use crate::view::review_request::asked;

fn said(name: Name) -> Said {
    let slug = |text: &str| Slug::read(text).unwrap();
    match name {
        Name::Complete => Said::Complete,
        Name::Block => Said::Block { why: Text::new("w") },
        Name::Ask => Said::Ask { question: Text::new("?") },
        Name::Task => Said::Task { id: slug("t") },
        Name::Output => Said::Output { name: slug("o"), value: Text::new("v") },
        Name::Dispute => Said::Dispute { check: Text::new("make"), why: Text::new("w") },
        Name::Hold => Said::Hold,
        Name::Release => Said::Release,
        Name::Skip => Said::Skip { why: Text::new("w") },
        Name::Retry => Said::Retry,
        Name::Reset => Said::Reset,
        Name::Resume => Said::Resume { answer: Some(Text::new("a")) },
        Name::Merge => Said::Merge,
        Name::Verify => Said::Verify,
        Name::Accept => Said::Accept,
        Name::Reject => Said::Reject,
        Name::Bypass => Said::Bypass { why: Text::new("w") },
    }
}

fn run() -> Run {
    let mut plan = plan(&[("a", "", "x"), ("b", "a", "y")]);
    let check =
        json!({"command": "make", "exit_code": 0, "stderr": "any", "timeout": "5m", "cache": "by_tree"});
    plan["stages"][0]["acceptance"] = json!([check]);
    plan["stages"][0]["tasks"] = json!([{"id": "t", "text": "x"}]);
    plan["stages"][0]["outputs"] = json!([{"name": "o", "description": ""}]);
    started(plan)
}

const CASES: [Case; 9] = [
    Case::Merge,
    Case::Checks,
    Case::Disputed,
    Case::NoChange,
    Case::Protected,
    Case::Conflict,
    Case::Red,
    Case::Held,
    Case::Unreviewed,
];
const FAILURES: [Failure; 11] = [
    Failure::Crash,
    Failure::Timeout,
    Failure::Overload,
    Failure::Wedged,
    Failure::Auth,
    Failure::Sandbox,
    Failure::Setup,
    Failure::Budget,
    Failure::Conflict,
    Failure::Told,
    Failure::Unknown,
];

/// Every state there is, with what comes with it.
fn standings() -> Vec<Standing> {
    let mut found: Vec<Stage> = states();
    found.push(Stage::Ready(Turn { attempt: 2, not_before: Some(now()), ..Turn::default() }));
    let backs = states().into_iter().filter(|stage| {
        matches!(
            stage,
            Stage::Running(_) | Stage::Failing { .. } | Stage::Conflicted { .. } | Stage::MergeHeld { .. }
        )
    });
    for back in backs {
        found.extend(CASES.map(|case| Stage::Review { case, back: Box::new(back.clone()) }));
    }
    found.extend(FAILURES.map(|failure| Stage::Blocked { attempt: 1, failure }));
    let commit = || Commit(Text::new("c"));
    let mut all = Vec::new();
    for stage in found {
        for is_held in [false, true] {
            let stage = match &stage {
                Stage::Ready(turn) => Stage::Ready(Turn { is_held, ..turn.clone() }),
                stage => stage.clone(),
            };
            let is_merge =
                matches!(stage, Stage::Review { case: Case::Merge | Case::Held | Case::Unreviewed, .. });
            let is_disputed = matches!(stage, Stage::Review { case: Case::Disputed, .. });
            let mut standing = Standing::new(stage);
            standing.is_held = is_held && !standing.stage.is_over();
            standing.worktree = Some(commit());
            standing.verified =
                is_merge.then(|| Verified { attempt: 1, head: commit(), tree: commit(), base: commit() });
            standing.dispute = is_disputed.then(|| Dispute { check: Text::new("make"), why: Text::new("w") });
            all.push(standing);
        }
    }
    all
}

#[test]
fn what_is_offered_is_heard_and_does_something_and_nothing_else_is() {
    let admin = Speaker::Person { name: Text::new("ada"), role: Role::Admin };
    let id = StageId::new("a");
    for standing in standings() {
        let mut run = run();
        run.stand(&id, standing.clone());
        let offered = meant(&run, &standing);
        for name in Name::ALL {
            let told = format!("{name:?} of {:?}", standing.stage);
            match hear(&run, &admin, &id, &said(name)) {
                Ok(record) => {
                    assert!(offered.contains(&name), "not offered, and heard: {told}");
                    let mut after = run.clone();
                    after.apply(&record);
                    // That it is done may be said while that is looked at.
                    assert!(after != run || name == Name::Complete, "it changes nothing: {told}");
                }
                Err(why) => assert!(!offered.contains(&name), "offered, and refused with {why:?}: {told}"),
            }
        }
        assert_eq!(offered.is_empty(), standing.stage.is_over(), "{:?}", standing.stage);
    }
}

#[test]
fn whoever_is_asked_is_told_what_happened_where_it_shows_and_what_can_be_said() {
    let id = StageId::new("a");
    let mut lines = Vec::new();
    for standing in standings().into_iter().filter(|standing| !standing.is_held) {
        let mut run = run();
        run.stand(&id, standing.clone());
        let asked = asked(&run, &id).unwrap();
        if let Stage::Review { .. } | Stage::Blocked { .. } = standing.stage {
            assert!(!asked.what[0].is_empty() && !asked.look.is_empty(), "{:?}", standing.stage);
            assert!(asked.words.len() > 2, "{:?}", standing.stage);
            lines.push(asked.what[0].clone());
        }
        assert!(asked.words.iter().all(|word| word.least() >= Role::User));
    }
    lines.sort();
    lines.dedup();
    // A conflict that cannot be resolved is the same in both.
    assert_eq!(lines.len(), CASES.len() + FAILURES.len() - 1, "each says something else: {lines:#?}");
}
