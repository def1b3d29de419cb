//! What a word that was said of a stage does to the run.

use sprag_base::text::Text;
use sprag_check::Profile;

use super::Run;
use super::stage_entry::{Answer, Dispute};
use crate::accept::reviewer;
use crate::ids::StageId;
use crate::merge::Whose;
use crate::run::command::{ANSWERS, Said};
use crate::run::record::Sought;
use crate::spec::values::Slug;
use crate::stage::{Case, Happened, Stage, Word};

/// Total: one that means nothing any more changes nothing.
pub fn take(run: &mut Run, id: &StageId, by: &Text<64>, said: &Said) {
    let Some(standing) = run.standings.get_mut(id) else { return };
    let what = match said {
        Said::Complete => match &standing.stage {
            Stage::Conflicted { resolver, .. } => {
                standing.claimed = resolver.clone();
                return;
            }
            _ => Happened::Claimed,
        },
        Said::Block { why } => {
            standing.why = Some(why.clone());
            Happened::Told(Word::Block)
        }
        Said::Ask { question } => {
            let asked = Happened::Asked { question: question.clone() };
            run.happen(id, &asked);
            if let Some(standing) = run.standings.get_mut(id) {
                standing.is_asked = matches!(standing.stage, Stage::Asking { .. });
            }
            return;
        }
        Said::Task { id: task } => {
            standing.ticked.insert(task.clone());
            return;
        }
        Said::Output { name, value } => {
            standing.outputs.insert(name.clone(), value.clone());
            return;
        }
        Said::Dispute { check, why } => {
            standing.dispute = Some(Dispute { check: check.clone(), why: why.clone() });
            Happened::Raised { case: Case::Disputed }
        }
        Said::Resume { answer } => {
            let to = match &standing.stage {
                Stage::Asking { question, .. } => Some(question.clone()),
                Stage::Blocked { .. } => standing.why.as_ref().map(|why| Text::new(why.as_str())),
                _ => None,
            };
            if let Some(text) = answer.clone() {
                tell(&mut standing.answers, Answer { to, text });
            }
            match &standing.stage {
                // Who asked and went is followed by one who is told the answer.
                Stage::Asking { work, .. } if run.ended.contains_key(&work.session) => {
                    Happened::Paused { until: None }
                }
                Stage::Asking { .. } => Happened::Answered,
                _ => Happened::Told(Word::GoOn),
            }
        }
        Said::Merge => match standing.verified.clone() {
            Some(verified) => Happened::Told(Word::Merge { verified, entry: 0 }),
            None => return,
        },
        Said::Accept => {
            let Some(dispute) = standing.dispute.take() else { return };
            standing.waived.push(dispute.check);
            relax(run, id);
            Happened::Told(Word::Verify)
        }
        Said::Reject => {
            let Some(dispute) = standing.dispute.take() else { return };
            let text = Text::new(format!(
                "the check `{}` stays as it is: what was said against it was rejected",
                dispute.check
            ));
            tell(&mut standing.answers, Answer { to: Some(dispute.why), text });
            Happened::Told(Word::GoOn)
        }
        Said::Bypass { why } => {
            standing.bypass = Some(why.clone());
            relax(run, id);
            Happened::Told(Word::Verify)
        }
        Said::Reset => {
            run.queue.withdraw(&Whose::Stage(id.clone()));
            Happened::Told(Word::Reset)
        }
        Said::Skip { why } => Happened::Told(Word::Skip { by: by.clone(), why: why.clone() }),
        Said::Hold => Happened::Told(Word::Hold),
        Said::Release => Happened::Told(Word::Release),
        Said::Retry => Happened::Told(Word::Retry),
        Said::Verify => {
            run.happen(id, &Happened::Told(Word::Verify));
            // Whoever asks for it wants to know, and not to be told what is known.
            run.standings.get_mut(id).into_iter().for_each(|standing| standing.sought = Sought::Another);
            return;
        }
    };
    run.happen(id, &what);
}

/// Takes the checks of a stage away that were given up, also from a plan that was changed since.
pub fn relax(run: &mut Run, id: &StageId) {
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

fn tell(answers: &mut Vec<Answer>, answer: Answer) {
    if answers.len() < ANSWERS {
        answers.push(answer);
    }
}
