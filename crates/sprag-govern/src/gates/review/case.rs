//! What a review is about, who gives it, and what came of being asked for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use sprag_base::digest::Digest;
use sprag_base::redact;
use sprag_base::text::{Text, quoted};
use sprag_base::time::Timestamp;
use sprag_policy::call::ToolCall;

use crate::gates::review::settings::ApprovalScope;
use crate::report::ReviewResult;

/// How much of a tool's input a reviewer is shown.
const INPUT_BYTES: usize = 10 * 1024;
/// How long the permit of one `sprag decide` waits to be used.
pub const PERMIT_SECONDS: i64 = 60;
/// Clocks and processes do not agree to the second: a verdict may come that long after its reviewer ended.
pub const SKEW_SECONDS: i64 = 5;
/// A reviewer's process that was never heard of again.
const FORGOTTEN_SECONDS: i64 = 2 * 60 * 60;

/// One round of review: from what called for it to the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewCase {
    pub id: Text<16>,
    pub round: u32,
    pub why: ReviewTrigger,
    /// The call that waits for it.
    #[serde(default)]
    pub gated: Option<GatedCall>,
    pub since: Timestamp,
    /// How often the agent was asked for it.
    pub attempts: u32,
    #[serde(default)]
    pub attempt: Option<ReviewAttempt>,
}

impl ReviewCase {
    /// A new verdict is something new to be held for; the same request is not.
    pub fn digest(&self, verdict: Option<&str>) -> Digest {
        Digest::hash_parts(["review", self.id.as_str(), &self.round.to_string(), verdict.unwrap_or_default()])
    }

    /// What called for it, as part of a sentence.
    pub fn trigger(&self) -> String {
        match (&self.gated, self.why) {
            (Some(gated), _) => gated.describe(),
            (None, ReviewTrigger::Asked) => "the user asked for it".to_owned(),
            (None, ReviewTrigger::Always) => "every session that worked is reviewed".to_owned(),
            (None, ReviewTrigger::Gated) => "a tool call waits for it".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewTrigger {
    /// By a marker in a prompt.
    Asked,
    /// `review.mode = "always"`
    Always,
    /// By a tool call that a rule keeps back.
    Gated,
}

impl ReviewTrigger {
    pub fn name(self) -> &'static str {
        match self {
            ReviewTrigger::Asked => "prompt",
            ReviewTrigger::Always => "always",
            ReviewTrigger::Gated => "tool",
        }
    }
}

/// A call that was held until somebody looked at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatedCall {
    pub tool: Text<128>,
    pub rule: Text<128>,
    pub input: StoredInput,
}

/// A tool's input, without secrets and not too long. What it was tell its size and its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredInput {
    pub text: String,
    pub is_cut: bool,
    pub size: u64,
    pub sha256: Text<64>,
}

impl GatedCall {
    pub fn new(call: &ToolCall, rule: &str) -> GatedCall {
        GatedCall { tool: call.name.clone(), rule: Text::from(rule), input: StoredInput::new(&call.input) }
    }

    fn describe(&self) -> String {
        format!("`{}` waits for it by rule `{}`", quoted(self.tool.as_str()), quoted(self.rule.as_str()))
    }
}

impl StoredInput {
    fn new(input: &Value) -> StoredInput {
        let original = input.to_string();
        let sha256: String = Sha256::digest(&original).iter().map(|byte| format!("{byte:02x}")).collect();
        // Redacted before it is written as JSON, where an escape would hide where a word starts, and
        // before it is cut, since half a secret is not known for one.
        let mut text = redact::value(input.clone()).into_inner().to_string();
        let is_cut = text.len() > INPUT_BYTES;
        if is_cut {
            let end = (0..=INPUT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        StoredInput { text, is_cut, size: original.len() as u64, sha256: Text::new(sha256) }
    }
}

/// One time that the agent was asked to have its work reviewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewAttempt {
    pub template: Text<64>,
    pub at: Timestamp,
    /// Whether it really was held, and read it.
    pub is_told: bool,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// A verdict came.
    Success,
    /// No reviewer was started.
    NotSpawned,
    /// One was, and ended without a verdict.
    NoDecision,
    /// The reviewer named another session.
    BadSession,
    /// Something else came first: another request, or a person.
    Superseded,
}

impl AttemptOutcome {
    pub const ALL: [AttemptOutcome; 5] = [
        AttemptOutcome::Success,
        AttemptOutcome::NotSpawned,
        AttemptOutcome::NoDecision,
        AttemptOutcome::BadSession,
        AttemptOutcome::Superseded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AttemptOutcome::Success => "success",
            AttemptOutcome::NotSpawned => "not_spawned",
            AttemptOutcome::NoDecision => "no_decision",
            AttemptOutcome::BadSession => "bad_session",
            AttemptOutcome::Superseded => "superseded",
        }
    }
}

/// Whoever is reviewing, and what they saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewerSeat {
    pub reviewer: ReviewerIdentity,
    /// The hash of its token; the token itself is nobody else's to read.
    pub token: Digest,
    /// The tree when it started. `None`: git could not tell.
    pub tree: Option<Text<64>>,
    pub since: Timestamp,
    /// One `sprag decide` that was seen coming from the reviewer itself.
    #[serde(default)]
    pub permit: Option<Permit>,
    /// Its stop was let go.
    #[serde(default)]
    pub stopped: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewerIdentity {
    /// An agent that the session's own has started.
    Agent { id: Text<128>, kind: Text<128> },
    /// A process of this client that Sprag has started.
    Process { client: Text<32> },
}

impl ReviewerIdentity {
    pub fn name(&self) -> String {
        match self {
            ReviewerIdentity::Agent { id, kind } => format!("{kind} {id}"),
            ReviewerIdentity::Process { client } => format!("process {client}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permit {
    pub until: Timestamp,
    /// The word it decides with, where that could be read.
    pub word: Option<ReviewResult>,
}

impl ReviewerSeat {
    pub fn new(
        reviewer: ReviewerIdentity,
        token: &str,
        tree: Option<Text<64>>,
        since: Timestamp,
    ) -> ReviewerSeat {
        ReviewerSeat { reviewer, token: hash_of(token), tree, since, permit: None, stopped: None }
    }

    pub fn is_agent(&self, agent: &Text<128>) -> bool {
        matches!(&self.reviewer, ReviewerIdentity::Agent { id, .. } if id == agent)
    }

    pub fn is_process(&self) -> bool {
        matches!(self.reviewer, ReviewerIdentity::Process { .. })
    }

    /// The reviewer's own stop, in the breaker's books.
    pub fn digest(&self) -> Digest {
        Digest::hash_parts(["reviewer", &self.token.to_string()])
    }

    /// Whether the session's own stop means that nothing will come of it any more. A process goes on by
    /// itself.
    pub fn is_over(&self, now: Timestamp) -> bool {
        !self.is_process() || now.seconds_since(self.since) >= FORGOTTEN_SECONDS
    }

    pub fn is_too_late(&self, now: Timestamp) -> bool {
        self.stopped.is_some_and(|stopped| now.seconds_since(stopped) > SKEW_SECONDS)
    }
}

/// What a verdict said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub id: Text<16>,
    pub summary: Text<500>,
    pub message: Text<4000>,
}

/// Somebody found the work complete as it was then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: Text<16>,
    pub tree: Text<64>,
    pub by: Text<280>,
    pub at: Timestamp,
    pub why: ReviewTrigger,
    /// The call that waited for it.
    #[serde(default)]
    pub gated: Option<GatedCall>,
    pub reach: ApprovalUse,
    /// A stop has found the tree as it was approved, and the agent has done nothing since.
    #[serde(default)]
    pub is_confirmed: bool,
}

/// What an approval still counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalUse {
    Both,
    /// Calls that wait for a review; at a stop nothing is owed.
    Tools,
    /// The stop, whose tree must be the one that was seen.
    Stops,
}

impl Approval {
    pub fn opens_tools(&self) -> bool {
        self.reach != ApprovalUse::Stops
    }

    pub fn binds_stops(&self) -> bool {
        self.reach != ApprovalUse::Tools
    }

    pub fn is_expired(&self, ttl_seconds: u32, now: Timestamp) -> bool {
        ttl_seconds > 0 && now.seconds_since(self.at) >= i64::from(ttl_seconds)
    }

    /// What is left once a call was let through by it. What only a call asked for ends with that call.
    pub fn used(self, scope: ApprovalScope) -> Option<Approval> {
        let reach = match (scope, self.why) {
            (ApprovalScope::Tool, ReviewTrigger::Gated) => return None,
            (ApprovalScope::Tool, ReviewTrigger::Asked | ReviewTrigger::Always) => ApprovalUse::Stops,
            (ApprovalScope::Session | ApprovalScope::Prompt, ReviewTrigger::Gated) => ApprovalUse::Tools,
            (
                ApprovalScope::Session | ApprovalScope::Prompt,
                ReviewTrigger::Asked | ReviewTrigger::Always,
            ) => self.reach,
        };
        Some(Approval { reach, ..self })
    }
}

/// The shape of a token: known by it before anything is compared.
pub fn is_token(text: &str) -> bool {
    text.strip_prefix("sprt_").is_some_and(|rest| {
        rest.len() == 32 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

pub fn hash_of(token: &str) -> Digest {
    Digest::hash_parts(["review token", token])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_policy::call::InputCompleteness;

    use super::*;

    #[test]
    fn a_long_input_is_cut_between_characters_and_known_by_its_hash() {
        for (letter, shift) in [("é", ""), ("é", "x"), ("界", "xy"), ("🦀", "x"), ("a", "")] {
            let input = json!({ "text": format!("{shift}{}", letter.repeat(9_000)) });
            let call = ToolCall::new(&[], "mcp__x__y", input.clone(), None, InputCompleteness::Yes);
            let StoredInput { text, is_cut, size, sha256 } = GatedCall::new(&call, "r").input;
            assert_eq!(is_cut, letter != "a");
            assert!(text.len() <= INPUT_BYTES && text.len() > INPUT_BYTES - 1_500);
            assert_eq!(size, input.to_string().len() as u64);
            assert_eq!(sha256.as_str().len(), 64);
        }
    }

    #[test]
    fn a_secret_is_taken_out_before_the_cut() {
        let secret = "ghp_0123456789abcdefghij0123456789abcdef";
        let input = json!({ "text": format!("{} {secret}", "x".repeat(INPUT_BYTES - 30)) });
        let call = ToolCall::new(&[], "mcp__x__y", input, None, InputCompleteness::Yes);
        assert!(!GatedCall::new(&call, "r").input.text.contains("ghp_0123"));
    }

    #[test]
    fn a_token_has_one_shape() {
        assert!(is_token("sprt_0123456789abcdef0123456789abcdef"));
        for wrong in
            ["", "sprt_", "sprt_0123456789ABCDEF0123456789abcdef", "x0123456789abcdef0123456789abcdef"]
        {
            assert!(!is_token(wrong), "{wrong}");
        }
    }
}
