//! What has changed, found out: after a call by its own files, at a stop by all that differs from what was
//! written down, after a commit by what it has of that. What comes of it is the gate's to write down.

mod author;
mod before;
pub mod blame;
mod call;
pub mod classify;
mod comments;
mod commit;
mod context;
mod file_cache;
mod file_state;
pub mod records;
pub mod share;
mod stop;
mod times;
pub mod verify;

use std::io;

use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::needs::SharedNeeds;
use sprag_govern::session::Session;
use sprag_trace::finding::TraceFindings;
use sprag_trace::uncommitted::UncommittedLines;

use crate::store::{Store, projections};
use crate::sys::disk::Disk;
use crate::world::World;
use context::TraceContext;

/// What there is to be written down of this event. `None`: nothing is written down here.
pub fn trace_event(
    needs: SharedNeeds,
    world: &World<'_>,
    input: &Input,
    session: &Session,
) -> Option<TraceFindings> {
    let ground = TraceContext::new_if_enabled(world, input, session)?;
    match &input.event {
        Event::ToolFinished { call, .. } if needs.has(SharedNeeds::CHANGED) => {
            Some(call::trace_call(&ground, call))
        }
        Event::ToolFinished { .. } => commit::after_call(&ground),
        Event::StopRequested(_) | Event::SessionEnded { .. } => Some(stop::trace_stop(&ground)),
        _ => None,
    }
}

/// Looks for commits again, for a person that asks: what is found is to be logged.
pub fn commits(world: &World<'_>, input: &Input) -> Option<TraceFindings> {
    let session = Session::default();
    let ground = TraceContext::at(world, input, &session)?;
    Some(commit::anew(&ground))
}

/// What no commit has yet.
fn open(store: &Store) -> UncommittedLines {
    projections::load::<UncommittedLines>(store).map(|folded| folded.state).unwrap_or_default()
}

/// How long a state of a file is kept that nobody has written since.
const KEPT_SECONDS: i64 = 14 * 24 * 60 * 60;

/// What keeps a look short, for whoever comes next.
pub fn after_reply(store: &Store, disk: &dyn Disk, now: Timestamp) -> io::Result<()> {
    file_cache::sweep(store, disk, now.plus_seconds(-KEPT_SECONDS));
    projections::renew::<UncommittedLines>(store, disk)
}
