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

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_govern::session_facts::SessionFacts;
use sprag_trace::finding::TraceFindings;
use sprag_trace::uncommitted::UncommittedLines;

use crate::store::{Store, projections};
use crate::sys::disk::Disk;
use crate::world::World;
use context::TraceContext;

/// Returns what a call has changed. `None`: nothing is written down here.
pub(crate) fn trace_call(world: &World<'_>, input: &Input, session: &SessionFacts) -> Option<TraceFindings> {
    let ground = TraceContext::new_if_enabled(world, input, session)?;
    match &input.event {
        Event::ToolFinished { call, .. } => Some(call::trace_call(&ground, call)),
        _ => None,
    }
}

/// Returns what commits have changed since this one.
pub(crate) fn trace_commit(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    since: Option<&Text<64>>,
) -> Option<TraceFindings> {
    commit::after_call(&TraceContext::new_if_enabled(world, input, session)?, since)
}

/// Returns everything that has changed and has no record, and what it comes to unless it was judged last.
pub(crate) fn trace_stop(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    since: Option<&Text<64>>,
    judged: Option<Digest>,
) -> Option<TraceFindings> {
    Some(stop::trace_stop(&TraceContext::new_if_enabled(world, input, session)?, since, judged))
}

/// Looks for commits again, for a person that asks: what is found is to be logged.
pub fn commits(world: &World<'_>, input: &Input) -> Option<TraceFindings> {
    let session = SessionFacts::default();
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
