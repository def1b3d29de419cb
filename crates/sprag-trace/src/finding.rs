//! Changes that the host found in the files: the fact from which the gate writes records.

use sprag_base::digest::Digest;
use sprag_base::text::Text;

use super::{ChangeRecord, RecordedClassification};

/// Findings that the gate turns into records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFindings {
    /// Changes in order. The gate adds the intent; changes of other sessions name theirs already.
    pub traces: Vec<ChangeRecord>,
    /// The commit that was checked out at that time.
    pub head: Option<Text<64>>,
    /// All changes of the session that are not committed.
    pub judged: Option<JudgedChange>,
}

/// Uncommitted changes with their classification. Equal digests mean equal changes.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedChange {
    pub digest: Digest,
    pub verdict: RecordedClassification,
}
