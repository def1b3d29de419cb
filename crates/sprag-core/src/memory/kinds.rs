//! The records of the memory: their names, and what is in them. Old names are never reused for
//! another shape; a reader passes over what it does not know.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// A learning that was kept. Body: [`crate::memory::learning::Learning`].
pub const ACCEPTED: &str = "learning.accepted";
/// The same learning, said otherwise. Body: the whole of it, under the id it has.
pub const CORRECTED: &str = "learning.corrected";
/// A candidate that was not kept. Body: [`Rejection`].
pub const REJECTED: &str = "learning.rejected";
/// Body: [`Superseded`].
pub const SUPERSEDED: &str = "learning.superseded";
/// Body of these five: [`About`].
pub const ARCHIVED: &str = "learning.archived";
pub const RESTORED: &str = "learning.restored";
pub const VERIFIED: &str = "learning.verified";
pub const WENT_STALE: &str = "learning.stale";
pub const REFERRED: &str = "learning.referred";
/// Its words turned up in what the agent did. Body: [`About`].
pub const IMPLIED: &str = "learning.implied";
/// Shown and of no use, once for each session. Body: [`About`].
pub const DISMISSED: &str = "learning.dismissed";
/// Shown to a session. Body: [`Surfaced`].
pub const SURFACED: &str = "learning.surfaced";
/// Body: [`Rated`].
pub const RATED: &str = "learning.rated";
/// Whether work that used it went well. Body: [`Went`].
pub const OUTCOME: &str = "learning.outcome";
/// A question and what answers it. Body: [`crate::event::Answered`].
pub const ANSWERED: &str = "qa.answered";
/// A text to be found, which nobody claims to be a learning. Body: [`crate::memory::document::Loaded`].
pub const LOADED: &str = "document.loaded";

/// What all records of the memory begin with; the rest of the log need not be read for it.
pub const PREFIXES: &[&str] = &["learning.", "document."];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    pub ids: Vec<Text<64>>,
    /// Why, or for what.
    #[serde(skip_serializing_if = "Text::is_empty", alias = "why")]
    pub how: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    pub id: Text<64>,
    pub by: Text<64>,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub why: Text<500>,
}

/// What was not kept, so that the sieve itself can be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    pub summary: Text<200>,
    #[serde(default)]
    pub tags: Vec<Text<100>>,
    /// `schema`, `plausibility`, `specificity`, `duplicate`.
    pub stage: Text<32>,
    pub reason: Text<1000>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surfaced {
    /// `start`, `tool`, `prompt`.
    pub occasion: Text<16>,
    pub shown: Vec<Shown>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    pub id: Text<64>,
    /// How likely it was thought to be of use.
    pub score: f32,
    /// The signals that spoke for it.
    #[serde(default)]
    pub why: Text<200>,
    #[serde(default)]
    pub tokens: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rated {
    pub id: Text<64>,
    pub is_useful: bool,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub why: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Went {
    pub ids: Vec<Text<64>>,
    pub is_success: bool,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub what: Text<500>,
}
