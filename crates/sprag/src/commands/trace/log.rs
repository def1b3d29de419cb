//! `sprag trace log`: lists records of changes, newest first.

use serde_json::json;

use super::selection::{self, RecordArgs};
use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// List records of changes, newest first
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: RecordArgs,
    /// Maximum number of results
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let mut records = args.which.select(&cx.world()?)?;
    let count = records.len();
    records.sort_by(|a, b| (b.record.at, &b.record.id).cmp(&(a.record.at, &a.record.id)));
    records.truncate(args.limit);
    show(
        args.format,
        || json!({"count": count, "records": records.iter().map(selection::row).collect::<Vec<_>>()}),
        || {
            if records.is_empty() {
                return output::line("no records\n  next: sprag intent list");
            }
            let rows: Vec<Vec<String>> = records
                .iter()
                .map(|it| {
                    let trace = &it.trace;
                    let paths: Vec<&str> = trace.files.iter().map(|file| file.path.as_str()).collect();
                    let intent = trace.intent.as_ref().map_or("-", |served| served.id.as_str());
                    vec![
                        it.record.id.clone(),
                        it.record.at.to_string().chars().take(19).collect(),
                        intent.to_owned(),
                        trace.contributor.kind.name().to_owned(),
                        trace.verdict.name().to_owned(),
                        selection::stage(&trace.stage),
                        paths.join(" "),
                    ]
                })
                .collect();
            output::table(&["id", "at", "intent", "by", "verdict", "commit", "files"], &rows);
            if count > records.len() {
                output::line(format!("{} more; `--limit {count}` prints all", count - records.len()));
            }
        },
    )
}
