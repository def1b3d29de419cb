//! Asks for learnings before a session ends: when a ticket was closed, or, without a tracker, when the
//! session changed more than a few lines. The agent may reflect or skip, but must do one of them. Only the
//! session's own agent is held; sub-agents may leave notes.

mod question;
mod settings;
mod subagent_reports;
mod submission;
mod work_item;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::settings::SettingSection;
use sprag_base::text::{Text, quoted, shell_word};
use sprag_base::time::Timestamp;
use sprag_memory::records::{Decider, MemoryRecord, WorkOutcome};
use sprag_memory::write_gate::plausibility;
use sprag_policy::call::{ToolCall, ToolOutcome};

use crate::event::{Actor, Event, Input, PromptAuthor, StopRequest};
use crate::facts::{SharedFacts, SharedNeeds, Size};
use crate::gates::records::{GateRecord, LastWords};
use crate::gates::{Ask, Gate, GateCx, is_zero};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::report::Report;
use crate::trackers::{self, ActiveTicket, Ticket};
use crate::verdict::Vote;
pub use question::{Answer, Candidates, Question};
pub use settings::{AutoSkip, SessionMode, Settings, SkipDecider, Ticketing, TrackerSwitches};
use submission::{AcceptedDigest, Parked};
use work_item::WorkItem;

/// Maximum number of closings that wait for their outcome.
const CLOSINGS: usize = 32;
/// Maximum number of work items that wait for one reflection, and that a hold names.
const ITEMS: usize = 32;
const NAMED: usize = 3;
/// Maximum number of agents with notes of their own.
const OBSERVERS: usize = 64;

/// The state of the reflection, and the open facts around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReflectionGate {
    standing: ReflectionState,
    /// Tickets whose closing was requested and is not confirmed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    closing: Vec<Closing>,
    /// How often a reflection became due. Each time is a new obligation.
    #[serde(skip_serializing_if = "is_zero")]
    times: u32,
    /// Sprag already asked about the session or its task list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asked: bool,
    /// Size of the changes at the last reflection.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// Digests of accepted candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known: Vec<AcceptedDigest>,
    /// Candidates that resemble a learning and wait for a decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parked: Vec<Parked>,
    /// The user asked the agent to remember something.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    was_asked_for: bool,
    /// Agents that left notes of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    observers: Vec<Text<128>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReflectionState {
    #[default]
    Idle,
    /// A ticket is in work.
    Active {
        item: WorkItem,
    },
    /// These items are done: the agent must reflect or skip before the session ends.
    Due {
        items: Vec<WorkItem>,
    },
    Reflected {
        at: Timestamp,
    },
    Skipped {
        reason: Text<500>,
        decider: Decider,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Closing {
    call: Text<128>,
    ticket: Ticket,
    /// The call ended, and the client did not report the result.
    #[serde(default)]
    ended: bool,
}

impl Gate for ReflectionGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "asks for learnings before a session ends; the agent reflects or skips";
    const SECTION: SettingSection = settings::SECTION;
    const MORE: &'static [SettingSection] = settings::MORE;

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let is_main = ask.input.actor == Actor::Main;
        match &ask.input.event {
            Event::StopRequested(_) if is_main => self.shared_at_stop(ask),
            Event::TaskCompleting { id, .. } if is_main && ask.session.tasks.is_last(id.as_str()) => {
                if self.may_ask(ask.settings) && ask.session.activity.has_worked() {
                    SharedNeeds::CHANGES
                } else {
                    SharedNeeds::NONE
                }
            }
            // A stop that Sprag ignored is judged at the end of the session.
            Event::SessionEnded { .. }
                if ask.session.activity.is_passed_over() && self.may_ask(ask.settings) =>
            {
                SharedNeeds::CHANGES
            }
            Event::Reported(Report::Reflected { .. } | Report::Skipped { .. }) => SharedNeeds::DEBTS,
            _ => SharedNeeds::NONE,
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        let is_main = ask.input.actor == Actor::Main;
        let of_tracker = Question { wants_tracker: true, ..Question::default() };
        match &ask.input.event {
            Event::StopRequested(_) if is_main => {
                let is_due = matches!(self.standing, ReflectionState::Due { .. });
                let question = Question {
                    wants_tracker: !is_due
                        && self.may_ask(ask.settings)
                        && ask.session.activity.has_changed(),
                    unconfirmed: self.unconfirmed(),
                    candidates: None,
                };
                (question != Question::default()).then_some(question)
            }
            Event::Prompted { author: PromptAuthor::User, .. } => {
                (is_main && self.standing == ReflectionState::Idle).then_some(of_tracker)
            }
            Event::SessionEnded { .. } => {
                (ask.session.activity.is_passed_over() && self.may_ask(ask.settings)).then_some(of_tracker)
            }
            Event::Reported(Report::Reflected { submission, resolution, .. }) => {
                Some(Question { candidates: self.candidates(submission, resolution.as_ref()), ..of_tracker })
            }
            Event::Reported(Report::Skipped { .. }) => Some(of_tracker),
            _ => None,
        }
    }

    fn is_slow(question: &Question) -> bool {
        !question.unconfirmed.is_empty() || question.candidates.is_some()
    }

    fn step(&mut self, cx: &mut GateCx<'_, ReflectionGate>) -> Vote {
        let is_main = cx.input.actor == Actor::Main;
        self.look_up(cx);
        match &cx.input.event {
            Event::Prompted { author: PromptAuthor::User, text } if is_main => {
                self.was_asked_for |= plausibility::asks_to_remember(text);
                // A call of an earlier turn without an end did not happen.
                self.closing.retain(|closing| closing.ended);
                Vote::Pass
            }
            Event::ToolRequested { call } => self.requested(call, cx),
            Event::ToolFinished { call, outcome } if !self.closing.is_empty() => {
                self.finished(call, outcome, cx)
            }
            Event::StopRequested(_) if is_main => self.stop(cx),
            Event::TaskCompleting { id, .. } if is_main => self.task_done(id.as_str(), cx),
            Event::SubagentStopped(stop) => self.agent_stopped(stop, cx),
            Event::SessionEnded { .. } => self.ended(cx),
            Event::Reported(Report::Reflected { submission, ids, resolution }) => {
                self.reflected(submission, ids, resolution.as_ref(), cx)
            }
            Event::Reported(Report::Skipped { reason, decider }) => self.skipped(reason, *decider, cx),
            Event::Reported(Report::Went { ids, is_success, what }) => {
                let (ids, what) = (ids.clone(), what.clone());
                cx.log(MemoryRecord::Outcome(WorkOutcome { ids, is_success: *is_success, what }));
                Vote::Pass
            }
            Event::Reported(Report::Answered(answered)) => {
                cx.log(MemoryRecord::Answered(answered.into()));
                Vote::Pass
            }
            _ => Vote::Pass,
        }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.standing {
            ReflectionState::Idle => "idle",
            ReflectionState::Active { .. } => "active",
            ReflectionState::Due { .. } => "due",
            ReflectionState::Reflected { .. } => "reflected",
            ReflectionState::Skipped { .. } => "skipped",
        })
    }

    fn open(&self, session: &SessionId) -> Option<Obligation> {
        match self.owe(session, &format!(" --session {}", shell_word(session.as_str()))) {
            Vote::Owe(obligation) => Some(obligation),
            _ => None,
        }
    }
}

impl ReflectionGate {
    /// Returns tickets with an unconfirmed closing, each with its call.
    fn unconfirmed(&self) -> Vec<(Text<128>, Ticket)> {
        self.closing.iter().map(|closing| (closing.call.clone(), closing.ticket.clone())).collect()
    }

    /// Returns the ticket in work, or the last closed one.
    pub fn ticket(&self) -> Option<&Ticket> {
        match &self.standing {
            ReflectionState::Active { item: WorkItem::Ticket { ticket, .. } } => Some(ticket),
            ReflectionState::Due { items } => items.iter().rev().find_map(|item| match item {
                WorkItem::Ticket { ticket, .. } => Some(ticket),
                WorkItem::Tasks | WorkItem::Session { .. } => None,
            }),
            _ => None,
        }
    }

    /// Sets the ticket in work if the tracker reports one.
    fn look_up(&mut self, cx: &GateCx<'_, ReflectionGate>) {
        if let (ReflectionState::Idle, Some(item)) =
            (&self.standing, cx.answer.tracker.as_ref().and_then(|found| found.active.as_ref()))
        {
            let ActiveTicket { ticket, title } = item.clone();
            self.standing = ReflectionState::Active { item: WorkItem::Ticket { ticket, title } };
        }
    }

    /// Judges the end of the session. Unfinished work needs no reflection yet.
    fn ended(&mut self, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        if matches!(self.standing, ReflectionState::Active { .. }) {
            self.standing = ReflectionState::Idle;
        }
        match (&self.standing, &cx.shared.changes) {
            (ReflectionState::Due { .. }, _) => self.owe(&cx.input.session, &cx.input.session_flag()),
            (_, Some(changes)) if cx.session.activity.is_passed_over() => self.session_done(changes.size, cx),
            _ => Vote::Pass,
        }
    }

    fn shared_at_stop(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let auto = &ask.settings.auto_skip;
        match &self.standing {
            ReflectionState::Due { .. } if auto.is_silent() => SharedNeeds::CHANGES,
            ReflectionState::Due { .. } => SharedNeeds::NONE,
            _ if self.may_ask(ask.settings) && ask.session.activity.has_changed() => SharedNeeds::CHANGES,
            _ if !self.closing.is_empty() && auto.is_silent() => SharedNeeds::CHANGES,
            _ => SharedNeeds::NONE,
        }
    }

    /// Reports whether Sprag may still ask about the session or its tasks.
    fn may_ask(&self, policy: &Settings) -> bool {
        match policy.session {
            SessionMode::Off => false,
            SessionMode::Once => !self.asked,
            SessionMode::Always => true,
        }
    }

    /// Notes the tickets that a call closes and lets it pass. The end of the call shows whether it closed
    /// them.
    fn requested(&mut self, call: &ToolCall, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        if let Actor::Subagent { id, .. } = &cx.input.actor
            && let Some(script) = cx.input.script()
        {
            if let Some(reason) = subagent_reports::refusal(script) {
                return Vote::Hold(reason);
            }
            if subagent_reports::observes(script)
                && self.observers.len() < OBSERVERS
                && !self.observers.contains(id)
            {
                self.observers.push(id.clone());
            }
        }
        let overrides = &cx.settings.overrides;
        for ticket in trackers::closes(call, cx.input.script(), |name| overrides.is_on(name)) {
            if self.closing.len() >= CLOSINGS {
                self.closing.remove(0);
            }
            self.closing.push(Closing { call: key(call, cx.input), ticket, ended: false });
        }
        Vote::Pass
    }

    fn finished(
        &mut self,
        call: &ToolCall,
        outcome: &ToolOutcome,
        cx: &mut GateCx<'_, ReflectionGate>,
    ) -> Vote {
        let key = key(call, cx.input);
        match outcome {
            ToolOutcome::Ok => {
                let (closed, open) =
                    std::mem::take(&mut self.closing).into_iter().partition(|it| it.call == key);
                self.closing = open;
                self.closed(closed, cx)
            }
            ToolOutcome::Failed { .. } => {
                self.closing.retain(|closing| closing.call != key);
                Vote::Pass
            }
            ToolOutcome::Unknown => {
                self.closing.iter_mut().filter(|it| it.call == key).for_each(|it| it.ended = true);
                Vote::Pass
            }
            ToolOutcome::Launched => Vote::Pass,
        }
    }

    /// Makes the reflection due for tickets that really were closed.
    fn closed(&mut self, closed: Vec<Closing>, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        let names: Vec<String> =
            closed.iter().map(|closing| format!("`{}`", quoted(closing.ticket.id.as_str()))).collect();
        if names.is_empty() {
            return Vote::Pass;
        }
        for Closing { ticket, .. } in closed {
            self.due(WorkItem::Ticket { ticket, title: Text::default() });
        }
        let told = format!(
            "{} is closed; before you stop, reflect or skip: {}",
            names.join(", "),
            reflect(&cx.input.session_flag())
        );
        if cx.input.actor == Actor::Main { Vote::Note(Text::new(told)) } else { Vote::Pass }
    }

    fn due(&mut self, item: WorkItem) {
        self.times = self.times.saturating_add(1);
        match &mut self.standing {
            ReflectionState::Due { items } if items.contains(&item) => {}
            ReflectionState::Due { items } if items.len() < ITEMS => items.push(item),
            ReflectionState::Due { .. } => {}
            standing => *standing = ReflectionState::Due { items: vec![item] },
        }
    }

    /// Settles closings by the answer of the tracker. A call that ended without a known result counts as
    /// successful.
    fn settle(&mut self, cx: &GateCx<'_, ReflectionGate>) {
        let answers = &cx.answer.closed;
        if answers.is_empty() {
            return;
        }
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for closing in std::mem::take(&mut self.closing) {
            let answer = answers
                .iter()
                .find(|answer| answer.call == closing.call && answer.ticket == closing.ticket)
                .and_then(|answer| answer.is_closed);
            match answer.or(closing.ended.then_some(true)) {
                Some(true) => done.push(closing),
                Some(false) => {}
                // The call may still run.
                None => open.push(closing),
            }
        }
        self.closing = open;
        self.closed(done, cx);
    }

    fn stop(&mut self, cx: &mut GateCx<'_, ReflectionGate>) -> Vote {
        self.settle(cx);
        let size = cx.shared.changes.as_ref().map(|changes| changes.size);
        match &self.standing {
            ReflectionState::Due { .. } => match size {
                Some(Size::Lines(lines)) if cx.settings.auto_skip.skips(lines) => {
                    self.skip_silently(lines, cx)
                }
                _ => self.owe(&cx.input.session, &cx.input.session_flag()),
            },
            _ => match size {
                // The shared facts were requested for this gate, together with the tracker.
                Some(size) if cx.session.activity.has_changed() => self.session_done(size, cx),
                _ => Vote::Pass,
            },
        }
    }

    /// Makes the reflection due for the session itself, if there is no tracker and the diff is large enough.
    fn session_done(&mut self, size: Size, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        let has_tracker = cx.answer.tracker.as_ref().is_some_and(|found| found.is_for_tickets);
        let is_on = cx.settings.has("session") && !has_tracker;
        if !is_on || !self.may_ask(cx.settings) || !self.is_much(size, cx.settings) {
            return Vote::Pass;
        }
        self.asked = true;
        self.size = Some(size);
        self.due(WorkItem::Session { size });
        self.owe(&cx.input.session, &cx.input.session_flag())
    }

    /// Reports whether more lines than the threshold changed since the last question.
    fn is_much(&self, size: Size, policy: &Settings) -> bool {
        match (size, self.size) {
            (Size::Lines(now), Some(Size::Lines(then))) => {
                now.abs_diff(then) > policy.auto_skip.line_threshold
            }
            (Size::Lines(now), _) => now > policy.auto_skip.line_threshold,
            (Size::Unknown, Some(_)) => false,
            (Size::Unknown, None) => true,
        }
    }

    fn task_done(&mut self, id: &str, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        if !cx.session.tasks.is_last(id) {
            return Vote::Pass;
        }
        if matches!(self.standing, ReflectionState::Due { .. }) {
            return self.owe(&cx.input.session, &cx.input.session_flag());
        }
        let size = cx.shared.changes.as_ref().map(|changes| changes.size);
        match size {
            Some(size)
                if cx.settings.has("tasks")
                    && self.may_ask(cx.settings)
                    && self.is_much(size, cx.settings) =>
            {
                self.asked = true;
                self.size = Some(size);
                self.due(WorkItem::Tasks);
                self.owe(&cx.input.session, &cx.input.session_flag())
            }
            _ => Vote::Pass,
        }
    }

    /// Records the last message of a sub-agent that left no note.
    fn agent_stopped(&mut self, stop: &StopRequest, cx: &mut GateCx<'_, ReflectionGate>) -> Vote {
        let Actor::Subagent { id, kind } = &cx.input.actor else {
            return Vote::Pass;
        };
        let noted = self.observers.iter().position(|observer| observer == id);
        if let Some(at) = noted {
            self.observers.remove(at);
        } else if !stop.last_message.is_empty() && !kind.as_str().ends_with("sprag-reviewer") {
            let note: Text<500> = Text::from(stop.last_message.as_str());
            cx.log(GateRecord::Observed(LastWords { note, from: Text::from("last message") }));
        }
        Vote::Pass
    }

    fn owe(&self, session: &SessionId, flag: &str) -> Vote {
        let ReflectionState::Due { items } = &self.standing else {
            return Vote::Pass;
        };
        let names: Vec<String> = items.iter().map(WorkItem::name).collect();
        let sentences: Vec<String> = items.iter().take(NAMED).map(WorkItem::sentence).collect();
        let more = match items.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let times = self.times.to_string();
        let evidence =
            ["reflect", session.as_str(), &times].into_iter().chain(names.iter().map(String::as_str));
        Vote::Owe(Obligation {
            duty: Duty::Reflect,
            digest: Digest::hash_parts(evidence),
            reason: Reason::new(
                "reflection_due",
                format!("reflection is due: {}{more}", sentences.join(", ")),
                reflect(flag),
            ),
            items: names.into_iter().map(Text::new).collect(),
        })
    }
}

/// Returns the commands to skip and to reflect; `flag` names the session where the client does not.
fn reflect(flag: &str) -> String {
    format!(
        "`sprag skip REASON{flag}`, or `sprag reflect{flag}` with JSON on stdin (see `sprag reflect --schema`)"
    )
}

/// Returns a key that joins a request with its end: the client's id, or else a digest of actor and input.
fn key(call: &ToolCall, input: &Input) -> Text<128> {
    match &call.id {
        Some(id) => id.clone(),
        None => {
            let actor = match &input.actor {
                Actor::Main => "",
                Actor::Subagent { id, .. } => id.as_str(),
            };
            Text::new(Digest::hash_parts([actor, call.name.as_str(), &call.input.to_string()]).to_string())
        }
    }
}
