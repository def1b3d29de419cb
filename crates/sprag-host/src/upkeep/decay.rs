//! Archives learnings that are no longer used. The rule is [`sprag_memory::lifecycle::decay`].

use std::io;

use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_memory::lifecycle::decay;
use sprag_memory::records::{LearningIds, MemoryRecord};

use super::{StepResult, UpkeepMode, UpkeepStep, When, by, kept};
use crate::store::new_record;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "decay", about: "learnings archived", when: When::Daily, run };

/// Learnings that one hook archives; the others stay due.
const PER_HOOK: usize = 64;

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    for (store, learnings) in kept(world)? {
        let found = decay::decay(learnings.in_use(), &world.config.settings.decay, now);
        let most = if mode == UpkeepMode::Bounded { PER_HOOK } else { usize::MAX };
        let mut archived = Vec::new();
        for due in found.archive.iter().take(most) {
            done.add(format!("`{}` {}: {}", due.id, one_line(due.summary.as_str()), due.why));
            let how = Text::new(format!("decay: {}", due.why));
            let archived_one = MemoryRecord::Archived(LearningIds { ids: vec![due.id.clone()], how });
            let mut record = new_record::record(&archived_one, now, None, Some(by()));
            record.idem = Some(format!("decay {} {}", due.id, &now.to_string()[..10]));
            archived.push(record);
        }
        if mode != UpkeepMode::Rehearsal && !archived.is_empty() {
            store.log(world.disk, &archived)?;
        }
        for due in &found.flagged {
            done.lines.push(format!("`{}` is kept, because a user asked for it: {}", due.id, due.why));
        }
    }
    Ok(done)
}
