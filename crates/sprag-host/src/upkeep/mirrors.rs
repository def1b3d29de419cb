//! Sends missing or changed learnings to backends, for example to a new backend.

use std::io;

use sprag_base::time::Timestamp;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::memory::mirrors;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "backends", about: "learnings missing in backends", when: When::Asked, run };

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    for (backend, orders) in mirrors::missing(world)? {
        if orders.is_empty() {
            continue;
        }
        done.count += orders.len();
        done.lines.push(format!("{} for `{}`", orders.len(), backend.name));
        if mode != UpkeepMode::Rehearsal {
            mirrors::put_all(world, &[backend], &orders, now)?;
        }
    }
    Ok(done)
}
