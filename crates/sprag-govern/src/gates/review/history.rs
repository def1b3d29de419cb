//! What came of reviews, folded from the log: verdicts, and how well each template gets one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::gates::review::case::Outcome;
use crate::gates::review::{ATTEMPT, DECIDED};
use crate::report::ReviewWord;

/// Verdicts that are remembered; the log has them all.
const VERDICTS: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviews {
    verdicts: Vec<Verdict>,
    /// Outcomes by template.
    attempts: BTreeMap<String, BTreeMap<Outcome, u64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub session: SessionId,
    pub at: Timestamp,
    #[serde(flatten)]
    pub told: Told,
}

/// What the record of a verdict says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub id: Text<16>,
    pub word: ReviewWord,
    pub summary: Text<500>,
    pub message: Text<4000>,
    pub opinions: Vec<Text<1000>>,
    pub by: Text<280>,
    pub tree: Text<64>,
}

/// One template's share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    pub template: String,
    pub attempts: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Of all attempts, in per cent.
    pub success: u64,
}

impl Reviews {
    /// Oldest first.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    pub fn shares(&self) -> Vec<Share> {
        let share = |(template, counts): (&String, &BTreeMap<Outcome, u64>)| {
            let attempts: u64 = counts.values().sum();
            let of = |outcome: Outcome| counts.get(&outcome).copied().unwrap_or(0);
            Share {
                template: template.clone(),
                attempts,
                outcomes: Outcome::ALL.map(|outcome| (outcome.name(), of(outcome))).into(),
                success: of(Outcome::Success) * 100 / attempts.max(1),
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
        match record.kind.as_str() {
            DECIDED => {
                let told = serde_json::from_value::<Told>(record.body.clone());
                if let (Ok(told), Some(session)) = (told, &record.session) {
                    if self.verdicts.len() >= VERDICTS {
                        self.verdicts.remove(0);
                    }
                    self.verdicts.push(Verdict { session: session.clone(), at: record.at, told });
                }
            }
            ATTEMPT => {
                let outcome = serde_json::from_value::<Outcome>(record.body["outcome"].clone());
                if let (Ok(outcome), Some(template)) = (outcome, record.body["template"].as_str()) {
                    let counts = self.attempts.entry(template.to_owned()).or_default();
                    *counts.entry(outcome).or_insert(0) += 1;
                }
            }
            _ => {}
        }
    }
}
