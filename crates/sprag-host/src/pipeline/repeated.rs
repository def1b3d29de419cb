//! Answers an event that reaches Sprag a second time, because two settings register its hooks. The event
//! counts once: the second call changes nothing and leaves no record.

use sprag_base::result::Discard as _;
use sprag_govern::event::{Event, Input};
use sprag_govern::session_facts::hook_calls::HeardAnswer;
use sprag_govern::verdict::Verdict;

use crate::pipeline::commit::{PendingRecords, commit, warned};
use crate::pipeline::session_handle::SessionHandle;
use crate::pipeline::{PipelineMode, PipelineResult, process_event};
use crate::world::World;

const TWICE: &str =
    "two settings register Sprag's hooks, for example a plugin and `sprag init`; each event counts once";

/// Returns the answer to the first call of this event, if this is a second call.
pub(crate) fn answer(handle: &SessionHandle<'_>, input: &Input, mode: PipelineMode) -> Option<HeardAnswer> {
    let is_known = mode == PipelineMode::Real && handle.keeps_state();
    is_known.then(|| handle.session().about.hooks.repeated(input)).flatten()
}

/// Answers a second call. A refused tool call is refused again, in case the first process was killed. A held
/// stop needs one answer only.
pub(crate) fn reply(
    world: &World<'_>,
    handle: SessionHandle<'_>,
    input: &Input,
    answer: HeardAnswer,
) -> PipelineResult {
    let warnings = note_registration(world, handle, input);
    let is_call = matches!(input.event, Event::ToolRequested { .. } | Event::PermissionAsked { .. });
    let verdict = match answer {
        HeardAnswer::Refused if is_call => {
            let ruling = process_event(world, input, PipelineMode::DryRun).verdict.ruling;
            Verdict { ruling, ..Verdict::default() }
        }
        HeardAnswer::Refused | HeardAnswer::Passed => Verdict::default(),
    };
    PipelineResult { verdict, warnings, is_kept: true, ..PipelineResult::default() }
}

/// Notes a second registration at its first call, and returns the warning about it.
fn note_registration(world: &World<'_>, handle: SessionHandle<'_>, input: &Input) -> Vec<String> {
    let mut session = handle.session().clone();
    let new = input.registration.as_ref().filter(|new| !session.about.hooks.knows(new));
    let Some(new) = new else {
        handle.close().discard("the lock ends with the process");
        return Vec::new();
    };
    session.about.hooks.add(new);
    let pending = PendingRecords { records: vec![warned(input, TWICE)], ..PendingRecords::default() };
    commit(world, handle, pending, input, &session).discard("the next call notes the registration");
    vec![TWICE.to_owned()]
}
