//! The records of the memory: their names, and what is in them. Old names are never reused for
//! another shape; a reader passes over what it does not know.

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
    /// Records of the memory.
    pub enum MemoryRecord {
        /// A learning that was kept.
        Accepted(Box<Learning>) = "learning.accepted",
        /// The same learning in other words, under the id it has.
        Corrected(Box<Learning>) = "learning.corrected",
        /// A candidate that was not kept.
        Rejected(Rejection) = "learning.rejected",
        Superseded(Superseded) = "learning.superseded",
        Archived(LearningIds) = "learning.archived",
        Restored(LearningIds) = "learning.restored",
        Verified(LearningIds) = "learning.verified",
        /// The lines that it rests on have changed.
        WentStale(LearningIds) = "learning.stale",
        /// Somebody said that it was of use.
        Referred(LearningIds) = "learning.referred",
        /// Its words turned up in what the agent did.
        Implied(LearningIds) = "learning.implied",
        /// Shown and of no use, once for each session.
        Dismissed(LearningIds) = "learning.dismissed",
        /// Shown to a session.
        Surfaced(Surfaced) = "learning.surfaced",
        Rated(LearningRating) = "learning.rated",
        /// Whether work that used it went well.
        Outcome(WorkOutcome) = "learning.outcome",
        /// One reflection in numbers, for judging the write gate.
        Reflected(ReflectionSummary) = "reflection.done",
        Skipped(SkippedReflection) = "reflection.skipped",
        /// A question and its answer.
        Answered(AnsweredQuestion) = "qa.answered",
        /// A text to be found that nobody claims to be a learning.
        Loaded(LoadedText) = "document.loaded",
        Episode(Episode) = "episode",
        /// A transcript that was read.
        Retroflected(BackfillRecord) = "retroflect",
        Summary(TierSummary) = "summary",
        /// A version of the recall floor.
        Floor(FloorVersion) = "policy",
        /// A backend has taken something over.
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

    /// Returns the ids of a record that says one thing of several learnings.
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
                format!("learning `{}` was said otherwise: {summary}", learning.id)
            }
            MemoryRecord::Rejected(rejection) => {
                format!("not kept ({}): {}", line(rejection.stage.as_str()), line(rejection.reason.as_str()))
            }
            MemoryRecord::Superseded(it) => format!("learning `{}` was replaced by `{}`", it.id, it.by),
            MemoryRecord::Archived(about) => format!("learnings {} were archived", ids(about)),
            MemoryRecord::Restored(about) => format!("learnings {} were restored", ids(about)),
            MemoryRecord::Verified(about) => format!("learnings {} were found to be true", ids(about)),
            MemoryRecord::WentStale(about) => format!("what learnings {} rest on has changed", ids(about)),
            MemoryRecord::Referred(about) => {
                format!("learnings {} were of use: {}", ids(about), line(about.how.as_str()))
            }
            MemoryRecord::Implied(about) => format!("learnings {} seem to have been of use", ids(about)),
            MemoryRecord::Dismissed(about) => format!("learnings {} were shown in vain", ids(about)),
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
            MemoryRecord::Retroflected(_) => "the session was read again for what it taught".to_owned(),
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
    /// The signals that spoke for it; nothing of what another program showed.
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

/// Somebody said that there is nothing to learn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkippedReflection {
    pub why: Text<500>,
    pub decider: Decider,
    /// The ticket that was worked on.
    pub ticket: Option<SkippedTicket>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTicket {
    pub id: Text<128>,
    pub tracker: Text<16>,
}

/// Who says that there is nothing to learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    #[default]
    Agent,
    User,
    Auto,
}

impl Decider {
    pub fn name(self) -> &'static str {
        match self {
            Decider::Agent => "agent",
            Decider::User => "user",
            Decider::Auto => "auto",
        }
    }
}

/// A record of a session's journal or of its gates, as far as the memory counts it. Those records are of a
/// crate above this one; a member that a record does not have is empty.
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
