//! `sprag clean`: sweeps up, never drops a record.

use serde_json::json;
use sprag_host::clean;
use sprag_host::disk::RealDisk;

use super::{Cx, Outcome, seconds, show};
use crate::output;

/// Sweep up journals of old sessions (their records stay in the log) and left-overs
#[derive(clap::Args)]
pub struct Args {
    /// Journals without an event for this long
    #[arg(long, default_value = "30d", value_name = "SPAN")]
    before: String,
    /// Only say what would be swept
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let before = cx.now.plus_seconds(-seconds(&args.before)?);
    let places = cx.places()?;
    let found = clean::look(&places, before)?;
    if args.dry_run {
        return show(
            args.json,
            || json!({"dry_run": true, "sessions": found.sessions, "leftovers": found.leftovers, "starts": found.starts, "objects": found.objects.len()}),
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
                if found.is_empty() {
                    output::line("nothing to sweep");
                }
            },
        );
    }
    let swept = clean::sweep(&places, &RealDisk, &found, before, cx.now)?;
    show(
        args.json,
        || json!({"dry_run": false, "journals": swept.journals, "moved_records": swept.moved_records, "debts": swept.debts, "leftovers": swept.leftovers, "starts": swept.starts, "objects": swept.objects, "processes": swept.processes}),
        || {
            output::line(format!(
                "swept {} journals ({} records moved into the log, {} debts opened), {} left-over files, {} cached objects, {} ended processes",
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
