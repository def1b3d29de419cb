//! Marks failed attempts for another try after some time, and archives them once they worked. The rule is
//! [`sprag_memory::lifecycle::negative`].

use std::io;

use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_memory::learning::LearningStatus;
use sprag_memory::lifecycle::negative::{self, NegativeState, caveat};
use sprag_memory::records::{LearningIds, MemoryRecord};

use super::{StepResult, UpkeepMode, UpkeepStep, When, by, kept};
use crate::store::new_record;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "negative", about: "failed attempts to retry or refuted", when: When::Daily, run };

/// Learnings that one hook changes.
const PER_HOOK: usize = 64;

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    let most = if mode == UpkeepMode::Bounded { PER_HOOK } else { usize::MAX };
    for (store, learnings) in kept(world)? {
        let mut found = Vec::new();
        for entry in learnings.in_use() {
            let (record, how): (fn(LearningIds) -> MemoryRecord, _) = match negative::standing(entry, now) {
                Some(NegativeState::Refuted) => (MemoryRecord::Archived, caveat(NegativeState::Refuted)),
                Some(NegativeState::Recheck) if entry.status() == LearningStatus::Active => {
                    (MemoryRecord::WentStale, caveat(NegativeState::Recheck))
                }
                Some(NegativeState::Recheck | NegativeState::Holds) | None => continue,
            };
            if done.count >= most {
                break;
            }
            let learning = &entry.learning;
            done.add(format!("`{}` {}: {how}", learning.id, one_line(learning.candidate.summary.as_str())));
            let about = LearningIds { ids: vec![learning.id.clone()], how: Text::from(how) };
            found.push(new_record::record(&record(about), now, None, Some(by())));
        }
        if mode != UpkeepMode::Rehearsal && !found.is_empty() {
            store.log(world.disk, &found)?;
        }
    }
    Ok(done)
}
