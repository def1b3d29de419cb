//! The records of the memory: their names, and what is in them. Old names are never reused for
//! another shape; a reader passes over what it does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::text::Text;

/// A learning that was kept. Body: [`crate::learning::Learning`].
pub const ACCEPTED: &str = "learning.accepted";
/// The same learning, said otherwise. Body: the whole of it, under the id it has.
pub const CORRECTED: &str = "learning.corrected";
/// A candidate that was not kept. Body: [`Rejection`].
pub const REJECTED: &str = "learning.rejected";
/// Body: [`Superseded`].
pub const SUPERSEDED: &str = "learning.superseded";
/// Body of these five: [`LearningIds`].
pub const ARCHIVED: &str = "learning.archived";
pub const RESTORED: &str = "learning.restored";
pub const VERIFIED: &str = "learning.verified";
pub const WENT_STALE: &str = "learning.stale";
pub const REFERRED: &str = "learning.referred";
/// Its words turned up in what the agent did. Body: [`LearningIds`].
pub const IMPLIED: &str = "learning.implied";
/// Shown and of no use, once for each session. Body: [`LearningIds`].
pub const DISMISSED: &str = "learning.dismissed";
/// Shown to a session. Body: [`Surfaced`].
pub const SURFACED: &str = "learning.surfaced";
/// Body: [`LearningRating`].
pub const RATED: &str = "learning.rated";
/// Whether work that used it went well. Body: [`WorkOutcome`].
pub const OUTCOME: &str = "learning.outcome";
/// What came of a reflection, for judging the sieve. Body: [`ReflectionSummary`].
pub const REFLECTED: &str = "reflection.done";
/// A question and what answers it. Body: `AnswerReport` of the gates.
pub const ANSWERED: &str = "qa.answered";
/// A text to be found, which nobody claims to be a learning. Body: [`crate::document::LoadedText`].
pub const LOADED: &str = "document.loaded";

/// What all records of the memory begin with; the rest of the log need not be read for it.
pub const PREFIXES: &[&str] = &["learning.", "document."];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearningIds {
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
    /// `schema`, `plausibility`, `specificity`, `scope`, `duplicate`.
    pub stage: Text<32>,
    pub reason: Text<1000>,
    /// Its place in the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// One reflection in numbers. No text of a candidate is in it: it stands in the project's log, whoever
/// the candidates were for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReflectionSummary {
    pub candidates: u32,
    /// Ids of what was kept, and of what was there already and is now said better.
    pub accepted: Vec<Text<64>>,
    /// How many were not kept, by stage; those that wait for a word are `similar`.
    pub stages: BTreeMap<String, u32>,
    /// How often each criterion was claimed by what was kept.
    pub criteria: BTreeMap<String, u32>,
    /// What was kept although a stage had rejected something like it in an earlier session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<WriteGateMiss>,
    /// Learnings that a candidate resembles, by its place in the submission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SimilarLearning>,
    /// Learnings that a candidate repeats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<SimilarLearning>,
    /// Why candidates are not what they resemble, in the words of whoever handed them in.
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub distinct: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteGateMiss {
    pub id: Text<64>,
    pub stage: Text<32>,
    pub score: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimilarLearning {
    pub index: u32,
    pub id: Text<64>,
    #[serde(default)]
    pub score: f32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surfaced {
    /// `start`, `tool`, `prompt`.
    pub occasion: Text<16>,
    pub shown: Vec<ShownRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownRecord {
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
pub struct LearningRating {
    pub id: Text<64>,
    pub is_useful: bool,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub why: Text<500>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkOutcome {
    pub ids: Vec<Text<64>>,
    pub is_success: bool,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub what: Text<500>,
}

pub const SKIPPED: &str = "reflection.skipped";
