//! Moves how much is shown by what was judged. The rule is [`sprag_core::memory::policy`].

use std::io;

use serde_json::json;

use sprag_base::time::Timestamp;
use sprag_memory::recall::floor::{Feedback, POLICY, Version, Versions};

use super::{Done, Mode, Step, When, by};
use crate::store::{new_record, projections};
use crate::world::World;

pub const STEP: Step =
    Step { name: "policy", about: "floors moved by what was judged", when: When::Daily, run };

fn run(world: &World<'_>, mode: Mode, now: Timestamp) -> io::Result<Done> {
    let store = world.store();
    let feedback = projections::load::<Feedback>(&store)?.state;
    let versions = projections::load::<Versions>(&store)?.state;
    let usual = world.config.settings.govern.gates.recall.strategy.floor();
    let next: Vec<Version> =
        feedback.iter().filter_map(|(whom, basis)| versions.next(whom, *basis, usual)).collect();
    let mut done = Done::default();
    for version in &next {
        done.add(format!("{} learnings for {}: {}", version.whom.scope, version.whom.role, version.why));
    }
    if mode != Mode::Rehearsal && !next.is_empty() {
        let record = |version: &Version| {
            let mut record = new_record::record(POLICY, now, None, Some(by()), json!(version));
            record.idem =
                Some(format!("policy {} {} {}", version.whom.role, version.whom.scope, version.version));
            record
        };
        store.log(world.disk, &next.iter().map(record).collect::<Vec<_>>())?;
        projections::refresh::<Versions>(&store, world.disk)?;
    }
    Ok(done)
}
