//! A stored learning: a statement and its origin. Its use is not part of it, but a fold of later records, see
//! [`crate::learnings`].

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::{Candidate, FILE_MOST, LearningReaders, LearningScope};

/// The version of [`Learning`] that this version writes. Version 1 had no evidence and no origin.
pub const SCHEMA_VERSION: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learning {
    pub id: Text<64>,
    pub schema_version: u32,
    #[serde(flatten)]
    pub candidate: Candidate,
    pub session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Text<128>>,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "LearningOrigin::is_unknown")]
    pub origin: LearningOrigin,
    /// The readers, if they do not follow from the scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<LearningReaders>,
    /// The state of the evidence when the learning was stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<Text<64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Text<64>>,
}

/// Evidence of a learning, with its content at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The text from the candidate.
    pub place: Text<FILE_MOST>,
    /// A digest of the cited lines, or of the whole file.
    pub digest: Digest,
    /// The number of cited lines; `None` for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// A digest of the first cited line, to find a block that moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Digest>,
}

/// The author of a statement, and the way it was submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearningOrigin {
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub client: Text<32>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub agent: Text<128>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub role: Text<64>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub model: Text<64>,
    /// `reflect`, `mcp`, `import grove` or similar.
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub via: Text<64>,
}

impl LearningOrigin {
    fn is_unknown(&self) -> bool {
        *self == LearningOrigin::default()
    }
}

impl Learning {
    pub fn new(
        id: &str,
        candidate: Candidate,
        session: &SessionId,
        ticket: Option<Text<128>>,
        at: Timestamp,
    ) -> Learning {
        Learning {
            id: Text::from(id),
            schema_version: SCHEMA_VERSION,
            candidate,
            session: session.clone(),
            ticket,
            at,
            origin: LearningOrigin::default(),
            readers: None,
            seen: Vec::new(),
            supersedes: Vec::new(),
            promoted_from: None,
            links: Vec::new(),
        }
    }

    pub fn readers(&self) -> LearningReaders {
        let by_scope = match self.candidate.scope {
            LearningScope::Project | LearningScope::Team => LearningReaders::Project,
            LearningScope::Personal | LearningScope::Ephemeral => LearningReaders::Private,
        };
        self.readers.unwrap_or(by_scope)
    }
}
