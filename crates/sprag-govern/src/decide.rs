//! The governor, as pure functions. [`shared`] and [`ask`] return the facts that gates need, and [`before`]
//! returns the actions that come first. [`decide`] turns state and event into state, verdict and effects.

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_memory::destination::Destination;
use sprag_policy::call::{ToolCall, ToolEffect as Does, ToolOutcome};
use sprag_shell::Script;

use crate::event::{
    Actor, BackgroundWork, Event, EventKind, Input, PromptAuthor, SessionPurpose, StopRequest,
};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::before::{Before, Prepared};
use crate::gates::{self, Answers, Ask, GateSettings, OnFault, Questions, RecordEffect, StepCx};
use crate::obligation::records::DebtRecord;
use crate::obligation::{Debt, DebtCause, Obligation};
use crate::reason::Reason;
use crate::report::ReportOutcome;
use crate::session::{OwedDuty, ReleasedDuty, Session};
use crate::session_facts::{Activity, SeenClient, SessionFacts};
use crate::settings::GovernSettings;
use crate::verdict::{Ruling, Verdict, Vote};

/// How often a stop with the same digest passes because the agent asks the user a question.
const QUESTIONS: u8 = 2;

/// The result of one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub session: Session,
    pub verdict: Verdict,
    pub effects: Vec<RecordEffect>,
    pub weight: Durability,
    /// The result of a report, if its gate sets one.
    pub outcome: Option<ReportOutcome>,
}

/// Whether the record of this step must be on disk before the client gets the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Telemetry,
    Binding,
}

/// Returns the shared facts that the gates need for this event.
pub fn shared(session: &Session, input: &Input, settings: &GovernSettings) -> SharedNeeds {
    if is_unasked(session, input) {
        return SharedNeeds::NONE;
    }
    let first = if session.about.started.is_none() { SharedNeeds::HEAD } else { SharedNeeds::NONE };
    first | session.gates.shared(&all_gates(session, input, settings))
}

/// Returns the questions of the gates about this event, once the shared facts are known.
pub fn ask(session: &Session, input: &Input, settings: &GovernSettings, shared: &SharedFacts) -> Questions {
    if is_unasked(session, input) {
        return Questions::default();
    }
    session.gates.ask(&all_gates(session, input, settings), shared)
}

/// Returns the actions that must happen before the decision.
pub fn before(session: &Session, input: &Input, settings: &GovernSettings) -> Vec<Before> {
    let mut actions = Vec::new();
    if is_unasked(session, input) {
        return actions;
    }
    if wants_baseline(&session.about, input) {
        actions.push(Before::TakeBaseline);
    }
    session.gates.before(&all_gates(session, input, settings), &mut actions);
    actions
}

/// Returns the data that all gates read.
fn all_gates<'a>(
    session: &'a Session,
    input: &'a Input,
    settings: &'a GovernSettings,
) -> Ask<'a, GateSettings> {
    Ask { session: &session.about, input, settings: &settings.gates }
}

/// Reports whether no gate judges this event.
fn is_unasked(session: &Session, input: &Input) -> bool {
    is_errands_end(input)
        || matches!(&input.event, Event::StopRequested(stop) if is_ungoverned(session, input, stop))
}

/// Everything that is known when Sprag decides an event.
#[derive(Clone, Debug, Default)]
pub struct DecisionFacts {
    pub answers: Answers,
    pub prepared: Prepared,
    /// The process of the client, if it changed.
    pub client: Option<SeenClient>,
}

impl From<Answers> for DecisionFacts {
    fn from(answers: Answers) -> DecisionFacts {
        DecisionFacts { answers, ..DecisionFacts::default() }
    }
}

pub fn decide(mut session: Session, input: &Input, facts: &DecisionFacts, policy: &GovernSettings) -> Step {
    let DecisionFacts { answers, prepared, .. } = facts;
    let before = session.stops.clone();
    take_note(&mut session, input, facts);
    let mut effects = Vec::new();
    let mut outcome = None;
    let mut verdict = Verdict::default();
    let ungoverned = is_unasked(&session, input);
    let open = open_before_report(&session, input);
    let mut is_judged = !ungoverned && answers.shared.changes.is_some();
    let cx = StepCx {
        session: &session.about,
        input,
        answers,
        prepared,
        settings: &policy.gates,
        effects: &mut effects,
        outcome: &mut outcome,
    };
    if !ungoverned {
        let votes = session.gates.step(cx);
        // A gate that could not find its facts looks again at the next stop.
        is_judged &= !votes.iter().any(|(_, vote)| *vote == Vote::Unsure);
        verdict = combine(&mut session, votes, input, policy, &mut effects);
        session.about.intent.clone_from(&session.gates.scope.chosen);
    } else if input.errand == SessionPurpose::Own {
        session.gates.heard(cx);
    }
    // First, so that a length limit cuts it last.
    if let Some(anchor) = &input.anchor {
        verdict.notes.insert(0, anchor.clone());
    }
    discharge(&mut session, &open, input);
    if !matches!(verdict.ruling, Ruling::Hold { .. }) {
        take_note_of_work(&mut session.about, input);
    } else if session.about.start.is_some() && session.about.start == facts.prepared.baseline {
        // The refused call changes nothing, so the next one needs a baseline of its own.
        session.about.start = None;
    }
    if is_judged && matches!(input.event, Event::StopRequested(_)) {
        session.about.activity = session.about.activity.min(Activity::Worked);
    }
    let is_passed_over = matches!(&input.event, Event::StopRequested(stop) if !stop.planning);
    if ungoverned && is_passed_over && session.about.activity.has_changed() && input.actor == Actor::Main {
        session.about.activity = Activity::ChangedAndPassedOver;
        session.gates.passed_over(&Ask { session: &session.about, input, settings: &policy.gates });
    }
    session.about.hooks.hear(input, &verdict.ruling);
    let binding = verdict.ruling != Ruling::Pass || session.stops != before || !effects.is_empty();
    let weight = if binding { Durability::Binding } else { Durability::Telemetry };
    Step { session, verdict, effects, weight, outcome }
}

/// Returns the answer when Sprag itself fails at an event: the strictest that the gates declare. `raw` is the
/// readable part of the payload.
pub fn on_fault(event: EventKind, raw: &str, what: &str) -> Verdict {
    let strictest = gates::ALL
        .iter()
        .map(|gate| ((gate.on_fault)(event, raw), gate.name))
        .max_by_key(|&(fault, _)| fault);
    let reason = || Reason::new("fault", format!("cannot judge this call: {what}"), "sprag doctor");
    let ruling = match strictest {
        Some((OnFault::Ask, gate)) => Ruling::Ask { gate, reason: reason() },
        Some((OnFault::Deny, gate)) => Ruling::Hold { gate, reason: reason(), also: Vec::new() },
        Some((OnFault::Pass, _)) | None => Ruling::Pass,
    };
    Verdict { ruling, ..Verdict::default() }
}

/// Updates the facts about the session that every event carries.
fn take_note(session: &mut Session, input: &Input, facts: &DecisionFacts) {
    let shared = &facts.answers.shared;
    let about = &mut session.about;
    if about.started.is_none() {
        about.started = Some(input.at);
        about.cwd = input.cwd.clone();
        about.root = input.root.clone();
        about.head = shared.head.clone();
    }
    // A report about an ended session does not start it again.
    if !matches!(input.event, Event::Reported(_)) {
        about.ended = matches!(input.event, Event::SessionEnded { .. });
    }
    about.lost |= shared.lost;
    if about.stage.is_none() {
        about.stage.clone_from(&input.stage);
    }
    if about.start.is_none() {
        about.start.clone_from(&facts.prepared.baseline);
    }
    match (&input.event, &input.actor) {
        (Event::SubagentStarted, Actor::Subagent { id, .. }) => about.agent_started(id, input.at),
        (Event::SubagentStopped(_), Actor::Subagent { id, .. }) => about.agent_stopped(id),
        (Event::ToolRequested { call }, _) if call.asks_the_user() => {
            about.asking = Some(call.id.clone().unwrap_or_default());
        }
        (Event::ToolFinished { call, outcome }, _) => {
            if *outcome == ToolOutcome::Ok {
                about.tasks.note(call);
            }
            if call.asks_the_user() {
                about.asking = None;
            }
        }
        (Event::Prompted { author: PromptAuthor::User, .. }, Actor::Main) => about.asking = None,
        _ => {}
    }
    if let Some(seen) = facts.client {
        about.client = Some(seen.process);
        about.channel = Some(seen.channel);
    }
    if matches!(&input.event, Event::Prompted { author: PromptAuthor::User, .. })
        && input.actor == Actor::Main
    {
        session.breaker.reset_turn();
    }
}

/// Returns the gates with open obligations if the event is a report. Only reports discharge obligations.
fn open_before_report(session: &Session, input: &Input) -> Vec<&'static str> {
    match input.event {
        Event::Reported(_) => owing(session, input),
        _ => Vec::new(),
    }
}

fn owing(session: &Session, input: &Input) -> Vec<&'static str> {
    session.gates.open(&input.session).into_iter().map(|(gate, _)| gate).collect()
}

/// Resets the holds of the turn if the event met an obligation.
fn discharge(session: &mut Session, before: &[&'static str], input: &Input) {
    if before.is_empty() {
        return;
    }
    let now = owing(session, input);
    let is_met = |gate: &&str| before.contains(gate) && !now.contains(gate);
    if before.iter().any(is_met) {
        session.breaker.reset_turn();
        session.stops.owed.retain(|owed| !is_met(&owed.gate.as_str()));
    }
}

/// Reports whether Sprag must keep the baseline, because this call may be the first change of the session.
fn wants_baseline(about: &SessionFacts, input: &Input) -> bool {
    match &input.event {
        Event::ToolRequested { call } => {
            about.start.is_none()
                && !about.activity.has_changed()
                && !input.root.is_empty()
                && may_change(call, input)
        }
        _ => false,
    }
}

fn may_change(call: &ToolCall, input: &Input) -> bool {
    match call.effect {
        Does::Read | Does::Net | Does::Delegate => false,
        Does::Write => true,
        Does::Exec => !input.script().is_some_and(Script::only_looks),
    }
}

/// Notes a call that passed and may change something.
fn take_note_of_work(about: &mut SessionFacts, input: &Input) {
    let Event::ToolRequested { call } = &input.event else {
        return;
    };
    if !about.activity.has_changed() && may_change(call, input) {
        about.activity = Activity::Changed;
    }
    if input.root.is_empty() && call.effect == Does::Write {
        call.paths.iter().for_each(|path| about.touch(path));
    }
}

/// Reports whether a stop is not governed: stops of sub-agents, of agents that wait or plan, and of sessions
/// that did nothing and owe nothing.
fn is_ungoverned(session: &Session, input: &Input, stop: &StopRequest) -> bool {
    let waits = match stop.waiting {
        BackgroundWork::Yes => true,
        BackgroundWork::No => false,
        BackgroundWork::Untold => session.about.is_waited_for(input.at),
    };
    let owes = || !session.stops.owed.is_empty() || !session.gates.open(&input.session).is_empty();
    input.actor != Actor::Main
        || waits
        || stop.planning
        || (!session.about.activity.has_worked() && !session.about.lost && !owes())
}

/// Reports whether the event ends a session that works for another one, such as a review. It owes nothing
/// itself.
fn is_errands_end(input: &Input) -> bool {
    let ends = matches!(
        input.event,
        Event::StopRequested(_)
            | Event::SubagentStopped(_)
            | Event::TaskCompleting { .. }
            | Event::SessionEnded { .. }
    );
    ends && input.errand != SessionPurpose::Own
}

fn combine(
    session: &mut Session,
    votes: Vec<(&'static str, Vote)>,
    input: &Input,
    policy: &GovernSettings,
    effects: &mut Vec<RecordEffect>,
) -> Verdict {
    let kind = input.event.kind();
    let mut verdict = Verdict::default();
    let mut owed: Vec<(&'static str, Obligation)> = Vec::new();
    let mut allows: Vec<(&'static str, Reason)> = Vec::new();
    let mut asks: Vec<(&'static str, Reason)> = Vec::new();
    let mut holds: Vec<(&'static str, Reason)> = Vec::new();
    let mut unsure: Vec<&'static str> = Vec::new();
    for (gate, vote) in votes {
        match vote {
            Vote::Pass => {}
            Vote::Note(note) => verdict.notes.push(note),
            Vote::Rewrite(rewrite) => verdict.rewrite = Some(rewrite),
            Vote::Allow(reason) => allows.push((gate, reason)),
            Vote::Ask(reason) => asks.push((gate, reason)),
            Vote::Hold(reason) => holds.push((gate, reason)),
            Vote::Owe(obligation) => owed.push((gate, obligation)),
            Vote::Unsure => unsure.push(gate),
        }
    }
    match kind {
        // The breaker bounds these holds too. The session's own obligations are judged at its own stop.
        EventKind::SubagentStopped => verdict.ruling = judge_aside(session, owed, input, policy),
        EventKind::TaskCompleting if !owed.is_empty() => {
            verdict.ruling = judge_aside(session, owed, input, policy);
        }
        EventKind::StopRequested => {
            let owed = with_unsure(session, owed, &unsure);
            verdict.ruling = judge_stop(session, owed, input, policy, effects);
        }
        EventKind::SessionEnded => {
            let owed = with_unsure(session, owed, &unsure);
            let owed = unreleased(session, owed);
            for (gate, obligation) in &owed {
                open_debt(gate, obligation, DebtCause::Ended, input, effects);
            }
            session.stops.released.extend(owed.iter().map(|(gate, obligation)| let_go(gate, obligation)));
            session.stops.owed.clear();
        }
        EventKind::ToolRequested
        | EventKind::PermissionAsked
        | EventKind::Prompted
        | EventKind::TaskCompleting
        | EventKind::Reported => {
            let allow = allows.into_iter().next().filter(|_| kind == EventKind::PermissionAsked);
            if let Some((gate, reason)) = allow {
                verdict.ruling = Ruling::Allow { gate, reason };
            }
            if let Some((gate, reason)) = asks.into_iter().next() {
                verdict.ruling = Ruling::Ask { gate, reason };
            }
            let mut holds = holds.into_iter();
            if let Some((gate, reason)) = holds.next() {
                verdict.ruling =
                    Ruling::Hold { gate, reason, also: holds.map(|(_, reason)| reason).collect() };
                verdict.rewrite = None;
            }
        }
        // An event that already happened cannot be held, so an objection becomes a note.
        _ => verdict.notes.extend(
            asks.into_iter()
                .chain(holds)
                .map(|(_, reason)| Text::new(format!("{}; next: {}", reason.why, reason.next))),
        ),
    }
    verdict
}

/// Judges a stop. The first unmet obligation is the answer; the others are listed with it.
fn judge_stop(
    session: &mut Session,
    owed: Vec<(&'static str, Obligation)>,
    input: &Input,
    policy: &GovernSettings,
    effects: &mut Vec<RecordEffect>,
) -> Ruling {
    // A gate without an open obligation has no released one either.
    session.stops.released.retain(|let_go| owed.iter().any(|(gate, _)| let_go.gate.as_str() == *gate));
    let owed = unreleased(session, owed);
    let discharged =
        session.stops.owed.iter().any(|was| !owed.iter().any(|(gate, _)| was.gate.as_str() == *gate));
    if discharged {
        session.breaker.reset_turn();
    }
    session.stops.owed = owed
        .iter()
        .map(|(gate, obligation)| OwedDuty { gate: Text::from(*gate), obligation: obligation.clone() })
        .collect();
    if owed.is_empty() || passes_as_question(session, &owed, input) {
        return Ruling::Pass;
    }
    let open: Vec<Digest> = owed.iter().map(|(_, obligation)| obligation.digest).collect();
    let judgement = session.breaker.judge(&open, &policy.circuit_breaker, input.at);
    let (held, released): (Vec<_>, Vec<_>) =
        owed.into_iter().partition(|(_, obligation)| judgement.hold.contains(&obligation.digest));
    for (gate, obligation) in &released {
        open_debt(gate, obligation, DebtCause::Released, input, effects);
        session.stops.released.push(let_go(gate, obligation));
        session.stops.owed.retain(|owed| owed.obligation.digest != obligation.digest);
    }
    tell(session, &held);
    as_hold(held.into_iter())
}

/// Judges the stop of a sub-agent or the completion of a task, with the same limits on holds.
fn judge_aside(
    session: &mut Session,
    owed: Vec<(&'static str, Obligation)>,
    input: &Input,
    policy: &GovernSettings,
) -> Ruling {
    let owed = unreleased(session, owed);
    let open: Vec<Digest> = owed.iter().map(|(_, obligation)| obligation.digest).collect();
    let judgement = session.breaker.judge(&open, &policy.circuit_breaker, input.at);
    let held = owed.into_iter().filter(|(_, obligation)| judgement.hold.contains(&obligation.digest));
    let held: Vec<_> = held.collect();
    tell(session, &held);
    as_hold(held.into_iter())
}

fn tell(session: &mut Session, held: &[(&'static str, Obligation)]) {
    for (gate, obligation) in held.iter() {
        session.gates.held(gate, obligation.digest);
    }
}

/// Returns a hold with the first obligation as the answer and the others as a list.
fn as_hold(held: impl Iterator<Item = (&'static str, Obligation)>) -> Ruling {
    let mut held = held;
    match held.next() {
        None => Ruling::Pass,
        Some((gate, first)) => Ruling::Hold {
            gate,
            reason: first.reason,
            also: held.map(|(_, obligation)| obligation.reason).collect(),
        },
    }
}

/// Adds the earlier obligations of gates that are unsure.
fn with_unsure(
    session: &Session,
    mut owed: Vec<(&'static str, Obligation)>,
    unsure: &[&'static str],
) -> Vec<(&'static str, Obligation)> {
    for gate in unsure {
        let before = session.stops.owed.iter().filter(|was| was.gate.as_str() == *gate);
        owed.extend(before.map(|was| (*gate, was.obligation.clone())));
    }
    owed
}

fn unreleased(session: &Session, owed: Vec<(&'static str, Obligation)>) -> Vec<(&'static str, Obligation)> {
    let is_released = |gate: &str, digest: Digest| {
        session.stops.released.iter().any(|let_go| let_go.gate.as_str() == gate && let_go.digest == digest)
    };
    owed.into_iter().filter(|(gate, obligation)| !is_released(gate, obligation.digest)).collect()
}

fn let_go(gate: &str, obligation: &Obligation) -> ReleasedDuty {
    ReleasedDuty { gate: Text::from(gate), digest: obligation.digest }
}

/// Reports whether the stop passes because the agent asks the user a question. Its obligations stay open.
fn passes_as_question(session: &mut Session, owed: &[(&'static str, Obligation)], input: &Input) -> bool {
    let Event::StopRequested(stop) = &input.event else {
        return false;
    };
    if !stop.asks() && session.about.asking.is_none() {
        return false;
    }
    let digest = Digest::hash_parts(owed.iter().map(|(_, obligation)| obligation.digest.to_string()));
    let count = session.stops.asked.entry(digest).or_insert(0);
    *count = count.saturating_add(1);
    *count <= QUESTIONS
}

fn open_debt(
    gate: &str,
    owed: &Obligation,
    cause: DebtCause,
    input: &Input,
    effects: &mut Vec<RecordEffect>,
) {
    let debt = Debt::new(gate, owed, &input.session, &input.root, cause, input.at);
    let record = DebtRecord::Opened(debt).into();
    effects.push(RecordEffect { destination: Destination::Project, record });
}
