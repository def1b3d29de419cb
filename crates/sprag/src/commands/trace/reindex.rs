//! `sprag trace reindex`: what follows from the records and the commits, found out again.

use serde_json::json;
use sprag_core::event::{Event, Input, SessionId};
use sprag_core::log::By;
use sprag_core::text::Text;
use sprag_core::trace::open::Open;
use sprag_host::disk::RealDisk;
use sprag_host::{learnings, projections, records, reports, trace};

use crate::commands::{Cx, Outcome, show};
use crate::output;

/// Look at the commits again for what was changed, and tell other clones
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Outcome {
    let world = cx.world()?;
    let store = world.store();
    projections::refresh::<Open>(&store, &RealDisk)?;
    let input = Input::new(cx.now, SessionId::new(reports::CLIENT), Event::Tick);
    let found = trace::commits(&world, &input).map(|changed| changed.traces).unwrap_or_default();
    let by = By { client: Text::from(reports::CLIENT), agent: None, role: None };
    let records: Vec<_> = found
        .iter()
        .map(|(kind, trace)| records::record(kind, cx.now, None, Some(by.clone()), json!(trace)))
        .collect();
    store.log(&RealDisk, &records)?;
    projections::refresh::<Open>(&store, &RealDisk)?;
    let published = match learnings::project_dir(&world.places) {
        Some(project) => trace::share::publish(&store, &project, &RealDisk)?,
        None => 0,
    };
    let count = records.len();
    show(
        args.json,
        || json!({"final": count, "published": published}),
        || output::line(format!("{count} records of commits were added, {published} told to other clones")),
    )
}
