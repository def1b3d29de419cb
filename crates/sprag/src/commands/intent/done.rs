//! `sprag intent done`: closes an intent after its checks passed and people accepted the rest.

use serde_json::json;

use sprag_base::text::quoted;
use sprag_check::{CheckOutcome as Came, CheckRan};
use sprag_govern::report::Report;
use sprag_host::checks::session;
use sprag_host::intents::completion::IntentCheckResult;
use sprag_host::report::{self, ReportError};
use sprag_host::world::World;
use sprag_intent::records::FinishedIntent;
use sprag_intent::{Intent, IntentRecord, IntentStatus};

use super::{all, one, worktree};
use crate::commands::{CommandCx, CommandResult, check_person, delivered, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Run the checks of an intent and close it
///
/// Criteria without a check need `sprag intent accept` first. Works in a session, or for a person at a
/// terminal. Only people reopen an intent.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Intent id
    id: String,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    if session::is_within_check(&world) {
        return Err(Failure::verify_within_check());
    }
    let session = match report::find_session::find_session(&world, args.session.as_deref(), cx.now) {
        Ok(session) => Some(session),
        Err(ReportError::NoSession) => {
            check_person(&world.places)?;
            None
        }
        Err(error) => return Err(error.into()),
    };
    let standings = sprag_host::intents::standings(&world)?;
    if standings.status(intent) != IntentStatus::Done {
        // Checks may take long, so missing acceptances are reported first.
        let unmet = standings.unmet(intent);
        if !unmet.is_empty() {
            let told: Vec<String> = unmet
                .iter()
                .map(|criterion| format!("`{}` needs a person", quoted(criterion.text.as_str())))
                .collect();
            return Err(
                Failure::checks_failed(&args.id, &told).next(format!("sprag intent accept {}", args.id))
            );
        }
        check(&world, intent, cx)?;
        match &session {
            Some(session) => {
                let report =
                    Report::IntentDone { id: intent.id.clone(), fingerprint: intent.fingerprint.clone() };
                delivered(&report::send(&world, session, report, &cx.cwd, cx.now)?)?;
            }
            None => {
                let (id, fingerprint) = (intent.id.clone(), intent.fingerprint.clone());
                let done = IntentRecord::Done(FinishedIntent { id, fingerprint });
                sprag_host::report::intent::record(&world, &done, cx.now)?;
            }
        }
    }
    show(
        args.format,
        || json!({"intent": intent.id, "status": IntentStatus::Done.name()}),
        || output::line(format!("intent `{}` is done", intent.id)),
    )
}

fn check(world: &World<'_>, intent: &Intent, cx: &CommandCx) -> Result<(), Failure> {
    let watch = |check: &sprag_check::CompletionCheck| {
        output::note(format!("sprag: running check {}: `{}`", check.name, quoted(&check.command)));
    };
    match sprag_host::intents::completion::check(world, intent, &worktree(world)?, cx.now, &watch)? {
        IntentCheckResult::Passed => Ok(()),
        IntentCheckResult::Forbidden { command, rule } => {
            Err(Failure::check_forbidden(intent.id.as_str(), &command, &rule))
        }
        IntentCheckResult::Failed(results) => {
            let failed =
                results.ran.iter().filter(|ran| !sprag_host::intents::completion::is_passed(&ran.outcome));
            let told = |ran: &CheckRan| {
                format!("check `{}` {}{}", ran.check, how(&ran.outcome), last_line(&ran.outcome))
            };
            Err(Failure::checks_failed(intent.id.as_str(), &failed.map(told).collect::<Vec<_>>()))
        }
    }
}

fn how(outcome: &Came) -> String {
    match outcome {
        Came::Passed | Came::ChangedTree { code: Some(0), .. } => "passed".to_owned(),
        Came::Failed { code: Some(code), .. } | Came::ChangedTree { code: Some(code), .. } => {
            format!("failed with exit code {code}")
        }
        Came::Failed { code: None, .. } | Came::ChangedTree { code: None, .. } => "was killed".to_owned(),
        Came::TimedOut { seconds, .. } => format!("took longer than {seconds} s"),
        Came::Unrunnable { why } => format!("could not run ({})", quoted(why.as_str())),
    }
}

fn last_line(outcome: &Came) -> String {
    match outcome.tail().lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(" (`{}`)", quoted(line.trim())),
        None => String::new(),
    }
}
