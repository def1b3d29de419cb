//! Work after the reply of a hook.

use std::io;

use sprag_govern::event::{Event, Input};
use sprag_govern::obligation::Debts;
use sprag_intent::status::IntentHistories;
use sprag_memory::answers::AnsweredQuestions;
use sprag_memory::episode::FailurePatterns;
use sprag_memory::lifecycle::tiers::Summaries;

use crate::memory::{self, index, mirrors};
use crate::pipeline::PipelineResult;
use crate::store::journal::Journal;
use crate::store::{outbox, projections};
use crate::worktree::leases;
use crate::world::World;
use crate::{trace, trackers, upkeep};

/// Does work that may wait until the client has its answer, and that may be lost.
pub fn run_chores(world: &World<'_>, input: &Input, walked: &PipelineResult) -> io::Result<()> {
    let store = world.store();
    if walked.chores.moves_journal {
        let journal = Journal::open(&store, world.disk, &input.session, std::time::Duration::ZERO)?;
        journal.move_to_log(&store, world.disk, &input.session, input.at)?;
    }
    if walked.chores.asks_tracker {
        trackers::ask_active(world)?;
    }
    if walked.chores.sweeps_claims {
        leases::sweep(world, input)?;
    }
    if !walked.chores.mirrors.is_empty() {
        mirrors::enqueue(world, &walked.chores.mirrors, input.at)?;
    }
    if walked.chores.looks_around || !walked.chores.mirrors.is_empty() {
        crate::memory::mirrors::deliver::replay(world, input.at, outbox::PER_HOOK)?;
    }
    if walked.chores.looks_around {
        if let Some(personal) = memory::personal(&world.places) {
            outbox::replay_log(&personal, world.disk, input.at, outbox::PER_HOOK)?;
        }
        projections::renew::<Debts>(&store, world.disk)?;
        projections::renew::<IntentHistories>(&store, world.disk)?;
        projections::renew::<FailurePatterns>(&store, world.disk)?;
        projections::renew::<AnsweredQuestions>(&store, world.disk)?;
        projections::renew::<Summaries>(&store, world.disk)?;
        trace::after_reply(&store, world.disk, input.at)?;
        if matches!(input.event, Event::SessionStarted { .. } | Event::SessionEnded { .. }) {
            memory::after_hook(world, input.at)?;
            upkeep::in_hook(world, input.at)?;
        }
        index::maintain::after_reply(&store, world.disk, &[])?;
        if let Some(personal) = index::query::personal(&world.places) {
            index::maintain::after_reply(&personal, world.disk, &[])?;
        }
    }
    Ok(())
}
