//! `sprag run land`: merged work reaches the branch people work on.

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

/// Move the target of a plan to what was merged, by fast-forward only
///
/// Where the branch is checked out, the checkout follows. What somebody is in the middle of there is left alone.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan (default: the only one)
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
            output::line(format!("`{branch}` is at `{}`, from `{}`", short(&to), short(&from)));
            Ok(CommandEnd::Done)
        }
        LandOutcome::Already => {
            output::line(format!("`{branch}` has all that was merged"));
            Ok(CommandEnd::Done)
        }
        LandOutcome::Held { .. } | LandOutcome::Apart | LandOutcome::Missing { .. } => {
            let LandBlocker { code, why, next } = held(&landed, &trunk, &branch).expect("it is one of those");
            Err(Failure::not_landed(code, format!("`{branch}` was not moved: {why}"), next))
        }
    }
}

/// Why a target is not moved, and what helps.
struct LandBlocker {
    code: &'static str,
    why: String,
    next: String,
}

/// `None`: it is moved, or need not be.
fn held(landed: &LandOutcome, trunk: &str, branch: &str) -> Option<LandBlocker> {
    Some(match landed {
        LandOutcome::Moved { .. } | LandOutcome::Already => return None,
        LandOutcome::Held { at, because } => {
            let place = at.display().to_string();
            let (code, why, next) = match because {
                LandRefusal::Merge => ("merging", "a merge or rebase is under way in", "status"),
                LandRefusal::IndexLock => ("index_lock", "git is at work, or was cut short, in", "status"),
                LandRefusal::Dirty => {
                    ("dirty", "there are changes that are not committed in", "status --short")
                }
            };
            let next = format!("git -C {} {next}", shell_word(&place));
            LandBlocker { code, why: format!("{why} `{place}`"), next }
        }
        LandOutcome::Apart => LandBlocker {
            code: "apart",
            why: format!(
                "it has commits that `{trunk}` has not, which are merged and tested by the run first"
            ),
            next: format!("git log --oneline {trunk}..{}", shell_word(branch)),
        },
        LandOutcome::Missing { name } => LandBlocker {
            code: "missing",
            why: format!("there is no `{name}`"),
            next: "git branch --list".to_owned(),
        },
    })
}

/// What brings merged work of a plan to its target now: the command, after a sentence where something is in its way.
pub(crate) fn advised(root: &Path, plan: &str, branch: &str) -> (Option<String>, String) {
    let (trunk, target) = (format!("refs/sprag/{plan}/trunk"), format!("refs/heads/{branch}"));
    // Whoever cannot be asked now may answer then.
    let held = land::would(root, &trunk, &target).ok().and_then(|landed| held(&landed, &trunk, branch));
    match held {
        None => (None, format!("sprag run land {}", shell_word(plan))),
        Some(LandBlocker { why, next, .. }) => (Some(format!("`{branch}` cannot be moved now: {why}")), next),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
