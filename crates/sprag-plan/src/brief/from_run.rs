//! Fills the input of a brief from the state of a run. Other modules add the parts that come from files.

use sprag_base::text::Text;

use super::{BriefInput, BriefNeed, BriefTask, ProjectKnowledge, WorkLocation};
use crate::ids::StageId;
use crate::merge::merge_failure::MergeFailure;
use crate::run::Run;
use crate::spec::values::BranchName;
use crate::stage::state::StageState;
use crate::stage::{ReadyStage, StageConflict, StartReason};

impl BriefInput {
    /// Returns the input for a stage; `None` if the plan has no such stage.
    pub fn from_run(run: &Run, id: &StageId) -> Option<BriefInput> {
        let plan = run.plan();
        let (spec, entry) = (plan.find(id.as_str())?, run.entry(id)?);
        let name = plan.head.name.as_str();
        Some(BriefInput {
            plan: Text::from(name),
            overview: plan.head.overview.clone(),
            spec: spec.clone(),
            attempt: entry.state.attempt(),
            place: WorkLocation {
                worktree: String::new(),
                branch: id.branch(),
                base: entry.worktree.base().cloned(),
                trunk: format!("refs/sprag/{name}/trunk"),
                target: plan.head.target.as_ref().map(BranchName::to_string).unwrap_or_default(),
            },
            known: ProjectKnowledge::default(),
            needs: spec.dependencies.iter().filter_map(|id| need(run, id)).collect(),
            task: task(&entry.state),
            answers: entry.answers.all.clone(),
            handoff: None,
            ticked: entry.results.done_tasks.iter().map(|id| Text::from(id.as_str())).collect(),
            notes: Vec::new(),
        })
    }
}

fn need(run: &Run, id: &StageId) -> Option<BriefNeed> {
    let entry = run.entry(id)?;
    let merged = match &entry.state {
        StageState::Done { merged } => Some(merged.commit().clone()),
        _ => None,
    };
    let name = run.plan().find(id.as_str())?.name.clone();
    let outputs = entry.results.outputs.iter();
    let outputs =
        outputs.map(|(name, value)| (Text::from(name.as_str()), Text::from(value.as_str()))).collect();
    Some(BriefNeed { id: id.clone(), name, merged, outputs })
}

fn task(state: &StageState) -> BriefTask {
    match state {
        StageState::Failing { report, .. } => BriefTask::Mend { report: report.clone() },
        StageState::Conflicted(StageConflict { against, paths, last_report, .. }) => {
            BriefTask::Conflict { against: against.clone(), paths: paths.clone(), red: last_report.clone() }
        }
        state => match (state.current_attempt().merge_failure, state) {
            (Some(MergeFailure::Red { report }), _) => BriefTask::Red { report },
            (Some(MergeFailure::Pair { with }), _) => BriefTask::Pair { with },
            (None, StageState::Ready(ReadyStage { reason: StartReason::Retry { failure }, .. })) => {
                BriefTask::After { failure: *failure }
            }
            (None, _) => BriefTask::Assignment,
        },
    }
}
