//! Activity of an agent as its supervisor read it from the stream of the client. Screens and budgets use
//! it. A value that is not known is absent, never zero.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentActivity {
    /// The client's own id of the session.
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
    /// The time of the last output of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The problem that ended the agent, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<AgentTrouble>,
    /// The thing that the agent waits for according to its stream, and how long that may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<AgentWait>,
    /// The question to the person at its terminal, while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Text<1000>>,
    /// Budgets that are mostly used, counting the use of this session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearly: Vec<BudgetSpent>,
}

/// A budget that a session uses.
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

/// Total cost of a session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCost {
    /// Tokens sent and received; tokens from a cache are not counted again.
    pub tokens: u64,
    /// Millionths of a dollar, if the client reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// An operation that may take long without any output.
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
    /// A limit; the client retries automatically.
    Limit,
}

/// A problem that a client reports in fields made for it; prose is never read for this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trouble", rename_all = "snake_case")]
pub enum AgentTrouble {
    /// `None` if the client does not report when the limit ends.
    RateLimit {
        until: Option<Timestamp>,
    },
    Auth,
    Overload,
    ContextFull,
    /// The agent used more than its budget.
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
