//! What backends should have and were never told, or told otherwise: one that is new, or was away.

use std::io;

use sprag_base::time::Timestamp;

use super::{Done, Mode, Step, When};
use crate::memory::mirrors;
use crate::world::World;

pub const STEP: Step =
    Step { name: "backends", about: "learnings that backends do not have yet", when: When::Asked, run };

fn run(world: &World<'_>, mode: Mode, now: Timestamp) -> io::Result<Done> {
    let mut done = Done::default();
    for (backend, orders) in mirrors::missing(world)? {
        if orders.is_empty() {
            continue;
        }
        done.count += orders.len();
        done.lines.push(format!("{} for `{}`", orders.len(), backend.name));
        if mode != Mode::Rehearsal {
            mirrors::put_all(world, &[backend], &orders, now)?;
        }
    }
    Ok(done)
}
