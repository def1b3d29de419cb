//! Adjusts the recall floors by the ratings of shown learnings. The rule is [`sprag_memory::recall::floor`].

use std::io;

use sprag_base::time::Timestamp;
use sprag_memory::recall::floor::{Feedback, FloorVersion, FloorVersions};
use sprag_memory::records::MemoryRecord;

use super::{StepResult, UpkeepMode, UpkeepStep, When, by};
use crate::store::{new_record, projections};
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "policy", about: "recall floors adjusted", when: When::Daily, run };

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let store = world.store();
    let feedback = projections::load::<Feedback>(&store)?.state;
    let versions = projections::load::<FloorVersions>(&store)?.state;
    let usual = world.config.settings.govern.gates.recall.strategy.floor();
    let next: Vec<FloorVersion> =
        feedback.iter().filter_map(|(whom, basis)| versions.next(whom, *basis, usual)).collect();
    let mut done = StepResult::default();
    for version in &next {
        done.add(format!("{} learnings for {}: {}", version.whom.scope, version.whom.role, version.why));
    }
    if mode != UpkeepMode::Rehearsal && !next.is_empty() {
        let record = |version: &FloorVersion| {
            let mut record = new_record::record(&MemoryRecord::Floor(version.clone()), now, None, Some(by()));
            record.idem =
                Some(format!("policy {} {} {}", version.whom.role, version.whom.scope, version.version));
            record
        };
        store.log(world.disk, &next.iter().map(record).collect::<Vec<_>>())?;
        projections::refresh::<FloorVersions>(&store, world.disk)?;
    }
    Ok(done)
}
