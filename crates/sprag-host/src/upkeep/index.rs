//! The index of the memory, brought up to date and merged as far as it goes.

use std::io;

use sprag_base::time::Timestamp;

use super::{Done, Mode, Step, When};
use crate::memory::index::maintain::{self, Work};
use crate::world::World;

pub const STEP: Step = Step { name: "index", about: "documents indexed", when: When::Asked, run };

fn run(world: &World<'_>, mode: Mode, _now: Timestamp) -> io::Result<Done> {
    if mode == Mode::Rehearsal {
        return Ok(Done::default());
    }
    let renewed = maintain::renew(&world.store(), world.disk, &[], Work::All)?;
    let Some(renewed) = renewed else {
        return Ok(Done { count: 0, lines: vec!["another process is at it".to_owned()] });
    };
    let documents = usize::try_from(renewed.documents).unwrap_or(usize::MAX);
    let lines = match documents {
        0 => Vec::new(),
        _ => vec![format!("{} segments, {} KB", renewed.segments, renewed.bytes.div_ceil(1024))],
    };
    Ok(Done { count: documents, lines })
}
