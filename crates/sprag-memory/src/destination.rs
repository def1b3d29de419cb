//! Selects the log for a record of the memory. The scope of a learning alone decides, so that no writer can
//! put a personal learning into a project.

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;

use crate::learning::{Learning, LearningReaders, LearningScope};
use crate::records::MemoryRecord;

/// The log that a record is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// The log of the clone.
    #[default]
    Project,
    /// The log of the user, which no project reads.
    Personal,
    /// The journal of the session, which ends with the session.
    Session,
}

pub fn place(scope: LearningScope) -> Destination {
    match scope {
        LearningScope::Project | LearningScope::Team => Destination::Project,
        LearningScope::Personal => Destination::Personal,
        LearningScope::Ephemeral => Destination::Session,
    }
}

/// Kinds of records with content, as opposed to usage. Other clones receive these.
const CONTENT: &[&str] = &[
    "learning.accepted",
    "learning.corrected",
    "learning.superseded",
    "learning.archived",
    "learning.restored",
    "learning.verified",
    "learning.stale",
];

pub fn is_content(kind: &str) -> bool {
    CONTENT.contains(&kind)
}

/// Reports whether other clones of the project may receive this record. The check reads only the record: for
/// a record about a learning, the caller must also check that learning.
pub fn is_shareable(record: &Record) -> bool {
    is_content(&record.kind)
        && match MemoryRecord::read(record) {
            Some(MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning)) => {
                is_for_all(&learning)
            }
            told => told.is_some(),
        }
}

/// Reports whether a learning is for everyone on the project.
pub fn is_for_all(learning: &Learning) -> bool {
    place(learning.candidate.scope) == Destination::Project && learning.readers() != LearningReaders::Private
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::ids::SessionId;
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::learning::Candidate;

    fn accepted(scope: &str, readers: Option<LearningReaders>) -> Record {
        let candidate = Candidate::read(&json!({
            "category": "domain", "summary": "a statement of some kind", "detail": "more about it than the summary",
            "tags": ["x"], "criteria_met": ["stable_fact"], "scope": scope,
        }))
        .unwrap();
        let at = Timestamp::from_millis(0);
        let learning =
            Learning { readers, ..Learning::new("l-1", candidate, &SessionId::new("s"), None, at) };
        Record::new("learning.accepted", at, json!(learning))
    }

    #[test]
    fn only_what_is_for_all_is_shared() {
        assert!(is_shareable(&accepted("project", None)) && is_shareable(&accepted("team", None)));
        assert!(!is_shareable(&accepted("personal", None)) && !is_shareable(&accepted("ephemeral", None)));
        assert!(!is_shareable(&accepted("project", Some(LearningReaders::Private))));
        let at = Timestamp::from_millis(0);
        assert!(is_shareable(&Record::new("learning.archived", at, json!({"ids": ["l-1"]}))));
        for kind in ["learning.surfaced", "learning.rejected", "learning.referred", "observed"] {
            assert!(!is_shareable(&Record::new(kind, at, json!({}))), "{kind}");
        }
    }
}
