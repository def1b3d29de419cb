//! What a session has learned is asked for before it ends: when a ticket was closed, or when there
//! is no tracker and the session changed more than a trifle. Reflecting and skipping are both fine;
//! saying nothing is not. Only the session's own agent is held; the others may observe.

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

/// Closings that wait for their outcome.
const CLOSINGS: usize = 32;
/// Work that waits for one reflection, and how much of it a hold names.
const ITEMS: usize = 32;
const NAMED: usize = 3;
/// Agents whose own notes are known of.
const OBSERVERS: usize = 64;

/// Where the session stands, and what is still open around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReflectionGate {
    standing: ReflectionState,
    /// Tickets whose closing was asked for and not confirmed yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    closing: Vec<Closing>,
    /// How often it became due: each time is another obligation.
    #[serde(skip_serializing_if = "is_zero")]
    times: u32,
    /// The session as such, or its list of tasks, has been asked about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asked: bool,
    /// How much had changed when it last reflected.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// What was accepted already, by content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known: Vec<AcceptedDigest>,
    /// What resembles something known, and waits for a word on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parked: Vec<Parked>,
    /// The user has asked to remember something.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    was_asked_for: bool,
    /// Agents that noted something themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    observers: Vec<Text<128>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReflectionState {
    #[default]
    Idle,
    /// Somebody works on this ticket.
    Active {
        item: WorkItem,
    },
    /// These are done: reflect or skip before the session ends.
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
    /// The call has ended, and the client did not say how.
    #[serde(default)]
    ended: bool,
}

impl Gate for ReflectionGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "what was learned is kept, or said not to be worth it";
    const SECTION: SettingSection = settings::SECTION;
    const MORE: &'static [SettingSection] = settings::MORE;

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let is_main = ask.input.actor == Actor::Main;
        match &ask.input.event {
            Event::StopRequested(_) if is_main => self.shared_at_stop(ask),
            Event::TaskCompleting { id, .. } if is_main && ask.session.tasks.is_last(id.as_str()) => {
                if self.may_ask(ask.settings) && ask.session.worked {
                    SharedNeeds::CHANGES
                } else {
                    SharedNeeds::NONE
                }
            }
            // A stop that nobody judged is judged by what it leaves.
            Event::SessionEnded { .. } if ask.session.passed_over && self.may_ask(ask.settings) => {
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
                    wants_tracker: !is_due && self.may_ask(ask.settings) && ask.session.changed,
                    unconfirmed: self.unconfirmed(),
                    candidates: None,
                };
                (question != Question::default()).then_some(question)
            }
            Event::Prompted { author: PromptAuthor::User, .. } => {
                (is_main && self.standing == ReflectionState::Idle).then_some(of_tracker)
            }
            Event::SessionEnded { .. } => {
                (ask.session.passed_over && self.may_ask(ask.settings)).then_some(of_tracker)
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
                // A call of an earlier turn that was never heard of again did not take place.
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
        match self.owe(session) {
            Vote::Owe(obligation) => Some(obligation),
            _ => None,
        }
    }
}

impl ReflectionGate {
    /// Tickets whose closing nobody confirmed, each with its call.
    fn unconfirmed(&self) -> Vec<(Text<128>, Ticket)> {
        self.closing.iter().map(|closing| (closing.call.clone(), closing.ticket.clone())).collect()
    }

    /// The ticket in work or done last.
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

    /// The tracker may have told by now what is being worked on.
    fn look_up(&mut self, cx: &GateCx<'_, ReflectionGate>) {
        if let (ReflectionState::Idle, Some(item)) =
            (&self.standing, cx.answer.tracker.as_ref().and_then(|found| found.active.as_ref()))
        {
            let ActiveTicket { ticket, title } = item.clone();
            self.standing = ReflectionState::Active { item: WorkItem::Ticket { ticket, title } };
        }
    }

    /// Work that was not finished has nothing to be reflected on yet.
    fn ended(&mut self, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        if matches!(self.standing, ReflectionState::Active { .. }) {
            self.standing = ReflectionState::Idle;
        }
        match (&self.standing, &cx.shared.changes) {
            (ReflectionState::Due { .. }, _) => self.owe(&cx.input.session),
            (_, Some(changes)) if cx.session.passed_over => self.session_done(changes.size, cx),
            _ => Vote::Pass,
        }
    }

    fn shared_at_stop(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let auto = &ask.settings.auto_skip;
        match &self.standing {
            ReflectionState::Due { .. } if auto.is_silent() => SharedNeeds::CHANGES,
            ReflectionState::Due { .. } => SharedNeeds::NONE,
            _ if self.may_ask(ask.settings) && ask.session.changed => SharedNeeds::CHANGES,
            _ if !self.closing.is_empty() && auto.is_silent() => SharedNeeds::CHANGES,
            _ => SharedNeeds::NONE,
        }
    }

    /// Whether the session itself, or the end of its tasks, may still be asked about.
    fn may_ask(&self, policy: &Settings) -> bool {
        match policy.session {
            SessionMode::Off => false,
            SessionMode::Once => !self.asked,
            SessionMode::Always => true,
        }
    }

    /// A call that closes a ticket is let through; whether it did is told by its end.
    fn requested(&mut self, call: &ToolCall, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        let start = cx.input.start();
        if let Actor::Subagent { id, .. } = &cx.input.actor
            && let Some(script) = call.script(&start)
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
        for ticket in trackers::closes(call, &start, |name| overrides.is_on(name)) {
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

    /// Tickets that really were closed.
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
            reflect(&cx.input.session)
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

    /// What the world says of closings that no call's end has settled. A call that ended, and of which
    /// nobody knows more, is believed.
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
                // It may still run.
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
                _ => self.owe(&cx.input.session),
            },
            _ => match size {
                // Found out for this gate, and with it whether there is a tracker.
                Some(size) if cx.session.changed => self.session_done(size, cx),
                _ => Vote::Pass,
            },
        }
    }

    /// Without a tracker it is the session's own diff that tells that something was done.
    fn session_done(&mut self, size: Size, cx: &GateCx<'_, ReflectionGate>) -> Vote {
        let has_tracker = cx.answer.tracker.as_ref().is_some_and(|found| found.is_for_tickets);
        let is_on = cx.settings.has("session") && !has_tracker;
        if !is_on || !self.may_ask(cx.settings) || !self.is_much(size, cx.settings) {
            return Vote::Pass;
        }
        self.asked = true;
        self.size = Some(size);
        self.due(WorkItem::Session { size });
        self.owe(&cx.input.session)
    }

    /// More than the threshold, since it was last asked about.
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
            return self.owe(&cx.input.session);
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
                self.owe(&cx.input.session)
            }
            _ => Vote::Pass,
        }
    }

    /// Another agent's last words are kept if it made no note of its own.
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

    fn owe(&self, session: &SessionId) -> Vote {
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
                format!("reflect before you stop: {}{more}", sentences.join(", ")),
                reflect(session),
            ),
            items: names.into_iter().map(Text::new).collect(),
        })
    }
}

/// How to reflect, and how to get out of it.
fn reflect(session: &SessionId) -> String {
    let session = shell_word(session.as_str());
    format!(
        "`sprag reflect --session {session}` with candidates as JSON on stdin (`sprag reflect --schema` shows the form), or \
         `sprag skip REASON --session {session}`"
    )
}

/// Pairs a request with its end: by the client's own id, else by who asked for what.
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
