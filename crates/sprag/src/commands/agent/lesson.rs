//! `sprag lesson`: what went wrong, and what to do about it, for whoever comes next.

use serde_json::json;

use sprag_govern::event::Actor;
use sprag_host::report;
use sprag_host::report::submit::Submitter;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Keep a lesson: what went wrong, and what to do about it
///
/// A lesson is a learning, and passes the same sieve as those of `sprag reflect`; one that says nearly the same
/// as another becomes part of it. The best ones stand under `## Lessons Learned` in `CLAUDE.md` and `AGENTS.md`,
/// where those files and a `.sprag` directory are there.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What was learned, at most 1,500 characters
    text: String,
    /// The command that failed because of it, and passes now
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let text = words::<1500>("the lesson", &args.text, "lesson")?;
    let check = args.check.as_deref().map(|check| words::<150>("`--check`", check, "lesson")).transpose()?;
    let world = cx.world()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let hand = Submitter { session: &session, actor: &Actor::Main, cwd: &cx.cwd, now: cx.now };
    let check = check.as_ref().map(|check| check.as_str());
    let recorded = sprag_host::report::lesson::record(&world, &hand, text.as_str(), check)?;
    let came = &recorded.handed_in;
    let how = delivered(&came.delivery)?;
    for warning in &recorded.warnings {
        output::note(format!("sprag: warning: {warning}"));
    }
    show(
        args.format,
        || {
            json!({
                "session": session, "delivery": how, "intent": recorded.intent, "accepted": came.accepted,
                "rejected": came.rejected, "notes": came.notes, "warnings": recorded.warnings,
            })
        },
        || came.lines(how).iter().for_each(output::line),
    )
}
