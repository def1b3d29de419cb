//! The records of the memory: their kinds and bodies. A kind never gets another body. Readers skip unknown
//! kinds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::records;
use sprag_base::text::{Text, one_line, quoted_list};

use crate::answers::AnsweredQuestion;
use crate::backfill::BackfillRecord;
use crate::document::LoadedText;
use crate::episode::Episode;
use crate::learning::Learning;
use crate::lifecycle::tiers::TierSummary;
use crate::mirror::MirrorAck;
use crate::recall::floor::FloorVersion;

records! {
    pub enum MemoryRecord {
        /// A stored learning.
        Accepted(Box<Learning>) = "learning.accepted",
        /// A learning with a new text, under the same id.
        Corrected(Box<Learning>) = "learning.corrected",
        /// A rejected candidate.
        Rejected(Rejection) = "learning.rejected",
        Superseded(Superseded) = "learning.superseded",
        Archived(LearningIds) = "learning.archived",
        Restored(LearningIds) = "learning.restored",
        Verified(LearningIds) = "learning.verified",
        /// The evidence of the learning changed.
        WentStale(LearningIds) = "learning.stale",
        /// An agent or user reported the use of the learning.
        Referred(LearningIds) = "learning.referred",
        /// Words of the learning occurred in the work of the agent.
        Implied(LearningIds) = "learning.implied",
        /// Shown and not used, once per session.
        Dismissed(LearningIds) = "learning.dismissed",
        /// Shown to a session.
        Surfaced(Surfaced) = "learning.surfaced",
        Rated(LearningRating) = "learning.rated",
        /// The outcome of work that used the learning.
        Outcome(WorkOutcome) = "learning.outcome",
        /// The counts of one reflection, to evaluate the write gate.
        Reflected(ReflectionSummary) = "reflection.done",
        Skipped(SkippedReflection) = "reflection.skipped",
        /// A question and its answer.
        Answered(AnsweredQuestion) = "qa.answered",
        /// A text for search that is not a learning.
        Loaded(LoadedText) = "document.loaded",
        Episode(Episode) = "episode",
        /// A transcript that was read for learnings.
        Retroflected(BackfillRecord) = "retroflect",
        Summary(TierSummary) = "summary",
        /// A version of the recall floor.
        Floor(FloorVersion) = "policy",
        /// A backend accepted learnings.
        Acked(MirrorAck) = "backend.acked",
    }
}

impl MemoryRecord {
    pub fn into_learning(self) -> Option<Learning> {
        match self {
            MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning) => Some(*learning),
            _ => None,
        }
    }

    /// Returns the ids of a record about several learnings.
    pub fn ids_mut(&mut self) -> Option<&mut Vec<Text<64>>> {
        match self {
            MemoryRecord::Archived(about)
            | MemoryRecord::Restored(about)
            | MemoryRecord::Verified(about)
            | MemoryRecord::WentStale(about)
            | MemoryRecord::Referred(about)
            | MemoryRecord::Implied(about)
            | MemoryRecord::Dismissed(about) => Some(&mut about.ids),
            _ => None,
        }
    }

    /// Returns a sentence for `sprag session explain`, or nothing for a record that only repeats a report.
    pub fn describe(&self) -> Option<String> {
        let line = |text: &str| one_line(text);
        let ids = |about: &LearningIds| quoted_list(&about.ids);
        Some(match self {
            MemoryRecord::Accepted(learning) => {
                format!("learned `{}`: {}", learning.id, line(learning.candidate.summary.as_str()))
            }
            MemoryRecord::Corrected(learning) => {
                let summary = line(learning.candidate.summary.as_str());
                format!("learning `{}` was changed: {summary}", learning.id)
            }
            MemoryRecord::Rejected(rejection) => {
                format!("not kept ({}): {}", line(rejection.stage.as_str()), line(rejection.reason.as_str()))
            }
            MemoryRecord::Superseded(it) => format!("learning `{}` was replaced by `{}`", it.id, it.by),
            MemoryRecord::Archived(about) => format!("learnings {} were archived", ids(about)),
            MemoryRecord::Restored(about) => format!("learnings {} were restored", ids(about)),
            MemoryRecord::Verified(about) => format!("learnings {} were verified", ids(about)),
            MemoryRecord::WentStale(about) => format!("the evidence of learnings {} changed", ids(about)),
            MemoryRecord::Referred(about) => {
                format!("learnings {} were used: {}", ids(about), line(about.how.as_str()))
            }
            MemoryRecord::Implied(about) => format!("learnings {} were probably used", ids(about)),
            MemoryRecord::Dismissed(about) => format!("learnings {} were shown but not used", ids(about)),
            MemoryRecord::Surfaced(surfaced) => {
                let shown = quoted_list(surfaced.shown.iter().map(|shown| &shown.id));
                format!("learnings {shown} were shown")
            }
            MemoryRecord::Answered(it) => {
                let (question, answer) = (line(it.question.as_str()), line(it.answer.as_str()));
                format!("the question \"{question}\" has an answer: {answer}")
            }
            MemoryRecord::Episode(it) => {
                let (command, error) = (line(it.command.as_str()), line(it.error.as_str()));
                format!("`{command}` works after {error}: {}", line(it.fix.as_str()))
            }
            MemoryRecord::Retroflected(_) => "the session was read for learnings".to_owned(),
            MemoryRecord::Reflected(_) | MemoryRecord::Skipped(_) => return None,
            MemoryRecord::Rated(_)
            | MemoryRecord::Outcome(_)
            | MemoryRecord::Loaded(_)
            | MemoryRecord::Summary(_)
            | MemoryRecord::Floor(_)
            | MemoryRecord::Acked(_) => format!("`{}`", self.kind()),
        })
    }
}

/// The prefixes of kinds that the index reads; other lines are skipped.
pub const PREFIXES: &[&str] = &["learning.", "document."];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearningIds {
    pub ids: Vec<Text<64>>,
    /// The reason or the use.
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

/// A rejected candidate, kept to evaluate the write gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    pub summary: Text<200>,
    #[serde(default)]
    pub tags: Vec<Text<100>>,
    /// `schema`, `plausibility`, `specificity`, `scope`, `duplicate`.
    pub stage: Text<32>,
    pub reason: Text<1000>,
    /// The index in the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// The counts of one reflection. It holds no text of candidates, because it stands in the log of the project,
/// even for personal candidates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReflectionSummary {
    pub candidates: u32,
    /// Ids of new and of merged learnings.
    pub accepted: Vec<Text<64>>,
    /// Counts of candidates that were not stored, by step. Candidates that wait for a decision count as
    /// `similar`.
    pub stages: BTreeMap<String, u32>,
    /// Counts of the criteria that stored candidates claim.
    pub criteria: BTreeMap<String, u32>,
    /// Stored candidates that resemble an earlier rejection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<WriteGateMiss>,
    /// Learnings that a candidate resembles, by its index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SimilarLearning>,
    /// Learnings that a candidate repeats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<SimilarLearning>,
    /// The author's reason why a candidate is distinct.
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
    /// The estimated probability of use.
    pub score: f32,
    /// The signals for the learning; `None` if another program showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Text<200>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
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

/// A decision that there is nothing to learn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkippedReflection {
    pub why: Text<500>,
    pub decider: Decider,
    /// The ticket of the work.
    pub ticket: Option<SkippedTicket>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTicket {
    pub id: Text<128>,
    pub tracker: Text<16>,
}

/// The author of a skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    #[default]
    Agent,
    User,
    Auto,
}

sprag_base::names! { pub fn name(Decider): Agent = "agent", User = "user", Auto = "auto" }

/// The members of journal and gate records that the memory counts. Those records belong to a crate above this
/// one. Missing members are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct JournalStep {
    pub(crate) tool: Option<Text<64>>,
    pub(crate) input: String,
    pub(crate) error: String,
    pub(crate) outcome: Text<16>,
    pub(crate) author: Text<16>,
    pub(crate) text: String,
    pub(crate) note: String,
    pub(crate) status: Text<16>,
    pub(crate) verdict: Text<16>,
}

impl JournalStep {
    pub(crate) fn read(record: &Record) -> JournalStep {
        JournalStep::deserialize(&record.body).unwrap_or_default()
    }
}
