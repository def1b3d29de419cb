//! Updates and merges the index of the memory.

use std::io;

use sprag_base::time::Timestamp;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::memory::index::maintain::{self, IndexWork};
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "index", about: "documents indexed", when: When::Asked, run };

fn run(world: &World<'_>, mode: UpkeepMode, _now: Timestamp) -> io::Result<StepResult> {
    if mode == UpkeepMode::Rehearsal {
        return Ok(StepResult::default());
    }
    let renewed = maintain::renew(&world.store(), world.disk, &[], IndexWork::All)?;
    let Some(renewed) = renewed else {
        return Ok(StepResult { count: 0, lines: vec!["another process updates the index".to_owned()] });
    };
    let documents = usize::try_from(renewed.documents).unwrap_or(usize::MAX);
    let lines = match documents {
        0 => Vec::new(),
        _ => vec![format!("{} segments, {} KB", renewed.segments, renewed.bytes.div_ceil(1024))],
    };
    Ok(StepResult { count: documents, lines })
}
