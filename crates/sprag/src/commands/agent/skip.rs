//! `sprag skip`: there is nothing to learn from this.

use serde_json::json;

use sprag_govern::report::Report;
use sprag_host::report;
use sprag_memory::records::Decider;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Say that there is nothing to learn, and why
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Why not, at most 500 characters
    reason: String,
    /// Who says so
    #[arg(long, value_enum, default_value_t = DeciderArg::Agent)]
    decider: DeciderArg,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DeciderArg {
    Agent,
    User,
    Auto,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let decider = match args.decider {
        DeciderArg::Agent => Decider::Agent,
        DeciderArg::User => Decider::User,
        DeciderArg::Auto => Decider::Auto,
    };
    let reason = words("the reason", &args.reason, "skip")?;
    let world = cx.world()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let report = Report::Skipped { reason, decider };
    let delivery = report::send(&world, &session, report, &cx.cwd, cx.now)?;
    let how = delivered(&delivery)?;
    show(
        args.format,
        || json!({"session": session, "delivery": how, "decider": decider.name()}),
        || output::line(format!("skipped in session `{}` ({how})", session.as_str())),
    )
}
