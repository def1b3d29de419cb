//! `sprag store rebuild`: computes all derived files from the log again.

use std::fs;

use serde_json::json;

use sprag_govern::history::SessionList;
use sprag_govern::obligation::Debts;
use sprag_host::memory::index::maintain::{self, IndexWork};
use sprag_host::store::projections;
use sprag_host::sys::disk::{Disk as _, RealDisk};

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Delete derived files, and compute them from the log again
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let store = world.store();
    let cache = store.cache_dir();
    // File by file, because hooks may write new ones at the same time.
    for entry in fs::read_dir(&cache).into_iter().flatten().flatten() {
        RealDisk.remove(&entry.path()).map_err(|error| Failure::io("remove", &entry.path(), &error))?;
    }
    let bar = output::progress(3, "reading the log");
    let debts = projections::load::<Debts>(&store)?;
    projections::save(&store, &RealDisk, &debts)?;
    bar.inc(1);
    let sessions = projections::load::<SessionList>(&store)?;
    projections::save(&store, &RealDisk, &sessions)?;
    bar.inc(1);
    let index = maintain::renew(&store, &RealDisk, &[], IndexWork::Rebuild)?;
    bar.finish_and_clear();
    let documents = index.map_or(0, |index| index.documents);
    let (open, seen) = (debts.state.open().len(), sessions.state.rows().len());
    show(
        args.format,
        || json!({"projections": ["debts", "sessions", "index"], "open_debts": open, "sessions": seen, "documents": documents}),
        || {
            output::line(format!(
                "rebuilt from the log: {open} open debts, {seen} sessions, an index of {documents} texts"
            ))
        },
    )
}
