//! Recent rejections, newest last: a small fold that is read at every submission.

use serde::{Deserialize, Serialize};

use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;

use crate::records::{MemoryRecord, Rejection};

/// The limit on rejections.
const MOST: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentRejections {
    all: Vec<Rejection>,
}

impl RecentRejections {
    pub fn all(&self) -> &[Rejection] {
        &self.all
    }
}

impl Projection for RecentRejections {
    const NAME: &'static str = "rejected";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["learning.rejected"];

    fn apply(&mut self, record: &Record) {
        if let Some(MemoryRecord::Rejected(rejection)) = MemoryRecord::read(record) {
            self.all.push(rejection);
            let extra = self.all.len().saturating_sub(MOST);
            self.all.drain(..extra);
        }
    }
}
