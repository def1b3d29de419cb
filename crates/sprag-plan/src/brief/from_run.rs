//! What a run knows of a stage, as far as its brief goes. What has to be read from files is added by others.

use sprag_base::text::Text;

use super::{BriefInput, BriefNeed, BriefTask, ProjectKnowledge, WorkLocation};
use crate::ids::StageId;
use crate::merge::merge_failure::MergeFailure;
use crate::run::{Run, StageEntry};
use crate::spec::values::BranchName;
use crate::stage::state::StageState;

impl BriefInput {
    /// `None`: the plan has no such stage.
    pub fn from_run(run: &Run, id: &StageId) -> Option<BriefInput> {
        let plan = run.plan();
        let (spec, standing) = (plan.find(id.as_str())?, run.standing(id)?);
        let name = plan.head.name.as_str();
        Some(BriefInput {
            plan: Text::from(name),
            overview: plan.head.overview.clone(),
            spec: spec.clone(),
            attempt: standing.stage.attempt(),
            place: WorkLocation {
                worktree: String::new(),
                branch: id.branch(),
                base: standing.worktree.clone(),
                trunk: format!("refs/sprag/{name}/trunk"),
                target: plan.head.target.as_ref().map(BranchName::to_string).unwrap_or_default(),
            },
            known: ProjectKnowledge::default(),
            needs: spec.dependencies.iter().filter_map(|id| need(run, id)).collect(),
            task: task(standing),
            answers: standing.answers.clone(),
            handoff: None,
            ticked: standing.ticked.iter().map(|id| Text::from(id.as_str())).collect(),
            notes: Vec::new(),
        })
    }
}

fn need(run: &Run, id: &StageId) -> Option<BriefNeed> {
    let standing = run.standing(id)?;
    let merged = match &standing.stage {
        StageState::Done { merged } => Some(merged.commit().clone()),
        _ => None,
    };
    let name = run.plan().find(id.as_str())?.name.clone();
    let outputs = standing.outputs.iter();
    let outputs =
        outputs.map(|(name, value)| (Text::from(name.as_str()), Text::from(value.as_str()))).collect();
    Some(BriefNeed { id: id.clone(), name, merged, outputs })
}

fn task(standing: &StageEntry) -> BriefTask {
    match (&standing.stage, &standing.red, standing.failed) {
        (StageState::Failing { report, .. }, _, _) => BriefTask::Mend { report: report.clone() },
        (StageState::Conflicted { against, paths, .. }, _, _) => {
            let red = standing.unresolved.clone();
            BriefTask::Conflict { against: against.clone(), paths: paths.clone(), red }
        }
        (_, Some(MergeFailure::Red { report }), _) => BriefTask::Red { report: report.clone() },
        (_, Some(MergeFailure::Pair { with }), _) => BriefTask::Pair { with: with.clone() },
        (_, None, Some(failure)) => BriefTask::After { failure },
        (_, None, None) => BriefTask::Assignment,
    }
}
