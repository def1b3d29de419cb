//! Negative learnings: failed attempts. They are valid for a time and under the same conditions; then another
//! try is worthwhile, and a success refutes them.

use sprag_base::time::Timestamp;

use crate::learning::{LearningKind, LearningStatus};
use crate::learnings::LearningEntry;
use crate::lifecycle::decay::idle_days;

/// The number of days for which a failure is valid.
pub const VALID_DAYS: u32 = 60;

/// The state of a negative learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegativeState {
    Holds,
    /// The failure is old; another try may succeed.
    Recheck,
    /// A later attempt succeeded.
    Refuted,
}

/// Returns the state. `None`: the learning is not negative or not in use.
pub fn standing(entry: &LearningEntry, now: Timestamp) -> Option<NegativeState> {
    let uses = &entry.uses;
    let is_in_use = matches!(uses.status, LearningStatus::Active | LearningStatus::Stale);
    if entry.learning.candidate.kind != LearningKind::Negative || !is_in_use {
        return None;
    }
    Some(match () {
        () if uses.succeeded > uses.failed => NegativeState::Refuted,
        () if uses.status == LearningStatus::Stale || idle_days(entry, now) >= VALID_DAYS => {
            NegativeState::Recheck
        }
        () => NegativeState::Holds,
    })
}

/// Returns the note that is shown with the learning.
pub fn caveat(standing: NegativeState) -> &'static str {
    match standing {
        NegativeState::Holds => "tried and failed",
        NegativeState::Recheck => "failed earlier; conditions may differ",
        NegativeState::Refuted => "failed once, worked since",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use sprag_base::record::{Projection as _, Record};

    use super::*;
    use crate::learnings::Learnings;

    fn day(days: i64) -> Timestamp {
        Timestamp::from_millis(1_794_733_261_000).plus_seconds(days * 86_400)
    }

    fn story(kind: &str, happened: &[(i64, &str, Value)]) -> Learnings {
        let mut learnings = Learnings::default();
        let body = json!({
            "id": "0190f3c1", "schema_version": 2, "session": "s", "at": day(0), "category": "debugging", "kind": kind,
            "summary": "linking with mold breaks the tests", "detail": "tried with mold 2.3: symbols are missing",
            "tags": ["linker"], "criteria_met": ["stable_fact"], "scope": "project", "confidence": "medium",
        });
        learnings.apply(&Record::new("learning.accepted", day(0), body));
        for (at, kind, body) in happened {
            learnings.apply(&Record::new(kind, day(*at), body.clone()));
        }
        learnings
    }

    fn at(learnings: &Learnings, days: i64) -> Option<NegativeState> {
        standing(learnings.get("0190f3c1").unwrap(), day(days))
    }

    #[test]
    fn a_failure_holds_for_sixty_days_or_until_its_ground_moves() {
        let plain = story("negative", &[]);
        assert_eq!(
            (at(&plain, 59), at(&plain, 60)),
            (Some(NegativeState::Holds), Some(NegativeState::Recheck))
        );
        let about = || json!({"ids": ["0190f3c1"]});
        assert_eq!(
            at(&story("negative", &[(1, "learning.stale", about())]), 2),
            Some(NegativeState::Recheck)
        );
        assert_eq!(
            at(&story("negative", &[(50, "learning.verified", about())]), 100),
            Some(NegativeState::Holds)
        );
        assert_eq!(at(&story("fact", &[]), 100), None);
        assert_eq!(at(&story("negative", &[(1, "learning.archived", about())]), 2), None);
    }

    #[test]
    fn a_success_ends_it() {
        let went = |is_success: bool| json!({"ids": ["0190f3c1"], "is_success": is_success});
        let worked = story("negative", &[(1, "learning.outcome", went(true))]);
        assert_eq!(at(&worked, 2), Some(NegativeState::Refuted));
        let again =
            story("negative", &[(1, "learning.outcome", went(true)), (2, "learning.outcome", went(false))]);
        assert_eq!(at(&again, 3), Some(NegativeState::Holds));
    }
}
