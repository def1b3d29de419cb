//! A learning as it is kept: a statement in form, with where it comes from. What became of it since is
//! no part of it but a fold of later records, see [`crate::learnings`].

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::{Candidate, FILE_MOST, LearningReaders, LearningScope};

/// The shape of a [`Learning`] this version writes. Version 1 had neither evidence nor origin.
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
    /// Who may read it, where that does not follow from its scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<LearningReaders>,
    /// What its evidence was like when it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<Text<64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Text<64>>,
}

/// A piece of the world a learning rests on, and its content then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// As the candidate named it.
    pub place: Text<FILE_MOST>,
    /// Of the cited lines, or of the whole file.
    pub digest: Digest,
    /// How many lines were cited; none for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Of the first of those lines: where the block can be looked for if it has moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Digest>,
}

/// Whose statement it is, and how it came here.
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
    /// `reflect`, `mcp`, `import grove` and the like.
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
