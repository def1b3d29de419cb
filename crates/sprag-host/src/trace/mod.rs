//! Finds changes: after a call in its files, at a stop in all files that differ from the records, and after a
//! commit in its lines. The gate writes the records.

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

/// Returns the changes of a call. `None`: tracing is off here.
pub(crate) fn trace_call(world: &World<'_>, input: &Input, session: &SessionFacts) -> Option<TraceFindings> {
    let ground = TraceContext::new_if_enabled(world, input, session)?;
    match &input.event {
        Event::ToolFinished { call, .. } => Some(call::trace_call(&ground, call)),
        _ => None,
    }
}

/// Returns the changes of commits since this one.
pub(crate) fn trace_commit(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    since: Option<&Text<64>>,
) -> Option<TraceFindings> {
    commit::after_call(&TraceContext::new_if_enabled(world, input, session)?, since)
}

/// Returns all changes without a record, and their classification unless the same work was classified last.
pub(crate) fn trace_stop(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    since: Option<&Text<64>>,
    judged: Option<Digest>,
) -> Option<TraceFindings> {
    Some(stop::trace_stop(&TraceContext::new_if_enabled(world, input, session)?, since, judged))
}

/// Searches commits again, for a command. The caller logs the result.
pub fn commits(world: &World<'_>, input: &Input) -> Option<TraceFindings> {
    let session = SessionFacts::default();
    let ground = TraceContext::at(world, input, &session)?;
    Some(commit::anew(&ground))
}

/// Returns the lines that no commit has yet.
fn open(store: &Store) -> UncommittedLines {
    projections::load::<UncommittedLines>(store).map(|folded| folded.state).unwrap_or_default()
}

/// Seconds that an unused state of a file is kept.
const KEPT_SECONDS: i64 = 14 * 24 * 60 * 60;

/// Removes old states and renews the stored fold, so that later calls stay fast.
pub fn after_reply(store: &Store, disk: &dyn Disk, now: Timestamp) -> io::Result<()> {
    file_cache::sweep(store, disk, now.plus_seconds(-KEPT_SECONDS));
    projections::renew::<UncommittedLines>(store, disk)
}
