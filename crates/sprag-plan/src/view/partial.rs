//! The part of a board that most looks are about. Of ten thousand stages few are at work or want a person; the others
//! are counted when the board is made, so that nobody has to read them only to count them again.

use serde::{Deserialize, Serialize};

use super::{Board, Progress, Row, Tone, plus};
use crate::agent::activity::Used;

/// Of so many stages all are told of.
const FEW: usize = 200;

/// Rows that a board leaves out, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    pub progress: Progress,
    pub used: Option<Used>,
}

impl Row {
    /// Somebody may want to know of it: somebody is at it, or should be.
    pub fn is_telling(&self) -> bool {
        matches!(self.state.tone(), Tone::Running | Tone::Blocked | Tone::Warning)
            || self.state.is_a_persons()
    }
}

impl Board {
    /// Parts with the rows that nobody asks for first.
    #[must_use]
    pub fn split(mut self) -> (Board, Vec<Row>) {
        if self.rows.len() <= FEW {
            return (self, Vec::new());
        }
        let (telling, rest) = std::mem::take(&mut self.rows).into_iter().partition(Row::is_telling);
        self.rows = telling;
        for row in &rest {
            self.rest.progress.count(row.state);
            self.rest.used = plus(self.rest.used, row.past.used);
        }
        (self, rest)
    }

    /// Takes them back.
    #[must_use]
    pub fn joined(mut self, rest: Vec<Row>) -> Board {
        self.rows.extend(rest);
        self.rows.sort_by(|a, b| (a.level, &a.id).cmp(&(b.level, &b.id)));
        self.rest = Rest::default();
        self
    }
}
