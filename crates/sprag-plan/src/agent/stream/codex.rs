//! Reads the output of Codex: `exec --json`, and the lines of its rollout. The former reports the steps and
//! the total cost. Only the latter reports the use of the context and the cause of a failure.

use std::collections::BTreeSet;

use serde_json::Value;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::limit;
use crate::agent::activity::{AgentActivity, AgentTrouble, AgentWait, ContextUsage, SessionCost, WaitTarget};

/// Seconds that a request to the model or a command may take.
const PATIENCE: i64 = 600;
/// Steps that may be open at a time.
const OPEN: usize = 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct Codex {
    /// Steps that began and have not ended.
    open: BTreeSet<String>,
    /// Answered requests, counted in the rollout.
    answers: u32,
    /// The end of the limits of the account that are nearly reached.
    reset: Option<Timestamp>,
}

impl Codex {
    pub(super) fn read(&mut self, line: &Value, seen: &mut AgentActivity, now: Timestamp) {
        match line["type"].as_str() {
            Some("thread.started") => seen.client_session = line["thread_id"].as_str().map(Text::new),
            Some("turn.started") => self.wait(seen, now),
            Some("item.started") => {
                self.used(&line["item"], seen);
                let id = line["item"]["id"].as_str().filter(|id| id.len() < 200 && self.open.len() < OPEN);
                self.open.extend(id.map(str::to_owned));
                self.wait(seen, now);
            }
            Some("item.completed") => {
                self.used(&line["item"], seen);
                self.open.remove(line["item"]["id"].as_str().unwrap_or_default());
                self.wait(seen, now);
            }
            Some("turn.completed") => {
                let usage = &line["usage"];
                if usage["input_tokens"].is_u64() {
                    total(usage, seen);
                }
                seen.turns = seen.turns.max(1);
                self.is_over(seen);
            }
            Some("turn.failed") => self.is_over(seen),
            Some("turn_context") => {
                seen.model = line["payload"]["model"].as_str().map(Text::new).or(seen.model.take());
            }
            Some("event_msg") => self.event(&line["payload"], seen, now),
            _ => {}
        }
    }

    fn event(&mut self, event: &Value, seen: &mut AgentActivity, now: Timestamp) {
        match event["type"].as_str() {
            Some("token_count") => {
                self.limits(&event["rate_limits"], now);
                let info = &event["info"];
                let tokens = info["last_token_usage"]["total_tokens"].as_u64();
                let window = info["model_context_window"].as_u64().filter(|window| *window > 0);
                if let (Some(tokens), Some(window)) = (tokens, window) {
                    seen.context = Some(ContextUsage { tokens, window });
                }
                if info["total_token_usage"]["input_tokens"].is_u64() {
                    total(&info["total_token_usage"], seen);
                    self.answers = self.answers.saturating_add(1);
                    seen.turns = seen.turns.max(self.answers);
                    seen.trouble = None;
                }
            }
            Some("task_complete") => {
                self.is_over(seen);
                seen.trouble = self.trouble(&event["error"]["codex_error_info"]);
            }
            Some("error" | "stream_error") => {
                seen.trouble = self.trouble(&event["codex_error_info"]).or(seen.trouble.take());
            }
            _ => {}
        }
    }

    fn is_over(&mut self, seen: &mut AgentActivity) {
        self.open.clear();
        seen.wait = None;
    }

    fn used(&self, item: &Value, seen: &mut AgentActivity) {
        let name = match item["type"].as_str() {
            Some("mcp_tool_call") => item["tool"].as_str(),
            Some(kind @ ("command_execution" | "file_change" | "web_search" | "collab_tool_call")) => {
                Some(kind)
            }
            _ => None,
        };
        if let Some(name) = name {
            seen.last_tool = Some(Text::new(name));
        }
    }

    fn limits(&mut self, limits: &Value, now: Timestamp) {
        let full = |limit: &&Value| limit["used_percent"].as_f64().is_some_and(|percent| percent >= 99.0);
        let ends = |limit: &Value| {
            limit::reset(&limit["resets_at"], now)
                .or_else(|| limit::reset_in(&limit["resets_in_seconds"], now))
        };
        let both = [&limits["primary"], &limits["secondary"]];
        self.reset = both.into_iter().filter(full).filter_map(ends).max().or(self.reset);
    }

    /// Reads the error information: a word, or an object with one word as its key.
    fn trouble(&self, info: &Value) -> Option<AgentTrouble> {
        let limit = || AgentTrouble::RateLimit { until: self.reset };
        let (word, of) = match info {
            Value::String(word) => (word.as_str(), &Value::Null),
            Value::Object(members) => members.iter().next().map(|(word, of)| (word.as_str(), of))?,
            _ => return None,
        };
        match (word, of["http_status_code"].as_u64()) {
            ("usage_limit_exceeded", _) | (_, Some(429)) => Some(limit()),
            ("unauthorized", _) | (_, Some(401..=403)) => Some(AgentTrouble::Auth),
            ("context_window_exceeded", _) => Some(AgentTrouble::ContextFull),
            ("server_overloaded" | "internal_server_error", _) | (_, Some(500..=599)) => {
                Some(AgentTrouble::Overload)
            }
            _ => None,
        }
    }

    fn wait(&self, seen: &mut AgentActivity, now: Timestamp) {
        let on = if !self.open.is_empty() { WaitTarget::Tool } else { WaitTarget::Model };
        seen.wait = Some(AgentWait { on, until: now.plus_seconds(PATIENCE) });
    }
}

/// Counts the tokens without those from a cache.
fn total(usage: &Value, seen: &mut AgentActivity) {
    let of = |name: &str| usage[name].as_u64().unwrap_or(0);
    let fresh = of("input_tokens").saturating_sub(of("cached_input_tokens"));
    let used = seen.used.get_or_insert_with(SessionCost::default);
    used.tokens = used.tokens.max(fresh.saturating_add(of("output_tokens")));
}
