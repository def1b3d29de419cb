//! What a word that was said of a stage does to the run.

use sprag_base::text::Text;
use sprag_check::Profile;

use super::Run;
use super::stage_entry::{Dispute, PersonAnswer};
use crate::accept::reviewer;
use crate::ids::StageId;
use crate::merge::queue::{QueueOwner, Verified};
use crate::run::command::ANSWERS;
use crate::run::effect::ReviewDemand;
use crate::spec::MergeMode;
use crate::spec::values::Slug;
use crate::stage::command::StageCommand;
use crate::stage::state::StageState;
use crate::stage::{ReviewReason, StageEvent};

/// Total: one that means nothing any more changes nothing.
pub(crate) fn apply(run: &mut Run, id: &StageId, by: &Text<64>, command: &StageCommand) {
    if let Some(event) = prepare(run, id, by, command) {
        run.apply_event(id, &event);
    }
    let Some(standing) = run.standings.get_mut(id) else { return };
    match command {
        StageCommand::Ask { .. } => standing.is_asked = matches!(standing.stage, StageState::Asking { .. }),
        // Whoever asks for it wants to know, and not to be told what is known.
        StageCommand::Verify => standing.sought = ReviewDemand::Another,
        _ => {}
    }
}

/// Takes what a command brings beside a state, and returns the event that it is for the state.
fn prepare(run: &mut Run, id: &StageId, by: &Text<64>, command: &StageCommand) -> Option<StageEvent> {
    let merge = run.merging(id);
    let standing = run.standings.get_mut(id)?;
    let tell = |command: StageCommand| Some(StageEvent::Command { by: by.clone(), command });
    match command {
        StageCommand::Complete => match &standing.stage {
            StageState::Conflicted { resolver, .. } => {
                standing.claimed = resolver.clone();
                None
            }
            _ => Some(StageEvent::Claimed),
        },
        StageCommand::Block { why } => {
            standing.why = Some(why.clone());
            tell(command.clone())
        }
        StageCommand::Ask { question } => Some(StageEvent::Asked { question: question.clone() }),
        StageCommand::Task { id: task } => {
            standing.ticked.insert(task.clone());
            None
        }
        StageCommand::Output { name, value } => {
            standing.outputs.insert(name.clone(), value.clone());
            None
        }
        StageCommand::Dispute { check, why } => {
            standing.dispute = Some(Dispute { check: check.clone(), why: why.clone() });
            Some(StageEvent::Raised { case: ReviewReason::Disputed })
        }
        StageCommand::Resume { answer } => {
            let to = match &standing.stage {
                StageState::Asking { question, .. } => Some(question.clone()),
                StageState::Blocked { .. } => standing.why.as_ref().map(|why| Text::new(why.as_str())),
                _ => None,
            };
            if let Some(text) = answer.clone() {
                keep_answer(&mut standing.answers, PersonAnswer { to, text });
            }
            match &standing.stage {
                // Who asked and went is followed by one who is told the answer.
                StageState::Asking { work, .. } if run.ended.contains_key(&work.session) => {
                    Some(StageEvent::Paused { until: None })
                }
                StageState::Asking { .. } => Some(StageEvent::Answered),
                _ => tell(StageCommand::Resume { answer: None }),
            }
        }
        StageCommand::Merge => {
            let verified = standing.verified.clone()?;
            Some(approve(run, id, verified))
        }
        StageCommand::Accept => {
            let dispute = standing.dispute.take()?;
            standing.waived.push(dispute.check);
            relax(run, id);
            tell(StageCommand::Verify)
        }
        StageCommand::Reject => {
            let dispute = standing.dispute.take()?;
            let text = Text::new(format!(
                "the check `{}` stays as it is: what was said against it was rejected",
                dispute.check
            ));
            keep_answer(&mut standing.answers, PersonAnswer { to: Some(dispute.why), text });
            tell(StageCommand::Resume { answer: None })
        }
        StageCommand::Bypass { why } => {
            standing.bypass = Some(why.clone());
            relax(run, id);
            tell(StageCommand::Verify)
        }
        StageCommand::Reset => {
            run.queue.withdraw(&QueueOwner::Stage(id.clone()));
            tell(StageCommand::Reset)
        }
        // What was held back is let go, to where it would be if nobody had held it.
        StageCommand::Release => match (&standing.stage, standing.verified.clone(), merge) {
            (StageState::Review { case: ReviewReason::Held, .. }, Some(verified), merge) => {
                standing.is_held = false;
                Some(match merge {
                    MergeMode::Auto => approve(run, id, verified),
                    MergeMode::Person => StageEvent::Raised { case: ReviewReason::Merge },
                })
            }
            _ => tell(StageCommand::Release),
        },
        StageCommand::Skip { .. } | StageCommand::Hold | StageCommand::Retry | StageCommand::Verify => {
            tell(command.clone())
        }
    }
}

/// Gives work that a person wants merged the next place in the queue.
fn approve(run: &mut Run, id: &StageId, verified: Verified) -> StageEvent {
    let entry = run.queue.offer(QueueOwner::Stage(id.clone()), verified.clone());
    StageEvent::Approved { verified, entry }
}

/// Takes the checks of a stage away that were given up, also from a plan that was changed since.
pub(crate) fn relax(run: &mut Run, id: &StageId) {
    let (Some(standing), Some(spec)) = (run.standings.get(id), run.plan.find(id.as_str())) else { return };
    let (mut checks, mut tasks, mut verify) = (spec.checks.clone(), spec.tasks.clone(), spec.verify);
    standing.waived.iter().for_each(|check| checks.give_up(check.as_str()));
    if standing.bypass.is_some() {
        checks = Default::default();
        tasks.clear();
    }
    if standing.bypass.is_some() || standing.waived.iter().any(|check| check.as_str() == reviewer::NAME) {
        verify = Profile::Quick;
    }
    run.plan.set_checks(id.as_str(), checks, tasks, verify);
}

/// Tasks that nobody has ticked off.
pub fn open_tasks<'a>(run: &'a Run, id: &StageId) -> Vec<&'a Slug> {
    let (Some(standing), Some(spec)) = (run.standings.get(id), run.plan.find(id.as_str())) else {
        return Vec::new();
    };
    spec.tasks.iter().map(|task| &task.id).filter(|task| !standing.ticked.contains(task)).collect()
}

fn keep_answer(answers: &mut Vec<PersonAnswer>, answer: PersonAnswer) {
    if answers.len() < ANSWERS {
        answers.push(answer);
    }
}
