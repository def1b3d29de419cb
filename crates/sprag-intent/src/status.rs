//! The history of each intent: a fold of its records.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;

use super::{Criterion, CriterionProof, Intent, IntentRecord, IntentStatus};

/// The histories by intent id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IntentHistories {
    of: BTreeMap<String, IntentHistory>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IntentHistory {
    /// `None`: no record exists yet, so the status in the file counts.
    status: Option<IntentStatus>,
    /// Every fingerprint that a person accepted for all earlier work.
    accepted: BTreeSet<Text<64>>,
    /// From an old fingerprint to the one that a person accepted in its place.
    #[serde(default)]
    carried: BTreeMap<Text<64>, Text<64>>,
    /// Fingerprints under which sessions chose the intent.
    seen: BTreeSet<Text<64>>,
    /// Criteria that a person accepted, by the digest of their text.
    met: BTreeSet<Digest>,
}

impl IntentHistories {
    pub fn status(&self, intent: &Intent) -> IntentStatus {
        self.of.get(intent.id.as_str()).and_then(|standing| standing.status).unwrap_or(intent.status)
    }

    /// Returns the criteria that need the approval of a person and do not have it.
    pub fn unmet<'a>(&self, intent: &'a Intent) -> Vec<&'a Criterion> {
        let standing = self.of.get(intent.id.as_str());
        let is_met =
            |criterion: &Criterion| standing.is_some_and(|standing| standing.met.contains(&criterion.digest));
        intent
            .criteria
            .iter()
            .filter(|criterion| criterion.proof == CriterionProof::Word && !is_met(criterion))
            .collect()
    }

    /// Reports whether work under one fingerprint of an intent counts for its current fingerprint.
    pub fn carries(&self, id: &str, fingerprint: &str, now: &str) -> bool {
        if fingerprint == now {
            return true;
        }
        let Some(standing) = self.of.get(id) else { return false };
        let mut at = Text::from(fingerprint);
        // Each step leads to a fingerprint that was accepted later, so the number of entries bounds the loop.
        for _ in 0..=standing.carried.len() {
            match standing.carried.get(&at) {
                Some(next) if next.as_str() == now => return true,
                Some(next) => at = next.clone(),
                None => return false,
            }
        }
        false
    }
}

impl IntentHistory {
    fn carry(&mut self, from: &Text<64>, to: &Text<64>) {
        if from != to {
            self.carried.insert(from.clone(), to.clone());
            // After a return to an earlier fingerprint, that one leads no further.
            self.carried.remove(to);
        }
    }
}

impl Projection for IntentHistories {
    const NAME: &'static str = "intents";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["intent."];

    fn apply(&mut self, record: &Record) {
        let Some(record) = IntentRecord::read(record) else { return };
        if !Intent::is_id(record.intent().as_str()) {
            return;
        }
        let standing = self.of.entry(record.intent().to_string()).or_default();
        match record {
            IntentRecord::Selected(selected) => {
                if standing.status != Some(IntentStatus::Done) {
                    standing.status = Some(IntentStatus::InProgress);
                }
                standing.seen.insert(selected.fingerprint);
            }
            IntentRecord::Done(_) => standing.status = Some(IntentStatus::Done),
            IntentRecord::Reopened(_) => standing.status = Some(IntentStatus::InProgress),
            IntentRecord::Accepted(accepted) => {
                standing.met.extend(accepted.met);
                if let Some(now) = accepted.fingerprint {
                    let before: Vec<Text<64>> =
                        standing.seen.iter().chain(standing.accepted.iter()).cloned().collect();
                    for from in before.iter() {
                        standing.carry(from, &now);
                    }
                    standing.accepted.insert(now);
                }
            }
            IntentRecord::Expanded(expanded) => {
                standing.carry(&expanded.before, &expanded.fingerprint);
                standing.accepted.insert(expanded.fingerprint);
            }
            IntentRecord::Strayed(_) => {}
        }
    }
}
