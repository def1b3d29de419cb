//! What is written down of an event: what was asked, and what came of it.

use serde_json::{Value, json};

use sprag_base::record::Record;
use sprag_base::redact;
use sprag_govern::event::{BackgroundWork, Event, Input, StartSource};
use sprag_govern::report::Report;
use sprag_govern::verdict::{Ruling, Verdict};
use sprag_policy::call::{ToolCall, ToolOutcome};

use crate::store::new_record;

pub(crate) fn record(input: &Input, verdict: &Verdict) -> Record {
    let (kind, mut body) = match &input.event {
        Event::Reported(report) => reported(report),
        event => (event.kind().name(), event_to_json(event, &input.cwd)),
    };
    body["verdict"] = json!(verdict.ruling.name());
    if let Ruling::Allow { gate, reason } | Ruling::Ask { gate, reason } | Ruling::Hold { gate, reason, .. } =
        &verdict.ruling
    {
        body["gate"] = json!(gate);
        body["reason"] = json!(reason);
    }
    if !verdict.notes.is_empty() {
        body["notes"] = json!(verdict.notes);
    }
    if let Some(rewrite) = &verdict.rewrite {
        body["rewritten"] = json!(rewrite.why);
    }
    new_record::from_parts(kind, input.at, Some(&input.session), Some(new_record::by(input)), body)
}

fn reported(report: &Report) -> (&'static str, Value) {
    match report {
        Report::Observed { note } => ("observed", json!({ "note": note })),
        Report::Approved { code } => ("approved", json!({ "code": code })),
        Report::Rejected { code } => ("rejected", json!({ "code": code })),
        Report::IntentSelected { id, class } => ("selected", json!({"intent": id, "class": class})),
        Report::IntentDone { id, fingerprint } => ("done", json!({"intent": id, "fingerprint": fingerprint})),
        Report::Reflected { ids, .. } => ("reflected", json!({ "candidates": ids.len() })),
        Report::Skipped { reason, decider } => ("skipped", json!({"why": reason, "decider": decider})),
        Report::Verified => ("verification.asked", json!({})),
        Report::Referred { ids, how } => ("referred", json!({"ids": ids, "how": how})),
        Report::Went { ids, is_success, .. } => ("went", json!({"ids": ids, "is_success": is_success})),
        Report::Answered(answered) => ("answered", json!({ "question": answered.question })),
        // What tells a reviewer is nobody else's to read.
        Report::Decided(decided) => (
            "decided",
            json!({
                "word": decided.word,
                "summary": decided.summary,
                "message": decided.message,
                "opinions": decided.opinions,
                "by": if decided.token.is_some() { "reviewer" } else { "person" },
            }),
        ),
        Report::Misdirected { .. } => ("misdirected", json!({})),
        Report::ReviewerStarted { client, .. } => ("reviewer.started", json!({ "client": client })),
        Report::ReviewerEnded { .. } => ("reviewer.ended", json!({})),
    }
}

fn event_to_json(event: &Event, cwd: &str) -> Value {
    match event {
        Event::SessionStarted { source } => json!({"source": source_name(*source), "cwd": cwd}),
        Event::Prompted { text, author } => {
            json!({"text": redact::short::<2000>(text), "author": author.name()})
        }
        Event::ToolRequested { call } | Event::PermissionAsked { call } => tool(call),
        Event::ToolFinished { call, outcome } => {
            let mut body = tool(call);
            body["outcome"] = json!(outcome.name());
            if let ToolOutcome::Failed { error } = outcome {
                body["error"] = json!(redact::short::<500>(error.as_str()));
            }
            body
        }
        Event::StopRequested(stop) | Event::SubagentStopped(stop) => json!({
            "last_message": redact::short::<500>(stop.last_message.as_str()),
            "waiting": stop.waiting == BackgroundWork::Yes,
            "again": stop.again,
        }),
        Event::TaskCompleting { id, subject } => json!({"id": id, "subject": subject}),
        Event::SessionEnded { why } => json!({ "why": why }),
        Event::Noticed { what, message } => json!({"what": what, "message": message}),
        Event::SubagentStarted | Event::Compacting | Event::Reported(_) | Event::Tick => json!({}),
    }
}

fn tool(call: &ToolCall) -> Value {
    let mut body = json!({"tool": call.name, "effect": call.effect.name(), "input": call.summary()});
    if let Some(id) = &call.id {
        body["call"] = json!(id);
    }
    body
}

fn source_name(source: StartSource) -> &'static str {
    match source {
        StartSource::Startup => "startup",
        StartSource::Resume => "resume",
        StartSource::Compact => "compact",
        StartSource::Clear => "clear",
        StartSource::Fork => "fork",
        StartSource::Other => "other",
    }
}
