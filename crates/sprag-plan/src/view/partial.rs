//! The part of a board that most screens need. Of ten thousand stages few are active or wait for a person.
//! The others are counted once when the board is made, and are not read again.

use serde::{Deserialize, Serialize};

use super::{RunBoard, RunProgress, StageRow, StateTone, plus};
use crate::agent::activity::SessionCost;

/// Number of stages up to which all are shown.
const FEW: usize = 200;

/// Totals of the rows that a board leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenRows {
    pub progress: RunProgress,
    pub used: Option<SessionCost>,
}

impl StageRow {
    /// Reports whether the row is of interest: the stage is active, or waits for a person.
    pub fn is_telling(&self) -> bool {
        matches!(self.state.tone(), StateTone::Running | StateTone::Blocked | StateTone::Warning)
            || self.state.is_a_persons()
    }
}

impl RunBoard {
    /// Splits the rows of less interest off.
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

    /// Adds the rows again.
    #[must_use]
    pub fn joined(mut self, rest: Vec<StageRow>) -> RunBoard {
        self.rows.extend(rest);
        self.rows.sort_by(|a, b| (a.level, &a.id).cmp(&(b.level, &b.id)));
        self.rest = HiddenRows::default();
        self
    }
}
