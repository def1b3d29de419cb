//! `sprag store migrate`: rewrites the log in the current format.

use serde_json::json;

use sprag_host::store::migrate::{self, MigrationReport};
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Rewrite the log in the current format, and keep the old log
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let store = cx.world()?.store();
    let bar = output::progress(store.log_files().len() as u64, "replaying the log");
    let report = if args.dry_run {
        migrate::dry_run(&store, || bar.inc(1))?
    } else {
        migrate::migrate(&store, &RealDisk, cx.now, || bar.inc(1))?
    };
    bar.finish_and_clear();
    show(args.format, || data(&report, &args), || tell(&report, &args))
}

fn data(report: &MigrationReport, args: &Args) -> serde_json::Value {
    json!({
        "dry_run": args.dry_run,
        "files": report.files,
        "records": report.records,
        "duplicates": report.duplicates,
        "unreadable": report.unreadable,
        "newer": report.newer,
        "by_kind": report.by_kind,
        "set_aside": report.set_aside,
    })
}

fn tell(report: &MigrationReport, args: &Args) {
    let done = if args.dry_run { "would replay" } else { "replayed" };
    output::line(format!("{done} {} records of {} files", report.records, report.files));
    for (kind, count) in &report.by_kind {
        output::line(format!("  {count:>7}  {kind}"));
    }
    output::line(format!(
        "{} duplicates dropped, {} unreadable lines left out, {} records of a newer version kept unchanged",
        report.duplicates, report.unreadable, report.newer
    ));
    if let Some(path) = &report.set_aside {
        output::line(format!("the old log is in `{}`", path.display()));
    }
}
