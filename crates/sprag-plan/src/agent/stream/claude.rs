//! Reads the output of Claude Code: `--output-format stream-json`, and the lines of its transcript, which
//! have the same form. A message of the model has several lines with one id, and each line repeats its
//! usage.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::limit;
use crate::agent::activity::{AgentActivity, AgentTrouble, AgentWait, ContextUsage, SessionCost, WaitTarget};

/// Messages that may still get a line while others arrive: agents in the background print at the same time.
const RECENT: usize = 64;
/// Calls that may be open at a time.
const OPEN: usize = 64;
/// Seconds for a request to the model, and for a tool without a timeout.
const PATIENCE: i64 = 600;
/// Seconds that limit the timeout of a tool and the delay of a retry.
const LONGEST_TOOL: u64 = 2 * 3600;

#[derive(Clone, Debug, Default)]
pub(crate) struct Claude {
    counted: VecDeque<String>,
    /// Calls without a result yet, with the end of the allowed time of each.
    open: BTreeMap<String, Timestamp>,
    /// The end of the limit that the client reported last.
    reset: Option<Timestamp>,
    /// Tokens of the last request of the agent itself, not of its helpers.
    tokens: Option<u64>,
    /// The size of the context, if a client reported it.
    window: Option<u64>,
}

impl Claude {
    /// Makes a reader; `window` is the size of the context, if it is known.
    pub(super) fn new(window: Option<u64>) -> Claude {
        Claude { window, ..Claude::default() }
    }

    pub(super) fn read(&mut self, line: &Value, seen: &mut AgentActivity, now: Timestamp) {
        let id = line["session_id"].as_str().or_else(|| line["sessionId"].as_str());
        if let (None, Some(id)) = (&seen.client_session, id) {
            seen.client_session = Some(Text::new(id));
        }
        match (line["type"].as_str(), line["subtype"].as_str()) {
            (Some("system"), Some("init")) => {
                seen.model = line["model"].as_str().map(Text::new);
                self.wait(seen, now);
            }
            // The client retries automatically.
            (Some("system"), Some("api_retry")) => {
                let seconds = line["retry_delay_ms"].as_u64().unwrap_or(0).min(LONGEST_TOOL * 1000) / 1000;
                let seconds = i64::try_from(seconds).unwrap_or(0);
                seen.wait =
                    Some(AgentWait { on: WaitTarget::Limit, until: now.plus_seconds(seconds + PATIENCE) });
            }
            (Some("rate_limit_event"), _) => self.limit(&line["rate_limit_info"], now),
            (Some("assistant"), _) => self.said(line, seen, now),
            (Some("user"), _) => {
                for block in blocks(line) {
                    if let Some(id) = block["tool_use_id"].as_str() {
                        self.open.remove(id);
                    }
                }
                self.wait(seen, now);
            }
            (Some("result"), _) => self.ended(line, seen),
            _ => {}
        }
    }

    /// Reads one line of a message of the model.
    fn said(&mut self, line: &Value, seen: &mut AgentActivity, now: Timestamp) {
        self.limit(&line["rate_limit_info"], now);
        let message = &line["message"];
        let model = message["model"].as_str().unwrap_or_default();
        // The client wrote this message in place of the model.
        if model == "<synthetic>" || line["is_api_error_message"] == true || line["isApiErrorMessage"] == true
        {
            seen.trouble = self.trouble(line).or(seen.trouble.take());
            return;
        }
        seen.trouble = match message["stop_reason"].as_str() {
            Some("model_context_window_exceeded") => Some(AgentTrouble::ContextFull),
            _ => None,
        };
        for block in blocks(line).iter().filter(|block| block["type"] == "tool_use") {
            let (Some(id), Some(name)) = (block["id"].as_str(), block["name"].as_str()) else { continue };
            seen.last_tool = Some(Text::new(name));
            if self.open.len() < OPEN && id.len() < 200 {
                self.open.insert(id.to_owned(), now.plus_seconds(patience(&block["input"])));
            }
        }
        self.count(line, seen);
        self.wait(seen, now);
    }

    fn count(&mut self, line: &Value, seen: &mut AgentActivity) {
        let message = &line["message"];
        let is_main = line["parent_tool_use_id"].is_null() && line["isSidechain"] != true;
        let usage = &message["usage"];
        let Some(input) = usage["input_tokens"].as_u64() else { return };
        let of = |name: &str| usage[name].as_u64().unwrap_or(0);
        let (made, read) = (of("cache_creation_input_tokens"), of("cache_read_input_tokens"));
        let output = of("output_tokens");
        if is_main {
            let model = message["model"].as_str().unwrap_or_default();
            seen.model.get_or_insert_with(|| Text::new(model));
            self.tokens = Some([input, made, read, output].into_iter().fold(0, u64::saturating_add));
            self.measure(seen);
        }
        let id = message["id"].as_str().unwrap_or_default();
        if id.is_empty() || self.counted.iter().any(|counted| counted == id) {
            return;
        }
        if self.counted.len() >= RECENT {
            self.counted.pop_front();
        }
        self.counted.push_back(id.chars().take(200).collect());
        let used = seen.used.get_or_insert_with(SessionCost::default);
        used.tokens = [input, made, output].into_iter().fold(used.tokens, u64::saturating_add);
        seen.turns = seen.turns.saturating_add(1);
    }

    /// Reads the totals that the client counted itself.
    fn ended(&mut self, line: &Value, seen: &mut AgentActivity) {
        self.open.clear();
        seen.wait = None;
        let models = line["modelUsage"].as_object();
        let of = |usage: &Value, name: &str| usage[name].as_u64().unwrap_or(0);
        let fresh = ["inputTokens", "outputTokens", "cacheCreationInputTokens"];
        let all = models.iter().flat_map(|models| models.values());
        let tokens = all
            .fold(0u64, |sum, usage| fresh.iter().fold(sum, |sum, name| sum.saturating_add(of(usage, name))));
        let micros = line["total_cost_usd"].as_f64().filter(|cost| (0.0..1e9).contains(cost));
        let used = seen.used.get_or_insert_with(SessionCost::default);
        used.tokens = used.tokens.max(tokens);
        used.micros = micros.map(|cost| (cost * 1e6).round() as u64).or(used.micros);
        let model = seen.model.as_ref().map(|model| model.as_str()).unwrap_or_default();
        let window = models.and_then(|models| models.get(model)?["contextWindow"].as_u64());
        self.window = window.filter(|window| *window > 0).or(self.window);
        self.measure(seen);
        seen.trouble =
            if line["is_error"] == true { self.trouble(line).or(seen.trouble.take()) } else { None };
    }

    fn measure(&self, seen: &mut AgentActivity) {
        let named = seen.model.as_ref().and_then(|model| window(model.as_str()));
        let fits = self.window.or(named);
        seen.context = self.tokens.zip(fits).map(|(tokens, window)| ContextUsage { tokens, window });
    }

    fn limit(&mut self, info: &Value, now: Timestamp) {
        if info["status"] == "rejected" {
            self.reset = limit::reset(&info["resetsAt"], now).or(self.reset);
        }
    }

    /// Reads the problem from fields that are made for it; texts for people are ignored.
    fn trouble(&self, line: &Value) -> Option<AgentTrouble> {
        match (line["subtype"].as_str(), line["terminal_reason"].as_str()) {
            (Some("error_max_budget_usd"), _) | (_, Some("budget_exhausted")) => {
                return Some(AgentTrouble::Budget);
            }
            (_, Some("prompt_too_long" | "blocking_limit")) => return Some(AgentTrouble::ContextFull),
            _ => {}
        }
        let status = line["api_error_status"].as_u64().or_else(|| line["apiErrorStatus"].as_u64());
        let limit = || AgentTrouble::RateLimit { until: self.reset };
        match (line["api_error_type"].as_str(), line["error"].as_str()) {
            (Some("rate_limit_error"), _) | (_, Some("rate_limit")) => return Some(limit()),
            (Some("authentication_error" | "permission_error" | "billing_error"), _)
            | (_, Some("authentication_failed" | "billing_error")) => return Some(AgentTrouble::Auth),
            (Some("overloaded_error" | "api_error" | "timeout_error"), _) | (_, Some("overloaded")) => {
                return Some(AgentTrouble::Overload);
            }
            _ => {}
        }
        match status? {
            429 => Some(limit()),
            401..=403 => Some(AgentTrouble::Auth),
            500..=599 => Some(AgentTrouble::Overload),
            _ => None,
        }
    }

    /// Records whether the agent waits for a tool or for the model.
    fn wait(&self, seen: &mut AgentActivity, now: Timestamp) {
        seen.wait = Some(match self.open.values().max() {
            Some(until) => AgentWait { on: WaitTarget::Tool, until: *until },
            None => AgentWait { on: WaitTarget::Model, until: now.plus_seconds(PATIENCE) },
        });
    }
}

fn blocks(line: &Value) -> &[Value] {
    line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the seconds until the client itself gives up a call, plus a minute.
fn patience(input: &Value) -> i64 {
    let said = input["timeout"].as_u64().map(|millis| (millis / 1000).min(LONGEST_TOOL) + 60);
    said.and_then(|seconds| i64::try_from(seconds).ok()).map_or(PATIENCE, |seconds| seconds.max(PATIENCE))
}

/// Returns the size of the context of a known model. The client reports the size only at its end.
pub(crate) fn window(model: &str) -> Option<u64> {
    const SMALL: [&str; 5] = ["claude-3", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4", "claude-2"];
    if model.ends_with("[1m]") {
        return Some(1_000_000);
    }
    SMALL.iter().any(|known| is_of(model, known)).then_some(200_000)
}

/// Reports whether a model belongs to a known family: `claude-opus-4-5` and `claude-opus-4-5-20251101`
/// belong to `claude-opus-4`, versions after 5 do not.
fn is_of(model: &str, known: &str) -> bool {
    let Some(rest) = model.strip_prefix(known) else { return false };
    let version = rest.split('-').nth(1).unwrap_or_default();
    let is_younger = version.len() < 3 && version.parse::<u32>().is_ok_and(|version| version > 5);
    (rest.is_empty() || rest.starts_with('-')) && !is_younger
}
