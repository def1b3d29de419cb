//! `sprag store clean`: removes leftovers. Keeps all records of sessions, and work that exists nowhere else.

use serde_json::json;

use sprag_host::sys::disk::RealDisk;
use sprag_host::upkeep::clean;
use sprag_orchestrator::daemon::clean::Salvage;

use crate::commands::store::clean_runs::{self, CleanAim};
use crate::commands::{CommandCx, CommandResult, seconds, show};
use crate::output::{self, OutputFormat};

/// Remove leftovers of old sessions and runs (runs: people only)
///
/// Keeps all records of sessions. Of landed runs it removes records, briefs, session directories, worktrees,
/// branches and references. Keeps work that is on no branch, and prints the command that saves it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Age of journals and runs since their last change
    #[arg(long, default_value = "30d", value_name = "SPAN")]
    before: String,
    /// Also remove salvaged work of stages that is this old
    #[arg(long)]
    salvage: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let before = cx.now.plus_seconds(-seconds(&args.before)?);
    let places = cx.places()?;
    let found = clean::plan_sweep(&places, before)?;
    let salvage = if args.salvage { Salvage::Goes } else { Salvage::Stays };
    let aim = if args.dry_run { CleanAim::Say } else { CleanAim::Sweep };
    let runs = clean_runs::run(&places, before, salvage, aim)?;
    if args.dry_run {
        return show(
            args.format,
            || json!({"dry_run": true, "sessions": found.sessions, "leftovers": found.leftovers, "starts": found.starts, "objects": found.objects.len(), "runs": runs.json()}),
            || {
                for id in &found.sessions {
                    output::line(format!("would move the journal of session `{}` into the log", id.as_str()));
                }
                for path in found.leftovers.iter().chain(&found.starts) {
                    output::line(format!("would remove `{}`", path.display()));
                }
                if !found.objects.is_empty() {
                    output::line(format!("would remove {} cached objects", found.objects.len()));
                }
                runs.tell();
                if found.is_empty() && runs.is_empty() {
                    output::line("nothing to remove");
                }
            },
        );
    }
    let swept = clean::sweep(&places, &RealDisk, &found, before, cx.now)?;
    show(
        args.format,
        || json!({"dry_run": false, "journals": swept.journals, "moved_records": swept.moved_records, "debts": swept.debts, "leftovers": swept.leftovers, "starts": swept.starts, "objects": swept.objects, "processes": swept.processes, "runs": runs.json()}),
        || {
            runs.tell();
            output::line(format!(
                "removed {} journals ({} records moved into the log, {} debts opened), {} left-over files, {} cached objects, {} ended processes",
                swept.journals,
                swept.moved_records,
                swept.debts,
                swept.leftovers + swept.starts,
                swept.objects,
                swept.processes
            ));
        },
    )
}
