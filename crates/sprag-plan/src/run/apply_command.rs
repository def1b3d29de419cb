//! Applies a command for a stage to the run.

use sprag_base::text::Text;
use sprag_check::Profile;

use super::Run;
use crate::accept::reviewer;
use crate::ids::StageId;
use crate::merge::queue::{QueueOwner, Verified};
use crate::sentences;
use crate::spec::MergeMode;
use crate::spec::values::Slug;
use crate::stage::command::StageCommand;
use crate::stage::state::StageState;
use crate::stage::{Dispute, Hold, QuestionSource, ReviewQuestion, StageEvent};

/// Applies a command. A command that no longer fits the state changes nothing.
pub(crate) fn apply(run: &mut Run, id: &StageId, by: &Text<64>, command: &StageCommand) {
    if let Some(event) = event_of(run, id, by, command) {
        run.apply_event(id, &event);
    }
}

/// Applies the parts of a command that are not in the state, and returns the event for the state.
fn event_of(run: &mut Run, id: &StageId, by: &Text<64>, command: &StageCommand) -> Option<StageEvent> {
    let merge = run.merging(id);
    let entry = run.entries.get_mut(id)?;
    let command_event = |command: StageCommand| Some(StageEvent::Command { by: by.clone(), command });
    match (command, &mut entry.state) {
        (StageCommand::Complete, StageState::Conflicted(conflict)) => {
            conflict.resolver.iter_mut().for_each(|resolver| resolver.has_claimed = true);
            None
        }
        (StageCommand::Complete, _) => Some(StageEvent::Claimed),
        (StageCommand::Ask { question }, _) => {
            Some(StageEvent::Asked { question: question.clone(), source: QuestionSource::Command })
        }
        (StageCommand::Task { id: task }, _) => {
            entry.results.done_tasks.insert(task.clone());
            None
        }
        (StageCommand::Output { name, value }, _) => {
            entry.results.outputs.insert(name.clone(), value.clone());
            None
        }
        (StageCommand::Dispute { check, why }, _) => {
            let question = ReviewQuestion::Disputed(Dispute { check: check.clone(), why: why.clone() });
            Some(StageEvent::ReviewAsked { question })
        }
        (StageCommand::Resume { answer }, state) => {
            let (to, event) = match state {
                // If the agent asked and ended, the next agent gets the answer.
                StageState::Asking { work, question, .. }
                    if run.sessions.get(&work.session).is_some_and(|session| session.end.is_some()) =>
                {
                    (Some(question.clone()), Some(StageEvent::Paused { until: None }))
                }
                StageState::Asking { question, .. } => (Some(question.clone()), Some(StageEvent::Answered)),
                StageState::Blocked { why, .. } => {
                    (why.as_ref().map(|why| Text::new(why.as_str())), command_event(command.clone()))
                }
                _ => (None, command_event(command.clone())),
            };
            for text in answer.iter() {
                entry.answers.keep(to.clone(), text.clone());
            }
            event
        }
        (StageCommand::Merge, StageState::Review { question, .. }) => {
            let verified = question.verified()?.clone();
            Some(approve(run, id, verified))
        }
        (StageCommand::Accept, StageState::Review { question: ReviewQuestion::Disputed(dispute), .. }) => {
            entry.waivers.checks.push(dispute.check.clone());
            relax(run, id);
            command_event(StageCommand::Accept)
        }
        (StageCommand::Reject, StageState::Review { question: ReviewQuestion::Disputed(dispute), .. }) => {
            let text = sentences::check_stays(dispute.check.as_str());
            entry.answers.keep(Some(dispute.why.clone()), Text::new(text));
            command_event(StageCommand::Resume { answer: None })
        }
        (StageCommand::Merge | StageCommand::Accept | StageCommand::Reject, _) => None,
        (StageCommand::Bypass { why }, _) => {
            entry.waivers.bypass = Some(why.clone());
            relax(run, id);
            command_event(command.clone())
        }
        (StageCommand::Reset, _) => {
            run.queue.withdraw(&QueueOwner::Stage(id.clone()));
            command_event(StageCommand::Reset)
        }
        // Work on hold continues to the step that it would have reached without the hold.
        (
            StageCommand::Release,
            StageState::Review { question: ReviewQuestion::OnHold { verified: Some(verified) }, .. },
        ) => {
            let verified = verified.clone();
            entry.hold = Hold::No;
            Some(match merge {
                MergeMode::Auto => approve(run, id, verified),
                MergeMode::Person => StageEvent::ReviewAsked { question: ReviewQuestion::Merge { verified } },
            })
        }
        (
            StageCommand::Block { .. }
            | StageCommand::Release
            | StageCommand::Skip { .. }
            | StageCommand::Hold
            | StageCommand::Retry
            | StageCommand::Verify,
            _,
        ) => command_event(command.clone()),
    }
}

/// Puts work that a person approved into the merge queue.
fn approve(run: &mut Run, id: &StageId, verified: Verified) -> StageEvent {
    let entry = run.queue.offer(QueueOwner::Stage(id.clone()), verified.clone());
    StageEvent::Approved { verified, entry }
}

/// Removes the waived checks of a stage from the present plan.
pub(crate) fn relax(run: &mut Run, id: &StageId) {
    let (Some(entry), Some(spec)) = (run.entries.get(id), run.plan.current.find(id.as_str())) else { return };
    let (mut checks, mut tasks, mut verify) = (spec.checks.clone(), spec.tasks.clone(), spec.verify);
    entry.waivers.checks.iter().for_each(|check| checks.give_up(check.as_str()));
    if entry.waivers.bypass.is_some() {
        checks = Default::default();
        tasks.clear();
    }
    if entry.waivers.bypass.is_some()
        || entry.waivers.checks.iter().any(|check| check.as_str() == reviewer::NAME)
    {
        verify = Profile::Quick;
    }
    run.plan.current.set_checks(id.as_str(), checks, tasks, verify);
}

/// Returns the tasks that are not reported as done.
pub fn open_tasks<'a>(run: &'a Run, id: &StageId) -> Vec<&'a Slug> {
    let (Some(entry), Some(spec)) = (run.entries.get(id), run.plan.current.find(id.as_str())) else {
        return Vec::new();
    };
    spec.tasks.iter().map(|task| &task.id).filter(|task| !entry.results.done_tasks.contains(task)).collect()
}
