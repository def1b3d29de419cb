//! `sprag answer`: stores the answer to a question for later sessions.

use serde_json::json;

use sprag_govern::report::{AnswerReport, Report};
use sprag_host::report;

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::output::{self, OutputFormat};

/// Store the answer to a question for later sessions
///
/// Sprag shows a confident answer for 30 days. Sprag never stores a permission to do something.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag answer 'Which port do the tests use?' --answer 8081 --source tests/config.rs\n  \
    sprag answer 'Keep the old flag?' --answer 'Yes, until 2.0' --source user --confidence 95")]
pub(crate) struct Args {
    /// Question, at most 1000 characters
    question: String,
    /// Answer, at most 2000 characters
    #[arg(long, value_name = "TEXT")]
    answer: String,
    /// Source of the answer: `user`, a file or a command
    #[arg(long, value_name = "TEXT")]
    source: String,
    /// Confidence in percent; Sprag stores an answer below 85 but does not show it
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u8).range(0..=100))]
    confidence: u8,
    /// Session id, or its first characters (default: the only live session)
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
