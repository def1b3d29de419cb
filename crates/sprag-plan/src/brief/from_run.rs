//! What a run knows of a stage, as far as its brief goes. What has to be read from files is added by others.

use sprag_base::text::Text;

use super::{Known, Need, Place, Task, Told};
use crate::ids::StageId;
use crate::merge::Cause;
use crate::run::{Run, Standing};
use crate::spec::values::Branch;
use crate::stage::Stage;

impl Told {
    /// `None`: the plan has no such stage.
    pub fn of(run: &Run, id: &StageId) -> Option<Told> {
        let plan = run.plan();
        let (spec, standing) = (plan.find(id.as_str())?, run.standing(id)?);
        let name = plan.head.name.as_str();
        Some(Told {
            plan: Text::from(name),
            overview: plan.head.overview.clone(),
            spec: spec.clone(),
            attempt: standing.stage.attempt(),
            place: Place {
                worktree: String::new(),
                branch: id.branch(),
                base: standing.worktree.clone(),
                trunk: format!("refs/sprag/{name}/trunk"),
                target: plan.head.target.as_ref().map(Branch::to_string).unwrap_or_default(),
            },
            known: Known::default(),
            needs: spec.dependencies.iter().filter_map(|id| need(run, id)).collect(),
            task: task(standing),
            answers: standing.answers.clone(),
            handoff: None,
            ticked: standing.ticked.iter().map(|id| Text::from(id.as_str())).collect(),
            notes: Vec::new(),
        })
    }
}

fn need(run: &Run, id: &StageId) -> Option<Need> {
    let standing = run.standing(id)?;
    let merged = match &standing.stage {
        Stage::Done { merged } => Some(merged.commit().clone()),
        _ => None,
    };
    let name = run.plan().find(id.as_str())?.name.clone();
    let outputs = standing.outputs.iter();
    let outputs =
        outputs.map(|(name, value)| (Text::from(name.as_str()), Text::from(value.as_str()))).collect();
    Some(Need { id: id.clone(), name, merged, outputs })
}

fn task(standing: &Standing) -> Task {
    match (&standing.stage, &standing.red, standing.failed) {
        (Stage::Failing { report, .. }, _, _) => Task::Mend { report: report.clone() },
        (Stage::Conflicted { against, paths, .. }, _, _) => {
            let red = standing.unresolved.clone();
            Task::Conflict { against: against.clone(), paths: paths.clone(), red }
        }
        (_, Some(Cause::Red { report }), _) => Task::Red { report: report.clone() },
        (_, Some(Cause::Pair { with }), _) => Task::Pair { with: with.clone() },
        (_, None, Some(failure)) => Task::After { failure },
        (_, None, None) => Task::Assignment,
    }
}
