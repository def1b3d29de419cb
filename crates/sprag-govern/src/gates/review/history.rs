//! Past reviews, folded from the log: decisions, and the success rate of each template.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::gates::records::{DecidedReview, GateRecord};
use crate::gates::review::case::AttemptOutcome;
use crate::report::ReviewResult;

/// Maximum number of remembered decisions; the log has all of them.
const VERDICTS: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviews {
    verdicts: Vec<PastReview>,
    /// Outcomes by template.
    attempts: BTreeMap<String, BTreeMap<AttemptOutcome, u64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastReview {
    pub session: SessionId,
    pub at: Timestamp,
    #[serde(flatten)]
    pub told: ReviewDecisionRecord,
}

/// The content of a decision record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewDecisionRecord {
    pub id: Text<16>,
    pub word: ReviewResult,
    pub summary: Text<500>,
    pub message: Text<4000>,
    pub opinions: Vec<Text<1000>>,
    pub by: Text<280>,
    pub tree: Text<64>,
}

/// The results of one template.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemplateShare {
    pub template: String,
    pub attempts: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Successful attempts, in percent.
    pub success: u64,
}

impl Reviews {
    /// Returns the decisions, oldest first.
    pub fn verdicts(&self) -> &[PastReview] {
        &self.verdicts
    }

    pub fn shares(&self) -> Vec<TemplateShare> {
        let share = |(template, counts): (&String, &BTreeMap<AttemptOutcome, u64>)| {
            let attempts: u64 = counts.values().sum();
            let of = |outcome: AttemptOutcome| counts.get(&outcome).copied().unwrap_or(0);
            TemplateShare {
                template: template.clone(),
                attempts,
                outcomes: AttemptOutcome::ALL.map(|outcome| (outcome.name(), of(outcome))).into(),
                success: of(AttemptOutcome::Success) * 100 / attempts.max(1),
            }
        };
        self.attempts.iter().map(share).collect()
    }
}

impl Projection for Reviews {
    const NAME: &'static str = "reviews";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["review."];

    fn apply(&mut self, record: &Record) {
        match GateRecord::read(record) {
            Some(GateRecord::ReviewDecided(DecidedReview { decision: told, .. })) => {
                if let Some(session) = &record.session {
                    if self.verdicts.len() >= VERDICTS {
                        self.verdicts.remove(0);
                    }
                    self.verdicts.push(PastReview { session: session.clone(), at: record.at, told });
                }
            }
            Some(GateRecord::ReviewAttempt(attempt)) => {
                let counts = self.attempts.entry(attempt.template.to_string()).or_default();
                *counts.entry(attempt.outcome).or_insert(0) += 1;
            }
            _ => {}
        }
    }
}
