//! Stories of reviews through the whole governor: holds, decisions and records.

pub(super) mod fixture;

use serde_json::json;

use sprag_base::record::Projection as _;
use sprag_policy::RuleSet;

use super::*;
use crate::decide;
use crate::event::{BackgroundWork, StopRequest};
use crate::facts::SharedFacts;
use crate::gates::Answers;
use crate::report::ReviewResult;
use crate::session::Session;
use crate::verdict::Ruling;
use fixture::{Desk, TOKEN, record, reviewer};

fn helper() -> Actor {
    Actor::Subagent { id: Text::from("h1"), kind: Text::from("helper") }
}

#[track_caller]
fn held(ruling: Ruling) -> (String, String) {
    match ruling {
        Ruling::Hold { reason, .. } => (reason.code.to_string(), reason.why.to_string()),
        other => panic!("{other:?}"),
    }
}

const CLOSE: &str = "gh issue close 1";

#[test]
fn a_marked_prompt_is_held_until_a_reviewer_has_decided() {
    let mut desk = Desk::new();
    desk.prompt("#Review fix the bug");
    desk.work("t1");
    let (code, why) = held(desk.stop());
    assert_eq!(code, "review_due");
    assert!(why.contains("the user asked for it") && why.contains("`sprag-reviewer`"), "{why}");
    desk.approve();
    assert_eq!(desk.stop(), Ruling::Pass);
    assert_eq!(desk.outcomes(), ["success"]);
    let decided = desk.log.iter().find(|(kind, _)| *kind == "review.decided").unwrap();
    assert_eq!(decided.1["by"], "sprag-reviewer r1");
    assert_eq!(decided.1["tree"], "t1");
}

#[test]
fn only_the_first_word_is_a_marker() {
    for prompt in ["fix #review", "#reviewed", "# review", "", "#review-this please"] {
        let mut desk = Desk::new();
        desk.prompt(prompt);
        assert_eq!(desk.state(), "idle", "{prompt}");
    }
    for prompt in ["#roz", "  #REVIEW\nthis"] {
        let mut desk = Desk::new();
        desk.prompt(prompt);
        assert_eq!(desk.state(), "wanted", "{prompt}");
    }
}

#[test]
fn what_a_sub_agent_or_the_client_says_is_no_request() {
    let mut desk = Desk::new();
    for (actor, author) in [
        (helper(), PromptAuthor::User),
        (Actor::Main, PromptAuthor::Client),
        (Actor::Main, PromptAuthor::Sprag),
    ] {
        desk.step(actor, Event::Prompted { text: "#review".to_owned(), author });
        assert_eq!(desk.state(), "idle");
    }
}

#[test]
fn issues_reach_the_author_once_in_full_and_a_new_verdict_holds_again() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    desk.reviewer_starts();
    assert_eq!(desk.reviewer_decides(ReviewResult::Issues), Ruling::Pass);
    let (code, why) = held(desk.stop());
    assert_eq!(code, "review_issues");
    assert!(why.contains("line 3 is wrong"), "{why}");
    let (_, why) = held(desk.stop());
    assert!(!why.contains("line 3 is wrong") && why.contains("looked at it"), "{why}");
    held(desk.stop());
    assert_eq!(desk.stop(), Ruling::Pass, "the breaker lets it go");
    assert_eq!(desk.debts.open().len(), 1);
    desk.reviewer_starts();
    desk.reviewer_decides(ReviewResult::Issues);
    assert!(held(desk.stop()).1.contains("line 3 is wrong"), "a new verdict may hold again");
    desk.work("t2");
    desk.reviewer_starts();
    desk.reviewer_decides(ReviewResult::Complete);
    assert_eq!(desk.stop(), Ruling::Pass);
    assert_eq!(desk.debts.open().len(), 0, "the approval of the repaired work meets the debt");
}

/// A question to the user passes; the hold follows at the next stop.
#[test]
fn issues_are_not_lost_in_a_stop_that_passes() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    desk.reviewer_starts();
    desk.reviewer_decides(ReviewResult::Issues);
    let asks = StopRequest {
        last_message: Text::from("Shall I?"),
        waiting: BackgroundWork::No,
        ..StopRequest::default()
    };
    assert_eq!(desk.step(Actor::Main, Event::StopRequested(asks)), Ruling::Pass);
    assert!(held(desk.stop()).1.contains("line 3 is wrong"));
}

#[test]
fn the_author_cannot_decide() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    for actor in [Actor::Main, helper()] {
        for line in [
            "sprag decide COMPLETE --summary x",
            "true; env X=1 sprag decide ISSUES --summary x",
            "bash -c 'sprag decide COMPLETE'",
        ] {
            assert_eq!(held(desk.bash(actor.clone(), line)).0, "not_reviewer", "{line}");
        }
    }
    assert_eq!(
        held(desk.decide(ReviewResult::Complete, Some("sprt_00000000000000000000000000000000"))).0,
        "bad_token"
    );
    desk.reviewer_starts();
    // A stolen token is useless without the reviewer's own call.
    assert_eq!(held(desk.decide(ReviewResult::Complete, Some(TOKEN))).0, "not_reviewer");
    assert_eq!(held(desk.bash(reviewer(), "sprag decide COMPLETE --human --summary x")).0, "not_reviewer");
    // A permit for another decision does not count.
    desk.bash(reviewer(), "sprag decide ISSUES --summary x");
    assert_eq!(held(desk.decide(ReviewResult::Complete, Some(TOKEN))).0, "not_reviewer");
    // An expired permit does not count.
    desk.bash(reviewer(), "sprag decide COMPLETE --summary x");
    desk.now += 61;
    assert_eq!(held(desk.decide(ReviewResult::Complete, Some(TOKEN))).0, "not_reviewer");
    assert_eq!(desk.reviewer_decides(ReviewResult::Complete), Ruling::Pass);
    // A used permit does not count.
    assert_eq!(held(desk.decide(ReviewResult::Complete, Some(TOKEN))).0, "no_review");
}

#[test]
fn the_word_of_a_decision_is_read_where_it_can_be() {
    assert_eq!(
        tool_calls::word_in("sprag decide COMPLETE --summary 'ISSUES are gone'"),
        Some(Some("COMPLETE"))
    );
    assert_eq!(tool_calls::word_in("sprag decide --summary ISSUES COMPLETE"), Some(None));
    assert_eq!(tool_calls::word_in("sprag decide $X"), Some(None));
    assert_eq!(tool_calls::word_in("sprag decide --help"), None);
    assert_eq!(tool_calls::word_in("echo sprag decide COMPLETE"), None);
}

#[test]
fn an_approval_dies_with_the_tree_it_saw() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    desk.approve();
    assert_eq!(desk.stop(), Ruling::Pass);
    desk.work("t2");
    assert_eq!(held(desk.stop()).0, "review_due");
    desk.approve();
    desk.tree = None;
    assert_eq!(held(desk.stop()).0, "no_tree");
    desk.tree = Some("t2");
    assert_eq!(desk.stop(), Ruling::Pass);
}

#[test]
fn a_reviewer_of_what_has_changed_looks_again() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    desk.reviewer_starts();
    desk.work("t2");
    assert_eq!(held(desk.reviewer_decides(ReviewResult::Complete)).0, "stale_tree");
    assert_eq!(desk.reviewer_decides(ReviewResult::Complete), Ruling::Pass);
    assert_eq!(desk.stop(), Ruling::Pass);
    desk.prompt("#review again");
    desk.reviewer_starts();
    desk.tree = None;
    assert_eq!(held(desk.reviewer_decides(ReviewResult::Complete)).0, "no_tree");
}

#[test]
fn prompts_during_a_review_do_not_reset_it() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    desk.prompt("hurry up");
    assert_eq!(desk.state(), "wanted");
    desk.reviewer_starts();
    desk.prompt("#review and quickly");
    desk.prompt("please");
    assert_eq!(desk.state(), "in_review");
    assert_eq!(desk.reviewer_decides(ReviewResult::Complete), Ruling::Pass);
    assert_eq!(desk.stop(), Ruling::Pass);
    // Later work needs a new review.
    desk.prompt("thanks");
    assert_eq!(desk.state(), "idle");
    desk.work("t2");
    assert_eq!(desk.stop(), Ruling::Pass);
}

#[test]
fn a_gated_call_waits_for_a_review_and_then_runs() {
    let mut desk = Desk::new();
    desk.prompt("close it");
    let (code, why) = held(desk.bash(Actor::Main, CLOSE));
    assert_eq!(code, "review_required");
    assert!(why.contains("rule `review.gate-1`") && why.contains("`sprag-reviewer`"), "{why}");
    assert_eq!(held(desk.bash(helper(), CLOSE)).0, "review_required", "sub-agents wait too");
    assert_eq!(held(desk.stop()).0, "review_due");
    let case = desk.session.gates.review.case().unwrap().clone();
    assert_eq!(case.gated.unwrap().input.text, r#"{"command":"gh issue close 1"}"#);
    desk.approve();
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);
    assert_eq!(
        desk.bash(helper(), "gh issue close 2"),
        Ruling::Pass,
        "it opens such calls until the next prompt"
    );
    assert_eq!(desk.stop(), Ruling::Pass);
    desk.prompt("and now that");
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "review_required");
    assert_eq!(desk.log.iter().filter(|(kind, _)| *kind == "review.used").count(), 2);
}

/// An approved call that was not made yet waits again when the work changes.
#[test]
fn a_gated_call_is_not_forgotten_when_its_approval_dies() {
    let mut desk = Desk::new();
    held(desk.bash(Actor::Main, CLOSE));
    desk.approve();
    desk.work("t2");
    assert!(held(desk.stop()).1.contains("`Bash` waits for it under rule `review.gate-1`"));
    desk.approve();
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);
    desk.work("t3");
    assert_eq!(desk.stop(), Ruling::Pass, "once it is made nothing waits any more");
}

#[test]
fn how_far_an_approval_reaches() {
    let approved = |scope: ApprovalScope, ttl: u32| {
        let mut desk = Desk::new();
        desk.policy.gates.review.gates.approval_scope = scope;
        desk.policy.gates.review.gates.approval_ttl_seconds = ttl;
        held(desk.bash(Actor::Main, CLOSE));
        desk.approve();
        desk
    };
    let mut desk = approved(ApprovalScope::Session, 0);
    desk.prompt("next");
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);
    desk.tree = Some("t2");
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "review_required", "but not another tree");

    let mut desk = approved(ApprovalScope::Tool, 0);
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);
    assert_eq!(desk.state(), "idle");
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "review_required");

    let mut desk = approved(ApprovalScope::Session, 30);
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);
    desk.now += 30;
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "review_required");

    // An approval is not used if its use cannot be recorded.
    let mut desk = approved(ApprovalScope::Tool, 0);
    desk.is_unlocked = true;
    held(desk.bash(Actor::Main, CLOSE));
    desk.is_unlocked = false;
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass);

    let mut desk = approved(ApprovalScope::Session, 0);
    desk.tree = None;
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "no_tree");
    desk.tree = Some("t1");
    assert_eq!(desk.bash(Actor::Main, CLOSE), Ruling::Pass, "it was not forgotten");
}

#[test]
fn every_session_that_worked_is_reviewed_where_that_is_the_mode() {
    let mut desk = Desk::new();
    desk.policy.gates.review.mode = ReviewMode::Always;
    desk.prompt("what is this?");
    assert_eq!(desk.stop(), Ruling::Pass);
    desk.work("t1");
    assert_eq!(held(desk.stop()).0, "review_due");
    desk.approve();
    assert_eq!(desk.stop(), Ruling::Pass);
    desk.prompt("thanks");
    assert_eq!(desk.stop(), Ruling::Pass, "it is still the same work");
    desk.work("t2");
    assert_eq!(held(desk.stop()).0, "review_due");
}

#[test]
fn never_asks_for_no_review_and_opens_no_gated_tool() {
    let mut desk = Desk::new();
    desk.policy.gates.review.mode = ReviewMode::Never;
    desk.prompt("#review");
    desk.work("t1");
    assert_eq!(desk.stop(), Ruling::Pass);
    assert_eq!(held(desk.decide(ReviewResult::Complete, None)).0, "no_review");
    assert_eq!(held(desk.bash(Actor::Main, CLOSE)).0, "review_required");
}

#[test]
fn a_reviewer_without_a_verdict_is_held_within_the_bounds() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    desk.reviewer_starts();
    for _ in 0..3 {
        assert_eq!(
            held(desk.step(reviewer(), Event::SubagentStopped(StopRequest::default()))).0,
            "no_verdict"
        );
    }
    assert_eq!(desk.step(helper(), Event::SubagentStopped(StopRequest::default())), Ruling::Pass);
    assert_eq!(desk.step(reviewer(), Event::SubagentStopped(StopRequest::default())), Ruling::Pass);
    let mut late = Desk { session: desk.session.clone(), ..Desk::new() };
    late.now = desk.now + 2;
    assert_eq!(late.reviewer_decides(ReviewResult::Complete), Ruling::Pass, "a moment later it still counts");
    desk.now += 10;
    assert_eq!(held(desk.reviewer_decides(ReviewResult::Complete)).0, "bad_token");
    assert_eq!(held(desk.stop()).0, "review_due");
    assert_eq!(desk.outcomes(), ["no_decision"]);
}

/// The author's stop may come before the decision of a reviewer that has just ended.
#[test]
fn a_verdict_on_the_way_counts_after_the_authors_stop() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    desk.reviewer_starts();
    desk.bash(reviewer(), "sprag decide COMPLETE --summary x");
    held(desk.stop());
    assert_eq!(desk.state(), "wanted");
    assert_eq!(desk.decide(ReviewResult::Complete, Some(TOKEN)), Ruling::Pass);
    assert_eq!(desk.state(), "approved");
}

#[test]
fn every_outcome_is_written() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    held(desk.stop());
    desk.prompt("#review once more");
    held(desk.stop());
    desk.reviewer_starts();
    desk.step(Actor::Main, Event::Reported(Report::Misdirected { token: Text::from(TOKEN) }));
    desk.reviewer_decides(ReviewResult::Complete);
    assert_eq!(desk.outcomes(), ["not_spawned", "superseded", "bad_session"]);
    desk.prompt("#review");
    held(desk.stop());
    desk.reviewer_starts();
    held(desk.stop());
    desk.reviewer_starts();
    desk.reviewer_decides(ReviewResult::Issues);
    assert_eq!(desk.outcomes()[3..], ["no_decision", "success"]);
    desk.prompt("#review");
    desk.reviewer_starts();
    desk.reviewer_decides(ReviewResult::Complete);
    desk.prompt("#review");
    held(desk.stop());
    desk.end();
    assert_eq!(desk.outcomes()[5..], ["not_spawned"]);
    let mut reviews = history::Reviews::default();
    for (kind, body) in &desk.log {
        reviews.apply(&record(kind, body.clone(), Timestamp::from_millis(0)));
    }
    let share = &reviews.shares()[0];
    assert_eq!((share.template.as_str(), share.attempts, share.success), ("v1", 6, 16));
    assert_eq!(reviews.verdicts().len(), 3);
}

#[test]
fn a_person_decides_what_is_open_and_nothing_else() {
    let mut desk = Desk::new();
    assert_eq!(held(desk.decide(ReviewResult::Complete, None)).0, "no_review");
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    assert_eq!(desk.decide(ReviewResult::Complete, None), Ruling::Pass);
    assert_eq!(desk.stop(), Ruling::Pass);
    assert_eq!(desk.outcomes(), ["superseded"]);
}

#[test]
fn what_is_open_at_the_end_is_a_debt_until_the_same_tree_is_approved() {
    let mut desk = Desk::new();
    desk.prompt("#review");
    desk.work("t1");
    desk.end();
    assert_eq!(desk.debts.open().len(), 1);
    let debt = &desk.debts.open()[0].debt;
    assert_eq!(debt.why.as_str(), "a review is due: the user asked for it");
    assert_eq!(debt.items, [Text::from("tree t1")]);
    let mut other = Desk { debts: desk.debts.clone(), ..Desk::new() };
    let mut debts = serde_json::to_value(&other.debts).unwrap();
    debts["open"][0]["debt"]["session"] = json!("another");
    other.debts = serde_json::from_value(debts).unwrap();
    other.prompt("#review");
    other.tree = Some("t2");
    other.approve();
    assert_eq!(other.debts.open().len(), 1);
    other.prompt("#review");
    other.tree = Some("t1");
    other.approve();
    assert_eq!(other.debts.open().len(), 0);
}

#[test]
fn a_reviewers_process_is_waited_for() {
    let mut desk = Desk::new();
    let started = |desk: &mut Desk| {
        let report = Report::ReviewerStarted { client: Text::from("codex"), token: Text::from(TOKEN) };
        desk.step(Actor::Main, Event::Reported(report))
    };
    assert_eq!(held(started(&mut desk)).0, "no_review");
    desk.prompt("#review");
    desk.work("t1");
    held(desk.stop());
    assert_eq!(started(&mut desk), Ruling::Pass);
    assert_eq!(held(desk.stop()).0, "review_running");
    let ended = Event::Reported(Report::ReviewerEnded { token: Text::from(TOKEN) });
    desk.step(Actor::Main, ended);
    assert_eq!((desk.state(), desk.outcomes()), ("wanted", vec!["no_decision"]));
    started(&mut desk);
    assert_eq!(desk.decide(ReviewResult::Complete, Some(TOKEN)), Ruling::Pass);
    assert_eq!(desk.stop(), Ruling::Pass);
}

/// A session that reviews another one is not reviewed itself.
#[test]
fn a_session_sent_to_review_owes_nothing() {
    let desk = Desk::new();
    let mut session = desk.session.clone();
    for event in [
        Event::Prompted { text: "#review".to_owned(), author: PromptAuthor::User },
        Event::StopRequested(StopRequest::default()),
        Event::SessionEnded { why: Text::from("other") },
    ] {
        let input = Input {
            errand: SessionPurpose::Review,
            ..Input::new(Timestamp::from_millis(1), SessionId::new("r"), event).within("/w")
        };
        let shared = SharedFacts { rules: Some(RuleSet::default()), ..SharedFacts::default() };
        let facts = Answers { shared, ..Answers::default() }.into();
        let step = decide::decide(session, &input, &facts, &desk.policy);
        assert_eq!((step.verdict.ruling, step.effects), (Ruling::Pass, Vec::new()));
        session = step.session;
    }
    let call = fixture::bash(CLOSE);
    let input = Input {
        errand: SessionPurpose::Review,
        ..Input::new(Timestamp::from_millis(1), SessionId::new("r"), Event::ToolRequested { call })
            .within("/w")
    };
    let shared = SharedFacts { rules: Some(desk.rules.clone()), ..SharedFacts::default() };
    let facts = Answers { shared, ..Answers::default() }.into();
    let step = decide::decide(session, &input, &facts, &desk.policy);
    assert_eq!(held(step.verdict.ruling).0, "review_required", "nor may it do what others may not");
}

#[test]
fn the_state_survives_being_written() {
    let mut desk = Desk::new();
    held(desk.bash(Actor::Main, CLOSE));
    desk.reviewer_starts();
    let whole = desk.session.whole();
    assert!(!serde_json::to_string(&whole).unwrap().contains("sprt_"), "the token is nobody else's to read");
    let mut read = Session::default();
    read.apply(whole);
    assert_eq!(read, desk.session);
}
