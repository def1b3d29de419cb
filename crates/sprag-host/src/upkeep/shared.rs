//! Takes records of other clones and edits by hand, and renders the files for people.

use std::io;

use sprag_base::time::Timestamp;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::memory;
use crate::world::World;

pub(crate) const STEP: UpkeepStep = UpkeepStep {
    name: "files",
    about: "files of other clones, edits by hand, rendering",
    when: When::Daily,
    run,
};

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    if mode == UpkeepMode::Rehearsal {
        return Ok(done);
    }
    let came = memory::maintain(world, now)?;
    for (count, what) in [
        (came.taken, "records of other clones taken"),
        (came.edited, "hand-edited blocks taken"),
        (came.published, "records shared with other clones"),
    ] {
        if count > 0 {
            done.count += count;
            done.lines.push(format!("{count} {what}"));
        }
    }
    done.lines.extend(came.problems);
    Ok(done)
}
