//! The share of a part in a whole.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub part: usize,
    pub whole: usize,
}

impl Share {
    /// Returns the share of elements that meet a condition.
    pub fn of<T>(all: &[T], so: impl Fn(&T) -> bool) -> Share {
        Share { part: all.iter().filter(|one| so(one)).count(), whole: all.len() }
    }

    pub fn value(self) -> Option<f64> {
        let count = |n: usize| u32::try_from(n).map(f64::from).unwrap_or(f64::MAX);
        (self.whole > 0).then(|| count(self.part) / count(self.whole))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(value) => write!(f, "{value:.3} ({}/{})", self.part, self.whole),
            None => write!(f, "- (0/0)"),
        }
    }
}
