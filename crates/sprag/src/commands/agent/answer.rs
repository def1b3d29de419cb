//! `sprag answer`: a question that came up, with what answers it.

use serde_json::json;

use sprag_govern::report::{AnswerReport, Report};
use sprag_host::report;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Keep the answer to a question, for whoever asks it again
///
/// An answer is told for thirty days, and only if it is sure enough. Leave to do something is never kept.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The question, at most 1000 characters
    question: String,
    /// What answers it, at most 2000 characters
    #[arg(long, value_name = "TEXT")]
    answer: String,
    /// Where the answer is from: `user`, a file, a command
    #[arg(long, value_name = "TEXT")]
    source: String,
    /// How sure it is, in percent; below 85 it is kept and not told
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u8).range(0..=100))]
    confidence: u8,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let answered = AnswerReport {
        question: words("the question", &args.question, "answer")?,
        answer: words("`--answer`", &args.answer, "answer")?,
        source: words("`--source`", &args.source, "answer")?,
        confidence: f32::from(args.confidence) / 100.0,
    };
    let world = cx.world()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let delivery = report::send(&world, &session, Report::Answered(answered), &cx.cwd, cx.now)?;
    let how = delivered(&delivery)?;
    show(
        args.format,
        || json!({"session": session, "delivery": how}),
        || output::line(format!("noted in session `{}` ({how})", session.as_str())),
    )
}
