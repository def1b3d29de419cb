//! The hook JSON of Claude Code, which other clients copied: one object with `hook_event_name` on stdin, one
//! object on stdout. The files of the clients hold the differences: tools and supported answers.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::redact;
use sprag_base::text::{Text, ending};
use sprag_base::time::Timestamp;
use sprag_govern::event::{
    Actor, BackgroundWork, Event, EventKind, Input, Presence, PromptAuthor, StartSource, StopRequest,
};
use sprag_govern::verdict::{Ruling, Verdict};
use sprag_policy::call::{InputCompleteness, ToolCall, ToolOutcome, ToolRow};

use super::{Malformed, ParsedPayload, RenderInput};
use crate::clients::payload::HookPayload;

/// The properties in which clients of this dialect differ.
pub(crate) struct HookDialect {
    pub client: &'static str,
    pub tools: &'static [ToolRow],
    pub presence: Presence,
    /// Whether the payload of a finished tool contains the outcome.
    pub tells_outcome: bool,
    /// The project that the client was started for, if the client reports it.
    pub project: Option<String>,
    pub now: Timestamp,
}

#[derive(Deserialize)]
struct Wire<'a> {
    session_id: String,
    hook_event_name: String,
    cwd: Option<String>,
    transcript_path: Option<String>,
    permission_mode: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    source: Option<String>,
    prompt: Option<String>,
    tool_name: Option<String>,
    #[serde(default)]
    tool_input: Value,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    error: Option<Value>,
    stop_hook_active: Option<bool>,
    last_assistant_message: Option<String>,
    background_tasks: Option<Vec<serde::de::IgnoredAny>>,
    task_id: Option<String>,
    task_subject: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    notification_type: Option<String>,
}

/// The fields of a tool response that mark a call as still running.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Launch {
    is_async: bool,
    background_task_id: Option<String>,
}

pub(crate) fn kind_of(native: &str) -> Option<EventKind> {
    Some(match native {
        "SessionStart" => EventKind::SessionStarted,
        "UserPromptSubmit" => EventKind::Prompted,
        "PreToolUse" => EventKind::ToolRequested,
        "PermissionRequest" => EventKind::PermissionAsked,
        "PostToolUse" | "PostToolUseFailure" => EventKind::ToolFinished,
        "Stop" => EventKind::StopRequested,
        "SubagentStart" => EventKind::SubagentStarted,
        "SubagentStop" => EventKind::SubagentStopped,
        "TaskCompleted" => EventKind::TaskCompleting,
        "PreCompact" => EventKind::Compacting,
        "Notification" | "StopFailure" => EventKind::Noticed,
        "SessionEnd" => EventKind::SessionEnded,
        _ => return None,
    })
}

pub(crate) fn parse(dialect: &HookDialect, payload: &HookPayload) -> Result<ParsedPayload, Malformed> {
    let wire: Wire<'_> =
        serde_json::from_slice(&payload.bytes).map_err(|error| Malformed(error.to_string()))?;
    let native = wire.hook_event_name.clone();
    // An empty id does not name a subagent, so its stop is judged like any other.
    let id = wire.agent_id.as_deref().filter(|id| !id.trim().is_empty());
    let actor = match id {
        Some(id) => Actor::Subagent {
            id: redact::short(id),
            kind: redact::short(wire.agent_type.as_deref().unwrap_or_default()),
        },
        None => Actor::Main,
    };
    // Without an id, the type belongs to the main agent of the session.
    let agent = wire.agent_type.as_deref().filter(|kind| id.is_none() && !kind.is_empty());
    let agent = agent.map(redact::short);
    let session = SessionId::new(wire.session_id.clone());
    let cwd = wire.cwd.clone().unwrap_or_default();
    // In these modes the client answers questions itself: the question would allow the call or be lost.
    let presence = match wire.permission_mode.as_deref() {
        Some("bypassPermissions" | "dontAsk") => Presence::Headless,
        _ => dialect.presence,
    };
    let transcript = wire.transcript_path.clone().filter(|path| path.starts_with('/'));
    let input = event(dialect, wire, payload.whole)?.map(|event| Input {
        client: dialect.client.to_owned(),
        cwd,
        project: dialect.project.clone(),
        transcript,
        actor,
        agent,
        presence,
        ..Input::new(dialect.now, session, event)
    });
    Ok(ParsedPayload { native, input })
}

fn event(
    dialect: &HookDialect,
    wire: Wire<'_>,
    whole: InputCompleteness,
) -> Result<Option<Event>, Malformed> {
    let Some(kind) = kind_of(&wire.hook_event_name) else {
        return Ok(None);
    };
    Ok(Some(match kind {
        EventKind::SessionStarted => Event::SessionStarted { source: source(wire.source.as_deref()) },
        EventKind::Prompted => {
            let text = wire.prompt.unwrap_or_default();
            Event::Prompted { author: author(&text), text }
        }
        EventKind::ToolRequested => Event::ToolRequested { call: call(dialect, wire, whole)? },
        EventKind::PermissionAsked => Event::PermissionAsked { call: call(dialect, wire, whole)? },
        EventKind::ToolFinished => {
            let outcome = outcome(dialect, &wire);
            let response = wire.tool_response.map(RawValue::get);
            let mut call = call(dialect, wire, whole)?;
            if call.asks_the_user() {
                add_answers(&mut call.input, response);
            }
            Event::ToolFinished { call, outcome }
        }
        EventKind::StopRequested => Event::StopRequested(stop(wire)),
        EventKind::SubagentStarted => Event::SubagentStarted,
        // Internal helpers of a client, for example for compaction, stop without a start event.
        EventKind::SubagentStopped if wire.agent_type.as_deref() == Some("") => return Ok(None),
        EventKind::SubagentStopped => Event::SubagentStopped(stop(wire)),
        EventKind::TaskCompleting => Event::TaskCompleting {
            id: redact::short(&wire.task_id.unwrap_or_default()),
            subject: redact::short(&wire.task_subject.unwrap_or_default()),
        },
        EventKind::Compacting => Event::Compacting,
        EventKind::SessionEnded => Event::SessionEnded { why: Text::new(wire.reason.unwrap_or_default()) },
        EventKind::Noticed => Event::Noticed {
            what: Text::new(wire.notification_type.unwrap_or(wire.hook_event_name)),
            message: Text::new(
                wire.message.or_else(|| wire.error.map(|error| error.to_string())).unwrap_or_default(),
            ),
        },
        EventKind::Reported | EventKind::Tick => return Ok(None),
    }))
}

fn call(dialect: &HookDialect, wire: Wire<'_>, whole: InputCompleteness) -> Result<ToolCall, Malformed> {
    let name = wire.tool_name.ok_or_else(|| Malformed("missing field `tool_name`".to_owned()))?;
    Ok(ToolCall::new(dialect.tools, &name, wire.tool_input, wire.tool_use_id.as_deref(), whole))
}

/// Adds the answers of the user from the response. Some versions put them into the input.
fn add_answers(input: &mut Value, response: Option<&str>) {
    let response: Value = response.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if let (Some(input), Some(answers)) = (input.as_object_mut(), response.get("answers")) {
        input.entry("answers").or_insert_with(|| answers.clone());
    }
}

fn outcome(dialect: &HookDialect, wire: &Wire<'_>) -> ToolOutcome {
    if let Some(error) = &wire.error {
        let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
        return ToolOutcome::Failed { error: Text::new(text) };
    }
    if !dialect.tells_outcome {
        return ToolOutcome::Unknown;
    }
    let response = wire.tool_response.map_or("null", RawValue::get);
    let launch: Launch = serde_json::from_str(response).unwrap_or_default();
    if launch.is_async || launch.background_task_id.is_some() {
        ToolOutcome::Launched
    } else {
        ToolOutcome::Ok
    }
}

fn stop(wire: Wire<'_>) -> StopRequest {
    StopRequest {
        // The end of the message shows how the turn ended.
        last_message: Text::from(ending(&wire.last_assistant_message.unwrap_or_default(), 4000)),
        waiting: match wire.background_tasks {
            Some(tasks) if tasks.is_empty() => BackgroundWork::No,
            Some(_) => BackgroundWork::Yes,
            None => BackgroundWork::Untold,
        },
        planning: wire.permission_mode.as_deref() == Some("plan"),
        again: wire.stop_hook_active.unwrap_or(false),
    }
}

fn source(text: Option<&str>) -> StartSource {
    match text {
        Some("startup") => StartSource::Startup,
        Some("resume") => StartSource::Resume,
        Some("compact") => StartSource::Compact,
        Some("clear") => StartSource::Clear,
        Some("fork") => StartSource::Fork,
        _ => StartSource::Other,
    }
}

fn author(text: &str) -> PromptAuthor {
    let text = text.trim_start();
    if text.starts_with("sprag:") || text.starts_with("<hook_prompt") {
        PromptAuthor::Sprag
    } else if text.starts_with("<task-notification>") {
        PromptAuthor::Client
    } else {
        PromptAuthor::User
    }
}

/// Renders the answer with the members that all clients of the dialect support.
pub(crate) fn render(reply: &RenderInput<'_>) -> String {
    let mut out = serde_json::Map::new();
    if let Some(warning) = reply.warning {
        out.insert("systemMessage".to_owned(), json!(format!("sprag: {warning}")));
    }
    let mut specific = serde_json::Map::new();
    let verdict = reply.verdict;
    match kind_of(reply.native) {
        Some(EventKind::ToolRequested) => tool_requested(reply, &mut specific),
        Some(EventKind::PermissionAsked) => {
            let decision = match &verdict.ruling {
                Ruling::Hold { reason, .. } => {
                    Some(json!({"behavior": "deny", "message": reason.refusal_text()}))
                }
                Ruling::Allow { .. } => Some(json!({"behavior": "allow"})),
                // The client asks its own question.
                Ruling::Pass | Ruling::Ask { .. } => None,
            };
            if let Some(decision) = decision {
                specific.insert("decision".to_owned(), decision);
            }
        }
        Some(
            EventKind::StopRequested
            | EventKind::SubagentStopped
            | EventKind::TaskCompleting
            | EventKind::Prompted,
        ) => {
            if let Ruling::Hold { reason, also, .. } = &verdict.ruling {
                out.insert("decision".to_owned(), json!("block"));
                out.insert("reason".to_owned(), json!(reason.hold_text(also)));
            }
        }
        _ => {}
    }
    if takes_context(reply.native)
        && let Some(context) = verdict.context()
    {
        specific.insert("additionalContext".to_owned(), json!(context));
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), json!(reply.native));
        out.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    Value::Object(out).to_string()
}

fn tool_requested(reply: &RenderInput<'_>, specific: &mut serde_json::Map<String, Value>) {
    let Verdict { ruling, rewrite, .. } = reply.verdict;
    let (decision, reason) = match (ruling, reply.presence) {
        (Ruling::Pass | Ruling::Allow { .. }, _) => (None, None),
        (Ruling::Ask { reason, .. }, Presence::Attended) => (Some("ask"), Some(reason)),
        // No person can answer: a question would become a denial without a reason.
        (Ruling::Ask { reason, .. }, Presence::Headless) | (Ruling::Hold { reason, .. }, _) => {
            (Some("deny"), Some(reason))
        }
    };
    if let (Some(decision), Some(reason)) = (decision, reason) {
        specific.insert("permissionDecision".to_owned(), json!(decision));
        // A person reads a question, an agent reads a refusal.
        let told = if decision == "ask" { reason.hold_text(&[]) } else { reason.refusal_text() };
        specific.insert("permissionDecisionReason".to_owned(), json!(told));
    }
    if let Some(rewrite) = rewrite {
        specific.insert("updatedInput".to_owned(), rewrite.input.clone());
    }
}

/// Reports whether the event accepts context. Stops do not, because context would continue the turn.
fn takes_context(native: &str) -> bool {
    matches!(
        native,
        "SessionStart"
            | "UserPromptSubmit"
            | "PreToolUse"
            | "PostToolUse"
            | "PostToolUseFailure"
            | "SubagentStart"
    )
}
