//! `sprag sessions`: every session this clone has seen.

use serde_json::json;
use sprag_core::view::Sessions;
use sprag_host::projections;

use super::{Cx, Outcome, show};
use crate::output;

/// List the sessions of this repository, newest first
#[derive(clap::Args)]
pub struct Args {
    /// How many at the most
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let sessions: Sessions = projections::load_all(&cx.world()?.store())?;
    let rows: Vec<_> = sessions.rows().into_iter().take(args.limit).collect();
    show(
        args.json,
        || json!({ "sessions": rows }),
        || {
            if rows.is_empty() {
                output::line("no session has been seen here yet\n  next: sprag doctor");
                return;
            }
            let cells = rows.iter().map(|row| {
                let state = if row.ended { "ended" } else { "open" };
                vec![
                    row.id.as_str().to_owned(),
                    row.client.to_string(),
                    row.last.to_string(),
                    row.events.to_string(),
                    row.holds.to_string(),
                    state.to_owned(),
                ]
            });
            output::table(
                &["session", "client", "last event", "events", "holds", "state"],
                &cells.collect::<Vec<_>>(),
            );
        },
    )
}
