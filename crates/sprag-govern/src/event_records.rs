//! The records of a session's journal: one for each event and report, with the ruling on it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::record::{REPORTER, Record};
use sprag_base::record_kinds::TypedRecord;
use sprag_base::records;
use sprag_base::text::{ContextNote, Text, one_line, quoted_list};
use sprag_intent::DeclaredClass;
use sprag_memory::records::Decider;
use sprag_policy::call::ToolEffect;

use crate::event::{PromptAuthor, StartSource};
use crate::reason::Reason;
use crate::report::ReviewResult;
use crate::verdict::{Ruling, Verdict};

/// A record of the journal: an event and the ruling on it, side by side in one body.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    pub event: RecordedEvent,
    pub ruling: RecordedRuling,
}

impl TypedRecord for EventRecord {
    const KINDS: &'static [&'static str] = RecordedEvent::KINDS;

    fn kind(&self) -> &'static str {
        self.event.kind()
    }

    fn body(&self) -> Value {
        let ruling = serde_json::to_value(&self.ruling).expect("a ruling is plain data with text keys");
        match (self.event.body(), ruling) {
            (Value::Object(mut body), Value::Object(ruling)) => {
                body.extend(ruling);
                Value::Object(body)
            }
            (body, _) => body,
        }
    }

    fn read(record: &Record) -> Option<EventRecord> {
        let event = RecordedEvent::read(record)?;
        Some(EventRecord { event, ruling: RecordedRuling::read(record)? })
    }
}

records! {
    /// An event of a session, without the ruling on it.
    pub enum RecordedEvent {
        SessionStarted(StartedSession) = "session.started",
        SessionEnded(EndedSession) = "session.ended",
        Prompted(RecordedPrompt) = "prompted",
        ToolRequested(RecordedCall) = "tool.requested",
        PermissionAsked(RecordedCall) = "permission.asked",
        ToolFinished(RecordedCall) = "tool.finished",
        StopRequested(RecordedStop) = "stop.requested",
        SubagentStarted(NoDetails) = "subagent.started",
        SubagentStopped(RecordedStop) = "subagent.stopped",
        TaskCompleting(CompletingTask) = "task.completing",
        Compacting(NoDetails) = "compacting",
        Noticed(ClientNotice) = "noticed",
        Tick(NoDetails) = "tick",
        Observed(Observation) = "observed",
        Approved(RefusalCode) = "approved",
        Rejected(RefusalCode) = "rejected",
        IntentSelected(ReportedIntent) = "selected",
        IntentDone(ReportedDone) = "done",
        Reflected(ReportedReflection) = "reflected",
        Skipped(ReportedSkip) = "skipped",
        VerificationAsked(NoDetails) = "verification.asked",
        Referred(ReportedUse) = "referred",
        Went(ReportedOutcome) = "went",
        Answered(ReportedAnswer) = "answered",
        ReviewDecided(ReportedDecision) = "decided",
        Misdirected(NoDetails) = "misdirected",
        ReviewerStarted(StartedReviewer) = "reviewer.started",
        ReviewerEnded(NoDetails) = "reviewer.ended",
        /// An event that another process than the client sent. It had no effect.
        Foreign(ForeignEvent) = "foreign",
    }
}

records! {
    /// Records of the journal that are not events.
    pub enum SnapshotRecord {
        /// A snapshot: its line also carries the whole state of the session.
        Taken(JournalSnapshot) = "snapshot",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JournalSnapshot {
    /// Number of events before it.
    pub events: u64,
}

/// The ruling on an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRuling {
    pub verdict: RulingName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Text<32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ContextNote>,
    /// Why the call ran with another input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Text<1000>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulingName {
    Pass,
    Allow,
    Ask,
    Hold,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedSession {
    pub source: StartSource,
    pub cwd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedSession {
    pub why: Text<64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedPrompt {
    pub text: Text<2000>,
    pub author: PromptAuthor,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    pub tool: Text<128>,
    pub effect: ToolEffect,
    pub input: Text<200>,
    /// Id that the client gave the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Text<128>>,
    /// Result of the call, once it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Text<16>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text<500>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedStop {
    pub last_message: Text<500>,
    pub waiting: bool,
    pub again: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletingTask {
    pub id: Text<128>,
    pub subject: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientNotice {
    pub what: Text<64>,
    pub message: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoDetails {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub note: Text<2000>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusalCode {
    pub code: Text<16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignEvent {
    /// Kind of the event.
    pub event: Text<32>,
    /// Id of the process that sent it.
    pub pid: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedIntent {
    pub intent: Text<64>,
    pub class: DeclaredClass,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedDone {
    pub intent: Text<64>,
    pub fingerprint: Text<64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedReflection {
    pub candidates: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedSkip {
    pub why: Text<500>,
    pub decider: Decider,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedUse {
    pub ids: Vec<Text<64>>,
    pub how: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedOutcome {
    pub ids: Vec<Text<64>>,
    pub is_success: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedAnswer {
    pub question: Text<1000>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedDecision {
    pub word: ReviewResult,
    pub summary: Text<500>,
    pub message: Text<4000>,
    pub opinions: Vec<Text<1000>>,
    /// `reviewer` or `person`.
    pub by: Text<16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedReviewer {
    pub client: Text<32>,
}

impl RecordedRuling {
    /// Returns `None` for a record without a ruling.
    pub fn read(record: &Record) -> Option<RecordedRuling> {
        RecordedRuling::deserialize(&record.body).ok()
    }
}

impl From<&Verdict> for RecordedRuling {
    fn from(verdict: &Verdict) -> RecordedRuling {
        let (name, held) = match &verdict.ruling {
            Ruling::Pass => (RulingName::Pass, None),
            Ruling::Allow { gate, reason } => (RulingName::Allow, Some((gate, reason))),
            Ruling::Ask { gate, reason } => (RulingName::Ask, Some((gate, reason))),
            Ruling::Hold { gate, reason, .. } => (RulingName::Hold, Some((gate, reason))),
        };
        RecordedRuling {
            verdict: name,
            gate: held.map(|(gate, _)| Text::from(*gate)),
            reason: held.map(|(_, reason)| reason.clone()),
            notes: verdict.notes.clone(),
            rewritten: verdict.rewrite.as_ref().map(|rewrite| rewrite.why.clone()),
        }
    }
}

sprag_base::names! { fn name(RulingName): Pass = "pass", Allow = "allow", Ask = "ask", Hold = "hold" }

impl EventRecord {
    /// Returns a sentence for `sprag session explain`: the action of `who` and the ruling on it.
    pub fn describe(&self, record: &Record, who: &str) -> String {
        let told = self.event.describe(who);
        let RecordedRuling { verdict, gate, reason, .. } = &self.ruling;
        if *verdict == RulingName::Pass {
            return told;
        }
        let is_report = record.actor.as_ref().is_some_and(|actor| actor.client.as_str() == REPORTER);
        let ruled = match (verdict, is_report) {
            (RulingName::Hold, true) => "refused",
            (verdict, _) => verdict.name(),
        };
        let why = reason.as_ref().map_or_else(|| "?".to_owned(), |reason| one_line(reason.why.as_str()));
        format!("{told} -> {ruled} by `{}`: {why}", gate.as_ref().map_or("?", Text::as_str))
    }
}

impl RecordedEvent {
    fn describe(&self, who: &str) -> String {
        let line = |text: &str| one_line(text);
        match self {
            RecordedEvent::SessionStarted(started) => {
                format!("the session started ({}) in `{}`", started.source.name(), line(&started.cwd))
            }
            RecordedEvent::SessionEnded(ended) => format!("the session ended ({})", line(ended.why.as_str())),
            RecordedEvent::Prompted(prompt) => {
                let asker = match prompt.author {
                    PromptAuthor::User => "the user",
                    PromptAuthor::Client => "the client",
                    PromptAuthor::Sprag => "Sprag (returned by the client)",
                };
                format!("{asker} asked: {}", line(prompt.text.as_str()))
            }
            RecordedEvent::ToolRequested(call) => {
                format!("{who} wanted to use `{}`: {}", line(call.tool.as_str()), line(call.input.as_str()))
            }
            RecordedEvent::PermissionAsked(call) => {
                let (tool, input) = (line(call.tool.as_str()), line(call.input.as_str()));
                format!("the client asked whether `{tool}` may run: {input}")
            }
            RecordedEvent::ToolFinished(call) => {
                let outcome = call.outcome.as_ref().map_or("?", Text::as_str);
                format!("`{}` finished ({outcome})", line(call.tool.as_str()))
            }
            RecordedEvent::StopRequested(_) => format!("{who} wanted to stop"),
            RecordedEvent::SubagentStarted(_) => format!("{who} started"),
            RecordedEvent::SubagentStopped(_) => format!("{who} stopped"),
            RecordedEvent::TaskCompleting(task) => {
                format!("{who} wanted to complete task `{}`", line(task.subject.as_str()))
            }
            RecordedEvent::Compacting(_) => "the context was compacted".to_owned(),
            RecordedEvent::Noticed(notice) => {
                let (what, message) = (line(notice.what.as_str()), line(notice.message.as_str()));
                format!("the client sent notice {what}: {message}")
            }
            RecordedEvent::Observed(observed) => format!("{who} noted: {}", line(observed.note.as_str())),
            RecordedEvent::Approved(code) => {
                format!("a person allowed one refused call (`{}`)", line(code.code.as_str()))
            }
            RecordedEvent::Rejected(code) => {
                format!("a person rejected one refused call (`{}`)", line(code.code.as_str()))
            }
            RecordedEvent::IntentSelected(selected) => {
                let (intent, class) = (line(selected.intent.as_str()), selected.class.name());
                format!("{who} selected intent `{intent}` ({class})")
            }
            RecordedEvent::IntentDone(done) => {
                format!("{who} reported intent `{}` as done", line(done.intent.as_str()))
            }
            RecordedEvent::Reflected(_) => "candidates were submitted".to_owned(),
            RecordedEvent::Skipped(skip) => {
                let (decider, why) = (skip.decider.name(), line(skip.why.as_str()));
                format!("the reflection was skipped by the {decider}: {why}")
            }
            RecordedEvent::VerificationAsked(_) => format!("{who} ran the checks"),
            RecordedEvent::Referred(used) => {
                format!("learnings {} were useful: {}", quoted_list(&used.ids), line(used.how.as_str()))
            }
            RecordedEvent::ReviewDecided(decided) => {
                let (word, summary) = (decided.word.name(), line(decided.summary.as_str()));
                format!("a {} decided {word}: {summary}", decided.by)
            }
            RecordedEvent::Misdirected(_) => "a reviewer named another session".to_owned(),
            RecordedEvent::ReviewerStarted(started) => {
                format!("a reviewer was started ({})", line(started.client.as_str()))
            }
            RecordedEvent::ReviewerEnded(_) => "the reviewer's process ended".to_owned(),
            RecordedEvent::Foreign(foreign) => {
                let (event, pid) = (line(foreign.event.as_str()), foreign.pid);
                format!("process `{pid}`, which is not the client, sent event `{event}`; Sprag ignored it")
            }
            RecordedEvent::Went(_) | RecordedEvent::Answered(_) | RecordedEvent::Tick(_) => {
                format!("`{}`", self.kind())
            }
        }
    }
}
