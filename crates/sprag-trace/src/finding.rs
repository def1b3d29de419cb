//! What a look at the files has found: the fact that the gate writes records of.

use sprag_base::digest::Digest;
use sprag_base::text::Text;

use super::{ChangeRecord, RecordedClassification};

/// What there is to be written down of changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFindings {
    /// In their order. Whose intent they serve is not the host's to say, but of what others have written.
    pub traces: Vec<ChangeRecord>,
    /// What was checked out when it was looked at.
    pub head: Option<Text<64>>,
    /// All that the session has changed and not committed.
    pub judged: Option<JudgedChange>,
}

/// It, as it was judged: the same digest is the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedChange {
    pub digest: Digest,
    pub verdict: RecordedClassification,
}
