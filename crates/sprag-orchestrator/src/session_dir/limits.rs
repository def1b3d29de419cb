//! What a supervisor is told about its agent besides how it is started: whose it is, how it talks, and how much of
//! everything it may use.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_plan::agent::activity::{Context, Seen, Spent};
use sprag_plan::reconcile::budget::Left;
use sprag_plan::spec::client::Stream;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// The stage it works for: hooks and commands below it know by that whom they serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Text<64>>,
    /// The form of what it prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Where its client writes down the talk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talk: Option<Talk>,
    pub allowance: Allowance,
    pub screen: Screen,
    /// How many tokens fit into a context, where an earlier session with that model has told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// A folder below which a client keeps its talks, each in a file whose name ends with the id of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talk {
    pub dir: PathBuf,
    /// Where it was chosen by us; else the client tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Where the agent speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Screen {
    /// To us alone.
    #[default]
    Pipes,
    /// To whoever sits at the terminal that we were started in.
    Terminal,
}

/// What is left of a budget when a session starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Allowance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Per cent of the context. Whoever is over it is not ended: the next agent takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u8>,
    /// What it may use before somebody is told that most of a budget is gone.
    pub nearly_of_stage: Left,
    pub nearly_of_run: Left,
}

impl Allowance {
    /// Whether more was used than there was.
    pub fn is_exceeded(&self, seen: &Seen) -> bool {
        let Some(used) = seen.used else { return false };
        let is_over = |left: Option<u64>, used: u64| left.is_some_and(|left| used > left);
        is_over(self.tokens, used.tokens) || is_over(self.micros, used.micros.unwrap_or(0))
    }

    /// Budgets of which most is used after so many seconds.
    pub fn nearly(&self, seen: &Seen, seconds: u64) -> Vec<Spent> {
        let used = seen.used.unwrap_or_default();
        let of = [(Spent::OfStage, &self.nearly_of_stage), (Spent::OfRun, &self.nearly_of_run)];
        of.into_iter().filter(|(_, most)| most.is_reached(used, seconds)).map(|(of, _)| of).collect()
    }

    /// Four fifths of that.
    pub fn is_context_near(&self, seen: &Seen) -> bool {
        let near = |(budget, context): (u8, Context)| is_near(context.percent(), budget);
        self.context.zip(seen.context).is_some_and(near)
    }

    pub fn is_context_full(&self, seen: &Seen) -> bool {
        self.context.zip(seen.context).is_some_and(|(budget, context)| context.percent() >= budget)
    }
}

/// Whether a context is so full, in per cent, that its agent should note what matters.
pub fn is_near(percent: u8, budget: u8) -> bool {
    u32::from(percent) * 5 >= u32::from(budget) * 4
}

#[cfg(test)]
mod tests {
    use sprag_plan::agent::activity::Used;

    use super::*;

    #[test]
    fn what_is_not_known_is_not_exceeded() {
        let left =
            Allowance { tokens: Some(10), micros: Some(10), context: Some(50), ..Allowance::default() };
        assert!(!left.is_exceeded(&Seen::default()) && !left.is_context_full(&Seen::default()));
        let used = |tokens, micros| Seen { used: Some(Used { tokens, micros }), ..Seen::default() };
        let over = [used(10, None), used(11, None), used(1, Some(11))].map(|seen| left.is_exceeded(&seen));
        assert_eq!(over, [false, true, true]);
        let full = |tokens| Seen { context: Some(Context { tokens, window: 100 }), ..Seen::default() };
        assert_eq!([full(49), full(50)].map(|seen| left.is_context_full(&seen)), [false, true]);
        assert!(!Allowance::default().is_context_full(&full(100)));
    }
}
