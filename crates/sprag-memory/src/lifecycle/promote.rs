//! Decides whether a learning may get another scope. It becomes a new learning that names the old one and
//! passes the write gate again, because other readers may need other words.

use crate::learning::{LearningKind, LearningScope};
use crate::learnings::LearningEntry;
use crate::usage::Uses;

/// The caller who asks for the promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Person,
    Agent,
}

/// The required uses, or the required success rate over a minimum of outcomes.
const REUSED: u16 = 2;
const SUCCESS: f32 = 0.8;
const OUTCOMES: u16 = 3;

/// Returns the reason for a refusal, with the fix.
pub fn refusal(entry: &LearningEntry, to: LearningScope, asker: Asker) -> Option<String> {
    let from = entry.learning.candidate.scope;
    if from == to {
        return Some(format!("the scope is already `{}`", to.name()));
    }
    match (from, to, asker) {
        (_, LearningScope::Ephemeral, _) => Some("a stored learning cannot become ephemeral: archive it".to_owned()),
        (_, _, Asker::Person) => None,
        (LearningScope::Personal, _, Asker::Agent) => {
            Some("only the user can share a personal learning".to_owned())
        }
        (LearningScope::Ephemeral, LearningScope::Project | LearningScope::Team | LearningScope::Personal, Asker::Agent) => {
            (!has_proved(&entry.uses)).then(|| {
                format!(
                    "the learning was used {} times: {REUSED} uses are needed, or {OUTCOMES} outcomes with {:.0}% success",
                    entry.uses.referred,
                    SUCCESS * 100.0
                )
            })
        }
        (LearningScope::Project | LearningScope::Team, LearningScope::Personal, Asker::Agent) => (entry.learning.candidate.kind
            != LearningKind::Preference)
            .then(|| "only a preference can become personal unless the user asks".to_owned()),
        (LearningScope::Project | LearningScope::Team, LearningScope::Project | LearningScope::Team, Asker::Agent) => None,
    }
}

fn has_proved(uses: &Uses) -> bool {
    let outcomes = uses.succeeded.saturating_add(uses.failed);
    let share = f32::from(uses.succeeded) / f32::from(outcomes.max(1));
    uses.referred >= REUSED || (outcomes >= OUTCOMES && share >= SUCCESS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::ids::SessionId;
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::learning::{Candidate, Learning};

    fn entry(scope: LearningScope, kind: LearningKind, uses: Uses) -> LearningEntry {
        let mut candidate = Candidate::read(&json!({
            "category": "process", "summary": "a statement of some kind", "tags": ["x"],
            "detail": "more about it than the summary", "criteria_met": ["stable_fact"],
        }))
        .unwrap();
        (candidate.scope, candidate.kind) = (scope, kind);
        let learning = Learning::new("l-1", candidate, &SessionId::new("s"), None, Timestamp::from_millis(0));
        LearningEntry { learning, uses, superseded_by: None }
    }

    #[test]
    fn what_is_for_a_session_has_to_prove_itself_or_be_asked_for() {
        let with = |referred, succeeded, failed| {
            let uses = Uses { referred, succeeded, failed, ..Uses::default() };
            entry(LearningScope::Ephemeral, LearningKind::Fact, uses)
        };
        let may = |entry: &LearningEntry, asker| refusal(entry, LearningScope::Project, asker).is_none();
        assert!(!may(&with(1, 0, 0), Asker::Agent) && may(&with(1, 0, 0), Asker::Person));
        assert!(may(&with(2, 0, 0), Asker::Agent));
        assert!(may(&with(0, 4, 1), Asker::Agent) && !may(&with(0, 2, 0), Asker::Agent));
        assert!(!may(&with(0, 3, 1), Asker::Agent));
    }

    #[test]
    fn what_is_personal_is_its_users_own() {
        let of = |scope, kind| entry(scope, kind, Uses::default());
        assert!(
            refusal(&of(LearningScope::Personal, LearningKind::Fact), LearningScope::Project, Asker::Agent)
                .is_some()
        );
        assert!(
            refusal(&of(LearningScope::Personal, LearningKind::Fact), LearningScope::Project, Asker::Person)
                .is_none()
        );
        assert!(
            refusal(&of(LearningScope::Project, LearningKind::Fact), LearningScope::Personal, Asker::Agent)
                .is_some()
        );
        assert!(
            refusal(
                &of(LearningScope::Project, LearningKind::Preference),
                LearningScope::Personal,
                Asker::Agent
            )
            .is_none()
        );
        assert!(
            refusal(&of(LearningScope::Project, LearningKind::Fact), LearningScope::Team, Asker::Agent)
                .is_none()
        );
        assert!(
            refusal(&of(LearningScope::Project, LearningKind::Fact), LearningScope::Project, Asker::Person)
                .is_some()
        );
        assert!(
            refusal(&of(LearningScope::Project, LearningKind::Fact), LearningScope::Ephemeral, Asker::Person)
                .is_some()
        );
    }
}
