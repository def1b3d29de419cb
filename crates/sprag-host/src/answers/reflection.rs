//! Trackers, tickets and candidates.

use sprag_base::text::Text;
use sprag_govern::event::Input;
use sprag_govern::facts::{Closed, DetectedTracker};
use sprag_govern::gates::reflection::{Answer, Question};
use sprag_govern::trackers::Ticket;

use crate::answers::AnswerCx;
use crate::clients::transcript;
use crate::memory::candidates;
use crate::trackers;
use crate::world::World;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>) -> Answer {
    Answer {
        tracker: question.wants_tracker.then(|| tracker(cx.session_world())),
        closed: closed(cx.session_world(), cx.input, &question.unconfirmed),
        candidates: question
            .candidates
            .as_ref()
            .map(|candidates| candidates::gather_candidate_facts(cx.world(), cx.input, candidates)),
    }
}

/// Returns the tracker that this worktree uses.
pub fn tracker(world: &World<'_>) -> DetectedTracker {
    let policy = &world.config.settings.govern.gates.reflection;
    let order = &policy.ticketing.discovery;
    let worktree = world.places.worktree.as_ref();
    let found = worktree.and_then(|root| trackers::found(root, order, |name| policy.overrides.is_on(name)));
    DetectedTracker {
        name: Text::from(found.map_or("session", |tracker| tracker.name)),
        is_for_tickets: found.is_some_and(trackers::is_here),
        active: found
            .filter(|tracker| trackers::is_here(tracker))
            .and_then(|_| trackers::read_cached_ticket(&world.places)),
    }
}

/// Reports for each ticket without a confirmed outcome whether it is closed. The transcript decides, else the
/// tracker.
fn closed(world: &World<'_>, input: &Input, unconfirmed: &[(Text<128>, Ticket)]) -> Vec<Closed> {
    unconfirmed
        .iter()
        .map(|(call, ticket)| Closed {
            call: call.clone(),
            ticket: ticket.clone(),
            is_closed: transcript::went_well(input, call.as_str()).or_else(|| {
                let tracker = sprag_govern::trackers::find(ticket.tracker.as_str())?;
                trackers::is_closed(tracker, ticket.id.as_str(), world.places.worktree.as_ref()?, world.env)
            }),
        })
        .collect()
}
