//! The part of a spawn request about limits: the agent's stage, output format, transcript and allowed usage.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_plan::agent::activity::{AgentActivity, BudgetSpent, ContextUsage};
use sprag_plan::reconcile::budget::BudgetLeft;
use sprag_plan::spec::client::StreamFormat;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentLimits {
    /// The stage of the agent; hooks and commands below it read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Text<64>>,
    /// The format of the printed output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamFormat>,
    /// The transcripts of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talk: Option<TranscriptDir>,
    pub allowance: UsageAllowance,
    pub screen: AgentTerminal,
    /// The size of the context in tokens, if an earlier session with that model reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// A folder of transcripts. The name of each file ends with the session id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptDir {
    pub dir: PathBuf,
    /// The session id if Sprag chose it; else the client reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The output channel of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentTerminal {
    /// Pipes to the supervisor.
    #[default]
    Pipes,
    /// The terminal in which the supervisor was started.
    Terminal,
}

/// The rest of a budget when a session starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageAllowance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Percent of the context. An agent above it is not ended; the next agent takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u8>,
    /// The usage at which Sprag reports that a budget is nearly used up.
    pub nearly_of_stage: BudgetLeft,
    pub nearly_of_run: BudgetLeft,
}

impl UsageAllowance {
    /// Reports whether the agent used more than allowed.
    pub fn is_exceeded(&self, seen: &AgentActivity) -> bool {
        let Some(used) = seen.used else { return false };
        let is_over = |left: Option<u64>, used: u64| left.is_some_and(|left| used > left);
        is_over(self.tokens, used.tokens) || is_over(self.micros, used.micros.unwrap_or(0))
    }

    /// Returns the budgets that are nearly used up after so many seconds.
    pub fn nearly(&self, seen: &AgentActivity, seconds: u64) -> Vec<BudgetSpent> {
        let used = seen.used.unwrap_or_default();
        let of = [(BudgetSpent::OfStage, &self.nearly_of_stage), (BudgetSpent::OfRun, &self.nearly_of_run)];
        of.into_iter().filter(|(_, most)| most.is_reached(used, seconds)).map(|(of, _)| of).collect()
    }

    /// Reports whether the context is at 80% of its budget.
    pub fn is_context_near(&self, seen: &AgentActivity) -> bool {
        let near = |(budget, context): (u8, ContextUsage)| is_near(context.percent(), budget);
        self.context.zip(seen.context).is_some_and(near)
    }

    pub fn is_context_full(&self, seen: &AgentActivity) -> bool {
        self.context.zip(seen.context).is_some_and(|(budget, context)| context.percent() >= budget)
    }
}

/// Reports whether a context is so full that its agent should write notes.
pub fn is_near(percent: u8, budget: u8) -> bool {
    u32::from(percent) * 5 >= u32::from(budget) * 4
}

#[cfg(test)]
mod tests {
    use sprag_plan::agent::activity::SessionCost;

    use super::*;

    #[test]
    fn what_is_not_known_is_not_exceeded() {
        let left = UsageAllowance {
            tokens: Some(10),
            micros: Some(10),
            context: Some(50),
            ..UsageAllowance::default()
        };
        assert!(
            !left.is_exceeded(&AgentActivity::default()) && !left.is_context_full(&AgentActivity::default())
        );
        let used = |tokens, micros| AgentActivity {
            used: Some(SessionCost { tokens, micros }),
            ..AgentActivity::default()
        };
        let over = [used(10, None), used(11, None), used(1, Some(11))].map(|seen| left.is_exceeded(&seen));
        assert_eq!(over, [false, true, true]);
        let full = |tokens| AgentActivity {
            context: Some(ContextUsage { tokens, window: 100 }),
            ..AgentActivity::default()
        };
        assert_eq!([full(49), full(50)].map(|seen| left.is_context_full(&seen)), [false, true]);
        assert!(!UsageAllowance::default().is_context_full(&full(100)));
    }
}
