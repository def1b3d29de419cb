//! `sprag review`: shows reviews, prints the context for a reviewer, and starts a reviewer.

mod context;
mod run;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_govern::gates::Gate as _;
use sprag_govern::gates::review::ReviewGate;
use sprag_govern::gates::review::case::ReviewCase;
use sprag_govern::gates::review::history::{PastReview, Reviews, TemplateShare};
use sprag_host::report::review;
use sprag_host::store::{Store, projections};

use super::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// List reviews, or start one
///
/// The reviewer is an agent other than the author. It reports its decision with `sprag decide`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag review list\n  \
    sprag review run --client claude")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Context(context::Args),
    /// List open reviews and the last decisions
    List {
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Show how often each wording of the review request (template) led to a review
    Stats {
        #[command(flatten)]
        format: OutputFormat,
    },
    Run(run::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Context(args) => context::run(args, cx),
        Command::List { format } => list(format, cx),
        Command::Stats { format } => stats(format, cx),
        Command::Run(args) => run::run(args, cx),
    }
}

/// Maximum number of decisions in the list.
const LAST: usize = 20;

fn list(format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let store = cx.world()?.store();
    let open: Vec<(SessionId, ReviewGate)> =
        review::all(&store).into_iter().filter(|(_, review)| review.case().is_some()).collect();
    let reviews = projections::load::<Reviews>(&store)?.state;
    let last: Vec<&PastReview> = reviews.verdicts().iter().rev().take(LAST).collect();
    show(
        format,
        || {
            let row = |(session, review): &(SessionId, ReviewGate)| open_row(session, review);
            json!({"open": open.iter().map(row).collect::<Vec<_>>(), "verdicts": last})
        },
        || {
            output::line(format!("open reviews: {}", open.len()));
            for (session, review) in &open {
                let (state, trigger) =
                    (review.state().unwrap_or_default(), review.case().map(ReviewCase::trigger));
                let id = session.as_str();
                output::line(format!("  {id}  {state}: {}", trigger.unwrap_or_default()));
                output::line(format!("    next: sprag review context --session {id}"));
            }
            output::line(format!("last decisions: {}", last.len()));
            for verdict in &last {
                output::line(format!("  {}", sentence(verdict)));
            }
        },
    )
}

fn open_row(session: &SessionId, review: &ReviewGate) -> Value {
    let case = review.case();
    json!({
        "session": session,
        "state": review.state(),
        "why": case.map(|case| case.why),
        "since": case.map(|case| case.since),
        "round": case.map(|case| case.round),
        "reviewer": review.seat().map(|seat| seat.reviewer.name()),
    })
}

/// Returns a decision as one line.
fn sentence(verdict: &PastReview) -> String {
    let told = &verdict.told;
    format!(
        "{}  {}  {} by {}: {}",
        verdict.at,
        verdict.session.as_str(),
        told.word.name(),
        told.by,
        sprag_base::text::one_line(told.summary.as_str())
    )
}

/// Returns for each template the number of requests without an outcome. They count as attempts when they have
/// one.
fn open_attempts(store: &Store) -> BTreeMap<String, u64> {
    let mut open = BTreeMap::new();
    for (_, review) in review::all(store) {
        let attempt = review.case().and_then(|case| case.attempt.as_ref());
        if let Some(attempt) = attempt.filter(|attempt| attempt.is_told) {
            *open.entry(attempt.template.to_string()).or_default() += 1;
        }
    }
    open
}

fn stats(format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let store = cx.world()?.store();
    let shares = projections::load::<Reviews>(&store)?.state.shares();
    let open = open_attempts(&store);
    show(
        format,
        || json!({ "templates": shares, "open": open }),
        || {
            if shares.is_empty() && open.is_empty() {
                output::line("no review requests yet");
            }
            for (template, count) in &open {
                output::line(format!("template `{template}`: {count} without an outcome"));
            }
            if shares.is_empty() {
                return;
            }
            let head = [
                "template",
                "attempts",
                "success",
                "not_spawned",
                "no_decision",
                "bad_session",
                "superseded",
                "rate",
            ];
            let row = |share: &TemplateShare| {
                let counts =
                    head[2..7].iter().map(|name| share.outcomes.get(name).copied().unwrap_or(0).to_string());
                let first = [share.template.clone(), share.attempts.to_string()];
                first.into_iter().chain(counts).chain([format!("{}%", share.success)]).collect()
            };
            output::table(&head, &shares.iter().map(row).collect::<Vec<_>>());
        },
    )
}
