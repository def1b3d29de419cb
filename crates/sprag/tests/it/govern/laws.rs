//! Laws as property tests, for any events, states and payloads.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::decide::{self, DecisionFacts};
use sprag_govern::event::{BackgroundWork, Event, Input, PromptAuthor, StartSource, StopRequest};
use sprag_govern::facts::{ConflictMarker, SharedFacts};
use sprag_govern::gates::integrity::{self, Conflicts};
use sprag_govern::gates::{Answers, protection};
use sprag_govern::report::Report;
use sprag_govern::session::{Session, UnreadableParts};
use sprag_govern::settings::GovernSettings;
use sprag_govern::verdict::Ruling;
use sprag_host::clients::CLIENTS;
use sprag_host::clients::payload::HookPayload;
use sprag_host::sys::env::Env;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolOutcome, ToolRow};

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
];

fn events() -> impl Strategy<Value = Event> {
    let call = ("(Bash|Read|mcp__x__y)", ".{0,30}").prop_map(|(name, text)| {
        ToolCall::new(TOOLS, &name, json!({"command": text, "file_path": text}), None, InputCompleteness::Yes)
    });
    prop_oneof![
        Just(Event::SessionStarted { source: StartSource::Startup }),
        ".{0,20}".prop_map(|text| Event::Prompted { text, author: PromptAuthor::User }),
        call.clone().prop_map(|call| Event::ToolRequested { call }),
        call.clone().prop_map(|call| Event::PermissionAsked { call }),
        call.prop_map(|call| Event::ToolFinished { call, outcome: ToolOutcome::Unknown }),
        (".{0,10}[.?]", any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(text, waiting, planning, again)| {
                Event::StopRequested(StopRequest {
                    last_message: Text::from(text),
                    waiting: if waiting { BackgroundWork::Yes } else { BackgroundWork::Untold },
                    planning,
                    again,
                })
            }
        ),
        Just(Event::SubagentStarted),
        Just(Event::SubagentStopped(StopRequest::default())),
        Just(Event::TaskCompleting { id: Text::from("1"), subject: Text::from("x") }),
        Just(Event::Compacting),
        Just(Event::SessionEnded { why: Text::from("other") }),
        Just(Event::Noticed { what: Text::from("w"), message: Text::from("m") }),
        ".{0,10}".prop_map(|note| Event::Reported(Report::Observed { note: Text::from(note) })),
        Just(Event::Tick),
    ]
}

fn facts() -> impl Strategy<Value = DecisionFacts> {
    proptest::option::of(proptest::collection::vec("[a-d]", 0..4)).prop_map(|files| {
        let marker = |path: String| ConflictMarker {
            digest: Digest::hash_parts([&path]),
            path: Text::from(path),
            line: 1,
        };
        let conflicts = files
            .map_or(Conflicts::Unknown, |files| Conflicts::Found(files.into_iter().map(marker).collect()));
        let places = vec!["/w/.git/sprag".to_owned()];
        Answers {
            shared: SharedFacts {
                debts: Some(Vec::new()),
                rules: Some(sprag_policy::RuleSet::default()),
                ..SharedFacts::default()
            },
            protection: protection::Answer {
                ours: places.clone(),
                guarded: places,
                ..protection::Answer::default()
            },
            integrity: integrity::Answer { conflicts, unresolved: None },
            ..Answers::default()
        }
        .into()
    })
}

fn input(event: Event, seconds: i64) -> Input {
    let at = Timestamp::from_millis(0).plus_seconds(seconds);
    Input::new(at, SessionId::new("s"), event).within("/w")
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{1,12}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Steps are total. The turns of a session bound its holds. The state is the same if it is kept, folded
    /// from all changes, or folded from a snapshot and the later changes.
    #[test]
    fn a_session_is_total_bounded_and_a_fold(
        steps in proptest::collection::vec((events(), facts(), 0i64..200), 1..60),
        snapshot_at in 0usize..60,
    ) {
        let policy = GovernSettings::default();
        let mut session = Session::default();
        let (mut from_all, mut from_snapshot) = (Session::default(), Session::default());
        let (mut now, mut held_in_row) = (0, 0);
        for (at, (event, facts, pause)) in steps.into_iter().enumerate() {
            now += pause;
            let input = input(event, now);
            let shared = decide::shared(&session, &input, &policy);
            let _asked = decide::ask(&session, &input, &policy, &SharedFacts::default()).is_slow() || shared.is_slow();
            let before = session.clone();
            let step = decide::decide(session, &input, &facts, &policy);
            session = step.session;
            if let Event::StopRequested(_) = input.event {
                let is_hold = matches!(step.verdict.ruling, Ruling::Hold { .. });
                held_in_row = if is_hold { held_in_row + 1 } else { 0 };
                prop_assert!(held_in_row <= 6 + now / 300 * 6);
            }
            let set = session.changes(&before);
            prop_assert_eq!(from_all.apply(set.clone()), UnreadableParts::default());
            if at == snapshot_at {
                from_snapshot = Session::default();
                from_snapshot.apply(session.whole());
            } else {
                from_snapshot.apply(set);
            }
            prop_assert_eq!(&from_all, &session);
        }
        prop_assert_eq!(&from_snapshot, &session);
    }

    /// A state from another writer never prevents reading a session.
    #[test]
    fn any_state_is_survived(set in any_json()) {
        let mut session = Session::default();
        if let Value::Object(set) = set {
            session.apply(set);
        }
        decide::decide(session, &input(Event::Tick, 0), &DecisionFacts::default(), &GovernSettings::default());
    }

    /// Unknown JSON passes: the parser returns nothing or an error, and never panics.
    #[test]
    fn any_payload_is_survived(value in any_json(), event in "[A-Z][a-zA-Z]{2,12}") {
        for client in CLIENTS {
            let mut value = value.clone();
            let parse = |value: &Value| {
                let payload = HookPayload { bytes: value.to_string().into_bytes(), whole: InputCompleteness::Yes };
                (client.parse)(&payload, &Env::Given(Default::default()))
            };
            let _read_or_refused = parse(&value);
            if let Value::Object(members) = &mut value {
                members.insert("session_id".to_owned(), json!("s"));
                members.insert("hook_event_name".to_owned(), json!(format!("Unheard{event}")));
                let known: Map<String, Value> = members.clone();
                // Known members keep their types; all others may be anything.
                if known.keys().all(|key| key.starts_with("session_id") || key.starts_with("hook_") || key.len() < 4) {
                    prop_assert_eq!(parse(&value).map(|parsed| parsed.input), Ok(None));
                }
            }
        }
    }
}
