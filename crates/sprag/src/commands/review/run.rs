//! `sprag review run`: starts a reviewer as a separate process, for clients that do not identify their
//! agents.

use std::time::Duration;

use serde_json::json;

use sprag_govern::report::ReviewResult;
use sprag_host::clients::{self, CLIENTS};
use sprag_host::report;
use sprag_host::report::review::{self, ReviewerOrder};

use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Start a reviewer, and wait for its decision
///
/// Runs the client as a separate process. Exits with 1 if the reviewer finds issues.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Client that reviews (see `sprag config clients`)
    #[arg(long, value_name = "NAME")]
    client: String,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let can = || CLIENTS.iter().filter(|client| client.review.is_some());
    let known: Vec<&str> = can().map(|client| client.name).collect();
    let client = clients::find(&args.client).ok_or_else(|| Failure::unknown_client(&args.client, &known))?;
    let review = client.review.ok_or_else(|| Failure::unknown_client(&args.client, &known))?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let program = review::program(&world, &session, client.program);
    let program = program.ok_or_else(|| Failure::no_program(client.program))?;
    let order = ReviewerOrder {
        session: &session,
        client,
        program: &program,
        args: review.trying,
        deadline: Duration::from_secs(args.timeout),
    };
    let reviewed = review::run(&world, &order)?.map_err(|reason| Failure::refused(&reason))?;
    let Some(verdict) = &reviewed.verdict else {
        return Err(Failure::no_verdict(client.title, &reviewed));
    };
    show(
        args.format,
        || json!({ "verdict": verdict }),
        || {
            output::line(format!("{}: {}", verdict.told.word.name(), verdict.told.summary));
            if !verdict.told.message.is_empty() {
                output::line(verdict.told.message.as_str());
            }
        },
    )?;
    Ok(match verdict.told.word {
        ReviewResult::Complete => CommandEnd::Done,
        ReviewResult::Issues => CommandEnd::No,
    })
}
