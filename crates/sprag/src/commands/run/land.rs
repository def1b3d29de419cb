//! `sprag run land`: moves the target branch to the merged work.

use std::path::Path;

use sprag_base::text::shell_word;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::land::{self, LandOutcome, LandRefusal};
use sprag_orchestrator::daemon::start_run::StartError;
use sprag_orchestrator::run_log;
use sprag_plan::spec::values::BranchName;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Move the target branch of a plan to the merged work (people only)
///
/// Moves by fast-forward only. If the branch is checked out, the checkout follows. Sprag does not touch a
/// checkout with uncommitted changes or an unfinished merge.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan (default: the only plan)
    plan: Option<String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    let Some(root) = places.worktree.clone() else { return Err(Failure::no_repository()) };
    let folder = places.store.join("run");
    let names = sprag_orchestrator::run_log::known(&folder);
    let name = match (args.plan, names.as_slice()) {
        (Some(name), _) => name,
        (None, [name]) => name.clone(),
        (None, names) => return Err(Failure::which_plan_to_land(names)),
    };
    let run = run_log::read(&sprag_orchestrator::layout::run_log_path(&folder, &name))?
        .ok_or(StartError::NoRun { name: name.clone() })?;
    let branch = run.plan().head.target.as_ref().map(BranchName::to_string).unwrap_or_default();
    let (trunk, target) = (format!("refs/sprag/{name}/trunk"), format!("refs/heads/{branch}"));
    let landed = land::land(&root, &trunk, &target).map_err(StartError::from)?;
    match landed {
        LandOutcome::Moved { from, to } => {
            output::line(format!("moved `{branch}` to `{}`, from `{}`", short(&to), short(&from)));
            Ok(CommandEnd::Done)
        }
        LandOutcome::Already => {
            output::line(format!("`{branch}` has all merged work"));
            Ok(CommandEnd::Done)
        }
        LandOutcome::Held { .. } | LandOutcome::Apart | LandOutcome::Missing { .. } => {
            let LandBlocker { code, why, next } =
                held(&landed, &trunk, &branch).expect("the outcome is a blocker");
            Err(Failure::not_landed(code, format!("`{branch}` was not moved: {why}"), next))
        }
    }
}

/// The reason why a target cannot move, and the command to run next.
struct LandBlocker {
    code: &'static str,
    why: String,
    next: String,
}

/// Returns the reason why the target did not move. `None` if it moved or is up to date.
fn held(landed: &LandOutcome, trunk: &str, branch: &str) -> Option<LandBlocker> {
    Some(match landed {
        LandOutcome::Moved { .. } | LandOutcome::Already => return None,
        LandOutcome::Held { at, because } => {
            let place = at.display().to_string();
            let (code, why, next) = match because {
                LandRefusal::Merge => ("merging", "a merge or rebase is unfinished in", "status"),
                LandRefusal::IndexLock => ("index_lock", "git is running or was interrupted in", "status"),
                LandRefusal::Dirty => {
                    ("dirty", "there are changes that are not committed in", "status --short")
                }
            };
            let next = format!("git -C {} {next}", shell_word(&place));
            LandBlocker { code, why: format!("{why} `{place}`"), next }
        }
        LandOutcome::Apart => LandBlocker {
            code: "apart",
            why: format!("it has commits that `{trunk}` lacks; the run merges and tests them first"),
            next: format!("git log --oneline {trunk}..{}", shell_word(branch)),
        },
        LandOutcome::Missing { name } => LandBlocker {
            code: "missing",
            why: format!("there is no `{name}`"),
            next: "git branch --list".to_owned(),
        },
    })
}

/// Returns the command that moves the target to the merged work. If it cannot move now, also returns the
/// reason.
pub(crate) fn advised(root: &Path, plan: &str, branch: &str) -> (Option<String>, String) {
    let (trunk, target) = (format!("refs/sprag/{plan}/trunk"), format!("refs/heads/{branch}"));
    // If git fails now, it may work when the user runs the command.
    let held = land::would(root, &trunk, &target).ok().and_then(|landed| held(&landed, &trunk, branch));
    match held {
        None => (None, format!("sprag run land {}", shell_word(plan))),
        Some(LandBlocker { why, next, .. }) => (Some(format!("`{branch}` cannot move now: {why}")), next),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
