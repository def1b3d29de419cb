//! `sprag session records`: prints the records of a session as JSON.

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_host::report;
use sprag_host::store::projections;

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show the records of a session as JSON
///
/// Prints the newest records, one JSON object per line.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Session id, or its first characters (default: the newest session)
    session: Option<String>,
    /// Only records of this kind, for example `tool.requested`
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Maximum number of results
    #[arg(long, default_value_t = 500)]
    limit: usize,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let (session, records) = records_of(cx, args.session.as_deref())?;
    let wanted: Vec<Record> = records
        .into_iter()
        .filter(|record| record.kind != "snapshot")
        .filter(|record| args.event.as_ref().is_none_or(|kind| record.kind == *kind))
        .collect();
    let shown = &wanted[wanted.len().saturating_sub(args.limit)..];
    show(
        args.format,
        || json!({"session": session, "records": shown}),
        || shown.iter().for_each(|record| output::text_raw(&String::from_utf8_lossy(&record.line()))),
    )
}

/// Returns a session and all its records, ordered by time. `None` names the newest session.
pub(crate) fn records_of(cx: &CommandCx, named: Option<&str>) -> Result<(SessionId, Vec<Record>), Failure> {
    let store = cx.world()?.store();
    let session = match named {
        Some(named) => report::find_session::by_prefix(&store, named)?,
        None => report::find_session::newest(&store)?,
    };
    let mut records = projections::records_of(&store, &session)?;
    records.sort_by_key(|record| record.at);
    Ok((session, records))
}
