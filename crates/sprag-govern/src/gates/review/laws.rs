//! Properties of the gate that hold for any order of events.

use proptest::prelude::*;

use super::tests::fixture::{Desk, TOKEN, reviewer};
use super::*;
use crate::event::StopRequest;
use crate::report::ReviewResult;
use crate::verdict::Ruling;

#[derive(Clone, Debug)]
enum Move {
    Marked,
    Plain,
    Work(u8),
    Blind,
    Stop,
    Gated,
    Starts,
    Stops,
    Calls(bool),
    Decides { with_token: bool, complete: bool },
    Lies,
    Process,
    Ended,
    Misdirected,
    End,
    Wait(i64),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        Just(Move::Marked),
        Just(Move::Plain),
        (0u8..3).prop_map(Move::Work),
        Just(Move::Blind),
        Just(Move::Stop),
        Just(Move::Gated),
        Just(Move::Starts),
        Just(Move::Stops),
        any::<bool>().prop_map(Move::Calls),
        (any::<bool>(), any::<bool>())
            .prop_map(|(with_token, complete)| Move::Decides { with_token, complete }),
        Just(Move::Lies),
        Just(Move::Process),
        Just(Move::Ended),
        Just(Move::Misdirected),
        Just(Move::End),
        (0i64..400).prop_map(Move::Wait),
    ]
}

const TREES: [&str; 3] = ["t1", "t2", "t3"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Only an accepted decision approves work. A gated call passes only with the approved tree. Every
    /// attempt has at most one outcome.
    #[test]
    fn nothing_is_approved_by_itself(
        moves in proptest::collection::vec(moves(), 1..60),
        scope in prop_oneof![Just(ApprovalScope::Session), Just(ApprovalScope::Prompt), Just(ApprovalScope::Tool)],
        always in any::<bool>(),
    ) {
        let mut desk = Desk::new();
        desk.policy.gates.review.gates.approval_scope = scope;
        desk.policy.gates.review.mode = if always { ReviewMode::Always } else { ReviewMode::Prompt };
        let mut approved: Option<&str> = None;
        let (mut uses, mut verdicts) = (0, 0);
        for step in moves {
            let was = desk.state();
            match step {
                Move::Marked => desk.prompt("#review"),
                Move::Plain => desk.prompt("go on"),
                Move::Work(tree) => desk.work(TREES[usize::from(tree)]),
                Move::Blind => desk.tree = None,
                Move::Stop => { desk.stop(); }
                Move::Gated => {
                    if desk.bash(Actor::Main, "gh issue close 1") == Ruling::Pass {
                        uses += 1;
                        prop_assert_eq!(was, "approved");
                        prop_assert_eq!(desk.tree, approved);
                    }
                }
                Move::Starts => desk.reviewer_starts(),
                Move::Stops => { desk.step(reviewer(), Event::SubagentStopped(StopRequest::default())); }
                Move::Calls(complete) => {
                    let word = if complete { "COMPLETE" } else { "ISSUES" };
                    desk.bash(reviewer(), &format!("sprag decide {word} --summary x"));
                }
                Move::Decides { with_token, complete } => {
                    let word = if complete { ReviewResult::Complete } else { ReviewResult::Issues };
                    if desk.decide(word, with_token.then_some(TOKEN)) == Ruling::Pass {
                        verdicts += 1;
                        approved = desk.tree.filter(|_| complete);
                        prop_assert!(desk.tree.is_some());
                        prop_assert_eq!(desk.state(), if complete { "approved" } else { "rejected" });
                    }
                }
                Move::Lies => {
                    let wrong = "sprt_ffffffffffffffffffffffffffffffff";
                    prop_assert_ne!(desk.decide(ReviewResult::Complete, Some(wrong)), Ruling::Pass);
                }
                Move::Process => {
                    let report = Report::ReviewerStarted { client: Text::from("x"), token: Text::from(TOKEN) };
                    desk.step(Actor::Main, Event::Reported(report));
                }
                Move::Ended => {
                    desk.step(Actor::Main, Event::Reported(Report::ReviewerEnded { token: Text::from(TOKEN) }));
                }
                Move::Misdirected => {
                    desk.step(Actor::Main, Event::Reported(Report::Misdirected { token: Text::from(TOKEN) }));
                }
                Move::End => desk.end(),
                Move::Wait(seconds) => desk.now += seconds,
            }
            if was != "approved" && desk.state() == "approved" {
                let last = desk.log.last().map(|(kind, _)| *kind);
                prop_assert!(
                    matches!(last, Some("review.decided" | "debt.met" | "debt.opened")),
                    "only a decision, with the debts that it meets or opens, approves: {last:?}"
                );
            }
        }
        let decided = desk.log.iter().filter(|(kind, _)| *kind == "review.decided").count();
        prop_assert_eq!(decided, verdicts);
        if scope == ApprovalScope::Tool {
            prop_assert!(uses <= verdicts);
        }
        prop_assert!(desk.log.iter().filter(|(kind, _)| *kind == "review.attempt").count() <= 60);
    }
}
