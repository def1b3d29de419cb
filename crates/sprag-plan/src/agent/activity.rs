//! What a supervisor has seen of its agent so far, from the stream the client prints and from nothing else. It is what
//! screens show and budgets are held against; what is not known is not there, never zero.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentActivity {
    /// What the client itself calls the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_session: Option<Text<100>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<100>>,
    /// Tokens in the context of the last request, and how many fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<SessionCost>,
    /// Requests the model has answered.
    pub turns: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<Text<100>>,
    /// When the client was last heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What ended it, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<AgentTrouble>,
    /// What it waits for by its own account, and how long that may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<AgentWait>,
    /// What it asks the person at its terminal, for as long as it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Text<1000>>,
    /// Budgets of which most is used, with what it has used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearly: Vec<BudgetSpent>,
}

/// A budget that a session has part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetSpent {
    OfStage,
    OfRun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsage {
    pub tokens: u64,
    pub window: u64,
}

impl ContextUsage {
    pub fn percent(self) -> u8 {
        let percent = self.tokens.saturating_mul(100).checked_div(self.window).unwrap_or(0);
        u8::try_from(percent.min(100)).expect("it is at most 100")
    }
}

/// All that a session has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCost {
    /// Sent and answered; what came out of a cache is not counted again.
    pub tokens: u64,
    /// Millionths of a dollar, where the client says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// Something that takes its time without a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWait {
    pub on: WaitTarget,
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitTarget {
    Model,
    Tool,
    /// It tries again by itself.
    Limit,
}

/// What a client says of itself, in fields that mean it: prose is never read for this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trouble", rename_all = "snake_case")]
pub enum AgentTrouble {
    /// `None`: it does not say until when.
    RateLimit {
        until: Option<Timestamp>,
    },
    Auth,
    Overload,
    ContextFull,
    /// More than it may use was used.
    Budget,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_told_in_per_cent_of_what_fits() {
        let of = |tokens, window| ContextUsage { tokens, window }.percent();
        assert_eq!([of(0, 200), of(151, 200), of(500, 200), of(5, 0), of(u64::MAX, 1)], [0, 75, 100, 0, 100]);
    }

    #[test]
    fn what_is_not_known_is_not_written() {
        assert_eq!(serde_json::to_string(&AgentActivity::default()).unwrap(), r#"{"turns":0}"#);
        assert_eq!(serde_json::from_str::<AgentActivity>("{}").unwrap(), AgentActivity::default());
    }
}
