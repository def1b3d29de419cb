//! `sprag trace export`: prints records in the Agent Trace format.

use serde_json::json;

use sprag_trace::export::{MEDIA_TYPE, VERSION};

use super::selection::{self, RecordArgs};
use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Print records in the Agent Trace 0.1.0 format, one per line
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: RecordArgs,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let records = args.which.select(&cx.world()?)?;
    if args.format.is_json() {
        let records: Vec<_> = records.iter().map(selection::rendered).collect();
        return show(
            args.format,
            || json!({"media_type": MEDIA_TYPE, "version": VERSION, "records": records}),
            || {},
        );
    }
    for record in &records {
        output::line(selection::rendered(record).to_string());
    }
    Ok(CommandEnd::Done)
}
