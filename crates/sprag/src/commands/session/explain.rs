//! `sprag session explain`: prints the events of a session as sentences.

use serde_json::json;

use sprag_govern::history::sentence;

use super::records;
use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Explain what happened in a session, in sentences
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Session id, or its first characters (default: the newest session)
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let (session, records) = records::records_of(cx, args.session.as_deref())?;
    let told: Vec<(String, String)> =
        records.iter().filter_map(|record| Some((record.at.to_string(), sentence(record)?))).collect();
    show(
        args.format,
        || {
            let story: Vec<_> = told.iter().map(|(at, text)| json!({"at": at, "text": text})).collect();
            json!({"session": session, "story": story})
        },
        || {
            output::heading(&format!("session {}", session.as_str()));
            for (at, text) in &told {
                output::line(format!("{}  {text}", &at[11..19]));
            }
        },
    )
}
