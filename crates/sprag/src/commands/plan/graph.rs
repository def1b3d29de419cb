//! `sprag plan graph`: shows the dependencies of stages.

use std::path::PathBuf;

use serde_json::json;

use sprag_plan::view::drawing;

use super::good;
use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Show the dependencies of stages by level, and the critical path
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plan file
    file: PathBuf,
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
    let plan = good(cx, &args.file)?;
    let (levels, critical) = (drawing::levels(&plan), drawing::critical_path(&plan));
    let id = |stage: &usize| plan.stages()[*stage].id.as_str();
    let ids = |stages: &[usize]| stages.iter().map(id).collect::<Vec<_>>();
    show(
        args.format,
        || {
            json!({
                "plan": plan.head.name,
                "slots": plan.head.slots,
                "levels": levels.iter().map(|level| ids(level)).collect::<Vec<_>>(),
                "critical_path": ids(&critical),
                "stages": plan.stages().iter().map(|stage| {
                    json!({"id": stage.id, "dependencies": stage.dependencies})
                }).collect::<Vec<_>>(),
            })
        },
        || match (args.dot, args.mermaid) {
            (true, _) => output::text_raw(&drawing::dot(&plan, drawing::by_id)),
            (_, true) => output::text_raw(&drawing::mermaid(&plan, drawing::by_id)),
            (false, false) => {
                for (number, level) in levels.iter().enumerate() {
                    output::heading(&format!("level {number}"));
                    for stage in level {
                        let needs = ids(plan.graph().needs(*stage));
                        let after = if needs.is_empty() {
                            String::new()
                        } else {
                            format!(" <- {}", needs.join(", "))
                        };
                        output::line(format!("  {}{after}", id(stage)));
                    }
                }
                let widest = levels.iter().map(Vec::len).max().unwrap_or(0);
                output::line(format!("critical path: {}", ids(&critical).join(" -> ")));
                output::line(format!(
                    "{} of {} stages are on it; {widest} could run at the same time, the limit is {}",
                    critical.len(),
                    plan.stages().len(),
                    plan.head.slots
                ));
            }
        },
    )
}
