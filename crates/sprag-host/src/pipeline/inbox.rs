//! Takes reports from the inbox.

use std::io;
use std::path::PathBuf;

use sprag_base::record::Record;
use sprag_govern::decide;
use sprag_govern::event::{Actor, Event, Input};
use sprag_govern::gates::review::case::ReviewerSeat;
use sprag_govern::report::Report;
use sprag_govern::session::Session;
use sprag_memory::records::Decider;

use crate::answers;
use crate::pipeline::commit::PendingRecords;
use crate::pipeline::event_record;
use crate::pipeline::session_handle::SessionHandle;
use crate::store::{inbox, projections};
use crate::world::World;

/// Takes the reports that sandboxed commands of this session left. Returns the files to remove.
pub(crate) fn take_in(
    world: &World<'_>,
    handle: &SessionHandle<'_>,
    input: &Input,
    session: &mut Session,
    steps: &mut PendingRecords,
) -> io::Result<Vec<PathBuf>> {
    let mut taken = Vec::new();
    if !handle.is_locked() {
        return Ok(taken);
    }
    for (path, drop) in inbox::waiting(&world.places, world.env, &input.session) {
        if is_for_runner(session, &drop.report) {
            continue;
        }
        let is_known = steps.records.iter().any(|record| record.id == drop.id)
            || handle.holds_id(&drop.id)?
            || projections::log_holds_id(&world.store(), &drop.id, &drop.at.month())?;
        if !is_known {
            let report = Input {
                at: drop.at.min(input.at).max(session.about.started.unwrap_or(input.at)),
                event: Event::Reported(of_agent(drop.report.redacted())),
                // The actor of the current call did not send this report.
                actor: Actor::Main,
                ..input.clone()
            };
            let settings = &world.config.settings.govern;
            let facts = answers::gather(world, &report, session).into();
            let step = decide::decide(std::mem::take(session), &report, &facts, settings);
            *session = step.session;
            steps.records.push(Record { id: drop.id, ..event_record::record(&report, &step.verdict) });
            steps.effects.extend(step.effects);
            steps.is_binding = true;
        }
        taken.push(path);
    }
    Ok(taken)
}

/// Returns the report as one of an agent. Any program may have left the file, so a person did not decide it.
fn of_agent(report: Report) -> Report {
    match report {
        Report::Skipped { reason, decider: Decider::User } => {
            Report::Skipped { reason, decider: Decider::Agent }
        }
        other => other,
    }
}

/// Reports whether only the runner of a reviewer may take this report. Only the runner knows which process
/// gave the decision.
fn is_for_runner(session: &Session, report: &Report) -> bool {
    matches!(report, Report::Decided(_)) && session.review().seat().is_some_and(ReviewerSeat::is_process)
}
