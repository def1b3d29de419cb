//! `sprag decide`: records the decision of a reviewer or a person about a review.

use std::path::Path;

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_govern::report::{Report, ReviewDecision, ReviewResult};
use sprag_host::report::{self, review};
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandResult, check_person, delivered, show, words};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Decide a review: COMPLETE or ISSUES (reviewers and people only)
///
/// Sprag knows a reviewer by the token that it got at its start. The decision counts for the current files
/// only. An author cannot decide the review of its own work.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag decide COMPLETE --summary 'No issues found'\n  \
    sprag decide ISSUES --summary 'One test is missing' --message 'src/parse.rs:40: test empty input'")]
pub(crate) struct Args {
    /// Decision
    #[arg(value_enum)]
    word: DecideArg,
    /// Result in one sentence, at most 500 characters
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Message to the author: every issue, with file and line
    #[arg(long, value_name = "TEXT", default_value = "")]
    message: String,
    /// Opinion of another agent (may be repeated)
    #[arg(long, value_name = "TEXT")]
    opinion: Vec<String>,
    /// Token of the reviewer (default: SPRAG_REVIEW_TOKEN)
    #[arg(long, value_name = "TOKEN", conflicts_with = "human")]
    token: Option<String>,
    /// Decide as a person at a terminal (people only)
    #[arg(long)]
    human: bool,
    /// Session id, or its first characters (default: SPRAG_REVIEW_SESSION, else the only live session)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DecideArg {
    #[value(name = "COMPLETE")]
    Complete,
    #[value(name = "ISSUES")]
    Issues,
}

/// Maximum number of stored opinions.
const OPINIONS: usize = 8;

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let summary = words("`--summary`", &args.summary, "decide")?;
    if let Some(path) = cx.env.get(review::VERDICT).filter(|_| !args.human) {
        return leave(args, summary, Path::new(&path), cx);
    }
    let world = cx.world()?;
    let store = world.store();
    let named = args.session.clone().or_else(|| cx.env.text(review::SESSION));
    let token = args.token.clone().or_else(|| given(cx)).filter(|_| !args.human);
    if args.human {
        check_person(&world.places)?;
    }
    let session = match &token {
        None if !args.human => return Err(Failure::not_reviewer()),
        None => report::find_session::find_session(&world, named.as_deref(), cx.now)?,
        Some(token) => match review::owner(&store, token) {
            None => report::find_session::find_session(&world, named.as_deref(), cx.now)?,
            Some(owner) => {
                if named.as_deref().is_some_and(|named| !owner.as_str().starts_with(named)) {
                    let report = Report::Misdirected { token: Text::from(token.as_str()) };
                    report::send(&world, &owner, report, &cx.cwd, cx.now)?;
                    return Err(Failure::bad_session(&owner));
                }
                owner
            }
        },
    };
    let is_hidden = token.as_ref().is_some_and(|token| !review::may_use(&world, &session, token));
    if is_hidden && !token.as_ref().is_some_and(|token| review::is_used_in_sandbox(&world, &session, token)) {
        return Err(Failure::not_reviewer());
    }
    let format = args.format;
    let decided = decided(args, summary, token);
    let word = decided.word;
    let report = Report::Decided(decided);
    let delivery = if is_hidden {
        report::leave(&world, &session, report, cx.now)?
    } else {
        report::send(&world, &session, report, &cx.cwd, cx.now)?
    };
    let how = delivered(&delivery)?;
    tell(format, word, &session, how)
}

/// Writes the decision about the work of a plan stage to a file. The process that started the reviewer reads
/// it and knows the token.
fn leave(args: Args, summary: Text<500>, path: &Path, cx: &CommandCx) -> CommandResult {
    let token = args.token.clone().or_else(|| given(cx)).ok_or_else(Failure::not_reviewer)?;
    let format = args.format;
    let decided = decided(args, summary, Some(token));
    review::leave(path, &decided, &RealDisk)?;
    show(
        format,
        || json!({"word": decided.word, "delivery": "left"}),
        || output::line(format!("{} (left for the process that started the review)", decided.word.name())),
    )
}

fn given(cx: &CommandCx) -> Option<String> {
    [sprag_host::purpose::program::TOKEN, sprag_host::purpose::program::PASS]
        .iter()
        .find_map(|name| cx.env.text(name))
}

fn decided(args: Args, summary: Text<500>, token: Option<String>) -> ReviewDecision {
    ReviewDecision {
        word: match args.word {
            DecideArg::Complete => ReviewResult::Complete,
            DecideArg::Issues => ReviewResult::Issues,
        },
        summary,
        message: Text::new(args.message),
        opinions: args.opinion.into_iter().take(OPINIONS).map(Text::new).collect(),
        token: token.map(Text::new),
    }
}

fn tell(format: OutputFormat, word: ReviewResult, session: &SessionId, how: &str) -> CommandResult {
    show(
        format,
        || json!({"session": session, "word": word, "delivery": how}),
        || output::line(format!("{} for session `{}` ({how})", word.name(), session.as_str())),
    )
}
