use proptest::prelude::*;
use serde_json::{Value, json};

use sprag_base::record::{Projection as _, Record};
use sprag_base::time::Timestamp;
use sprag_check::{CheckRan, CompletionCheck, Results};
use sprag_policy::call::{InputCompleteness as All, ToolRow};

use super::*;
use crate::decide;
use crate::event::StopRequest;
use crate::facts::TodoMark;
use crate::gates::fixture::StepFixture;
use crate::gates::integrity::{self, Conflicts};
use crate::gates::records::GateEffect;
use crate::gates::{Answers, RecordEffect as Logged};
use crate::obligation::Debts;
use crate::session::Session;
use crate::settings::GovernSettings as Whole;
use crate::verdict::Ruling;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "TaskCreate", effect: ToolEffect::Read, paths: &[], command: None },
];

fn check(name: &str, profile: &str) -> CompletionCheck {
    let check = json!({"name": name, "command": "true", "profile": profile, "mandatory": true});
    serde_json::from_value(check).unwrap()
}

fn optional(name: &str, profile: &str) -> CompletionCheck {
    CompletionCheck { mandatory: false, ..check(name, profile) }
}

fn bash(command: &str) -> ToolCall {
    ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, All::Yes)
}

/// A session, its worktree, and what the checks say of it.
struct Play {
    session: Session,
    policy: Whole,
    tree: u32,
    failing: Vec<&'static str>,
    /// Whether the host can run anything.
    runs: bool,
    changes: SessionChanges,
    debts: Debts,
    now: i64,
    /// Profiles that were run.
    ran: Vec<Profile>,
    logged: Vec<Logged>,
}

impl Play {
    fn new(checks: Vec<CompletionCheck>) -> Play {
        let mut policy = Whole::default();
        policy.gates.completion.check = checks;
        policy.gates.reflection.session = crate::gates::reflection::SessionMode::Off;
        let mut play = Play {
            session: Session::default(),
            policy,
            tree: 1,
            failing: Vec::new(),
            runs: true,
            changes: SessionChanges::default(),
            debts: Debts::default(),
            now: 0,
            ran: Vec::new(),
            logged: Vec::new(),
        };
        play.event(Event::ToolRequested { call: bash("make x") });
        play
    }

    fn event(&mut self, event: Event) -> Ruling {
        self.by(Actor::Main, event)
    }

    fn by(&mut self, actor: Actor, event: Event) -> Ruling {
        self.now += 1;
        let at = Timestamp::from_millis(0).plus_seconds(self.now);
        let input = Input { actor, ..Input::new(at, SessionId::new("s"), event).within("/w") };
        let needs = decide::shared(&self.session, &input, &self.policy);
        let shared = SharedFacts {
            changes: needs.has(SharedNeeds::CHANGES).then(|| self.changes.clone()),
            tree: needs.has(SharedNeeds::TREE).then(|| Text::new(self.tree.to_string())),
            debts: Some(self.debts.open().to_vec()),
            ..SharedFacts::default()
        };
        let questions = decide::ask(&self.session, &input, &self.policy, &shared);
        let completion = match questions.completion {
            Some(plan) if self.runs => {
                self.ran.push(plan.profile);
                Answer::Ran(self.results(plan.profile))
            }
            Some(_) => Answer::NotRun,
            None => Answer::NotAsked,
        };
        let integrity =
            integrity::Answer { conflicts: Conflicts::Found(Vec::new()), ..integrity::Answer::default() };
        let facts = Answers { shared, completion, integrity, ..Answers::default() }.into();
        let step = decide::decide(std::mem::take(&mut self.session), &input, &facts, &self.policy);
        self.session = step.session;
        for effect in step.effects {
            self.debts.apply(&Record::new(effect.record.kind(), at, effect.record.body()));
            self.logged.push(effect);
        }
        step.verdict.ruling
    }

    fn results(&self, profile: Profile) -> Results {
        let checks = self.policy.gates.completion.check.iter().filter(|check| check.profile <= profile);
        let ran = checks.map(|check| CheckRan {
            check: check.name.clone(),
            mandatory: check.mandatory,
            outcome: if self.failing.contains(&check.name.as_str()) {
                sprag_check::CheckOutcome::Failed { code: Some(1), tail: Text::from("it broke") }
            } else {
                sprag_check::CheckOutcome::Passed
            },
        });
        Results { profile, tree: Some(Text::new(self.tree.to_string())), ran: ran.collect() }
    }

    fn stop(&mut self, saying: &str) -> String {
        let stop = StopRequest { last_message: Text::from(saying), ..StopRequest::default() };
        match self.event(Event::StopRequested(stop)) {
            Ruling::Pass => "pass".to_owned(),
            Ruling::Hold { gate, reason, .. } => format!("{gate}/{}", reason.code),
            other => format!("{other:?}"),
        }
    }

    fn state(&self) -> &'static str {
        Gate::state(&self.session.gates.completion).unwrap()
    }

    fn verified(&self) -> Vec<Value> {
        let records = self.logged.iter().map(|effect| &effect.record);
        records.filter(|record| record.kind() == "verified").map(GateEffect::body).collect()
    }
}

const HELD: &str = "completion/verification_failed";

#[test]
fn nothing_configured_is_nothing_judged() {
    let mut play = Play::new(Vec::new());
    play.changes.marks = vec![TodoMark { path: Text::from("a"), line: Some(1), text: Text::from("TODO") }];
    for saying in ["All done.", "#done", "完了しました。"] {
        assert_eq!(play.stop(saying), "pass");
    }
    assert_eq!((play.state(), play.ran.len(), play.verified().len()), ("idle", 0, 0));
}

#[test]
fn ordinary_turns_are_not_judged() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    for saying in ["I read the file.", "All done. Shall I commit?", "The task is not complete."] {
        assert_eq!(play.stop(saying), "pass");
    }
    let helper = Actor::Subagent { id: Text::from("a"), kind: Text::from("helper") };
    let stop = || StopRequest { last_message: Text::from("All done."), ..StopRequest::default() };
    assert_eq!(play.by(helper.clone(), Event::SubagentStopped(stop())), Ruling::Pass);
    assert_eq!(play.by(helper, Event::StopRequested(stop())), Ruling::Pass);
    assert!(play.ran.is_empty());
}

#[test]
fn a_failure_holds_until_the_checks_pass() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    assert_eq!(play.stop("All done."), HELD);
    assert_eq!(play.stop("I looked at it."), HELD);
    play.tree = 2;
    assert_eq!(play.stop("Hm."), HELD);
    (play.tree, play.failing) = (3, Vec::new());
    assert_eq!(play.stop("Now?"), "pass");
    assert_eq!(play.state(), "verified");
    assert_eq!(play.stop("I say no more."), "pass");
    assert_eq!(play.ran.len(), 4);
    let statuses: Vec<Value> = play.verified().into_iter().map(|body| body["status"].clone()).collect();
    assert_eq!(statuses, ["failed", "failed", "passed"]);
    assert_eq!(
        play.verified()[0]["checks"][0],
        json!({"name": "unit", "outcome": "failed", "mandatory": true, "tail": "it broke"})
    );
}

#[test]
fn the_reason_names_what_fails_and_its_last_words() {
    let mut play = Play::new(vec![check("unit", "quick"), check("lint", "quick")]);
    play.failing = vec!["unit", "lint"];
    let stop = StopRequest { last_message: Text::from("#done"), ..StopRequest::default() };
    let Ruling::Hold { reason, .. } = play.event(Event::StopRequested(stop)) else { panic!() };
    assert_eq!(
        reason.why.as_str(),
        "the work is not done: check `unit` failed: exit code 1; check `lint` failed: exit code 1\nend of the output of `unit`:\nit broke\nend of the output of `lint`:\nit broke"
    );
    assert_eq!(
        reason.next.as_str(),
        "fix it, then stop again; `sprag verify --session s` runs the checks now"
    );
}

#[test]
fn what_is_not_mandatory_is_noted() {
    let mut play = Play::new(vec![optional("lint", "standard")]);
    play.failing = vec!["lint"];
    assert_eq!(play.stop("All done."), "pass");
    assert_eq!(play.verified()[0]["checks"][0]["outcome"], "failed");
}

#[test]
fn what_could_not_be_run_leaves_things_as_they_were() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.runs = false;
    assert_eq!(play.stop("All done."), "pass");
    assert_eq!(play.state(), "idle");
    (play.runs, play.failing) = (true, vec!["unit"]);
    assert_eq!(play.stop("All done."), HELD);
    play.runs = false;
    assert_eq!(play.stop("All done."), HELD);
}

#[test]
fn risk_goes_deeper() {
    let checks = || vec![check("unit", "standard"), check("slow", "deep")];
    let mut play = Play::new(checks());
    assert_eq!(play.stop("All done."), "pass");
    play.changes.paths = vec!["src/auth/login.rs".to_owned()];
    assert_eq!(play.stop("All done."), "pass");
    play.changes = SessionChanges { size: Size::Lines(1000), ..SessionChanges::default() };
    assert_eq!(play.stop("All done."), "pass");
    assert_eq!(play.ran, [Profile::Standard, Profile::Deep, Profile::Deep]);

    let mut play = Play::new(checks());
    play.failing = vec!["unit"];
    for tree in 1..=3 {
        play.tree = tree;
        assert_eq!(play.stop("All done."), HELD);
    }
    assert_eq!(play.ran, [Profile::Standard, Profile::Standard, Profile::Deep]);
    // The profile stays thorough: a weaker one would be a way out.
    (play.tree, play.failing) = (4, vec!["slow"]);
    assert_eq!(play.stop("Hm."), HELD);
}

#[test]
fn a_smaller_change_is_no_way_out() {
    let mut play = Play::new(vec![check("unit", "standard"), check("slow", "deep")]);
    play.changes.paths = vec!["src/auth/login.rs".to_owned()];
    play.failing = vec!["slow"];
    assert_eq!(play.stop("All done."), HELD);
    (play.tree, play.changes) = (2, SessionChanges::default());
    assert_eq!(play.stop("All done."), HELD);
    assert_eq!(play.ran, [Profile::Deep; 2]);
    // The result of a parallel stop with a weaker profile does not count either.
    play.failing.clear();
    let stop = StopRequest { last_message: Text::from("All done."), ..StopRequest::default() };
    let input = Input::new(Timestamp::from_millis(0), SessionId::new("s"), Event::StopRequested(stop));
    let mut fixture = StepFixture {
        session: play.session.about.clone(),
        answer: Answer::Ran(play.results(Profile::Standard)),
        settings: play.policy.gates.completion.clone(),
        ..StepFixture::default()
    };
    fixture.shared.changes = Some(SessionChanges::default());
    let vote = fixture.step(&mut play.session.gates.completion, &input);
    assert!(matches!(vote, Vote::Owe(_)), "{vote:?}");
    assert_eq!(play.state(), "failing");
}

#[test]
fn the_same_tree_goes_no_deeper() {
    let mut play = Play::new(vec![check("unit", "standard"), check("slow", "deep")]);
    play.failing = vec!["unit"];
    for _ in 0..3 {
        assert_eq!(play.stop("All done."), HELD);
    }
    assert_eq!(play.ran, [Profile::Standard; 3]);
    assert_eq!(play.verified().len(), 1);
}

#[test]
fn built_in_gates_hold_only_where_they_are_mandatory() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.changes.marks = vec![TodoMark { path: Text::from("a.rs"), line: Some(3), text: Text::from("TODO") }];
    let new = ToolCall::new(TOOLS, "TaskCreate", json!({"subject": "x"}), None, All::Yes);
    play.event(Event::ToolFinished { call: new, outcome: ToolOutcome::Ok });
    assert_eq!(play.stop("All done."), "pass");
    play.policy.gates.completion.mandatory = vec![BuiltIn::Todo, BuiltIn::Tasks];
    assert_eq!(play.stop("All done."), HELD);
    let open = play.session.gates.completion.open(&SessionId::new("s")).unwrap();
    assert_eq!(
        open.reason.why.as_str(),
        "the work is not done: open TODO or FIXME in `a.rs:3`; 1 task of your list is open"
    );
    // Without any check the built-in ones are judged, and no command runs.
    let mut play = Play::new(Vec::new());
    play.policy.gates.completion.mandatory = vec![BuiltIn::Todo];
    play.changes.marks = vec![TodoMark { path: Text::from("a.rs"), line: None, text: Text::from("TODO") }];
    assert_eq!(play.stop("All done."), HELD);
    play.changes.marks.clear();
    assert_eq!((play.stop("x"), play.state()), ("pass".to_owned(), "verified"));
    assert!(play.ran.is_empty());
}

#[test]
fn an_ignored_failure_becomes_a_debt_and_is_met_by_passing() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    for _ in 0..3 {
        assert_eq!(play.stop("All done."), HELD);
    }
    assert_eq!(play.stop("All done."), "pass");
    assert_eq!((play.state(), play.debts.open().len()), ("failing", 1));
    assert_eq!(play.debts.open()[0].debt.items, [Text::from("unit")]);
    play.event(Event::SessionEnded { why: Text::from("other") });
    assert_eq!(play.debts.open().len(), 1);
    // Another session of the worktree meets the debt.
    play.session = Session::default();
    play.event(Event::ToolRequested { call: bash("make x") });
    play.failing.clear();
    assert_eq!(play.stop("All done."), "pass");
    assert!(play.debts.open().is_empty());
}

#[test]
fn a_session_that_ends_failing_leaves_a_debt() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    assert_eq!(play.stop("All done."), HELD);
    play.event(Event::SessionEnded { why: Text::from("other") });
    assert_eq!(play.debts.open().len(), 1);
}

#[test]
fn another_sessions_todo_is_not_met_by_this_one() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.policy.gates.completion.mandatory = vec![BuiltIn::Todo];
    play.changes.marks = vec![TodoMark { path: Text::from("a.rs"), line: Some(3), text: Text::from("TODO") }];
    assert_eq!(play.stop("All done."), HELD);
    play.event(Event::SessionEnded { why: Text::from("other") });
    let debt = play.debts.open()[0].debt.clone();
    assert_eq!(debt.items, [Text::from("todo")]);
    play.changes.marks.clear();
    let input = Input::new(Timestamp::from_millis(0), SessionId::new("other"), Event::Tick).within("/w");
    let stop = StopRequest { last_message: Text::from("All done."), ..StopRequest::default() };
    let input = Input { event: Event::StopRequested(stop), ..input };
    let mut fixture = StepFixture {
        answer: Answer::Ran(play.results(Profile::Standard)),
        settings: play.policy.gates.completion.clone(),
        ..StepFixture::default()
    };
    fixture.shared.debts = Some(play.debts.open().to_vec());
    fixture.shared.changes = Some(SessionChanges::default());
    let vote = fixture.step(&mut CompletionGate::default(), &input);
    assert_eq!(vote, Vote::Pass);
    assert!(fixture.effects.iter().all(|effect| effect.record.kind() != "debt.met"));
}

#[test]
fn a_report_discharges_by_results_and_never_opens_anything() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    play.event(Event::Reported(Report::Verified));
    assert_eq!((play.state(), play.verified().len()), ("idle", 1));
    assert_eq!(play.stop("All done."), HELD);
    play.event(Event::Reported(Report::Verified));
    assert_eq!(play.state(), "failing");
    play.runs = false;
    play.event(Event::Reported(Report::Verified));
    assert_eq!(play.state(), "failing");
    (play.runs, play.failing) = (true, Vec::new());
    play.event(Event::Reported(Report::Verified));
    assert_eq!(play.state(), "verified");
    assert_eq!(play.stop("That was it."), "pass");
}

#[test]
fn what_passes_in_another_worktree_discharges_nothing() {
    let mut play = Play::new(vec![check("unit", "standard")]);
    play.failing = vec!["unit"];
    assert_eq!(play.stop("All done."), HELD);
    play.failing.clear();
    play.session.about.root = "/elsewhere".to_owned();
    play.event(Event::Reported(Report::Verified));
    assert_eq!((play.state(), play.ran.len()), ("failing", 1));
}

#[test]
fn failing_commands_lead_to_quick_checks_three_times() {
    let mut play = Play::new(vec![check("fast", "quick"), check("unit", "standard")]);
    let fail = |play: &mut Play, command: &str| {
        let outcome = ToolOutcome::Failed { error: Text::from("Exit code 1") };
        play.event(Event::ToolFinished { call: bash(command), outcome });
    };
    fail(&mut play, "make");
    assert_eq!(play.stop("Hm."), "pass");
    assert!(play.ran.is_empty());

    play.policy.gates.completion.on_tool_failure = OnToolFailure::Quick;
    play.failing = vec!["unit"];
    fail(&mut play, "grep nothing file");
    assert_eq!((play.stop("Hm."), play.ran.len()), ("pass".to_owned(), 0));
    fail(&mut play, "make");
    assert_eq!((play.stop("Which one?"), play.ran.len()), ("pass".to_owned(), 0));
    assert_eq!((play.stop("Hm."), play.ran.as_slice()), ("pass".to_owned(), &[Profile::Quick][..]));
    assert_eq!((play.stop("Hm."), play.ran.len()), ("pass".to_owned(), 1));
    play.failing = vec!["fast"];
    fail(&mut play, "make");
    assert_eq!(play.stop("Hm."), HELD);
    assert_eq!((play.stop("Hm."), play.ran.as_slice()), (HELD.to_owned(), &[Profile::Quick; 3][..]));
    (play.tree, play.failing) = (2, Vec::new());
    assert_eq!(play.stop("Hm."), "pass");
    fail(&mut play, "make");
    assert_eq!((play.stop("Hm."), play.ran.len()), ("pass".to_owned(), 5));
    fail(&mut play, "make");
    assert_eq!((play.stop("Hm."), play.ran.len()), ("pass".to_owned(), 5));
}

#[derive(Clone, Debug)]
enum Move {
    Change,
    Checks(bool),
    Host(bool),
    ToolFails,
    Stop(&'static str),
    Report,
    Prompt,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        Just(Move::Change),
        any::<bool>().prop_map(Move::Checks),
        any::<bool>().prop_map(Move::Host),
        Just(Move::ToolFails),
        prop_oneof![Just("All done."), Just("Hm."), Just("#done"), Just("Shall I?")].prop_map(Move::Stop),
        Just(Move::Report),
        Just(Move::Prompt),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A turn is held at most six times, and only passing results end a failure.
    #[test]
    fn holds_are_bounded_and_failing_ends_by_passing(moves in proptest::collection::vec(moves(), 1..60)) {
        let mut play = Play::new(vec![check("fast", "quick"), check("slow", "deep")]);
        play.policy.gates.completion.on_tool_failure = OnToolFailure::Quick;
        let mut held = 0;
        for at in moves {
            let before = play.state();
            let mut passing = false;
            match at {
                Move::Change => play.tree += 1,
                Move::Checks(pass) => play.failing = if pass { Vec::new() } else { vec!["fast", "slow"] },
                Move::Host(runs) => play.runs = runs,
                Move::ToolFails => {
                    let outcome = ToolOutcome::Failed { error: Text::from("Exit code 1") };
                    play.event(Event::ToolFinished { call: bash("make"), outcome });
                }
                Move::Stop(saying) => {
                    passing = play.runs && play.failing.is_empty();
                    held = if play.stop(saying) == "pass" { 0 } else { held + 1 };
                    prop_assert!(held <= 6);
                }
                Move::Report => {
                    passing = play.runs && play.failing.is_empty();
                    play.event(Event::Reported(Report::Verified));
                }
                Move::Prompt => {
                    held = 0;
                    let author = crate::event::PromptAuthor::User;
                    play.event(Event::Prompted { text: "go on".to_owned(), author });
                }
            }
            if before == "failing" && !passing {
                prop_assert_eq!(play.state(), "failing");
            }
            if before == "failing" && passing {
                prop_assert_eq!(play.state(), "verified");
            }
        }
    }
}
