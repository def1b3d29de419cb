//! Laws of the stop pipeline: holds are bounded, and no obligation disappears without a reason.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_check::{CheckOutcome as Passed, CheckRan, CheckStatus, Profile, Results};
use sprag_govern::decide::{self, DecisionFacts};
use sprag_govern::event::{Actor, BackgroundWork, Event, Input, PromptAuthor, StopRequest};
use sprag_govern::facts::{Closed, ConflictMarker, DetectedTracker, SessionChanges, SharedFacts, Size};
use sprag_govern::gates::integrity::{self, Conflicts};
use sprag_govern::gates::{Answers, commit, completion, reflection, review};
use sprag_govern::report::{Report, ReviewDecision, ReviewResult};
use sprag_govern::session::Session;
use sprag_govern::trackers::Ticket;
use sprag_govern::verdict::Ruling;
use sprag_memory::records::Decider;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolOutcome, ToolRow};

use crate::govern::states::policy;
use crate::support::players::GOOD;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
];

/// One event with the facts of the host, and the seconds since the previous event.
#[derive(Clone, Debug)]
struct Played {
    actor: Actor,
    event: Event,
    facts: DecisionFacts,
    pause: i64,
}

fn call(command: String, id: u8) -> ToolCall {
    ToolCall::new(
        TOOLS,
        "Bash",
        json!({ "command": command }),
        Some(&format!("c{id}")),
        InputCompleteness::Yes,
    )
}

fn reviewer() -> Actor {
    Actor::Subagent { id: Text::from("r1"), kind: Text::from("sprag-reviewer") }
}

const TOKEN: &str = "sprt_00112233445566778899aabbccddeeff";

/// Events of a reviewer, and attempts of an author.
fn reviewing() -> impl Strategy<Value = (Actor, Event)> {
    let decided = |word: ReviewResult, token: Option<&str>| {
        Event::Reported(Report::Decided(ReviewDecision {
            word,
            summary: Text::from("looked at it"),
            message: Text::from("x"),
            opinions: Vec::new(),
            token: token.map(Text::from),
        }))
    };
    let deciding = || Event::ToolRequested { call: call("sprag decide COMPLETE --summary x".to_owned(), 9) };
    prop_oneof![
        2 => Just((Actor::Main, Event::Prompted { text: "#review it".to_owned(), author: PromptAuthor::User })),
        3 => Just((reviewer(), Event::SubagentStarted)),
        3 => Just((reviewer(), deciding())),
        1 => Just((Actor::Main, deciding())),
        3 => Just((Actor::Main, decided(ReviewResult::Complete, Some(TOKEN)))),
        2 => Just((Actor::Main, decided(ReviewResult::Issues, Some(TOKEN)))),
        1 => Just((Actor::Main, decided(ReviewResult::Complete, None))),
        3 => Just((reviewer(), Event::SubagentStopped(StopRequest::default()))),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let close = (1u8..4).prop_map(|id| call(format!("cd x && bd close T-{id}"), id));
    let outcome = prop_oneof![
        Just(ToolOutcome::Ok),
        Just(ToolOutcome::Failed { error: Text::from("no") }),
        Just(ToolOutcome::Unknown),
        Just(ToolOutcome::Launched),
    ];
    let stop = |waiting: BackgroundWork, text: &str, planning: bool| {
        Event::StopRequested(StopRequest { last_message: Text::from(text), waiting, planning, again: true })
    };
    let write =
        ToolCall::new(TOOLS, "Write", json!({"file_path": "/w/a"}), Some("w"), InputCompleteness::Yes);
    prop_oneof![
        3 => close.clone().prop_map(|call| Event::ToolRequested { call }),
        3 => (close, outcome).prop_map(|(call, outcome)| Event::ToolFinished { call, outcome }),
        2 => Just(Event::ToolRequested { call: write }),
        8 => Just(stop(BackgroundWork::No, "Done.", false)),
        3 => Just(stop(BackgroundWork::No, "All done.", false)),
        1 => Just(stop(BackgroundWork::Yes, "Done.", false)),
        1 => Just(stop(BackgroundWork::No, "Shall I?", false)),
        1 => Just(stop(BackgroundWork::No, "Done.", true)),
        1 => Just(Event::Prompted { text: "go on".to_owned(), author: PromptAuthor::User }),
        1 => Just(Event::TaskCompleting { id: Text::from("1"), subject: Text::from("x") }),
        1 => Just(Event::Reported(Report::Reflected { submission: GOOD.to_owned().into(), ids: vec![Text::from("l-1")], resolution: None })),
        1 => Just(Event::Reported(Report::Reflected { submission: "no".to_owned().into(), ids: Vec::new(), resolution: None })),
        1 => ".{0,4}".prop_map(|reason| {
            Event::Reported(Report::Skipped { reason: Text::from(reason), decider: Decider::Agent })
        }),
        1 => Just(Event::SessionEnded { why: Text::from("other") }),
    ]
}

fn facts() -> impl Strategy<Value = DecisionFacts> {
    let size = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Size::Unknown)),
        4 => (0u64..40).prop_map(|lines| Some(Size::Lines(lines))),
    ];
    let conflicts = proptest::option::weighted(0.8, proptest::collection::vec("[ab]", 0..2));
    let answers = proptest::collection::vec((1u8..4, proptest::option::of(any::<bool>())), 0..3);
    let checks = proptest::option::weighted(0.8, any::<bool>());
    let others = (checks, proptest::option::of("[ab]"), any::<bool>());
    (size, conflicts, any::<bool>(), answers, others).prop_map(
        |(size, conflicts, is_for_tickets, answers, others)| {
            let marker = |path: &String| ConflictMarker {
                path: Text::from(path.as_str()),
                line: 1,
                digest: Digest::hash_parts([path]),
            };
            let closed = |(id, is_closed)| Closed {
                call: Text::new(format!("c{id}")),
                ticket: Ticket { id: Text::new(format!("T-{id}")), tracker: Text::from("beads") },
                is_closed,
            };
            Answers {
                shared: SharedFacts {
                    tree: others.1.map(Text::from),
                    changes: size.map(|size| SessionChanges {
                        size,
                        paths: vec!["a.rs".to_owned()],
                        ..SessionChanges::default()
                    }),
                    rules: Some(sprag_policy::RuleSet::default()),
                    debts: Some(Vec::new()),
                    ..SharedFacts::default()
                },
                completion: others.0.map_or(completion::Answer::NotRun, |passes| {
                    let failed = Passed::Failed { code: Some(1), tail: Text::from("1 failed") };
                    completion::Answer::Ran(checked(if passes { Passed::Passed } else { failed }))
                }),
                review: review::Answer { token: Some(Text::from(TOKEN)), peers: Vec::new() },
                commit: commit::Answer {
                    uncommitted: Some(if others.2 { vec!["a.rs".to_owned()] } else { Vec::new() }),
                    ..commit::Answer::default()
                },
                integrity: integrity::Answer {
                    conflicts: conflicts.map_or(Conflicts::Unknown, |paths| {
                        Conflicts::Found(paths.iter().map(marker).collect())
                    }),
                    unresolved: None,
                },
                reflection: reflection::Answer {
                    tracker: Some(DetectedTracker {
                        name: Text::from("beads"),
                        is_for_tickets,
                        active: None,
                    }),
                    closed: answers.into_iter().map(closed).collect(),
                    ..reflection::Answer::default()
                },
                ..Answers::default()
            }
            .into()
        },
    )
}

fn checked(outcome: Passed) -> Results {
    let ran = CheckRan { check: Text::from("tests"), mandatory: true, outcome };
    Results { profile: Profile::Standard, tree: Some(Text::from("a")), ran: vec![ran] }
}

fn played() -> impl Strategy<Value = Played> {
    let happens = prop_oneof![2 => events().prop_map(|event| (Actor::Main, event)), 1 => reviewing()];
    (happens, facts(), prop_oneof![9 => 0i64..30, 1 => 300i64..900])
        .prop_map(|((actor, event), facts, pause)| Played { actor, event, facts, pause })
}

fn owed(session: &Session, id: &SessionId) -> BTreeMap<String, BTreeSet<String>> {
    let open = session.open(id).into_iter();
    open.map(|owed| (owed.gate.to_string(), owed.obligation.items.iter().map(Text::to_string).collect()))
        .collect()
}

/// Returns the digests behind a hold.
fn held(session: &Session, id: &SessionId, event: &Event, ruling: &Ruling) -> Vec<Digest> {
    let Ruling::Hold { gate, .. } = ruling else {
        return Vec::new();
    };
    match event {
        Event::StopRequested(_) => session.stops.owed.iter().map(|owed| owed.obligation.digest).collect(),
        // The obligations of the session do not hold a reviewer.
        Event::SubagentStopped(_) => Vec::new(),
        // Only the obligation of the gate that holds.
        _ => {
            let open = session.open(id).into_iter().filter(|open| open.gate.as_str() == *gate);
            open.map(|open| open.obligation.digest).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn holding_is_bounded_and_nothing_owed_goes_away_by_itself(
        plays in proptest::collection::vec(played(), 1..80),
    ) {
        let policy = policy();
        let id = SessionId::new("s");
        let mut session = Session::default();
        let mut holds: BTreeMap<Digest, u32> = BTreeMap::new();
        let (mut now, mut turn, mut last_hold) = (0, 0, 0);
        for Played { actor, event, facts, pause } in plays {
            now += pause;
            let at = Timestamp::from_millis(0).plus_seconds(now);
            let input = Input { actor, ..Input::new(at, id.clone(), event).within("/w") };
            let before = owed(&session, &id);
            let review = session.gate_states().into_iter().find(|(gate, _)| *gate == "review").unwrap().1;
            let step = decide::decide(session, &input, &facts, &policy);
            session = step.session;
            let after = owed(&session, &id);
            let is_held = matches!(step.verdict.ruling, Ruling::Hold { .. });
            let is_report = matches!(input.event, Event::Reported(_));

            let is_stop = matches!(
                input.event,
                Event::StopRequested(_) | Event::TaskCompleting { .. } | Event::SubagentStopped(_)
            );
            let is_prompt = matches!(input.event, Event::Prompted { .. });
            if is_prompt || before.keys().any(|gate| !after.contains_key(gate)) || now - last_hold >= 300 {
                turn = 0;
            }
            if is_stop && is_held {
                turn += 1;
                last_hold = now;
                prop_assert!(turn <= 6, "held {turn} times in one turn");
                for digest in held(&session, &id, &input.event, &step.verdict.ruling) {
                    let count = holds.entry(digest).or_default();
                    *count += 1;
                    prop_assert!(*count <= 3, "held {count} times for the same");
                }
            }

            for (gate, items) in &before {
                let is_debt = step.effects.iter().any(|effect| effect.record.kind() == "debt.opened" && effect.record.body()["gate"] == gate.as_str());
                let is_discharged = is_report && !is_held;
                let is_mended = match gate.as_str() {
                    "integrity" => facts.answers.integrity.conflicts != Conflicts::Unknown,
                    "completion" => matches!(&facts.answers.completion, completion::Answer::Ran(results)
                        if results.status() != CheckStatus::Failed),
                    "commit" => facts.answers.commit.uncommitted.is_some(),
                    // The host has confirmed that the approved tree is there.
                    "review" => ["approved", "idle"].contains(&review),
                    _ => false,
                };
                let left = after.get(gate);
                let is_kept = left.is_some_and(|left| gate != "reflection" || left.is_superset(items));
                prop_assert!(is_kept || is_debt || is_discharged || is_mended, "{gate} lost {items:?}: {left:?}");
            }
        }
    }
}
