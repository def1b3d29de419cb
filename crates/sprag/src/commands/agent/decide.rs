//! `sprag decide`: a reviewer's verdict, or a person's.

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

/// Decide a review: COMPLETE or ISSUES (a reviewer's, or a person's)
///
/// A reviewer is known by the token it was given when it started. The verdict counts for the work as it
/// is now, and nobody decides about their own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The verdict
    #[arg(value_enum)]
    word: DecideArg,
    /// What was found, in one sentence of at most 500 characters
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// For the author: every issue, by file and line
    #[arg(long, value_name = "TEXT", default_value = "")]
    message: String,
    /// What another agent thought of it (may be repeated)
    #[arg(long, value_name = "TEXT")]
    opinion: Vec<String>,
    /// What tells the reviewer (default: SPRAG_REVIEW_TOKEN)
    #[arg(long, value_name = "TOKEN", conflicts_with = "human")]
    token: Option<String>,
    /// Decide as a person, at a terminal
    #[arg(long)]
    human: bool,
    /// The session that is reviewed, by id or its start (default: SPRAG_REVIEW_SESSION, or the one of this worktree)
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

/// Opinions that are kept.
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

/// Of the work at a stage of a plan: whoever started the reviewer finds it, and knows the token.
fn leave(args: Args, summary: Text<500>, path: &Path, cx: &CommandCx) -> CommandResult {
    let token = args.token.clone().or_else(|| given(cx)).ok_or_else(Failure::not_reviewer)?;
    let format = args.format;
    let decided = decided(args, summary, Some(token));
    review::leave(path, &decided, &RealDisk)?;
    show(
        format,
        || json!({"word": decided.word, "delivery": "left"}),
        || output::line(format!("{} (left for whoever started the review)", decided.word.name())),
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
