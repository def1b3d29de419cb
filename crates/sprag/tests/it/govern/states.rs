//! `docs/reference/states.md`, made by trying: from every state that can be reached, every event of a fixed
//! list is played, and what came of it is written down. Nothing in it is written by hand.

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_check::{CheckOutcome as Passed, CheckRan, Profile, Results};
use sprag_govern::decide;
use sprag_govern::event::{Actor, BackgroundWork, Event, Input, PromptAuthor, StopRequest};
use sprag_govern::facts::{ConflictMarker, DetectedTracker, SessionChanges, SharedFacts, Size};
use sprag_govern::gates::before::Prepared;
use sprag_govern::gates::commit::{self, CommitMode};
use sprag_govern::gates::integrity::{self, Conflicts};
use sprag_govern::gates::{self, Answers, completion, reflection, review};
use sprag_govern::report::{Report, ReviewDecision, ReviewResult};
use sprag_govern::session::Session;
use sprag_govern::settings::GovernSettings;
use sprag_govern::trackers::{ActiveTicket, Ticket};
use sprag_govern::verdict::Ruling;
use sprag_memory::records::Decider;
use sprag_plan::stage::transition_table::{TransitionRow, moves, names};
use sprag_policy::RuleSet;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolOutcome, ToolRow};

use crate::cli::docs::is_up_to_date;
use crate::support::players::GOOD;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
];

/// Something that happens, as one or several events, in words.
struct Happening {
    what: &'static str,
    events: Vec<(Actor, Event)>,
    facts: fn(&mut Answers),
}

fn happening(what: &'static str, event: Event) -> Happening {
    Happening { what, events: vec![(Actor::Main, event)], facts: |_| {} }
}

fn call(command: &str) -> ToolCall {
    ToolCall::new(TOOLS, "Bash", json!({ "command": command }), Some("c1"), InputCompleteness::Yes)
}

fn writing() -> Event {
    let call =
        ToolCall::new(TOOLS, "Write", json!({"file_path": "/w/a.rs"}), Some("w1"), InputCompleteness::Yes);
    Event::ToolRequested { call }
}

fn stop(text: &str, waiting: BackgroundWork) -> Event {
    Event::StopRequested(StopRequest {
        last_message: Text::from(text),
        waiting,
        planning: false,
        again: false,
    })
}

fn ran(what: &'static str, command: &str, outcome: ToolOutcome) -> Happening {
    let requested = (Actor::Main, Event::ToolRequested { call: call(command) });
    let finished = (Actor::Main, Event::ToolFinished { call: call(command), outcome });
    Happening { what, events: vec![requested, finished], facts: |_| {} }
}

/// A stop after something was changed.
fn stop_after(what: &'static str, text: &str, facts: fn(&mut Answers)) -> Happening {
    let stop = (Actor::Main, stop(text, BackgroundWork::No));
    Happening { what, events: vec![(Actor::Main, writing()), stop], facts }
}

fn happenings() -> Vec<Happening> {
    let reflected = |submission: &str| {
        Event::Reported(Report::Reflected {
            submission: submission.to_owned().into(),
            ids: vec![Text::from("l-1")],
            resolution: None,
        })
    };
    vec![
        happening("a prompt", Event::Prompted { text: "go on".to_owned(), author: PromptAuthor::User }),
        Happening {
            facts: |facts| {
                let ticket = Ticket { id: Text::from("T-1"), tracker: Text::from("beads") };
                let item = ActiveTicket { ticket, title: Text::from("x") };
                facts.reflection.tracker = Some(DetectedTracker {
                    name: Text::from("beads"),
                    is_for_tickets: true,
                    active: Some(item),
                });
            },
            ..happening(
                "a prompt, a ticket in work",
                Event::Prompted { text: "go on".to_owned(), author: PromptAuthor::User },
            )
        },
        ran("a ticket is closed", "bd close T-1", ToolOutcome::Ok),
        ran("closing a ticket fails", "bd close T-1", ToolOutcome::Failed { error: Text::from("no") }),
        happening(
            "the last task is done",
            Event::TaskCompleting { id: Text::from("1"), subject: Text::from("x") },
        ),
        stop_after("a stop, little changed", "Done.", |_| {}),
        stop_after("a stop, much changed", "Done.", |facts| {
            facts.shared.changes =
                Some(SessionChanges { size: Size::Lines(30), ..SessionChanges::default() });
        }),
        stop_after("a stop, conflict markers left", "Done.", |facts| {
            facts.integrity.conflicts = Conflicts::Found(vec![ConflictMarker {
                path: Text::from("a"),
                line: 1,
                digest: sprag_base::digest::Digest::hash_parts(["a"]),
            }]);
        }),
        stop_after("a stop with a question", "Shall I go on?", |facts| {
            facts.shared.changes =
                Some(SessionChanges { size: Size::Lines(30), ..SessionChanges::default() });
        }),
        stop_after("a stop, said to be done, checks fail", "All done.", |facts| {
            facts.completion = completion::Answer::Ran(checked(Passed::Failed {
                code: Some(1),
                tail: Text::from("1 failed"),
            }));
        }),
        stop_after("a stop, said to be done, checks pass", "All done.", |facts| {
            facts.completion = completion::Answer::Ran(checked(Passed::Passed));
        }),
        stop_after("a stop, work not committed", "Done.", |facts| {
            let path = "a.rs".to_owned();
            facts.shared.changes = Some(SessionChanges {
                size: Size::Lines(1),
                paths: vec![path.clone()],
                ..SessionChanges::default()
            });
            facts.commit.uncommitted = Some(vec![path]);
        }),
        happening("a stop while agents work", stop("I wait.", BackgroundWork::Yes)),
        happening("`sprag reflect`, in form", reflected(GOOD)),
        happening("`sprag reflect`, without form", reflected("{}")),
        happening(
            "`sprag skip`",
            Event::Reported(Report::Skipped { reason: Text::from("nothing new"), decider: Decider::Agent }),
        ),
        happening(
            "a prompt that starts with `#review`",
            Event::Prompted { text: "#review it".to_owned(), author: PromptAuthor::User },
        ),
        reviewing("a reviewer starts", vec![(reviewer(), Event::SubagentStarted)]),
        reviewing("a reviewer finds it complete", decided(ReviewResult::Complete, reviewer())),
        reviewing("a reviewer finds issues", decided(ReviewResult::Issues, reviewer())),
        reviewing("a reviewer stops", vec![(reviewer(), Event::SubagentStopped(StopRequest::default()))]),
        reviewing("the author runs `sprag decide`", decided(ReviewResult::Complete, Actor::Main)),
        stop_after("a stop, changed since a verdict", "Done.", |facts| {
            facts.shared.tree = Some(Text::from("other"))
        }),
        happening("the session ends", Event::SessionEnded { why: Text::from("other") }),
    ]
}

fn checked(outcome: Passed) -> Results {
    let ran = CheckRan { check: Text::from("tests"), mandatory: true, outcome };
    Results { profile: Profile::Standard, tree: Some(Text::from("tree")), ran: vec![ran] }
}

/// The defaults, and what a user has to ask for.
pub(super) fn policy() -> GovernSettings {
    let mut policy = GovernSettings::default();
    let check = json!({"name": "tests", "command": "make test"});
    policy.gates.completion.check = vec![serde_json::from_value(check).unwrap()];
    policy.gates.commit.mode = CommitMode::Always;
    policy
}

fn reviewing(what: &'static str, events: Vec<(Actor, Event)>) -> Happening {
    Happening { what, events, facts: |_| {} }
}

fn reviewer() -> Actor {
    Actor::Subagent { id: Text::from("r1"), kind: Text::from("sprag-reviewer") }
}

/// The call of the command, and what the command reports if it may run.
fn decided(word: ReviewResult, by: Actor) -> Vec<(Actor, Event)> {
    let command = format!("sprag decide {} --summary x", word.name());
    let report = Report::Decided(ReviewDecision {
        word,
        summary: Text::from("looked at it"),
        message: Text::from("x"),
        opinions: Vec::new(),
        token: Some(Text::from(TOKEN)),
    });
    let called = (by, Event::ToolRequested { call: call(&command) });
    vec![called, (Actor::Main, Event::Reported(report))]
}

const TOKEN: &str = "sprt_00112233445566778899aabbccddeeff";

/// What the host would say of an ordinary repository.
fn ordinary() -> Answers {
    Answers {
        shared: SharedFacts {
            changes: Some(SessionChanges { size: Size::Lines(1), ..SessionChanges::default() }),
            debts: Some(Vec::new()),
            rules: Some(RuleSet::default()),
            tree: Some(Text::from("tree")),
            ..SharedFacts::default()
        },
        integrity: integrity::Answer { conflicts: Conflicts::Found(Vec::new()), unresolved: None },
        reflection: reflection::Answer {
            tracker: Some(DetectedTracker {
                name: Text::from("session"),
                is_for_tickets: false,
                active: None,
            }),
            ..reflection::Answer::default()
        },
        review: review::Answer { token: Some(Text::from(TOKEN)), peers: Vec::new() },
        completion: completion::Answer::Ran(checked(Passed::Passed)),
        commit: commit::Answer { uncommitted: Some(Vec::new()), ..commit::Answer::default() },
        ..Answers::default()
    }
}

/// What the client was told, and by which gate.
#[derive(Default)]
struct Answer {
    word: &'static str,
    gate: &'static str,
}

/// Plays one happening; says what the last of its events was answered.
fn play(mut session: Session, happening: &Happening, policy: &GovernSettings) -> (Session, Answer) {
    let mut answer = Answer::default();
    for (actor, event) in &happening.events {
        let mut facts = ordinary();
        (happening.facts)(&mut facts);
        let at = Timestamp::from_millis(0);
        let input =
            Input { actor: actor.clone(), ..Input::new(at, SessionId::new("s"), event.clone()).within("/w") };
        let prepared = Prepared { baseline: Some(Text::from("start")), ..Prepared::default() };
        let facts = decide::DecisionFacts { answers: facts, prepared, client: None };
        let step = decide::decide(session, &input, &facts, policy);
        session = step.session;
        answer = match &step.verdict.ruling {
            Ruling::Pass => Answer::default(),
            ruling @ (Ruling::Allow { gate, .. } | Ruling::Ask { gate, .. } | Ruling::Hold { gate, .. }) => {
                Answer { word: ruling.name(), gate }
            }
        };
    }
    (session, answer)
}

fn state_of(session: &Session, gate: &str) -> Option<&'static str> {
    session.gate_states().into_iter().find(|(name, _)| *name == gate).map(|(_, state)| state)
}

/// Every state of a gate that can be reached, each with a session that is in it.
fn reachable(gate: &str, policy: &GovernSettings) -> BTreeMap<&'static str, Session> {
    let mut found = BTreeMap::new();
    // The shortest way first.
    let mut next = VecDeque::from([Session::default()]);
    while let Some(session) = next.pop_front() {
        let Some(state) = state_of(&session, gate) else {
            continue;
        };
        if found.contains_key(state) {
            continue;
        }
        found.insert(state, session.clone());
        next.extend(happenings().iter().map(|happening| play(session.clone(), happening, policy).0));
    }
    found
}

#[test]
fn the_states_of_the_gates() {
    let policy = policy();
    let mut text = "# States\n\nMade by trying: from every state a gate can be in, each of these events is played through the whole\ngovernor in a repository without a tracker, with the default settings, one check\nand `commit.mode = \"always\"`. Rows\nin which the gate neither changes nor answers are left out. A client gets one answer: where several gates object, it\nis that of the first.\n".to_owned();
    for gate in gates::ALL {
        let states = reachable(gate.name, &policy);
        if states.is_empty() {
            continue;
        }
        let names: Vec<String> = states.keys().map(|state| format!("`{state}`")).collect();
        text.push_str(&format!("\n## {}\n\n{}: {}.\n\n", gate.name, gate.about, names.join(", ")));
        text.push_str("| from | what happens | to | answer |\n|---|---|---|---|\n");
        for (from, session) in &states {
            for happening in happenings() {
                let (after, answer) = play(session.clone(), &happening, &policy);
                let to = state_of(&after, gate.name).unwrap_or("?");
                let own = if answer.gate == gate.name { answer.word } else { "" };
                if to != *from || !own.is_empty() {
                    text.push_str(&format!("| {from} | {} | {to} | {own} |\n", happening.what));
                }
            }
        }
    }
    text.push_str(&stages_of_plans());
    is_up_to_date("docs/reference/states.md", &text);
}

/// Every pair of a state and something that happens was tried.
fn stages_of_plans() -> String {
    let mut text = "\n# Stages of plans\n\nEvery pair of a state and something that happens was tried; pairs that are not here leave the stage as it is.\nSome of the states are known from other programs by other names.\n\n| state | elsewhere |\n|---|---|\n".to_owned();
    for (name, elsewhere) in names() {
        text.push_str(&format!("| {name} | {elsewhere} |\n"));
    }
    text.push_str("\n| from | what happens | to |\n|---|---|---|\n");
    for TransitionRow { from, what, to } in moves() {
        text.push_str(&format!("| {from} | {what} | {to} |\n"));
    }
    text
}
