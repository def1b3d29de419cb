//! Settles sessions that never reported an end: after a silent day, unused learnings count as dismissed.

use std::io;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_govern::event_records::{EventRecord, RecordedEvent, RulingName};
use sprag_memory::recall::exposure::{Exposures, LOST_SECONDS, SessionEnd};
use sprag_memory::records::{LearningIds, MemoryRecord};

use super::{StepResult, UpkeepMode, UpkeepStep, When, by};
use crate::store::{journal, new_record, projections};
use crate::sys::disk;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "lost", about: "silent sessions settled", when: When::Daily, run };

/// Sessions that one hook checks.
const PER_HOOK: usize = 64;

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let store = world.store();
    let before = now.plus_seconds(-LOST_SECONDS);
    let exposures = projections::load::<Exposures>(&store)?.state;
    let mut done = StepResult::default();
    let most = if mode == UpkeepMode::Bounded { PER_HOOK } else { usize::MAX };
    let silent = journal::all(&store).into_iter().filter(|path| disk::is_older(path, before)).take(most);
    for path in silent {
        let Ok((loaded, records)) = journal::read(&path) else { continue };
        let Some(last) = records.last().filter(|last| last.at < before && !loaded.session.about.ended) else {
            continue;
        };
        let Some(session) = &last.session else { continue };
        let ids = exposures.get(session).map(|it| it.dismissals(ending(&records))).unwrap_or_default();
        if ids.is_empty() {
            continue;
        }
        done.add(format!(
            "session `{}`: {} learnings were shown but not used",
            one_line(session.as_str()),
            ids.len()
        ));
        if mode != UpkeepMode::Rehearsal {
            let how = Text::from("the end of the session was lost");
            let dismissed = MemoryRecord::Dismissed(LearningIds { ids, how });
            let mut record = new_record::record(&dismissed, now, Some(session), Some(by()));
            record.idem = Some(format!("lost {}", session.as_str()));
            store.log(world.disk, &[record])?;
        }
    }
    Ok(done)
}

/// Returns how a session ended. A session whose last stop passed was done; any other one crashed.
fn ending(records: &[Record]) -> SessionEnd {
    let is_of_turn = |event: &RecordedEvent| {
        matches!(
            event,
            RecordedEvent::Prompted(_)
                | RecordedEvent::ToolRequested(_)
                | RecordedEvent::PermissionAsked(_)
                | RecordedEvent::ToolFinished(_)
                | RecordedEvent::StopRequested(_)
        )
    };
    let last = records.iter().rev().filter_map(EventRecord::read).find(|record| is_of_turn(&record.event));
    let is_let_go = |record: EventRecord| {
        matches!(record.event, RecordedEvent::StopRequested(_)) && record.ruling.verdict == RulingName::Pass
    };
    if last.is_some_and(is_let_go) { SessionEnd::Done } else { SessionEnd::Crashed }
}
