//! `sprag land`: merged work reaches the branch people work on.

use sprag_core::plan::values::Branch;
use sprag_core::text::shell_word;
use sprag_host::daemon::begin::{self, Cannot};
use sprag_host::daemon::land::{self, Because, Landed};
use sprag_host::daemon::log;
use sprag_host::person;

use super::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;

/// Move the target of a plan to what was merged, by fast-forward only
///
/// Where the branch is checked out, the checkout follows. What somebody is in the middle of there is left alone.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the plan (default: the only one)
    plan: Option<String>,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let places = cx.places()?;
    person::check_not_agent(places.user.as_ref())?;
    let Some(root) = places.worktree.clone() else { return Err(Failure::no_repository()) };
    let folder = places.store.join("run");
    let names = begin::known(&folder);
    let name = match (args.plan, names.as_slice()) {
        (Some(name), _) => name,
        (None, [name]) => name.clone(),
        (None, names) => return Err(Failure::which_plan_to_land(names)),
    };
    let run = log::read(&begin::path(&folder, &name))?.ok_or(Cannot::NoRun { name: name.clone() })?;
    let branch = run.plan().head.target.as_ref().map(Branch::to_string).unwrap_or_default();
    let (trunk, target) = (format!("refs/sprag/{name}/trunk"), format!("refs/heads/{branch}"));
    let landed = land::land(&root, &trunk, &target).map_err(Cannot::from)?;
    match landed {
        Landed::Moved { from, to } => {
            output::line(format!("`{branch}` is at `{}`, from `{}`", short(&to), short(&from)));
            Ok(Ending::Done)
        }
        Landed::Already => {
            output::line(format!("`{branch}` has all that was merged"));
            Ok(Ending::Done)
        }
        Landed::Held { at, because } => {
            let place = at.display().to_string();
            let (code, why, next) = match because {
                Because::Merge => ("merging", "a merge or rebase is under way in", "status"),
                Because::IndexLock => ("index_lock", "git is at work, or was cut short, in", "status"),
                Because::Dirty => ("dirty", "there are changes that are not committed in", "status --short"),
            };
            let message = format!("`{branch}` was not moved: {why} `{place}`");
            Err(Failure::not_landed(code, message, format!("git -C {} {next}", shell_word(&place))))
        }
        Landed::Apart => {
            let message = format!(
                "`{branch}` has commits that `{trunk}` has not: they are merged and tested by the run first"
            );
            Err(Failure::not_landed(
                "apart",
                message,
                format!("git log --oneline {trunk}..{}", shell_word(&branch)),
            ))
        }
        Landed::Missing { name } => {
            let message = format!("there is no `{name}`");
            Err(Failure::not_landed("missing", message, "git branch --list".to_owned()))
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
