//! Computes the rest of a budget when the next agent starts. Supervisors enforce it; the use of earlier
//! agents counts.

use serde::{Deserialize, Serialize};

use crate::agent::activity::{AgentTrouble, SessionCost};
use crate::agent::exit::Exit;
use crate::spec::{BudgetAction, RunBudget};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetLeft {
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub micros: Option<u64>,
    pub seconds: Option<u64>,
}

impl BudgetLeft {
    /// Returns the rest if two budgets apply: the smaller value of each kind.
    pub fn and(self, other: BudgetLeft) -> BudgetLeft {
        let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        BudgetLeft {
            tokens: least(self.tokens, other.tokens),
            micros: least(self.micros, other.micros),
            seconds: least(self.seconds, other.seconds),
        }
    }
}

/// Tenths of a budget after which a person is notified.
const NEARLY: u64 = 8;

/// Returns the amounts that may be used before most of a budget is used.
pub fn until_nearly(budget: &RunBudget, earlier: &[Exit]) -> BudgetLeft {
    let most = |all: Option<u64>, left: Option<u64>| {
        let (all, left) = all.zip(left)?;
        let used = all - left.min(all);
        Some((all / 10).saturating_mul(NEARLY).saturating_add(all % 10 * NEARLY / 10).saturating_sub(used))
    };
    let left = remaining(budget, earlier).unwrap_or(BudgetLeft {
        tokens: Some(0),
        micros: Some(0),
        seconds: Some(0),
    });
    BudgetLeft {
        tokens: most(budget.tokens, left.tokens),
        micros: most(budget.cost.map(|cost| cost.millionths()), left.micros),
        seconds: most(budget.time.map(|time| u64::from(time.get())), left.seconds),
    }
}

impl BudgetLeft {
    /// Reports whether a session has used one of the amounts.
    pub fn is_reached(&self, used: SessionCost, seconds: u64) -> bool {
        let is_over = |most: Option<u64>, used: u64| most.is_some_and(|most| used >= most);
        is_over(self.tokens, used.tokens)
            || is_over(self.micros, used.micros.unwrap_or(0))
            || is_over(self.seconds, seconds)
    }
}

/// Returns the rest of a budget; `None` if nothing is left. `earlier` holds the ends of all earlier
/// sessions, the oldest first.
pub fn remaining(budget: &RunBudget, earlier: &[Exit]) -> Option<BudgetLeft> {
    // With `pause` a person decided after the last exceeded budget, so the full budget applies again.
    let is_asked =
        |exit: &&Exit| exit.seen.as_ref().is_some_and(|seen| seen.trouble == Some(AgentTrouble::Budget));
    let from = match budget.on_exceed {
        BudgetAction::Pause => earlier.iter().rposition(|exit| is_asked(&exit)).map_or(0, |last| last + 1),
        BudgetAction::Stop => 0,
    };
    let (mut tokens, mut micros, mut millis) = (0u64, 0u64, 0u64);
    for exit in &earlier[from..] {
        let used = exit.seen.as_ref().and_then(|seen| seen.used).unwrap_or_default();
        tokens = tokens.saturating_add(used.tokens);
        micros = micros.saturating_add(used.micros.unwrap_or(0));
        millis = millis.saturating_add(exit.millis);
    }
    let rest = |all: Option<u64>, used: u64| match all {
        None => Some(None),
        Some(all) => all.checked_sub(used).filter(|left| *left > 0).map(Some),
    };
    Some(BudgetLeft {
        tokens: rest(budget.tokens, tokens)?,
        micros: rest(budget.cost.map(|cost| cost.millionths()), micros)?,
        seconds: rest(budget.time.map(|time| u64::from(time.get())), millis / 1000)?,
    })
}

#[cfg(test)]
mod tests {
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::agent::activity::AgentActivity;
    use crate::agent::exit::{EndedBy, ExitStatus};

    fn exit(tokens: u64, trouble: Option<AgentTrouble>) -> Exit {
        let used = Some(SessionCost { tokens, micros: None });
        let seen = Some(Box::new(AgentActivity { used, trouble, ..AgentActivity::default() }));
        Exit {
            v: 1,
            ended: ExitStatus::Code(0),
            by: EndedBy::Itself,
            at: Timestamp::from_millis(0),
            millis: 2500,
            seen,
        }
    }

    #[test]
    fn what_earlier_agents_used_is_gone() {
        let budget = RunBudget { tokens: Some(100), ..RunBudget::UNBOUNDED };
        let tokens = |earlier: &[Exit]| remaining(&budget, earlier).map(|left| left.tokens.unwrap());
        assert_eq!(tokens(&[]), Some(100));
        assert_eq!(tokens(&[exit(30, None), exit(40, None)]), Some(30));
        assert_eq!(tokens(&[exit(30, None), exit(70, None)]), None);
        assert_eq!(remaining(&RunBudget::UNBOUNDED, &[exit(u64::MAX, None)]), Some(BudgetLeft::default()));
        let (run, stage) = (
            BudgetLeft { tokens: Some(7), ..BudgetLeft::default() },
            BudgetLeft { tokens: Some(9), micros: Some(1), seconds: None },
        );
        assert_eq!(stage.and(run), BudgetLeft { tokens: Some(7), micros: Some(1), seconds: None });
    }

    #[test]
    fn somebody_is_told_when_four_fifths_are_used_by_all_together() {
        let budget = RunBudget { tokens: Some(105), ..RunBudget::UNBOUNDED };
        let most = |earlier: &[Exit]| until_nearly(&budget, earlier).tokens;
        assert_eq!([most(&[]), most(&[exit(30, None)])], [Some(84), Some(54)]);
        assert_eq!([most(&[exit(90, None)]), most(&[exit(400, None)])], [Some(0), Some(0)]);
        let reached =
            |tokens| until_nearly(&budget, &[]).is_reached(SessionCost { tokens, micros: None }, 1 << 40);
        assert_eq!([reached(83), reached(84)], [false, true]);
        let all = SessionCost { tokens: u64::MAX, micros: Some(u64::MAX) };
        assert!(!until_nearly(&RunBudget::UNBOUNDED, &[]).is_reached(all, u64::MAX));
    }

    #[test]
    fn whoever_was_asked_gives_all_of_it_again_unless_it_is_to_stop() {
        let over = [exit(120, Some(AgentTrouble::Budget)), exit(10, None)];
        let budget = RunBudget { tokens: Some(100), ..RunBudget::UNBOUNDED };
        assert_eq!(remaining(&budget, &over).unwrap().tokens, Some(90));
        let stops = RunBudget { on_exceed: BudgetAction::Stop, ..budget };
        assert_eq!(remaining(&stops, &over), None);
    }
}
