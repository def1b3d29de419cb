//! Renders lessons into the files that agents read first. Only a command does this: these files are part of
//! the work, and a change by a hook would make a review invalid.

use std::io;

use sprag_base::time::Timestamp;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::memory::lessons;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "lessons", about: "lesson files not updated", when: When::Asked, run };

fn run(world: &World<'_>, mode: UpkeepMode, _now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    if mode != UpkeepMode::Rehearsal {
        done.lines = lessons::render(world)?;
        done.count = done.lines.len();
    }
    Ok(done)
}
