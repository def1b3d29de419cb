//! What a word that was said of a stage does to the run.

use sprag_base::text::Text;
use sprag_check::Profile;

use super::Run;
use super::stage_entry::{Dispute, PersonAnswer};
use crate::accept::reviewer;
use crate::ids::StageId;
use crate::merge::queue::QueueOwner;
use crate::run::command::{ANSWERS, StageCommand};
use crate::run::record::ReviewDemand;
use crate::spec::values::Slug;
use crate::stage::state::StageState;
use crate::stage::{PersonAction, ReviewReason, StageEvent};

/// Total: one that means nothing any more changes nothing.
pub(crate) fn apply(run: &mut Run, id: &StageId, by: &Text<64>, said: &StageCommand) {
    let Some(standing) = run.standings.get_mut(id) else { return };
    let what = match said {
        StageCommand::Complete => match &standing.stage {
            StageState::Conflicted { resolver, .. } => {
                standing.claimed = resolver.clone();
                return;
            }
            _ => StageEvent::Claimed,
        },
        StageCommand::Block { why } => {
            standing.why = Some(why.clone());
            StageEvent::Told(PersonAction::Block)
        }
        StageCommand::Ask { question } => {
            let asked = StageEvent::Asked { question: question.clone() };
            run.apply_event(id, &asked);
            if let Some(standing) = run.standings.get_mut(id) {
                standing.is_asked = matches!(standing.stage, StageState::Asking { .. });
            }
            return;
        }
        StageCommand::Task { id: task } => {
            standing.ticked.insert(task.clone());
            return;
        }
        StageCommand::Output { name, value } => {
            standing.outputs.insert(name.clone(), value.clone());
            return;
        }
        StageCommand::Dispute { check, why } => {
            standing.dispute = Some(Dispute { check: check.clone(), why: why.clone() });
            StageEvent::Raised { case: ReviewReason::Disputed }
        }
        StageCommand::Resume { answer } => {
            let to = match &standing.stage {
                StageState::Asking { question, .. } => Some(question.clone()),
                StageState::Blocked { .. } => standing.why.as_ref().map(|why| Text::new(why.as_str())),
                _ => None,
            };
            if let Some(text) = answer.clone() {
                tell(&mut standing.answers, PersonAnswer { to, text });
            }
            match &standing.stage {
                // Who asked and went is followed by one who is told the answer.
                StageState::Asking { work, .. } if run.ended.contains_key(&work.session) => {
                    StageEvent::Paused { until: None }
                }
                StageState::Asking { .. } => StageEvent::Answered,
                _ => StageEvent::Told(PersonAction::GoOn),
            }
        }
        StageCommand::Merge => match standing.verified.clone() {
            Some(verified) => StageEvent::Told(PersonAction::Merge { verified, entry: 0 }),
            None => return,
        },
        StageCommand::Accept => {
            let Some(dispute) = standing.dispute.take() else { return };
            standing.waived.push(dispute.check);
            relax(run, id);
            StageEvent::Told(PersonAction::Verify)
        }
        StageCommand::Reject => {
            let Some(dispute) = standing.dispute.take() else { return };
            let text = Text::new(format!(
                "the check `{}` stays as it is: what was said against it was rejected",
                dispute.check
            ));
            tell(&mut standing.answers, PersonAnswer { to: Some(dispute.why), text });
            StageEvent::Told(PersonAction::GoOn)
        }
        StageCommand::Bypass { why } => {
            standing.bypass = Some(why.clone());
            relax(run, id);
            StageEvent::Told(PersonAction::Verify)
        }
        StageCommand::Reset => {
            run.queue.withdraw(&QueueOwner::Stage(id.clone()));
            StageEvent::Told(PersonAction::Reset)
        }
        StageCommand::Skip { why } => {
            StageEvent::Told(PersonAction::Skip { by: by.clone(), why: why.clone() })
        }
        StageCommand::Hold => StageEvent::Told(PersonAction::Hold),
        StageCommand::Release => StageEvent::Told(PersonAction::Release),
        StageCommand::Retry => StageEvent::Told(PersonAction::Retry),
        StageCommand::Verify => {
            run.apply_event(id, &StageEvent::Told(PersonAction::Verify));
            // Whoever asks for it wants to know, and not to be told what is known.
            run.standings
                .get_mut(id)
                .into_iter()
                .for_each(|standing| standing.sought = ReviewDemand::Another);
            return;
        }
    };
    run.apply_event(id, &what);
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

fn tell(answers: &mut Vec<PersonAnswer>, answer: PersonAnswer) {
    if answers.len() < ANSWERS {
        answers.push(answer);
    }
}
