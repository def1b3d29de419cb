//! The use of a learning: its status, how often it was shown, and how often it was used. A fold of records
//! that fits into a row of bytes beside the index.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::LearningStatus;
use crate::records::{LearningIds, MemoryRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    pub status: LearningStatus,
    /// The number of sessions that were shown the learning.
    pub surfaced: u16,
    /// The number of reported uses.
    pub referred: u16,
    /// The number of implied uses.
    pub implied: u16,
    pub dismissed: u16,
    pub rated_up: u16,
    pub rated_down: u16,
    pub succeeded: u16,
    pub failed: u16,
    /// Minutes since 1970; 0 means never.
    pub last_used: u32,
    pub last_shown: u32,
    pub last_verified: u32,
}

impl Default for Uses {
    fn default() -> Self {
        Uses {
            status: LearningStatus::Active,
            surfaced: 0,
            referred: 0,
            implied: 0,
            dismissed: 0,
            rated_up: 0,
            rated_down: 0,
            succeeded: 0,
            failed: 0,
            last_used: 0,
            last_shown: 0,
            last_verified: 0,
        }
    }
}

/// One change of one learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageChange {
    Stale,
    Archived,
    Restored,
    Superseded,
    Verified,
    Surfaced,
    Referred,
    Implied,
    Dismissed,
    Rated {
        is_useful: bool,
    },
    Outcome {
        is_success: bool,
    },
    /// The text changed, and the learning is active again.
    Corrected,
}

/// The number of bytes of a row.
pub const ROW: usize = 32;

impl Uses {
    pub fn apply(&mut self, change: UsageChange, at: Timestamp) {
        let now = minutes(at);
        let more = |count: &mut u16| *count = count.saturating_add(1);
        // Superseded is final: later records change only the counts.
        let is_final = self.status == LearningStatus::Superseded;
        match change {
            UsageChange::Superseded => self.status = LearningStatus::Superseded,
            UsageChange::Stale if self.status == LearningStatus::Active => {
                self.status = LearningStatus::Stale
            }
            UsageChange::Archived if !is_final => self.status = LearningStatus::Archived,
            UsageChange::Restored | UsageChange::Corrected if !is_final => {
                self.status = LearningStatus::Active;
                self.last_verified = now;
            }
            UsageChange::Verified => {
                self.last_verified = now;
                if self.status == LearningStatus::Stale {
                    self.status = LearningStatus::Active;
                }
            }
            UsageChange::Stale | UsageChange::Archived | UsageChange::Restored | UsageChange::Corrected => {}
            UsageChange::Surfaced => {
                more(&mut self.surfaced);
                self.last_shown = now;
            }
            UsageChange::Referred => {
                more(&mut self.referred);
                self.last_used = now;
            }
            UsageChange::Implied => {
                more(&mut self.implied);
                self.last_used = now;
            }
            UsageChange::Dismissed => more(&mut self.dismissed),
            UsageChange::Rated { is_useful: true } => {
                more(&mut self.rated_up);
                self.last_used = now;
            }
            UsageChange::Rated { is_useful: false } => more(&mut self.rated_down),
            UsageChange::Outcome { is_success: true } => more(&mut self.succeeded),
            UsageChange::Outcome { is_success: false } => more(&mut self.failed),
        }
    }

    pub fn row(&self) -> [u8; ROW] {
        let mut row = [0; ROW];
        let status = LearningStatus::ALL.iter().position(|status| *status == self.status).unwrap_or(0);
        row[0] = u8::try_from(status).unwrap_or(0);
        let counts = [
            self.surfaced,
            self.referred,
            self.implied,
            self.dismissed,
            self.rated_up,
            self.rated_down,
            self.succeeded,
            self.failed,
        ];
        for (at, count) in counts.iter().enumerate() {
            row[2 + 2 * at..4 + 2 * at].copy_from_slice(&count.to_le_bytes());
        }
        for (at, moment) in [self.last_used, self.last_shown, self.last_verified].iter().enumerate() {
            row[20 + 4 * at..24 + 4 * at].copy_from_slice(&moment.to_le_bytes());
        }
        row
    }

    pub fn from_row(row: &[u8; ROW]) -> Uses {
        let count = |at: usize| u16::from_le_bytes([row[2 + 2 * at], row[3 + 2 * at]]);
        let moment = |at: usize| {
            u32::from_le_bytes([row[20 + 4 * at], row[21 + 4 * at], row[22 + 4 * at], row[23 + 4 * at]])
        };
        Uses {
            status: LearningStatus::ALL.get(usize::from(row[0])).copied().unwrap_or(LearningStatus::Archived),
            surfaced: count(0),
            referred: count(1),
            implied: count(2),
            dismissed: count(3),
            rated_up: count(4),
            rated_down: count(5),
            succeeded: count(6),
            failed: count(7),
            last_used: moment(0),
            last_shown: moment(1),
            last_verified: moment(2),
        }
    }
}

pub fn minutes(at: Timestamp) -> u32 {
    u32::try_from(at.millis() / 60_000).unwrap_or(0)
}

/// Returns the changes of a record by learning. The caller itself stores new and corrected learnings.
pub fn changes(record: &MemoryRecord) -> Vec<(String, UsageChange)> {
    let all = |ids: &[Text<64>], change: UsageChange| ids.iter().map(|id| (id.to_string(), change)).collect();
    let about = |about: &LearningIds, change: UsageChange| all(&about.ids, change);
    match record {
        MemoryRecord::Corrected(learning) => vec![(learning.id.to_string(), UsageChange::Corrected)],
        MemoryRecord::Superseded(it) => vec![(it.id.to_string(), UsageChange::Superseded)],
        MemoryRecord::Archived(ids) => about(ids, UsageChange::Archived),
        MemoryRecord::Restored(ids) => about(ids, UsageChange::Restored),
        MemoryRecord::Verified(ids) => about(ids, UsageChange::Verified),
        MemoryRecord::WentStale(ids) => about(ids, UsageChange::Stale),
        MemoryRecord::Referred(ids) => about(ids, UsageChange::Referred),
        MemoryRecord::Implied(ids) => about(ids, UsageChange::Implied),
        MemoryRecord::Dismissed(ids) => about(ids, UsageChange::Dismissed),
        MemoryRecord::Surfaced(it) => {
            it.shown.iter().map(|shown| (shown.id.to_string(), UsageChange::Surfaced)).collect()
        }
        MemoryRecord::Rated(it) => vec![(it.id.to_string(), UsageChange::Rated { is_useful: it.is_useful })],
        MemoryRecord::Outcome(it) => all(&it.ids, UsageChange::Outcome { is_success: it.is_success }),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_everything() {
        let mut uses = Uses::default();
        let at = Timestamp::from_millis(1_794_733_261_000);
        for change in [
            UsageChange::Surfaced,
            UsageChange::Referred,
            UsageChange::Implied,
            UsageChange::Dismissed,
            UsageChange::Rated { is_useful: true },
            UsageChange::Rated { is_useful: false },
            UsageChange::Outcome { is_success: true },
            UsageChange::Outcome { is_success: false },
            UsageChange::Verified,
            UsageChange::Stale,
        ] {
            uses.apply(change, at);
            assert_eq!(Uses::from_row(&uses.row()), uses);
        }
        assert_eq!((uses.status, uses.surfaced, uses.last_used), (LearningStatus::Stale, 1, minutes(at)));
    }

    #[test]
    fn superseded_is_final_and_archived_is_not() {
        let at = Timestamp::from_millis(0);
        let after = |changes: &[UsageChange]| {
            let mut uses = Uses::default();
            for change in changes.iter() {
                uses.apply(*change, at);
            }
            uses.status
        };
        assert_eq!(after(&[UsageChange::Archived, UsageChange::Restored]), LearningStatus::Active);
        assert_eq!(
            after(&[UsageChange::Superseded, UsageChange::Restored, UsageChange::Corrected]),
            LearningStatus::Superseded
        );
        assert_eq!(after(&[UsageChange::Archived, UsageChange::Stale]), LearningStatus::Archived);
        assert_eq!(after(&[UsageChange::Stale, UsageChange::Verified]), LearningStatus::Active);
    }
}
