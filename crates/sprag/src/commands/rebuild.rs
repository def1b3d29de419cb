//! `sprag rebuild`: everything derived, again from the log.

use std::fs;

use serde_json::json;
use sprag_core::obligation::Debts;
use sprag_core::view::Sessions;
use sprag_host::disk::RealDisk;
use sprag_host::projections;

use super::{Cx, Outcome, show};
use crate::failure::Failure;
use crate::output;

/// Throw away what is derived and fold it from the log again
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let store = cx.world()?.store();
    let cache = store.cache_dir();
    match fs::remove_dir_all(&cache) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::io("clear", &cache, &error));
        }
        _ => {}
    }
    let bar = output::progress(2, "folding the log");
    let debts = projections::load::<Debts>(&store)?;
    projections::save(&store, &RealDisk, &debts)?;
    bar.inc(1);
    let sessions = projections::load::<Sessions>(&store)?;
    projections::save(&store, &RealDisk, &sessions)?;
    bar.finish_and_clear();
    let (open, seen) = (debts.state.open().len(), sessions.state.rows().len());
    show(
        args.json,
        || json!({"projections": ["debts", "sessions"], "open_debts": open, "sessions": seen}),
        || output::line(format!("rebuilt from the log: {open} open debts, {seen} sessions")),
    )
}
