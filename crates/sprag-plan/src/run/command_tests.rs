//! Every command in every state: an offered command is accepted and changes something, any other command is
//! refused.

use serde_json::json;

use super::*;
use crate::ids::CommitId;
use crate::run::Worktree;
use crate::run::stage_entry::WorktreeSetup;
use crate::spec::values::{Readable as _, Slug};
use crate::stage::command::StageCommandKind;
use crate::stage::transition_table::{states, verified};
use crate::stage::{Dispute, Hold, ReadyStage, StageAttempt, StageFailure, StartReason};
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

fn questions() -> Vec<ReviewQuestion> {
    let dispute = Dispute { check: Text::new("make"), why: Text::new("w") };
    vec![
        ReviewQuestion::Merge { verified: verified() },
        ReviewQuestion::TooManyFixes,
        ReviewQuestion::Disputed(dispute),
        ReviewQuestion::NoChange,
        ReviewQuestion::ProtectedFiles,
        ReviewQuestion::ConflictUnresolved,
        ReviewQuestion::MergeFailed,
        ReviewQuestion::OnHold { verified: Some(verified()) },
        ReviewQuestion::Unreviewed { verified: verified(), why: Text::new("w") },
    ]
}

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

/// Returns every state, with and without a hold.
fn entries() -> Vec<StageEntry> {
    let mut found: Vec<StageState> = states();
    let ready = ReadyStage::new(StageAttempt::numbered(2), StartReason::Recovery);
    found.push(StageState::Ready(ReadyStage { not_before: Some(now()), ..ready }));
    let backs = states().into_iter().filter(|stage| {
        matches!(
            stage,
            StageState::Running(_)
                | StageState::Failing { .. }
                | StageState::Conflicted(_)
                | StageState::MergeFailed { .. }
        )
    });
    for back in backs {
        let review = |question| StageState::Review { question, back: Box::new(back.clone()) };
        found.extend(questions().into_iter().map(review));
    }
    let attempt = || StageAttempt::numbered(1);
    found.extend(FAILURES.map(|failure| StageState::Blocked { attempt: attempt(), failure, why: None }));
    let mut all = Vec::new();
    for state in found {
        for hold in [Hold::No, Hold::Yes] {
            let mut entry = StageEntry::new(state.clone());
            entry.hold = if entry.state.is_over() { Hold::No } else { hold };
            let base = CommitId(Text::new("c"));
            entry.worktree = Worktree::Present { base, setup: WorktreeSetup::default() };
            all.push(entry);
        }
    }
    all
}

#[test]
fn what_is_offered_is_heard_and_does_something_and_nothing_else_is() {
    let admin = CommandSender::Person { name: Text::new("ada"), role: CommandRole::Admin };
    let id = StageId::new("a");
    for entry in entries() {
        let mut run = run();
        run.stand(&id, entry.clone());
        let offered = allowed(&run, &entry);
        for &name in StageCommandKind::ALL {
            let told = format!("{name:?} of {:?}", entry.state);
            match authorize(&run, &admin, &id, &said(name)) {
                Ok(record) => {
                    assert!(offered.contains(&name), "not offered, but accepted: {told}");
                    let mut after = run.clone();
                    after.apply(&record);
                    // A claim may be repeated while it is checked.
                    assert!(
                        after != run || name == StageCommandKind::Complete,
                        "the command changes nothing: {told}"
                    );
                }
                Err(why) => assert!(!offered.contains(&name), "offered, but refused with {why:?}: {told}"),
            }
        }
        assert_eq!(offered.is_empty(), entry.state.is_over(), "{:?}", entry.state);
    }
}

#[test]
fn whoever_is_asked_is_told_what_happened_where_it_shows_and_what_can_be_said() {
    let id = StageId::new("a");
    let mut lines = Vec::new();
    for entry in entries().into_iter().filter(|entry| !entry.is_held()) {
        let mut run = run();
        run.stand(&id, entry.clone());
        let asked = asked(&run, &id).unwrap();
        if let StageState::Review { .. } | StageState::Blocked { .. } = entry.state {
            assert!(!asked.what[0].is_empty() && !asked.look.is_empty(), "{:?}", entry.state);
            assert!(asked.words.len() > 2, "{:?}", entry.state);
            lines.push(asked.what[0].clone());
        }
        assert!(asked.words.iter().all(|word| word.least_role() >= CommandRole::User));
    }
    lines.sort();
    lines.dedup();
    // The texts for an unresolved conflict are the same. The text of a hold says whether there is work that
    // passed.
    assert_eq!(lines.len(), questions().len() + FAILURES.len(), "each text differs: {lines:#?}");
}
