//! `sprag skip`: skips a reflection, with a reason.

use serde_json::json;

use sprag_govern::report::Report;
use sprag_host::report;
use sprag_memory::records::Decider;

use crate::commands::{CommandCx, CommandResult, check_person, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Skip a reflection: report that there is nothing to learn
///
/// Meets the obligation to reflect. Sprag records the reason.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag skip 'Only renamed a variable'\n  \
    sprag skip 'The user does not want learnings here' --decider user")]
pub(crate) struct Args {
    /// Reason, at most 500 characters
    reason: String,
    /// Author of this decision; `user` needs a person at a terminal
    #[arg(long, value_enum, default_value_t = DeciderArg::Agent)]
    decider: DeciderArg,
    /// Session id, or its first characters (default: the only live session)
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
    if matches!(decider, Decider::User) {
        check_person(&world.places)?;
    }
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
