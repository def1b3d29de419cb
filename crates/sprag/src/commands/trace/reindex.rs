//! `sprag trace reindex`: computes records from commits again.

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::record::{Record, RecordAuthor};
use sprag_govern::event::{Event, Input};
use sprag_host::store::{new_record, projections};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::locations::Locations;
use sprag_host::trace;
use sprag_host::trace::blame::{KnownRecords, renew};
use sprag_trace::ChangeRecord;
use sprag_trace::uncommitted::UncommittedLines;

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Read the commits again, add missing records, and publish them
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let store = world.store();
    projections::refresh::<UncommittedLines>(&store, &RealDisk)?;
    let input = Input::new(cx.now, SessionId::new(sprag_base::record::REPORTER), Event::Tick);
    let found = trace::commits(&world, &input).map(|changed| changed.traces).unwrap_or_default();
    let by = RecordAuthor::reporter();
    let records: Vec<_> =
        found.iter().map(|change| new_record::record(change, cx.now, None, Some(by.clone()))).collect();
    store.log(&RealDisk, &records)?;
    projections::refresh::<UncommittedLines>(&store, &RealDisk)?;
    let rewritten = renewed(&world.places, cx)?;
    store.log(&RealDisk, &rewritten)?;
    let published = match sprag_host::store::clone::project_dir(&world.places) {
        Some(project) => trace::share::publish(&store, &project, &RealDisk)?,
        None => 0,
    };
    let (count, renewed) = (records.len(), rewritten.len());
    show(
        args.format,
        || json!({"final": count, "rewritten": renewed, "published": published}),
        || {
            output::line(format!(
                "added {count} records of commits and {renewed} of rewritten commits, published {published} to other clones"
            ));
        },
    )
}

/// Returns records for commits that replaced others.
fn renewed(places: &Locations, cx: &CommandCx) -> Result<Vec<Record>, Failure> {
    let known = KnownRecords::load(places)?;
    let bar = output::progress(0, "looking for rewritten commits");
    let traces = renew::renew(places, &known, renew::PATIENCE, |at, of| {
        bar.set_length(of as u64);
        bar.set_position(at as u64);
    });
    bar.finish_and_clear();
    let by = RecordAuthor::reporter();
    Ok(traces
        .into_iter()
        .map(|it| new_record::record(&ChangeRecord::Final(it), cx.now, None, Some(by.clone())))
        .collect())
}
