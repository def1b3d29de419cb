//! Delivers all waiting entries of the outbox, not only the few that a hook tries.

use std::io;

use sprag_base::time::Timestamp;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::memory::mirrors::deliver::replay_all;
use crate::store::files_with_ending;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "outbox", about: "late records and copies delivered", when: When::Asked, run };

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let store = world.store();
    let mut done = StepResult::default();
    if mode == UpkeepMode::Rehearsal {
        let waiting = files_with_ending(&store.dir.join("outbox"), "json").len();
        if waiting > 0 {
            done.count = waiting;
            done.lines.push(format!("{waiting} entries wait for delivery"));
        }
        return Ok(done);
    }
    let replayed = replay_all(world, now)?;
    done.count = replayed.delivered;
    done.lines.extend(replayed.warnings);
    if replayed.waiting > 0 {
        done.lines.push(format!("{} entries failed; Sprag retries them later", replayed.waiting));
    }
    Ok(done)
}
