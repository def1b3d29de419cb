//! `sprag lesson`: stores what went wrong and how to avoid it.

use serde_json::json;

use sprag_govern::event::Actor;
use sprag_host::report;
use sprag_host::report::submit::Submitter;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Store a lesson: what went wrong, and how to avoid it
///
/// A lesson passes the same checks as the learnings of `sprag reflect`. Sprag merges a lesson into a similar
/// one. Sprag lists the best lessons in `CLAUDE.md` and `AGENTS.md`, if these files and a `.sprag` directory
/// exist.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag lesson 'Run the migrations before the tests, or they fail with a missing table'\n  \
    sprag lesson 'Quote paths in build.sh, they contain blanks' --check 'make build'")]
pub(crate) struct Args {
    /// Lesson, at most 1500 characters
    text: String,
    /// Command that failed before and passes now
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// Session id, or its first characters (default: the only live session)
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
