//! Every word in every state: what is offered is heard and does something, and what is not offered is refused.

use serde_json::json;

use super::*;
use crate::ids::CommitId;
use crate::merge::queue::Verified;
use crate::run::Dispute;
use crate::spec::values::{Readable as _, Slug};
use crate::stage::command::StageCommandKind;
use crate::stage::transition_table::states;
use crate::stage::{ReadyStage, StageFailure};
use crate::testing::{now, plan, started};
use crate::view::review_request::asked;

fn said(name: StageCommandKind) -> StageCommand {
    let slug = |text: &str| Slug::read(text).unwrap();
    match name {
        StageCommandKind::Complete => StageCommand::Complete,
        StageCommandKind::Block => StageCommand::Block { why: Text::new("w") },
        StageCommandKind::Ask => StageCommand::Ask { question: Text::new("?") },
        StageCommandKind::Task => StageCommand::Task { id: slug("t") },
        StageCommandKind::Output => StageCommand::Output { name: slug("o"), value: Text::new("v") },
        StageCommandKind::Dispute => StageCommand::Dispute { check: Text::new("make"), why: Text::new("w") },
        StageCommandKind::Hold => StageCommand::Hold,
        StageCommandKind::Release => StageCommand::Release,
        StageCommandKind::Skip => StageCommand::Skip { why: Text::new("w") },
        StageCommandKind::Retry => StageCommand::Retry,
        StageCommandKind::Reset => StageCommand::Reset,
        StageCommandKind::Resume => StageCommand::Resume { answer: Some(Text::new("a")) },
        StageCommandKind::Merge => StageCommand::Merge,
        StageCommandKind::Verify => StageCommand::Verify,
        StageCommandKind::Accept => StageCommand::Accept,
        StageCommandKind::Reject => StageCommand::Reject,
        StageCommandKind::Bypass => StageCommand::Bypass { why: Text::new("w") },
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

const CASES: [ReviewReason; 9] = [
    ReviewReason::Merge,
    ReviewReason::Checks,
    ReviewReason::Disputed,
    ReviewReason::NoChange,
    ReviewReason::Protected,
    ReviewReason::Conflict,
    ReviewReason::Red,
    ReviewReason::Held,
    ReviewReason::Unreviewed,
];
const FAILURES: [StageFailure; 11] = [
    StageFailure::Crash,
    StageFailure::Timeout,
    StageFailure::Overload,
    StageFailure::Wedged,
    StageFailure::Auth,
    StageFailure::Sandbox,
    StageFailure::Setup,
    StageFailure::Budget,
    StageFailure::Conflict,
    StageFailure::Told,
    StageFailure::Unknown,
];

/// Every state there is, with what comes with it.
fn standings() -> Vec<StageEntry> {
    let mut found: Vec<StageState> = states();
    found.push(StageState::Ready(ReadyStage {
        attempt: 2,
        not_before: Some(now()),
        ..ReadyStage::default()
    }));
    let backs = states().into_iter().filter(|stage| {
        matches!(
            stage,
            StageState::Running(_)
                | StageState::Failing { .. }
                | StageState::Conflicted { .. }
                | StageState::MergeHeld { .. }
        )
    });
    for back in backs {
        found.extend(CASES.map(|case| StageState::Review { case, back: Box::new(back.clone()) }));
    }
    found.extend(FAILURES.map(|failure| StageState::Blocked { attempt: 1, failure }));
    let commit = || CommitId(Text::new("c"));
    let mut all = Vec::new();
    for stage in found {
        for is_held in [false, true] {
            let stage = match &stage {
                StageState::Ready(turn) => StageState::Ready(ReadyStage { is_held, ..turn.clone() }),
                stage => stage.clone(),
            };
            let is_merge = matches!(
                stage,
                StageState::Review {
                    case: ReviewReason::Merge | ReviewReason::Held | ReviewReason::Unreviewed,
                    ..
                }
            );
            let is_disputed = matches!(stage, StageState::Review { case: ReviewReason::Disputed, .. });
            let mut standing = StageEntry::new(stage);
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
    let admin = CommandSender::Person { name: Text::new("ada"), role: CommandRole::Admin };
    let id = StageId::new("a");
    for standing in standings() {
        let mut run = run();
        run.stand(&id, standing.clone());
        let offered = allowed(&run, &standing);
        for &name in StageCommandKind::ALL {
            let told = format!("{name:?} of {:?}", standing.stage);
            match authorize(&run, &admin, &id, &said(name)) {
                Ok(record) => {
                    assert!(offered.contains(&name), "not offered, and heard: {told}");
                    let mut after = run.clone();
                    after.apply(&record);
                    // That it is done may be said while that is looked at.
                    assert!(after != run || name == StageCommandKind::Complete, "it changes nothing: {told}");
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
        if let StageState::Review { .. } | StageState::Blocked { .. } = standing.stage {
            assert!(!asked.what[0].is_empty() && !asked.look.is_empty(), "{:?}", standing.stage);
            assert!(asked.words.len() > 2, "{:?}", standing.stage);
            lines.push(asked.what[0].clone());
        }
        assert!(asked.words.iter().all(|word| word.least_role() >= CommandRole::User));
    }
    lines.sort();
    lines.dedup();
    // A conflict that cannot be resolved is the same in both.
    assert_eq!(lines.len(), CASES.len() + FAILURES.len() - 1, "each says something else: {lines:#?}");
}
