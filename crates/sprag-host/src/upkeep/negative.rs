//! What was tried and failed is worth another try after a while, and wrong once it worked. The rule is
//! [`sprag_memory::lifecycle::negative`].

use std::io;

use serde_json::json;

use sprag_base::text::one_line;
use sprag_base::time::Timestamp;
use sprag_memory::learning::LearningStatus;
use sprag_memory::lifecycle::negative::{self, NegativeState, caveat};
use sprag_memory::records;

use super::{StepResult, UpkeepMode, UpkeepStep, When, by, kept};
use crate::store::new_record;
use crate::world::World;

pub(crate) const STEP: UpkeepStep = UpkeepStep {
    name: "negative",
    about: "failed attempts to be tried again or refuted",
    when: When::Daily,
    run,
};

/// Learnings one hook looks into.
const PER_HOOK: usize = 64;

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    let most = if mode == UpkeepMode::Bounded { PER_HOOK } else { usize::MAX };
    for (store, learnings) in kept(world)? {
        let mut found = Vec::new();
        for entry in learnings.in_use() {
            let kind = match negative::standing(entry, now) {
                Some(NegativeState::Refuted) => records::ARCHIVED,
                Some(NegativeState::Recheck) if entry.status() == LearningStatus::Active => {
                    records::WENT_STALE
                }
                Some(NegativeState::Recheck | NegativeState::Holds) | None => continue,
            };
            let how = match kind {
                records::ARCHIVED => caveat(NegativeState::Refuted),
                _ => caveat(NegativeState::Recheck),
            };
            if done.count >= most {
                break;
            }
            let learning = &entry.learning;
            done.add(format!("`{}` {}: {how}", learning.id, one_line(learning.candidate.summary.as_str())));
            found.push(new_record::record_raw(
                kind,
                now,
                None,
                Some(by()),
                json!({"ids": [learning.id], "how": how}),
            ));
        }
        if mode != UpkeepMode::Rehearsal && !found.is_empty() {
            store.log(world.disk, &found)?;
        }
    }
    Ok(done)
}
