//! `sprag run resume`: continues a stopped run with the plan that it started with.

use std::path::{Path, PathBuf};

use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::start_run;
use sprag_orchestrator::{plan_file, run_log, view};
use sprag_plan::run::Run;
use sprag_plan::spec::Plan;
use sprag_plan::spec::validate::Validated;
use sprag_plan::spec::values::BranchName;

use super::land;
use super::summary::counted;
use crate::advice::file_word;
use crate::commands::{CommandCx, CommandEnd, CommandResult, run};
use crate::failure::Failure;
use crate::output;

/// Continue a stopped run (people only)
///
/// Takes over agents that are still running. Uses the plan that the run started with, and warns if the file
/// changed since. `sprag plan amend FILE` applies a changed file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan, or its file (default: the only unfinished run)
    plan: Option<String>,
    #[command(flatten)]
    how: run::RunOptions,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    let folder = places.store.join("run");
    let file = args.plan.as_ref().map(|named| cx.cwd.join(named)).filter(|path| path.is_file());
    let written = file.as_deref().map(|file| crate::commands::plan::good(cx, file)).transpose()?;
    let wanted = written.as_ref().map(|plan| plan.head.name.to_string()).or(args.plan);
    if let Some((name, over)) = is_over(&folder, wanted.as_deref())? {
        return tell_over(&name, &over, places.worktree.as_deref());
    }
    let (name, found) = which(&folder, wanted)?;
    let file = file.or_else(|| start_run::source_of(&folder, &name));
    tell_difference(&found, file, written, places.worktree.as_deref());
    run::go(start_run::resume(&places, &name, &RealDisk)?, args.how)
}

/// Returns the selected run if it is over: the named run, or the last one if no run is unfinished.
fn is_over(folder: &Path, wanted: Option<&str>) -> Result<Option<(String, Run)>, Failure> {
    let name = match wanted {
        Some(name) => Some(name.to_owned()),
        None if start_run::active(folder)?.is_empty() => {
            view::list(folder)?.into_iter().next().map(|it| it.plan)
        }
        None => None,
    };
    let Some(name) = name else { return Ok(None) };
    let run = run_log::read(&sprag_orchestrator::layout::run_log_path(folder, &name))?;
    Ok(run.filter(Run::is_settled).map(|run| (name, run)))
}

fn tell_over(name: &str, run: &Run, worktree: Option<&Path>) -> CommandResult {
    output::line(format!("the run of plan `{name}` is over: {}", counted(run)));
    let branch = run.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or_default();
    let (trunk, target) = (format!("refs/sprag/{name}/trunk"), format!("refs/heads/{branch}"));
    let root = worktree.unwrap_or(Path::new("."));
    if start_run::has_landed(root, &trunk, &target).map_err(start_run::StartError::from)? {
        output::line(format!("`{branch}` has all merged work"))
    } else {
        let (held, next) = land::advised(root, name, branch);
        held.iter().for_each(output::line);
        output::next(next);
    }
    Ok(CommandEnd::Done)
}

/// Returns the named run, or the only unfinished one.
pub(super) fn which(folder: &Path, wanted: Option<String>) -> Result<(String, Run), Failure> {
    let mut active = start_run::active(folder)?;
    match wanted {
        Some(wanted) => active
            .into_iter()
            .find(|(name, _)| *name == wanted)
            .ok_or_else(|| start_run::StartError::NoRun { name: wanted }.into()),
        None if active.len() == 1 => Ok(active.remove(0)),
        None => Err(Failure::which_run(&active.into_iter().map(|(name, _)| name).collect::<Vec<_>>())),
    }
}

fn tell_difference(found: &Run, file: Option<PathBuf>, written: Option<Plan>, worktree: Option<&Path>) {
    let Some(file) = file else { return };
    let target = found.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or_default();
    let written = written.or_else(|| match plan_file::check(&file, worktree) {
        Ok(Validated::Good { plan, .. }) => Some(*plan),
        Ok(Validated::Bad { .. }) | Err(_) => None,
    });
    let name = file_word(&file);
    match written.and_then(|plan| plan.with_target(target)) {
        Some(plan) if plan.digest() == *found.digest() => {}
        Some(_) => {
            output::note(format!(
                "sprag: `{}` changed since the start; the run uses its earlier plan",
                file.display()
            ));
            output::note_next(format!("sprag plan amend {name}"));
        }
        None => {
            output::note(format!(
                "sprag: `{}` is no longer a valid plan; the run uses its earlier plan",
                file.display()
            ));
            output::note_next(format!("sprag plan check {name}"));
        }
    }
}
