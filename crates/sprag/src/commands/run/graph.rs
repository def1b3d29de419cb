//! `sprag run graph`: shows the states of all stages of a run, by level.

use serde_json::json;

use sprag_orchestrator::run_log;
use sprag_orchestrator::view::live;
use sprag_plan::run::Run;
use sprag_plan::spec::StageSpec;
use sprag_plan::view::{StateLabel, drawing};

use super::selection;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show the states of the stages of a run, by level
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan (default: the run with the latest change)
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Print the graph for Graphviz
    #[arg(long, conflicts_with_all = ["mermaid", "json"])]
    dot: bool,
    /// Print the graph for Mermaid
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let listed = selection::listed(cx, args.plan.as_deref())?;
    let run = run_log::read(&listed.log).map_err(|error| Failure::run_unread(&error))?;
    let run = run.ok_or_else(|| Failure::no_run(args.plan.as_deref()))?;
    let nobody = selection::nobody(&live::runner(&selection::dir(cx)?, &listed.plan), &listed.plan);
    let plan = run.plan();
    let labelled = |stage: &StageSpec| format!("{}: {}", stage.id.as_str(), state(&run, stage).name());
    show(
        args.format,
        || {
            let levels = plan.graph().levels();
            let stages = plan.stages().iter().zip(levels).map(|(stage, level)| {
                json!({
                    "stage_id": stage.id, "level": level, "state": state(&run, stage).name(),
                    "dependencies": stage.dependencies,
                })
            });
            let critical = drawing::critical_path(plan);
            json!({
                "plan": plan.head.name,
                "run": run.id,
                "critical_path": critical.iter().map(|at| &plan.stages()[*at].id).collect::<Vec<_>>(),
                "stages": stages.collect::<Vec<_>>(),
            })
        },
        || match (args.dot, args.mermaid) {
            (true, _) => output::text_raw(&drawing::dot(plan, labelled)),
            (_, true) => output::text_raw(&drawing::mermaid(plan, labelled)),
            (false, false) => {
                draw(&run);
                if let (false, Some((told, next))) = (run.is_over(), nobody) {
                    output::line(told);
                    output::next(next);
                }
            }
        },
    )
}

fn draw(run: &Run) {
    let plan = run.plan();
    for (number, level) in drawing::levels(plan).iter().enumerate() {
        output::heading(&format!("level {number}"));
        let mut stages: Vec<&StageSpec> = level.iter().map(|at| &plan.stages()[*at]).collect();
        stages.sort_by(|a, b| a.id.cmp(&b.id));
        let widest = stages.iter().map(|stage| stage.id.as_str().len()).max().unwrap_or(0);
        for stage in stages {
            let state = state(run, stage);
            let needs: Vec<&str> = stage.dependencies.iter().map(|id| id.as_str()).collect();
            let after = if needs.is_empty() { String::new() } else { format!(" <- {}", needs.join(", ")) };
            let line =
                format!("  {} {:<widest$}  {:<11}{after}", state.icon(), stage.id.as_str(), state.name());
            output::line(line.trim_end());
        }
    }
}

fn state(run: &Run, stage: &StageSpec) -> StateLabel {
    run.entry(&stage.id).map_or(StateLabel::Waiting, StateLabel::from_entry)
}
