//! `sprag run repair`: finds and removes leftovers of interrupted runs.

use serde_json::{Value, json};

use sprag_base::text::shell_word;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_orchestrator::daemon::repair::{self, NotRepaired, RepairItem};
use sprag_orchestrator::daemon::start_run::StartError;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Find leftovers of interrupted runs, or remove them (people only)
///
/// Leftovers are stale sockets, worktrees without a directory, worktrees of candidates, unstarted sessions,
/// processes without a supervisor, and references of plans without a run. Exits with 1 if something is left.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove leftovers that contain no work
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    human::check_not_agent(places.user.as_ref())?;
    let Some(root) = places.worktree.clone() else { return Err(Failure::no_repository()) };
    let folder = places.store.join("run");
    let mended = if args.fix { repair::mend(&root, &folder, &RealDisk).map_err(failed)? } else { Vec::new() };
    let left = repair::find_damage(&root, &folder).map_err(failed)?;
    if args.format.is_json() {
        let rows = |all: &[RepairItem]| all.iter().map(row).collect::<Vec<Value>>();
        output::json(json!({"mended": rows(&mended), "left": rows(&left)}));
    } else {
        for damage in mended.iter() {
            output::line(format!("removed: {}", describe(damage)));
        }
        for damage in left.iter() {
            output::line(describe(damage));
        }
        if left.iter().any(RepairItem::can_be_mended) {
            output::next("sprag run repair --fix");
        }
        for damage in left.iter().filter(|damage| !damage.can_be_mended()) {
            if let RepairItem::Reference { name, .. } = damage {
                let name = shell_word(name);
                output::next(format!("git log -1 {name}"));
                output::next(format!("git update-ref -d {name}"));
            }
        }
        if left.is_empty() {
            output::line("no leftovers");
        }
    }
    Ok(if left.is_empty() { CommandEnd::Done } else { CommandEnd::No })
}

pub(crate) fn failed(reason: NotRepaired) -> Failure {
    match reason {
        NotRepaired::AtWork { pid } => Failure::from(StartError::AtWork { pid, plan: None }),
        NotRepaired::Git(why) => Failure::from(StartError::Git(why)),
        NotRepaired::Io(error) => error.into(),
    }
}

fn describe(damage: &RepairItem) -> String {
    match damage {
        RepairItem::Socket { path } => format!("`{}` is the socket of a daemon that ended", path.display()),
        RepairItem::Prunable { path } => format!("the directory of worktree `{}` is missing", path.display()),
        RepairItem::Gate { path } => format!("`{}` is the worktree of a candidate", path.display()),
        RepairItem::HalfMade { folder } => format!("the session in `{}` was never started", folder.display()),
        RepairItem::Orphans { session, processes } => {
            format!("{} processes of session `{session}` have no supervisor", processes.len())
        }
        RepairItem::Reference { name, .. } => {
            format!("`{name}` belongs to a plan without a run; Sprag keeps it")
        }
    }
}

fn row(damage: &RepairItem) -> Value {
    let (kind, of) = match damage {
        RepairItem::Socket { path } => ("socket", path.display().to_string()),
        RepairItem::Prunable { path } => ("worktree", path.display().to_string()),
        RepairItem::Gate { path } => ("gate", path.display().to_string()),
        RepairItem::HalfMade { folder } => ("session", folder.display().to_string()),
        RepairItem::Orphans { session, .. } => ("orphans", session.clone()),
        RepairItem::Reference { name, .. } => ("reference", name.clone()),
    };
    json!({"kind": kind, "of": of, "can_be_mended": damage.can_be_mended()})
}
