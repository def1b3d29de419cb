//! What is left of a budget when the next agent starts. Supervisors hold their agents to it; what earlier ones have
//! used counts.

use super::exit::Exit;
use super::seen::Trouble;
use super::spec::{Budget, OnExceed};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub tokens: Option<u64>,
    /// Millionths.
    pub micros: Option<u64>,
    pub seconds: Option<u64>,
}

impl Left {
    /// What is left where two budgets have to be met.
    pub fn and(self, other: Left) -> Left {
        let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Left {
            tokens: least(self.tokens, other.tokens),
            micros: least(self.micros, other.micros),
            seconds: least(self.seconds, other.seconds),
        }
    }
}

/// `None`: nothing is left. `earlier` are the ends of all sessions it is for, the oldest first.
pub fn left(budget: &Budget, earlier: &[Exit]) -> Option<Left> {
    // Where a person was asked, whoever starts again does so by their word, and with all of it.
    let is_asked =
        |exit: &&Exit| exit.seen.as_ref().is_some_and(|seen| seen.trouble == Some(Trouble::Budget));
    let from = match budget.on_exceed {
        OnExceed::Pause => earlier.iter().rposition(|exit| is_asked(&exit)).map_or(0, |last| last + 1),
        OnExceed::Stop => 0,
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
    Some(Left {
        tokens: rest(budget.tokens, tokens)?,
        micros: rest(budget.cost.map(|cost| cost.millionths()), micros)?,
        seconds: rest(budget.time.map(|time| u64::from(time.get())), millis / 1000)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::exit::{By, Ended};
    use super::super::seen::{Seen, Used};
    use super::*;
    use crate::time::Timestamp;

    fn exit(tokens: u64, trouble: Option<Trouble>) -> Exit {
        let used = Some(Used { tokens, micros: None });
        let seen = Some(Box::new(Seen { used, trouble, ..Seen::default() }));
        Exit {
            v: 1,
            ended: Ended::Code(0),
            by: By::Itself,
            at: Timestamp::from_millis(0),
            millis: 2500,
            seen,
        }
    }

    #[test]
    fn what_earlier_agents_used_is_gone() {
        let budget = Budget { tokens: Some(100), ..Budget::UNBOUNDED };
        let tokens = |earlier: &[Exit]| left(&budget, earlier).map(|left| left.tokens.unwrap());
        assert_eq!(tokens(&[]), Some(100));
        assert_eq!(tokens(&[exit(30, None), exit(40, None)]), Some(30));
        assert_eq!(tokens(&[exit(30, None), exit(70, None)]), None);
        assert_eq!(left(&Budget::UNBOUNDED, &[exit(u64::MAX, None)]), Some(Left::default()));
        let (run, stage) = (
            Left { tokens: Some(7), ..Left::default() },
            Left { tokens: Some(9), micros: Some(1), seconds: None },
        );
        assert_eq!(stage.and(run), Left { tokens: Some(7), micros: Some(1), seconds: None });
    }

    #[test]
    fn whoever_was_asked_gives_all_of_it_again_unless_it_is_to_stop() {
        let over = [exit(120, Some(Trouble::Budget)), exit(10, None)];
        let budget = Budget { tokens: Some(100), ..Budget::UNBOUNDED };
        assert_eq!(left(&budget, &over).unwrap().tokens, Some(90));
        let stops = Budget { on_exceed: OnExceed::Stop, ..budget };
        assert_eq!(left(&stops, &over), None);
    }
}
