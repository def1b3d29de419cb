//! `sprag observe`: an agent notes something for its session.

use sprag_govern::report::Report;
use sprag_host::report;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Note an observation in a session's journal
///
/// For agents and sub-agents: no note is lost, however many are made at once.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What was observed, at most 2,000 characters
    note: String,
    /// The session, by id or its start (default: the one of this worktree)
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
