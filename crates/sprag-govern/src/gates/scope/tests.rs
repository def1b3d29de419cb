use serde_json::json;

use sprag_base::glob::CaseFolding;
use sprag_base::ids::SessionId;
use sprag_intent::{IgnoredIntents, IntentDraft, IntentHistories, IntentOrigin, ScopedPath, WriteReach};
use sprag_policy::call::{InputCompleteness, ToolEffect, ToolOutcome, ToolRow};

use super::*;
use crate::decide;
use crate::event::{BackgroundWork, StartSource, StopRequest};
use crate::facts::SessionChanges;
use crate::gates::Answers;
use crate::gates::integrity::{self, Conflicts};
use crate::session::Session;
use crate::verdict::{Ruling, Verdict};

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["path"], command: None },
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
];

/// A session in a repository with intents, without a host.
struct Desk {
    session: Session,
    now: i64,
    presence: Presence,
    intents: ScopeFacts,
    policy: crate::settings::GovernSettings,
}

impl Desk {
    fn new(ids: &[&str]) -> Desk {
        let draft = |id: &&str| IntentDraft {
            id: (*id).to_owned(),
            name: format!("about {id}"),
            owned: Some(vec![format!("{}/**", id.to_lowercase())]),
            ..IntentDraft::default()
        };
        let set = IntentSet::new([ids.iter().map(|id| draft(id).intent(IntentOrigin::Sprag)).collect()]);
        let mut policy = crate::settings::GovernSettings::default();
        policy.gates.scope.found = StrayMode::Intents;
        let intents = ScopeFacts {
            read: IntentFiles::Good(set),
            standings: IntentHistories::default(),
            holders: Vec::new(),
            ignored: IgnoredIntents::default(),
            folding: CaseFolding::Exact,
            roots: vec!["/w".to_owned()],
            temp: vec!["/tmp".to_owned()],
            targets: Vec::new(),
            unknown: Vec::new(),
            strays: None,
        };
        Desk {
            session: Session::default(),
            now: 1_800_000_000_000,
            presence: Presence::Headless,
            intents,
            policy,
        }
    }

    fn event(&mut self, event: Event) -> Verdict {
        self.now += 10;
        let at = Timestamp::from_millis(self.now);
        let mut input = Input::new(at, SessionId::new("s"), event).within("/w");
        input.presence = self.presence;
        let mut intents = self.intents.clone();
        if let Event::ToolRequested { call } = &input.event {
            let wanted = wanted(call, &input, &self.policy.gates.scope).unwrap_or_default();
            intents.targets = wanted.into_iter().filter_map(target).collect();
        }
        let shared = SharedFacts {
            rules: Some(Default::default()),
            changes: Some(SessionChanges::default()),
            ..SharedFacts::default()
        };
        let integrity =
            integrity::Answer { conflicts: Conflicts::Found(Vec::new()), ..integrity::Answer::default() };
        let facts = Answers { shared, scope: Some(intents), integrity, ..Answers::default() }.into();
        let step = decide::decide(std::mem::take(&mut self.session), &input, &facts, &self.policy);
        self.session = step.session;
        step.verdict
    }

    fn write(&mut self, path: &str) -> String {
        let call = ToolCall::new(TOOLS, "Write", json!({ "path": path }), None, InputCompleteness::Yes);
        code(&self.event(Event::ToolRequested { call }))
    }

    fn bash(&mut self, command: &str) -> String {
        let call = ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes);
        code(&self.event(Event::ToolRequested { call }))
    }

    fn ran(&mut self, command: &str) {
        assert_eq!(self.bash(command), "", "{command}");
        let call = ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes);
        self.event(Event::ToolFinished { call, outcome: ToolOutcome::Ok });
    }

    fn select(&mut self, id: &str) -> String {
        let report = Report::IntentSelected { id: Text::from(id), class: DeclaredClass::Refactor };
        code(&self.event(Event::Reported(report)))
    }

    /// Returns the reason if this gate holds a stop.
    fn stop(&mut self) -> String {
        let stop = StopRequest { waiting: BackgroundWork::No, ..StopRequest::default() };
        let verdict = self.event(Event::StopRequested(stop));
        let held = code(&verdict);
        if matches!(verdict.ruling, Ruling::Hold { gate: "scope", .. }) { held } else { String::new() }
    }
}

fn target(wanted: WriteTarget) -> Option<ScopedPath> {
    let WriteTarget::At { named, dir, by, kind } = wanted else { return None };
    if kind == TargetKind::IfThere {
        return None;
    }
    let path = sprag_base::path::absolute(&dir, &named);
    let reach = if kind == TargetKind::Tree { WriteReach::Tree } else { WriteReach::Path };
    Some(ScopedPath { named, paths: [path.clone(), path], reach, by })
}

fn code(verdict: &Verdict) -> String {
    match &verdict.ruling {
        Ruling::Pass | Ruling::Allow { .. } => String::new(),
        Ruling::Ask { reason, .. } => format!("ask {}", reason.code),
        Ruling::Hold { reason, .. } => reason.code.to_string(),
    }
}

#[test]
fn a_choice_comes_before_a_change() {
    let mut desk = Desk::new(&["A", "B"]);
    assert_eq!(desk.write("a/x"), "intent_required");
    assert_eq!(desk.bash("cat a/x | grep y"), "");
    assert_eq!(desk.select("C"), "intent_not_found");
    assert_eq!(desk.select("A"), "");
    assert_eq!(desk.session.about.intent.as_ref().map(|chosen| chosen.class), Some(DeclaredClass::Refactor));
    assert_eq!(desk.write("a/x"), "");
    assert_eq!(desk.write("b/x"), "scope_violation");
    assert_eq!(desk.bash("echo x > $X"), "scope_unknown", "nobody can be asked");
    desk.presence = Presence::Attended;
    assert_eq!(desk.bash("echo x > $X"), "ask scope_unknown");
    desk.policy.gates.scope.required = Required::Never;
    assert_eq!(desk.write("b/x"), "", "nobody asked for intents");
}

#[test]
fn where_there_are_no_intents_nothing_is_asked_of_the_host() {
    let input = |event: Event| Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w");
    let call = ToolCall::new(TOOLS, "Write", json!({"path": "x"}), None, InputCompleteness::Yes);
    let policy = crate::settings::GovernSettings::default();
    for event in [Event::ToolRequested { call }, Event::SessionStarted { source: StartSource::Startup }] {
        let questions = decide::ask(&Session::default(), &input(event), &policy, &SharedFacts::default());
        assert!(questions.scope.is_none());
    }
}

#[test]
fn an_approval_is_for_one_call_within_ten_minutes() {
    let mut desk = Desk::new(&["A"]);
    desk.intents.ignored = IgnoredIntents::parse("A");
    desk.select("A");
    assert_eq!(desk.write("a/x"), "approval_required");
    let approve = |desk: &mut Desk| {
        let code = desk.session.gates.scope.clone().open().next().unwrap().code;
        desk.event(Event::Reported(Report::Approved { code }));
    };
    approve(&mut desk);
    desk.now += 599_000;
    assert_eq!(desk.write("a/x"), "");
    assert_eq!(desk.write("a/x"), "approval_required");
    approve(&mut desk);
    desk.now += 601_000;
    assert_eq!(desk.write("a/x"), "approval_required", "too late");
    desk.presence = Presence::Attended;
    assert_eq!(desk.write("a/x"), "ask approval_required");
}

#[test]
fn what_is_told_at_the_start_is_short_whatever_there_is() {
    let names: Vec<String> = (0..400).map(|at| format!("INTENT-{at}-{}", "x".repeat(40))).collect();
    let mut desk = Desk::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let verdict = desk.event(Event::SessionStarted { source: StartSource::Startup });
    let told = verdict.context().unwrap().to_string();
    assert!(told.chars().count() <= 1000, "{}", told.chars().count());
    assert!(
        told.contains("sprag intent select ID --session s") && told.contains("more: `sprag intent list`")
    );
    let mut few = Desk::new(&["A", "B"]);
    let verdict = few.event(Event::SessionStarted { source: StartSource::Startup });
    assert!(verdict.context().unwrap().as_str().ends_with("- A: about A (a/**)\n- B: about B (b/**)"));
}

#[test]
fn strays_hold_a_stop_until_they_are_owned_or_gone() {
    let mut desk = Desk::new(&["A", "B"]);
    desk.select("A");
    desk.ran("make");
    desk.intents.strays = Some(vec!["a/x".to_owned(), "b/y".to_owned()]);
    assert_eq!(desk.stop(), "strayed");
    // The agent may restore it, but only with a program that restores.
    assert_eq!(desk.bash("git stash push -- b/y"), "");
    assert_eq!(desk.write("b/y"), "scope_violation");
    desk.select("B");
    assert_eq!(desk.stop(), "");
    assert!(desk.session.gates.scope.windows.is_empty());
    // An unknown result does not count as met.
    desk.ran("make");
    desk.intents.strays = Some(vec!["c/z".to_owned()]);
    assert_eq!(desk.stop(), "strayed");
    desk.intents.strays = None;
    assert_eq!(desk.stop(), "strayed");
    desk.intents.strays = Some(Vec::new());
    assert_eq!(desk.stop(), "");
    // A protected path belongs to no intent.
    let all =
        IntentDraft { id: "ALL".to_owned(), owned: Some(vec!["**".to_owned()]), ..IntentDraft::default() };
    desk.intents.read = IntentFiles::Good(IntentSet::new([vec![all.intent(IntentOrigin::Sprag)]]));
    desk.select("ALL");
    desk.ran("make");
    desk.intents.strays = Some(vec![".orchestration/x".to_owned(), "any/y".to_owned()]);
    assert_eq!(desk.stop(), "strayed");
}

#[test]
fn windows_are_bounded_and_cover_all_that_ran() {
    let mut desk = Desk::new(&["A"]);
    desk.select("A");
    let first = desk.now;
    for _ in 0..200 {
        desk.ran("make");
    }
    let spans = desk.session.gates.scope.spans(Timestamp::from_millis(desk.now));
    assert_eq!(spans.len(), MOST_WINDOWS);
    assert!(spans[0].from.millis() <= first + 20);
    assert!(spans.windows(2).all(|two| two[0].from <= two[1].from));
    assert!(spans.last().is_some_and(|last| last.to.millis() == desk.now));
    // Reading, and git that only moves trees, opens no window.
    let mut desk = Desk::new(&["A"]);
    desk.select("A");
    for command in ["git status", "git pull --rebase", "git checkout main && git log -1"] {
        desk.ran(command);
    }
    assert!(!desk.session.gates.scope.looks_for_strays());
}

#[test]
fn the_state_survives_being_written() {
    let mut desk = Desk::new(&["A"]);
    desk.intents.ignored = IgnoredIntents::parse("A");
    desk.select("A");
    desk.write("a/x");
    let scope = &desk.session.gates.scope;
    let text = serde_json::to_string(scope).unwrap();
    assert_eq!(&serde_json::from_str::<ScopeGate>(&text).unwrap(), scope);
    assert_eq!(serde_json::to_string(&ScopeGate::default()).unwrap(), "{}");
}
