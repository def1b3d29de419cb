//! `sprag repair`: what runs that were cut short have left behind.

use serde_json::{Value, json};

use sprag_base::text::shell_word;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::repair::{self, Damage, NotRepaired};
use sprag_orchestrator::daemon::start_run::Cannot;

use crate::commands::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;

/// Find what runs that were cut short have left behind, and clear it away with --fix
///
/// Stale sockets, worktrees whose folder is gone, worktrees of candidates, sessions that nobody took on, processes
/// without a supervisor, and references of plans that have no run. Exits with 1 if something is left.
#[derive(clap::Args)]
pub struct Args {
    /// Clear away what holds nobody's work
    #[arg(long)]
    fix: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    let Some(root) = places.worktree.clone() else { return Err(Failure::no_repository()) };
    let folder = places.store.join("run");
    let mended = match args.fix {
        true => repair::mend(&root, &folder, &RealDisk).map_err(failed)?,
        false => Vec::new(),
    };
    let left = repair::look(&root, &folder).map_err(failed)?;
    if args.json {
        let rows = |all: &[Damage]| all.iter().map(row).collect::<Vec<Value>>();
        output::json(json!({"mended": rows(&mended), "left": rows(&left)}));
    } else {
        mended.iter().for_each(|damage| output::line(format!("cleared away: {}", told(damage))));
        left.iter().for_each(|damage| output::line(told(damage)));
        if left.iter().any(Damage::can_be_mended) {
            output::next("sprag repair --fix");
        }
        for damage in left.iter().filter(|damage| !damage.can_be_mended()) {
            if let Damage::Reference { name, .. } = damage {
                let name = shell_word(name);
                output::next(format!("git log -1 {name}"));
                output::next(format!("git update-ref -d {name}"));
            }
        }
        if left.is_empty() {
            output::line("nothing is left over");
        }
    }
    Ok(if left.is_empty() { Ending::Done } else { Ending::No })
}

pub fn failed(reason: NotRepaired) -> Failure {
    match reason {
        NotRepaired::AtWork { pid } => Failure::from(Cannot::AtWork { pid, plan: None }),
        NotRepaired::Git(why) => Failure::from(Cannot::Git(why)),
        NotRepaired::Io(error) => error.into(),
    }
}

fn told(damage: &Damage) -> String {
    match damage {
        Damage::Socket { path } => format!("`{}` is the socket of a daemon that is gone", path.display()),
        Damage::Prunable { path } => format!("the folder of worktree `{}` is gone", path.display()),
        Damage::Gate { path } => format!("a candidate was looked at in `{}`", path.display()),
        Damage::HalfMade { folder } => format!("nobody took on the session in `{}`", folder.display()),
        Damage::Orphans { session, processes } => {
            format!("{} processes of session `{session}` have no supervisor", processes.len())
        }
        Damage::Reference { name, .. } => {
            format!("`{name}` belongs to a plan that has no run, and is kept in case somebody wants it")
        }
    }
}

fn row(damage: &Damage) -> Value {
    let (kind, of) = match damage {
        Damage::Socket { path } => ("socket", path.display().to_string()),
        Damage::Prunable { path } => ("worktree", path.display().to_string()),
        Damage::Gate { path } => ("gate", path.display().to_string()),
        Damage::HalfMade { folder } => ("session", folder.display().to_string()),
        Damage::Orphans { session, .. } => ("orphans", session.clone()),
        Damage::Reference { name, .. } => ("reference", name.clone()),
    };
    json!({"kind": kind, "of": of, "can_be_mended": damage.can_be_mended()})
}
