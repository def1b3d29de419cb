//! `sprag observe`: notes an observation in the journal of a session.

use sprag_govern::report::Report;
use sprag_host::report;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Note an observation in the journal of a session
///
/// Agents and sub-agents may note at the same time; no note gets lost.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag observe 'The cache tests fail without network'\n  \
    sprag observe 'Two parsers exist; only one is used' --session 4f2a1c")]
pub(crate) struct Args {
    /// Observation, at most 2000 characters
    note: String,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let note = words("the note", &args.note, "observe")?;
    let world = cx.world()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let report = Report::Observed { note };
    let delivery = report::send(&world, &session, report, &cx.cwd, cx.now)?;
    let how = delivered(&delivery)?;
    show(
        args.format,
        || serde_json::json!({"session": session, "delivery": how}),
        || output::line(format!("noted in session `{}` ({how})", session.as_str())),
    )
}
