//! When a learning may be for others than it was kept for. It becomes a new one that names the old: what was
//! said for a session or a project may need other words elsewhere, so it goes through the write gate again.

use crate::learning::{LearningKind, LearningScope};
use crate::learnings::LearningEntry;
use crate::usage::Uses;

/// Who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Person,
    Agent,
}

/// Times something has to be of use, and how often work with it has to go well of how many times at least.
const REUSED: u16 = 2;
const SUCCESS: f32 = 0.8;
const OUTCOMES: u16 = 3;

/// Why it may not, as what to do about it.
pub fn refusal(entry: &LearningEntry, to: LearningScope, asker: Asker) -> Option<String> {
    let from = entry.learning.candidate.scope;
    if from == to {
        return Some(format!("its scope is `{}` already", to.name()));
    }
    match (from, to, asker) {
        (_, LearningScope::Ephemeral, _) => Some("what is kept is not made to pass: archive it".to_owned()),
        (_, _, Asker::Person) => None,
        (LearningScope::Personal, _, Asker::Agent) => {
            Some("what is personal is made known to others by its user alone".to_owned())
        }
        (LearningScope::Ephemeral, LearningScope::Project | LearningScope::Team | LearningScope::Personal, Asker::Agent) => {
            (!has_proved(&entry.uses)).then(|| {
                format!(
                    "it was of use {} times: {REUSED} are needed, or {OUTCOMES} outcomes with {:.0} % of them good",
                    entry.uses.referred,
                    SUCCESS * 100.0
                )
            })
        }
        (LearningScope::Project | LearningScope::Team, LearningScope::Personal, Asker::Agent) => (entry.learning.candidate.kind
            != LearningKind::Preference)
            .then(|| "only a preference is taken along to other projects without its user asking".to_owned()),
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
