//! `sprag plan show`: shows a plan with all default values filled in.

use std::path::PathBuf;

use serde_json::json;

use sprag_plan::accept::reviewer;
use sprag_plan::spec::checks::CheckSandbox;
use sprag_plan::spec::client::StageClient;
use sprag_plan::spec::problem::nearest;
use sprag_plan::spec::values::ShellLine;
use sprag_plan::spec::{Plan, StageSpec};

use super::good;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show a plan, or one stage of it, with all default values
///
/// Also prints every program that a run of the plan would start.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plan file
    file: PathBuf,
    /// Stage id
    stage: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let plan = good(cx, &args.file)?;
    match &args.stage {
        None => show(
            args.format,
            || json!({"digest": plan.digest(), "plan": plan, "programs": programs(&plan)}),
            || whole(&plan),
        ),
        Some(id) => {
            let stage = plan.find(id).ok_or_else(|| {
                let known = plan.stages().iter().map(|stage| stage.id.as_str());
                Failure::no_stage(id, &args.file, nearest(id, known))
            })?;
            show(args.format, || json!({ "stage": stage }), || one(stage))
        }
    }
}

fn whole(plan: &Plan) {
    output::heading(&format!("plan {}", plan.head.name));
    let target = plan.head.target.as_ref().map_or("the checked-out branch", |branch| branch.as_str());
    output::line(format!("target {target}, at most {} agents, digest {}", plan.head.slots, plan.digest()));
    let levels = plan.graph().levels();
    let row = |(stage, level): (&StageSpec, &usize)| {
        vec![
            stage.id.as_str().to_owned(),
            level.to_string(),
            stage.kind.name().to_owned(),
            client(&stage.agent.client),
            stage.checks.count().to_string(),
            scope(stage),
        ]
    };
    let rows: Vec<Vec<String>> = plan.stages().iter().zip(&levels).map(row).collect();
    output::table(&["STAGE", "LEVEL", "TYPE", "CLIENT", "CHECKS", "SCOPE"], &rows);
    output::heading("would run");
    for program in programs(plan).iter() {
        output::line(format!("  {program}"));
    }
}

/// Returns every program that a run of the plan would start, each once. A person has to trust them.
pub(crate) fn programs(plan: &Plan) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for stage in plan.stages() {
        let setup = stage.setup.iter().map(|command| (command, CheckSandbox::Up));
        let tasks = stage.tasks.iter().filter_map(|task| task.check.as_ref());
        let around = stage.before_stage.iter().chain(tasks).map(|check| (&check.command, check.walls));
        found.push(client(&stage.agent.client));
        found.extend(setup.chain(stage.checks.started()).chain(around).map(started));
    }
    found.extend(plan.head.gates.iter().map(|gate| started((&gate.command, gate.walls))));
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|program| seen.insert(program.clone()));
    found
}

/// Describes a command, and marks it if it runs outside the sandbox, because a person has to trust it.
fn started((command, walls): (&ShellLine, CheckSandbox)) -> String {
    match walls {
        CheckSandbox::Up => command.to_string(),
        CheckSandbox::Off => format!("{command} (outside the sandbox)"),
    }
}

fn one(stage: &StageSpec) {
    output::heading(&format!("{}: {}", stage.id.as_str(), stage.name));
    let needs: Vec<&str> = stage.dependencies.iter().map(|id| id.as_str()).collect();
    let facts = [
        ("type", stage.kind.name().to_owned()),
        ("after", needs.join(", ")),
        ("scope", scope(stage)),
        ("working dir", stage.working_dir.to_string()),
        ("client", format!("{} {}", client(&stage.agent.client), stage.agent.mode.name())),
        ("context", format!("{}%", stage.context_budget)),
        ("sandbox", stage.sandbox.confine.name().to_owned()),
        ("retries", stage.retries.to_string()),
        ("verify", reviewer::describe(stage)),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        output::line(format!("{name:<12} {value}"));
    }
    let lists: [(&str, Vec<String>); 4] = [
        ("setup", stage.setup.iter().map(ToString::to_string).collect()),
        ("checks", stage.checks.started().map(started).collect()),
        ("artifacts", stage.checks.artifacts.iter().map(ToString::to_string).collect()),
        ("tasks", stage.tasks.iter().map(|task| format!("{}: {}", task.id, task.text)).collect()),
    ];
    for (name, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        output::line(format!("{name}:"));
        for item in items.iter() {
            output::line(format!("  - {item}"));
        }
    }
    if !stage.description.is_empty() {
        output::line(format!("\n{}", stage.description.as_str().trim_end()));
    }
}

fn client(client: &StageClient) -> String {
    match client {
        StageClient::Known(known) => known.name().to_owned(),
        StageClient::Command { command, .. } => {
            command.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
        }
    }
}

fn scope(stage: &StageSpec) -> String {
    if stage.scope.is_open() {
        "anything".to_owned()
    } else {
        stage.scope.globs.iter().map(|glob| glob.as_str()).collect::<Vec<_>>().join(" ")
    }
}
