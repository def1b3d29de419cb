//! The part of a board that most looks are about. Of ten thousand stages few are at work or want a person; the others
//! are counted when the board is made, so that nobody has to read them only to count them again.

use serde::{Deserialize, Serialize};

use super::{RunBoard, RunProgress, StageRow, StateTone, plus};
use crate::agent::activity::SessionCost;

/// Of so many stages all are told of.
const FEW: usize = 200;

/// Rows that a board leaves out, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenRows {
    pub progress: RunProgress,
    pub used: Option<SessionCost>,
}

impl StageRow {
    /// Somebody may want to know of it: somebody is at it, or should be.
    pub fn is_telling(&self) -> bool {
        matches!(self.state.tone(), StateTone::Running | StateTone::Blocked | StateTone::Warning)
            || self.state.is_a_persons()
    }
}

impl RunBoard {
    /// Parts with the rows that nobody asks for first.
    #[must_use]
    pub fn split(mut self) -> (RunBoard, Vec<StageRow>) {
        if self.rows.len() <= FEW {
            return (self, Vec::new());
        }
        let (telling, rest) = std::mem::take(&mut self.rows).into_iter().partition(StageRow::is_telling);
        self.rows = telling;
        for row in &rest {
            self.rest.progress.count(row.state);
            self.rest.used = plus(self.rest.used, row.past.used);
        }
        (self, rest)
    }

    /// Takes them back.
    #[must_use]
    pub fn joined(mut self, rest: Vec<StageRow>) -> RunBoard {
        self.rows.extend(rest);
        self.rows.sort_by(|a, b| (a.level, &a.id).cmp(&(b.level, &b.id)));
        self.rest = HiddenRows::default();
        self
    }
}
