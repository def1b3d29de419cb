//! Stores current folds, so that the next command continues from them.

use std::io;

use sprag_base::record::Projection;
use sprag_base::time::Timestamp;
use sprag_govern::obligation::Debts;
use sprag_memory::answers::AnsweredQuestions;
use sprag_memory::episode::FailurePatterns;
use sprag_memory::learnings::Learnings;
use sprag_memory::lifecycle::tiers::Summaries;
use sprag_memory::recall::exposure::Exposures;
use sprag_memory::recall::floor::{Feedback, FloorVersions};
use sprag_memory::stats::Stats;

use super::{StepResult, UpkeepMode, UpkeepStep, When};
use crate::store::projections;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "folds", about: "stored folds renewed", when: When::Asked, run };

fn run(world: &World<'_>, mode: UpkeepMode, _now: Timestamp) -> io::Result<StepResult> {
    let mut done = StepResult::default();
    renew::<Learnings>(world, mode, &mut done)?;
    renew::<Exposures>(world, mode, &mut done)?;
    renew::<Stats>(world, mode, &mut done)?;
    renew::<FailurePatterns>(world, mode, &mut done)?;
    renew::<AnsweredQuestions>(world, mode, &mut done)?;
    renew::<Summaries>(world, mode, &mut done)?;
    renew::<Feedback>(world, mode, &mut done)?;
    renew::<FloorVersions>(world, mode, &mut done)?;
    renew::<Debts>(world, mode, &mut done)?;
    Ok(done)
}

fn renew<P: Projection>(world: &World<'_>, mode: UpkeepMode, done: &mut StepResult) -> io::Result<()> {
    let store = world.store();
    let folded = projections::load::<P>(&store)?;
    if folded.fresh_bytes == 0 {
        return Ok(());
    }
    done.count += 1;
    if mode != UpkeepMode::Rehearsal {
        projections::save(&store, world.disk, &folded)?;
    }
    Ok(())
}
