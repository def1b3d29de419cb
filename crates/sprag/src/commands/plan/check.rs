//! `sprag plan check`: prints the problems of a plan.

use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_plan::spec::problem::{PlanProblem, Severity};
use sprag_plan::spec::validate::Validated;

use super::looked_at;
use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Check a plan, and print its problems by line and column
///
/// Exits with 1 if the plan has errors.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plan file
    file: PathBuf,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let (plan, found) = match looked_at(cx, &args.file)? {
        Validated::Good { plan, warnings } => (Some(plan), warnings),
        Validated::Bad { found } => (None, found),
    };
    let file = args.file.display().to_string();
    let row = |problem: &&PlanProblem| -> Value {
        json!({"line": problem.at.line, "column": problem.at.column, "code": problem.code.name(),
            "what": problem.what, "fix": problem.fix})
    };
    let rows = |weight: Severity| {
        found
            .problems
            .iter()
            .filter(|problem| problem.weight() == weight)
            .map(|p| row(&p))
            .collect::<Vec<_>>()
    };
    show(
        args.format,
        || {
            json!({
                "file": file,
                "plan": plan.as_ref().map(|plan| plan.head.name.as_str()),
                "digest": plan.as_ref().map(|plan| plan.digest()),
                "stages": plan.as_ref().map_or(0, |plan| plan.stages().len()),
                "problems": rows(Severity::Error),
                "warnings": rows(Severity::Warning),
                "more": found.more,
            })
        },
        || {
            for problem in &found.problems {
                let weight = match problem.weight() {
                    Severity::Error => "",
                    Severity::Warning => "warning: ",
                };
                output::line(format!("{weight}{}", problem.to_line(&file)));
            }
            if found.more > 0 {
                output::line(format!("and {} more", found.more));
            }
            if let Some(plan) = &plan {
                let (stages, warnings) = (plan.stages().len(), found.problems.len() + found.more);
                let end = if warnings == 0 { "no problems".to_owned() } else { counted(warnings, "warning") };
                output::line(format!("plan `{}`: {}, {end}", plan.head.name, counted(stages, "stage")));
            }
        },
    )?;
    let is_good = plan.is_some() && (!args.strict || found.problems.is_empty());
    Ok(if is_good { CommandEnd::Done } else { CommandEnd::No })
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
