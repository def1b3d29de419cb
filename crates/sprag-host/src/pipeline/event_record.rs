//! Builds the record of an event: the request and its ruling.

use sprag_base::record::Record;
use sprag_base::redact;
use sprag_base::text::Text;
use sprag_govern::event::{BackgroundWork, Event, Input, StopRequest};
use sprag_govern::event_records::{
    ClientNotice, CompletingTask, EndedSession, EventRecord, NoDetails, Observation, RecordedCall,
    RecordedEvent, RecordedPrompt, RecordedRuling, RecordedStop, RefusalCode, ReportedAnswer,
    ReportedDecision, ReportedDone, ReportedIntent, ReportedOutcome, ReportedReflection, ReportedSkip,
    ReportedUse, StartedReviewer, StartedSession,
};
use sprag_govern::report::Report;
use sprag_govern::verdict::Verdict;
use sprag_policy::call::{ToolCall, ToolOutcome};

use crate::store::new_record;

pub(crate) fn record(input: &Input, verdict: &Verdict) -> Record {
    let event = match &input.event {
        Event::Reported(report) => reported(report),
        event => recorded(event, &input.cwd),
    };
    let record = EventRecord { event, ruling: RecordedRuling::from(verdict) };
    new_record::record(&record, input.at, Some(&input.session), Some(new_record::by(input)))
}

fn reported(report: &Report) -> RecordedEvent {
    match report {
        Report::Observed { note } => RecordedEvent::Observed(Observation { note: note.clone() }),
        Report::Approved { code } => RecordedEvent::Approved(RefusalCode { code: code.clone() }),
        Report::Rejected { code } => RecordedEvent::Rejected(RefusalCode { code: code.clone() }),
        Report::IntentSelected { id, class } => {
            RecordedEvent::IntentSelected(ReportedIntent { intent: id.clone(), class: *class })
        }
        Report::IntentDone { id, fingerprint } => {
            RecordedEvent::IntentDone(ReportedDone { intent: id.clone(), fingerprint: fingerprint.clone() })
        }
        Report::Reflected { ids, .. } => {
            RecordedEvent::Reflected(ReportedReflection { candidates: ids.len() })
        }
        Report::Skipped { reason, decider } => {
            RecordedEvent::Skipped(ReportedSkip { why: reason.clone(), decider: *decider })
        }
        Report::Verified => RecordedEvent::VerificationAsked(NoDetails {}),
        Report::Referred { ids, how } => {
            RecordedEvent::Referred(ReportedUse { ids: ids.clone(), how: how.clone() })
        }
        Report::Went { ids, is_success, .. } => {
            RecordedEvent::Went(ReportedOutcome { ids: ids.clone(), is_success: *is_success })
        }
        Report::Answered(answered) => {
            RecordedEvent::Answered(ReportedAnswer { question: answered.question.clone() })
        }
        // The record leaves out the token, so that no other agent can use it.
        Report::Decided(decided) => RecordedEvent::ReviewDecided(ReportedDecision {
            word: decided.word,
            summary: decided.summary.clone(),
            message: decided.message.clone(),
            opinions: decided.opinions.clone(),
            by: Text::from(if decided.token.is_some() { "reviewer" } else { "person" }),
        }),
        Report::Misdirected { .. } => RecordedEvent::Misdirected(NoDetails {}),
        Report::ReviewerStarted { client, .. } => {
            RecordedEvent::ReviewerStarted(StartedReviewer { client: client.clone() })
        }
        Report::ReviewerEnded { .. } => RecordedEvent::ReviewerEnded(NoDetails {}),
    }
}

fn recorded(event: &Event, cwd: &str) -> RecordedEvent {
    match event {
        Event::SessionStarted { source } => {
            RecordedEvent::SessionStarted(StartedSession { source: *source, cwd: cwd.to_owned() })
        }
        Event::Prompted { text, author } => {
            RecordedEvent::Prompted(RecordedPrompt { text: redact::short(text), author: *author })
        }
        Event::ToolRequested { call } => RecordedEvent::ToolRequested(tool(call, None)),
        Event::PermissionAsked { call } => RecordedEvent::PermissionAsked(tool(call, None)),
        Event::ToolFinished { call, outcome } => RecordedEvent::ToolFinished(tool(call, Some(outcome))),
        Event::StopRequested(request) => RecordedEvent::StopRequested(stop(request)),
        Event::SubagentStopped(request) => RecordedEvent::SubagentStopped(stop(request)),
        Event::TaskCompleting { id, subject } => {
            RecordedEvent::TaskCompleting(CompletingTask { id: id.clone(), subject: subject.clone() })
        }
        Event::SessionEnded { why } => RecordedEvent::SessionEnded(EndedSession { why: why.clone() }),
        Event::Noticed { what, message } => {
            RecordedEvent::Noticed(ClientNotice { what: what.clone(), message: message.clone() })
        }
        Event::SubagentStarted => RecordedEvent::SubagentStarted(NoDetails {}),
        Event::Compacting => RecordedEvent::Compacting(NoDetails {}),
        Event::Reported(_) | Event::Tick => RecordedEvent::Tick(NoDetails {}),
    }
}

fn tool(call: &ToolCall, outcome: Option<&ToolOutcome>) -> RecordedCall {
    let error = match outcome {
        Some(ToolOutcome::Failed { error }) => Some(redact::short(error.as_str())),
        _ => None,
    };
    RecordedCall {
        tool: call.name.clone(),
        effect: call.effect,
        input: call.summary(),
        call: call.id.clone(),
        outcome: outcome.map(|outcome| Text::from(outcome.name())),
        error,
    }
}

fn stop(stop: &StopRequest) -> RecordedStop {
    RecordedStop {
        last_message: redact::short(stop.last_message.as_str()),
        waiting: stop.waiting == BackgroundWork::Yes,
        again: stop.again,
    }
}
