//! Counts the judgements of shown learnings since the last version of the floor: a fold of the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;

use super::floor::{FloorAudience, FloorBasis};
use crate::learning::LearningScope;
use crate::records::MemoryRecord;
use crate::usage::{self, UsageChange};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    scopes: BTreeMap<String, LearningScope>,
    judged: Vec<(FloorAudience, FloorBasis)>,
}

impl Feedback {
    pub fn iter(&self) -> impl Iterator<Item = &(FloorAudience, FloorBasis)> {
        self.judged.iter()
    }

    fn basis(&mut self, whom: FloorAudience) -> &mut FloorBasis {
        let at = self.judged.iter().position(|(known, _)| *known == whom).unwrap_or_else(|| {
            self.judged.push((whom, FloorBasis::default()));
            self.judged.len() - 1
        });
        &mut self.judged[at].1
    }
}

impl Projection for Feedback {
    const NAME: &'static str = "feedback";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["learning.", "policy"];

    fn apply(&mut self, record: &Record) {
        let told = match MemoryRecord::read(record) {
            Some(MemoryRecord::Floor(version)) => {
                *self.basis(version.whom) = FloorBasis::default();
                return;
            }
            Some(MemoryRecord::Accepted(learning)) => {
                self.scopes.insert(learning.id.to_string(), learning.candidate.scope);
                return;
            }
            Some(told) => told,
            None => return,
        };
        let role = record.actor.as_ref().and_then(|actor| actor.role.as_ref());
        let role: Text<64> = Text::from(role.map_or("main", Text::as_str));
        for (id, change) in usage::changes(&told) {
            let hit = match change {
                UsageChange::Referred | UsageChange::Rated { is_useful: true } => 1.0,
                UsageChange::Implied => 0.5,
                UsageChange::Dismissed | UsageChange::Rated { is_useful: false } => 0.0,
                _ => continue,
            };
            let scope = self.scopes.get(&id).copied().unwrap_or(LearningScope::Project);
            let basis = self.basis(FloorAudience { role: role.clone(), scope: Text::from(scope.name()) });
            basis.judged = basis.judged.saturating_add(1);
            basis.hits += hit;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use sprag_base::ids::SessionId;
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::learning::{Candidate, Learning};

    fn accepted(id: &str, scope: &str) -> Value {
        let candidate = Candidate::read(&json!({
            "category": "domain", "summary": "a statement of some kind", "detail": "more about it than the summary",
            "tags": ["x"], "criteria_met": ["stable_fact"], "scope": scope,
        }));
        json!(Learning::new(id, candidate.unwrap(), &SessionId::new("s"), None, Timestamp::from_millis(0)))
    }

    #[test]
    fn each_version_begins_to_count_anew() {
        let mut feedback = Feedback::default();
        let mut told = |kind: &str, body| feedback.apply(&Record::new(kind, Timestamp::from_millis(0), body));
        told("learning.accepted", accepted("a", "team"));
        told("learning.referred", json!({"ids": ["a", "b"]}));
        told("learning.implied", json!({"ids": ["b"]}));
        told("learning.dismissed", json!({"ids": ["b"]}));
        let whom = |scope: &str| FloorAudience { role: Text::from("main"), scope: Text::from(scope) };
        let version = json!({"whom": whom("team"), "version": 1, "floor": 1.1, "basis": {"judged": 1, "hits": 1.0}, "why": "x"});
        told("policy", version);
        let all: Vec<(FloorAudience, FloorBasis)> = feedback.iter().cloned().collect();
        let project = FloorBasis { judged: 3, hits: 1.5 };
        assert_eq!(all, [(whom("team"), FloorBasis::default()), (whom("project"), project)]);
    }
}
