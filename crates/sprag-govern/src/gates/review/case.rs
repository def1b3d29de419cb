//! The subject of a review, its reviewer, and the outcome of review requests.

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

/// Maximum bytes of a tool's input that a reviewer sees.
const INPUT_BYTES: usize = 10 * 1024;
/// Seconds for which the permit of one `sprag decide` is valid.
pub const PERMIT_SECONDS: i64 = 60;
/// Clocks differ slightly: a decision may arrive this many seconds after its reviewer ended.
pub const SKEW_SECONDS: i64 = 5;
/// Seconds after which a silent reviewer process counts as ended.
const FORGOTTEN_SECONDS: i64 = 2 * 60 * 60;

/// One round of review: from its trigger to the decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewCase {
    pub id: Text<16>,
    pub round: u32,
    pub why: ReviewTrigger,
    /// The call that waits for the review.
    #[serde(default)]
    pub gated: Option<GatedCall>,
    pub since: Timestamp,
    /// How often Sprag asked the agent for a review.
    pub attempts: u32,
    #[serde(default)]
    pub attempt: Option<ReviewAttempt>,
}

impl ReviewCase {
    /// Returns a digest of the case. A new decision changes it and may hold again; the same request does not.
    pub fn digest(&self, verdict: Option<&str>) -> Digest {
        Digest::hash_parts(["review", self.id.as_str(), &self.round.to_string(), verdict.unwrap_or_default()])
    }

    /// Returns the trigger as part of a sentence.
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
    /// A marker in a prompt.
    Asked,
    /// `review.mode = "always"`
    Always,
    /// A tool call that a rule gates.
    Gated,
}

sprag_base::names! { pub fn name(ReviewTrigger): Asked = "prompt", Always = "always", Gated = "tool" }

/// A call that waits for a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatedCall {
    pub tool: Text<128>,
    pub rule: Text<128>,
    pub input: StoredInput,
}

/// A tool's input without secrets, limited in length. Size and hash describe the original.
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
        format!("`{}` waits for it under rule `{}`", quoted(self.tool.as_str()), quoted(self.rule.as_str()))
    }
}

impl StoredInput {
    fn new(input: &Value) -> StoredInput {
        let original = input.to_string();
        let sha256: String = Sha256::digest(&original).iter().map(|byte| format!("{byte:02x}")).collect();
        // Redact before the text becomes JSON, because an escape could hide the start of a word. Redact
        // before the cut, because half a secret is not recognized.
        let mut text = redact::value(input.clone()).into_inner().to_string();
        let is_cut = text.len() > INPUT_BYTES;
        if is_cut {
            let end = (0..=INPUT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        StoredInput { text, is_cut, size: original.len() as u64, sha256: Text::new(sha256) }
    }
}

/// One request to the agent to have its work reviewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewAttempt {
    pub template: Text<64>,
    pub at: Timestamp,
    /// Whether the agent was held and read the request.
    pub is_told: bool,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// A reviewer decided.
    Success,
    /// No reviewer was started.
    NotSpawned,
    /// A reviewer started and ended without a decision.
    NoDecision,
    /// The reviewer named another session.
    BadSession,
    /// Another request or a person came first.
    Superseded,
}

sprag_base::names! {
    pub const ALL, pub fn name(AttemptOutcome):
    Success = "success", NotSpawned = "not_spawned", NoDecision = "no_decision", BadSession = "bad_session",
    Superseded = "superseded"
}

/// The reviewer and the tree that it reviews.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewerSeat {
    pub reviewer: ReviewerIdentity,
    /// Hash of its token. Only the reviewer may know the token itself.
    pub token: Digest,
    /// The tree at the start of the review. `None` if git failed.
    pub tree: Option<Text<64>>,
    pub since: Timestamp,
    /// Permit for one `sprag decide` that a hook saw from the reviewer.
    #[serde(default)]
    pub permit: Option<Permit>,
    /// Time when its stop was released.
    #[serde(default)]
    pub stopped: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewerIdentity {
    /// An agent that the session's own agent started.
    Agent { id: Text<128>, kind: Text<128> },
    /// A process of this client that Sprag started.
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
    /// The announced decision, if it could be read.
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

    /// Returns the digest of the reviewer's own stop, for the breaker.
    pub fn digest(&self) -> Digest {
        Digest::hash_parts(["reviewer", &self.token.to_string()])
    }

    /// Reports whether no decision can follow after the session's own stop. A process continues without the
    /// session.
    pub fn is_over(&self, now: Timestamp) -> bool {
        !self.is_process() || now.seconds_since(self.since) >= FORGOTTEN_SECONDS
    }

    pub fn is_too_late(&self, now: Timestamp) -> bool {
        self.stopped.is_some_and(|stopped| now.seconds_since(stopped) > SKEW_SECONDS)
    }
}

/// The content of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub id: Text<16>,
    pub summary: Text<500>,
    pub message: Text<4000>,
}

/// A decision that this tree has issues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objection {
    pub tree: Text<64>,
    pub by: Text<280>,
}

/// A decision that the work was complete at that time.
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
    /// A stop found the approved tree, and the agent did nothing since.
    #[serde(default)]
    pub is_confirmed: bool,
}

/// The remaining use of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalUse {
    Both,
    /// Calls that wait for a review. A stop needs no approval.
    Tools,
    /// The stop, if its tree is the reviewed one.
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

    /// Returns the approval after one use. An approval for one call ends with that call.
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

/// Reports whether a text has the form of a token.
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
