//! The index of the memory, brought up to date, its small pieces made one; the user's own as well.

use std::io;
use std::path::PathBuf;

use sprag_core::time::Timestamp;

use super::{Done, Mode, Step, When};
use crate::memory::maintain::{self, Work};
use crate::memory::{self, Library, Reach};
use crate::store::Store;
use crate::walk::World;

pub const STEP: Step = Step { name: "index", about: "indexes brought up to date", when: When::Asked, run };

fn run(world: &World<'_>, mode: Mode, _now: Timestamp) -> io::Result<Done> {
    let mut done = Done::default();
    renew(world, &world.store(), &memory::shared(&world.places), mode, &mut done)?;
    if let Some(user) = &world.places.user {
        renew(world, &memory::personal(user), &[], mode, &mut done)?;
    }
    Ok(done)
}

fn renew(
    world: &World<'_>,
    store: &Store,
    further: &[PathBuf],
    mode: Mode,
    done: &mut Done,
) -> io::Result<()> {
    let behind = Library::open(store, further, Reach::Last(0))?.behind;
    if behind.bytes == 0 && !behind.is_broken {
        return Ok(());
    }
    let is_done = match mode {
        Mode::Rehearsal => true,
        Mode::Real => maintain::renew(store, world.disk, further, Work::All)?.is_some(),
        Mode::Bounded => maintain::renew(store, world.disk, further, Work::Hook)?.is_some(),
    };
    done.count += usize::from(is_done);
    Ok(())
}
