//! A run as an OpenTelemetry trace for other programs, with the conventional names for agents. The trace is
//! made from records, so nothing has to be sent while the run is active.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::time::Timestamp;

use super::agent::activity::AgentActivity;
use super::ids::EffectKey;
use super::run::effect::{Effect, EffectOutcome, QueueStep, RefStep, StageStep};
use super::run::record::{RunRecord, SessionOutcome};
use super::sentences;

/// An operation with a duration.
#[derive(Clone, Debug, PartialEq)]
pub struct OtelSpan {
    /// The digest of the key of the operation, so that every process computes the same id.
    id: String,
    parent: Option<String>,
    name: String,
    begun: Timestamp,
    /// `None` while the operation is active.
    ended: Option<Timestamp>,
    facts: Vec<(&'static str, Value)>,
    error: Option<String>,
}

/// The trace of a run; the first span is the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Spans {
    trace: String,
    spans: Vec<OtelSpan>,
    /// Index of the span of each key that has not ended.
    open: BTreeMap<EffectKey, usize>,
    /// Index of the span of each agent.
    agents: BTreeMap<EffectKey, usize>,
    moved: Timestamp,
}

impl Spans {
    /// Begins a trace; `None` if the record does not start a run.
    pub fn begin(record: &RunRecord, at: Timestamp) -> Option<Spans> {
        let RunRecord::Started { run, plan, .. } = record else { return None };
        let name = plan.head.name.to_string();
        let facts =
            vec![("gen_ai.operation.name", json!("invoke_workflow")), ("gen_ai.workflow.name", json!(name))];
        let root = OtelSpan {
            id: span_id(run.as_str()),
            parent: None,
            name: format!("invoke_workflow {name}"),
            begun: at,
            ended: None,
            facts,
            error: None,
        };
        Some(Spans {
            trace: trace_id(run.as_str()),
            spans: vec![root],
            open: BTreeMap::new(),
            agents: BTreeMap::new(),
            moved: at,
        })
    }

    pub fn apply(&mut self, record: &RunRecord, at: Timestamp) {
        let at = at.max(self.moved);
        self.moved = at;
        match record {
            RunRecord::EffectBegun { key, effect, .. } => self.begin_span(key, effect, at),
            RunRecord::Outcome { key, outcome } => match outcome {
                // The span of an agent ends with its session.
                EffectOutcome::Spawned => {}
                _ => self.end_span(key, at, failure_of(outcome)),
            },
            RunRecord::Ended { session, ended, .. } => self.end_span(session, at, error_of(ended)),
            RunRecord::Started { .. }
            | RunRecord::Amended { .. }
            | RunRecord::Happened { .. }
            | RunRecord::WorktreeLost { .. }
            | RunRecord::Foreign { .. }
            | RunRecord::TargetHeld { .. }
            | RunRecord::Nearly { .. }
            | RunRecord::StageCommand { .. } => {}
        }
    }

    fn begin_span(&mut self, key: &EffectKey, effect: &Effect, begun: Timestamp) {
        let Some((name, facts)) = span_details(key, effect) else { return };
        let (id, parent) = (span_id(key.0.as_str()), Some(self.spans[0].id.clone()));
        self.open.insert(key.clone(), self.spans.len());
        if effect.is_spawn() {
            self.agents.insert(key.clone(), self.spans.len());
        }
        self.spans.push(OtelSpan { id, parent, name, begun, ended: None, facts, error: None });
    }

    fn end_span(&mut self, key: &EffectKey, at: Timestamp, error: Option<String>) {
        let Some(place) = self.open.remove(key) else { return };
        self.spans[place].ended = Some(at);
        self.spans[place].error = error;
    }

    pub fn sessions(&self) -> impl Iterator<Item = &EffectKey> {
        self.agents.keys()
    }

    /// Adds the activity of the agent of a session and the records of its calls.
    pub fn see(&mut self, session: &EffectKey, seen: &AgentActivity, records: &[Record]) {
        let Some(agent) = self.agents.get(session).map(|place| &mut self.spans[*place]) else { return };
        let called = seen.client_session.as_ref().map(|name| ("gen_ai.conversation.id", json!(name)));
        let model = seen.model.as_ref().map(|model| ("gen_ai.response.model", json!(model)));
        let tokens = seen.used.map(|used| ("sprag.tokens", json!(used.tokens)));
        let micros =
            seen.used.and_then(|used| used.micros).map(|micros| ("sprag.cost.micros", json!(micros)));
        agent.facts.extend([called, model, tokens, micros].into_iter().flatten());
        let calls = calls(agent, records);
        self.spans.extend(calls);
    }

    /// Writes the trace as OTLP JSON. An active span ends at the time of the last record.
    pub fn otlp(&self, version: &str) -> Value {
        let spans: Vec<Value> = self.spans.iter().map(|span| self.span(span)).collect();
        json!({"resourceSpans": [{
            "resource": {"attributes": attributes(&[("service.name", json!("sprag"))])},
            "scopeSpans": [{"scope": {"name": "sprag", "version": version}, "spans": spans}],
        }]})
    }

    fn span(&self, span: &OtelSpan) -> Value {
        let nanos = |at: Timestamp| format!("{}000000", at.millis().max(0));
        let status = span.error.as_ref().map_or(json!({}), |error| json!({"code": 2, "message": error}));
        let mut told = json!({
            "traceId": self.trace,
            "spanId": span.id,
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": nanos(span.begun),
            "endTimeUnixNano": nanos(span.ended.unwrap_or(self.moved).max(span.begun)),
            "attributes": attributes(&span.facts),
            "status": status,
        });
        if let Some(parent) = &span.parent {
            told["parentSpanId"] = json!(parent);
        }
        told
    }
}

/// Returns the W3C trace context that links an agent's own telemetry to its span.
pub fn traceparent(session: &EffectKey) -> String {
    let key = session.0.as_str();
    let run = key.split('/').next().unwrap_or_default();
    format!("00-{}-{}-01", trace_id(run), span_id(key))
}

/// Returns the trace id of a run: its UUID without dashes, which has the right length, or else a digest.
fn trace_id(run: &str) -> String {
    let digits = run.replace('-', "");
    let is_name = digits.len() == 32
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && digits.bytes().any(|byte| byte != b'0');
    if is_name { digits } else { Digest::hash_parts([run]).to_string() }
}

fn span_id(key: &str) -> String {
    Digest::hash_parts([key]).to_string()[..16].to_owned()
}

/// Returns the name and the attributes of an effect; `None` for effects without a duration.
fn span_details(key: &EffectKey, effect: &Effect) -> Option<(String, Vec<(&'static str, Value)>)> {
    let of_candidate = |name: &str, number: &u64| {
        Some((format!("{name} {number}"), vec![("sprag.candidate", json!(number))]))
    };
    match effect {
        Effect::Stage { stage, step: StageStep::Spawn } => {
            let attempt = key.0.as_str().split('/').nth(2).and_then(|attempt| attempt.parse::<u32>().ok());
            let facts = vec![
                ("gen_ai.operation.name", json!("invoke_agent")),
                ("gen_ai.agent.name", json!(stage)),
                ("gen_ai.agent.id", json!(key)),
                ("sprag.stage", json!(stage)),
                ("sprag.attempt", json!(attempt)),
            ];
            Some((format!("invoke_agent {}", stage.as_str()), facts))
        }
        Effect::Stage { stage, step } => {
            let name = match step {
                StageStep::AddWorktree { .. } => "add_worktree",
                StageStep::Setup => "setup",
                StageStep::Check { .. } => "check",
                StageStep::Review(_) => "review",
                StageStep::Salvage => "salvage",
                _ => return None,
            };
            Some((format!("{name} {}", stage.as_str()), vec![("sprag.stage", json!(stage))]))
        }
        Effect::Queue { number, step: QueueStep::Make { .. } } => of_candidate("candidate", number),
        Effect::Queue { number, step: QueueStep::Test { .. } } => of_candidate("gate", number),
        Effect::Queue { number, step: QueueStep::Land { .. } } => of_candidate("land", number),
        Effect::Refs(RefStep::Promote { .. }) => Some(("promote".to_owned(), Vec::new())),
        Effect::Refs(RefStep::RestoreTrunk { .. }) | Effect::Session { .. } | Effect::Notify { .. } => None,
    }
}

fn failure_of(outcome: &EffectOutcome) -> Option<String> {
    match outcome {
        EffectOutcome::Red { .. } => Some("checks failed".to_owned()),
        EffectOutcome::Conflicted { .. } => Some("conflict".to_owned()),
        EffectOutcome::Failed { why, .. } => Some(why.to_string()),
        _ => None,
    }
}

fn error_of(ended: &SessionOutcome) -> Option<String> {
    match ended {
        SessionOutcome::Well | SessionOutcome::Stopped => None,
        SessionOutcome::Failed { failure, .. } => Some(sentences::failed(*failure).to_owned()),
        SessionOutcome::RateLimited { .. } => Some("rate limit".to_owned()),
        SessionOutcome::ContextFull => Some("context full".to_owned()),
    }
}

/// A call in the journal of a session, with the fields that a span needs. The full type belongs to a crate
/// above this one.
#[derive(Deserialize)]
struct AgentCall {
    call: String,
    #[serde(default = "unknown_tool")]
    tool: String,
    #[serde(default)]
    verdict: String,
    outcome: Option<String>,
}

fn unknown_tool() -> String {
    "?".to_owned()
}

/// Returns the tool calls during the life of the agent, from the records of its hooks.
fn calls(agent: &OtelSpan, records: &[Record]) -> Vec<OtelSpan> {
    let mut calls: Vec<OtelSpan> = Vec::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let is_its = |at: Timestamp| at >= agent.begun && agent.ended.is_none_or(|ended| at <= ended);
    for record in records.iter().filter(|record| is_its(record.at)) {
        let Ok(AgentCall { call, tool, verdict, outcome }) = AgentCall::deserialize(&record.body) else {
            continue;
        };
        match record.kind.as_str() {
            "tool.requested" => {
                let is_refused = verdict == "hold";
                if !is_refused {
                    open.insert(call.clone(), calls.len());
                }
                calls.push(OtelSpan {
                    id: span_id(&format!("{}/{call}", agent.id)),
                    parent: Some(agent.id.clone()),
                    name: format!("execute_tool {tool}"),
                    begun: record.at,
                    ended: is_refused.then_some(record.at),
                    facts: vec![
                        ("gen_ai.operation.name", json!("execute_tool")),
                        ("gen_ai.tool.name", json!(tool)),
                        ("gen_ai.tool.call.id", json!(call)),
                    ],
                    error: is_refused.then(|| "refused".to_owned()),
                });
            }
            "tool.finished" => {
                let Some(place) = open.remove(&call) else { continue };
                calls[place].ended = Some(record.at);
                calls[place].error = outcome.filter(|outcome| outcome != "ok");
            }
            _ => {}
        }
    }
    // A call without a recorded end ended with its agent at the latest.
    for place in open.into_values() {
        calls[place].ended = agent.ended;
    }
    calls
}

fn attributes(facts: &[(&'static str, Value)]) -> Vec<Value> {
    let value = |value: &Value| match value {
        // OTLP writes integers as text because not every reader has enough digits.
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            json!({"stringValue": value.to_string()})
        }
    };
    let told = facts.iter().filter(|(_, fact)| !fact.is_null());
    told.map(|(key, fact)| json!({"key": key, "value": value(fact)})).collect()
}

#[cfg(test)]
mod tests {
    use sprag_base::text::Text;

    use super::*;
    use crate::ids::StageId;
    use crate::stage::StageFailure;
    use crate::testing::{now, plan, start};

    fn record(kind: &str, seconds: i64, body: Value) -> Record {
        Record::new(kind, now().plus_seconds(seconds), body)
    }

    /// Each span: its name, that of its parent, its seconds and its error.
    fn drawn(spans: &Spans) -> Vec<String> {
        let told = spans.otlp("0");
        let all = told["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        let parent = |span: &Value| {
            let found = all.iter().find(|it| it["spanId"] == span["parentSpanId"]);
            found.map_or("-".to_owned(), |it| it["name"].as_str().unwrap().to_owned())
        };
        let second = |span: &Value, name: &str| {
            let nanos: i64 = span[name].as_str().unwrap().parse().unwrap();
            (nanos / 1_000_000 - now().millis()) / 1000
        };
        let line = |span: &Value| {
            let (from, to) = (second(span, "startTimeUnixNano"), second(span, "endTimeUnixNano"));
            let error = span["status"]["message"].as_str().unwrap_or("well");
            format!("{} < {} {from}-{to} {error}", span["name"].as_str().unwrap(), parent(span))
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn a_run_is_a_trace_of_its_agents_and_their_calls() {
        let mut spans = Spans::begin(&start(plan(&[("a", "", "a/**")])), now()).unwrap();
        let at = |seconds| now().plus_seconds(seconds);
        let stage = StageId::new("a");
        let key = |step: &str| EffectKey(Text::new(format!("r/a/1/{step}")));
        let intent = |step: &str, effect| RunRecord::EffectBegun { key: key(step), epoch: 1, effect };
        let session = key("spawn.0");
        spans.apply(&intent("spawn.0", StageStep::Spawn.for_stage(&stage)), at(1));
        spans.apply(&RunRecord::Outcome { key: session.clone(), outcome: EffectOutcome::Spawned }, at(2));
        let ended = SessionOutcome::Failed {
            failure: StageFailure::Crash,
            progress: crate::run::record::CommitProgress::Nothing,
        };
        spans.apply(
            &RunRecord::Ended { stage: stage.clone(), session: session.clone(), at: at(9), ended },
            at(9),
        );
        spans.apply(&intent("check.1", StageStep::Setup.for_stage(&stage)), at(10));
        let seen = AgentActivity { client_session: Some(Text::new("c")), ..AgentActivity::default() };
        let records = [
            record("tool.requested", 0, json!({"call": "early", "tool": "Read"})),
            record("tool.requested", 3, json!({"call": "1", "tool": "Bash", "verdict": "pass"})),
            record("tool.requested", 4, json!({"call": "2", "tool": "Edit", "verdict": "hold"})),
            record("tool.finished", 5, json!({"call": "1", "tool": "Bash", "outcome": "failed"})),
            record("tool.requested", 6, json!({"call": "3", "tool": "Read", "verdict": "pass"})),
        ];
        spans.see(&session, &seen, &records);
        assert_eq!(
            drawn(&spans),
            [
                "invoke_workflow test < - 0-10 well",
                "invoke_agent a < invoke_workflow test 1-9 its agent has crashed",
                "setup a < invoke_workflow test 10-10 well",
                "execute_tool Bash < invoke_agent a 3-5 failed",
                "execute_tool Edit < invoke_agent a 4-4 refused",
                "execute_tool Read < invoke_agent a 6-9 well",
            ]
        );
    }

    #[test]
    fn an_agent_is_told_the_name_of_its_span() {
        let run = "01a1e53f-50c2-79c2-af57-d3e31b2b0500";
        let key = EffectKey(Text::new(format!("{run}/a/1/spawn.0")));
        let told = traceparent(&key);
        assert_eq!(told.len(), 55);
        assert!(told.starts_with("00-01a1e53f50c279c2af57d3e31b2b0500-"), "{told}");
        assert!(told.ends_with(&format!("-{}-01", span_id(key.0.as_str()))), "{told}");
        // The trace id has the right form for any name of a run.
        assert_eq!(trace_id("r").len(), 32);
        assert_ne!(trace_id("00000000000000000000000000000000"), "00000000000000000000000000000000");
    }
}
