//! Answers an event that another process than the client sent. It has no effect: it starts no reviewer, carries
//! no verdict, releases no stop and meets no obligation. Only its record stays.

use sprag_base::text::Text;
use sprag_govern::event::{Event, Input};
use sprag_govern::event_records::{EventRecord, ForeignEvent, RecordedEvent, RecordedRuling};
use sprag_govern::verdict::Verdict;

use crate::pipeline::commit::{PendingRecords, commit};
use crate::pipeline::session_handle::SessionHandle;
use crate::pipeline::{PipelineMode, PipelineResult, process_event};
use crate::store::new_record;
use crate::world::World;

/// Records the event and answers without an effect. A tool call gets the ruling of the rules, in case a client
/// has changed in a way that Sprag does not know.
pub(crate) fn reply(world: &World<'_>, handle: SessionHandle<'_>, input: &Input, pid: u32) -> PipelineResult {
    let what = input.event.kind().name();
    let foreign = ForeignEvent { event: Text::from(what), pid };
    let ruling = RecordedRuling::from(&Verdict::default());
    let record = EventRecord { event: RecordedEvent::Foreign(foreign), ruling };
    let record = new_record::record(&record, input.at, Some(&input.session), Some(new_record::by(input)));
    let pending = PendingRecords { records: vec![record], ..PendingRecords::default() };
    let session = handle.session().clone();
    let unwritten = commit(world, handle, pending, input, &session).err();
    let is_call = matches!(input.event, Event::ToolRequested { .. } | Event::PermissionAsked { .. });
    let verdict = if is_call {
        let ruling = process_event(world, input, PipelineMode::DryRun).verdict.ruling;
        Verdict { ruling, ..Verdict::default() }
    } else {
        Verdict::default()
    };
    let warning = format!(
        "process `{pid}` is not the client of session `{}`; Sprag ignored its event `{what}`",
        input.session.as_str()
    );
    PipelineResult {
        verdict,
        warnings: vec![warning],
        is_kept: unwritten.is_none(),
        unwritten,
        ..PipelineResult::default()
    }
}
