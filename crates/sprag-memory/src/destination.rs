//! Where what is remembered is written down. That follows from whom it is for, and is decided here
//! alone: whoever writes has no choice left, and what is personal cannot end up in a project.

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;

use crate::learning::{Learning, LearningReaders, LearningScope};
use crate::records::MemoryRecord;

/// Whose records something is written into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// The clone's log.
    #[default]
    Project,
    /// The user's own, which no project sees.
    Personal,
    /// The session's journal, and gone with it.
    Session,
}

pub fn place(scope: LearningScope) -> Destination {
    match scope {
        LearningScope::Project | LearningScope::Team => Destination::Project,
        LearningScope::Personal => Destination::Personal,
        LearningScope::Ephemeral => Destination::Session,
    }
}

/// Records that say what is known, as opposed to how it was used: other clones want to hear of these.
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

/// Whether other clones of the project may have this record, going by what it says of itself. Records
/// about a learning follow that learning, which is the caller's to know.
pub fn is_shareable(record: &Record) -> bool {
    is_content(&record.kind)
        && match MemoryRecord::read(record) {
            Some(MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning)) => {
                is_for_all(&learning)
            }
            told => told.is_some(),
        }
}

/// For everybody who works on the project.
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
