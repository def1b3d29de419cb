//! All learnings with their use: a fold of the log, for commands. Hooks use the index, which does not read
//! everything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::{Learning, LearningStatus};
use crate::records::{MemoryRecord, Rejection};
use crate::usage::{self, Uses};

/// The limit on stored rejections, newest last.
const REJECTIONS: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learnings {
    entries: BTreeMap<String, LearningEntry>,
    #[serde(default)]
    rejections: Vec<(Timestamp, Rejection)>,
    /// Uses of learnings that do not exist yet, because files of other clones come in any order.
    #[serde(default)]
    early: BTreeMap<String, Uses>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningEntry {
    pub learning: Learning,
    pub uses: Uses,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<Text<64>>,
}

impl LearningEntry {
    pub fn status(&self) -> LearningStatus {
        self.uses.status
    }
}

impl Learnings {
    /// Returns all learnings, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &LearningEntry> {
        self.entries.values()
    }

    /// Returns learnings that may be shown.
    pub fn in_use(&self) -> impl Iterator<Item = &LearningEntry> {
        self.all().filter(|entry| matches!(entry.status(), LearningStatus::Active | LearningStatus::Stale))
    }

    pub fn get(&self, id: &str) -> Option<&LearningEntry> {
        self.entries.get(id)
    }

    /// Returns learnings whose id has this prefix.
    pub fn by_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a LearningEntry> {
        self.entries
            .range(prefix.to_owned()..)
            .map(|(_, entry)| entry)
            .take_while(move |entry| entry.learning.id.as_str().starts_with(prefix))
    }

    pub fn rejections(&self) -> &[(Timestamp, Rejection)] {
        &self.rejections
    }

    fn keep(&mut self, learning: Learning) {
        let id = learning.id.to_string();
        let uses = self.early.remove(&id).unwrap_or_default();
        self.entries.entry(id).or_insert(LearningEntry { learning, uses, superseded_by: None });
    }

    fn correct(&mut self, learning: Learning) {
        match self.entries.get_mut(learning.id.as_str()) {
            Some(entry) => entry.learning = learning,
            None => self.keep(learning),
        }
    }
}

impl Projection for Learnings {
    const NAME: &'static str = "learnings";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["learning."];

    fn apply(&mut self, record: &Record) {
        let Some(told) = MemoryRecord::read(record) else { return };
        let changes = usage::changes(&told);
        match told {
            MemoryRecord::Accepted(learning) => self.keep(*learning),
            MemoryRecord::Corrected(learning) => self.correct(*learning),
            MemoryRecord::Rejected(rejection) => {
                self.rejections.push((record.at, rejection));
                let extra = self.rejections.len().saturating_sub(REJECTIONS);
                self.rejections.drain(..extra);
            }
            MemoryRecord::Superseded(superseded) => {
                if let Some(entry) = self.entries.get_mut(superseded.id.as_str()) {
                    entry.superseded_by = Some(superseded.by);
                }
            }
            _ => {}
        }
        for (id, change) in changes {
            match self.entries.get_mut(&id) {
                Some(entry) => entry.uses.apply(change, record.at),
                None => self.early.entry(id).or_default().apply(change, record.at),
            }
        }
    }
}
