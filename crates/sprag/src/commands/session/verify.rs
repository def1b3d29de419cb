//! `sprag verify`: runs the configured checks now.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::text::one_line;
use sprag_check::{CheckRan, CheckStatus, Profile, Results};
use sprag_govern::event::Actor;
use sprag_govern::gates::completion::CheckRun;
use sprag_govern::report::Report;
use sprag_host::checks::session;
use sprag_host::report::{self, ReportError};
use sprag_host::world::World;

use crate::commands::{CommandCx, CommandEnd, CommandResult, warn};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Long, because no hook waits for these checks.
const BUDGET_SECONDS: u32 = 3600;

/// Run the configured checks now
///
/// Exits with 1 if a mandatory check fails. If all pass, Sprag releases a session whose stop waits for them.
/// Only results for the current files count.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag verify\n  \
    sprag verify --profile deep")]
pub(crate) struct Args {
    /// Depth of the checks (default: the depth that the session needs, else `completion.profile`)
    #[arg(long)]
    profile: Option<DepthArg>,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DepthArg {
    Quick,
    Standard,
    Deep,
}

impl From<DepthArg> for Profile {
    fn from(depth: DepthArg) -> Profile {
        match depth {
            DepthArg::Quick => Profile::Quick,
            DepthArg::Standard => Profile::Standard,
            DepthArg::Deep => Profile::Deep,
        }
    }
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    warn(&world);
    let policy = &world.config.settings.govern.gates.completion;
    if policy.check.is_empty() {
        return Err(Failure::nothing_to_verify());
    }
    if session::is_within_check(&world) {
        return Err(Failure::verify_within_check());
    }
    let session = match report::find_session::find_session(&world, args.session.as_deref(), cx.now) {
        Ok(session) => Some(session),
        Err(ReportError::Io(error)) => return Err(error.into()),
        Err(error) if args.session.is_some() => return Err(error.into()),
        // Without `--session`, the checks also run without a session.
        Err(_) => None,
    };
    let wanted = session.as_ref().and_then(|session| session::plan(&world, session, cx.now));
    let least = wanted.map(|plan| plan.profile);
    let profile = args.profile.map(Profile::from).or(least).unwrap_or(policy.profile);
    let results = with_progress(&world, cx, profile)?;
    let told = tell_session(&world, cx, session, least, &results);
    if args.format.is_json() {
        output::json(object(&results, &told));
    } else {
        show(&results, &told);
    }
    Ok(if results.status() == CheckStatus::Failed { CommandEnd::No } else { CommandEnd::Done })
}

fn with_progress(world: &World<'_>, cx: &CommandCx, profile: Profile) -> Result<Results, Failure> {
    let checks = &world.config.settings.govern.gates.completion.check;
    let count = checks.iter().filter(|check| check.profile <= profile).count();
    let bar = output::progress(count as u64, "checking");
    let watch = |check: &sprag_check::CompletionCheck| {
        bar.set_message(one_line(check.name.as_str()));
        bar.inc(1);
    };
    let results = session::run(world, &cx.cwd, CheckRun { profile, budget_seconds: BUDGET_SECONDS }, &watch)?;
    bar.finish_and_clear();
    Ok(results)
}

/// The result of the report to the session.
enum VerifyReport {
    Nobody,
    Session { session: SessionId, notes: Vec<String> },
    Not { session: SessionId, why: String },
}

/// Reports the results to a session, if its next stop would accept them without running the checks again.
fn tell_session(
    world: &World<'_>,
    cx: &CommandCx,
    session: Option<SessionId>,
    least: Option<Profile>,
    results: &Results,
) -> VerifyReport {
    let Some(session) = session else {
        return VerifyReport::Nobody;
    };
    let Some(least) = least else {
        return VerifyReport::Not { session, why: "the session works in another directory".to_owned() };
    };
    if results.profile < least {
        let why = format!("the session needs profile `{}`", least.name());
        return VerifyReport::Not { session, why };
    }
    if results.tree.is_none() || !results.ran.iter().all(|ran| ran.outcome.is_lasting()) {
        return VerifyReport::Not {
            session,
            why: "some results do not last; its next stop runs these checks again".to_owned(),
        };
    }
    match report::tell(world, &session, &Actor::Main, Report::Verified, &cx.cwd, cx.now) {
        Ok(told) => VerifyReport::Session { session, notes: told.notes },
        Err(ReportError::Io(error)) => VerifyReport::Not { session, why: error.to_string() },
        Err(ReportError::OfOther(_)) => {
            VerifyReport::Not { session, why: "the session belongs to another agent".to_owned() }
        }
        Err(ReportError::NoSession | ReportError::Ambiguous(_) | ReportError::Unknown(_)) => {
            VerifyReport::Not { session, why: "the session no longer exists".to_owned() }
        }
    }
}

fn object(results: &Results, told: &VerifyReport) -> Value {
    let mut object = results.report();
    object["profile"] = json!(results.profile);
    object["tree"] = json!(results.tree);
    object["session"] = match told {
        VerifyReport::Nobody | VerifyReport::Not { .. } => Value::Null,
        VerifyReport::Session { session, .. } => json!(session),
    };
    if let VerifyReport::Session { notes, .. } = told {
        object["notes"] = json!(notes);
    }
    object
}

fn show(results: &Results, told: &VerifyReport) {
    for ran in &results.ran {
        output::line(line(ran));
        let tail = ran.outcome.tail();
        tail.lines().for_each(|line| output::line(format!("    {line}")));
    }
    match results.status() {
        CheckStatus::Passed => output::line(format!("passed ({})", results.profile.name())),
        CheckStatus::Skipped => output::line(format!("no checks in profile `{}`", results.profile.name())),
        CheckStatus::Failed => {
            output::line(format!("failed ({})", results.profile.name()));
            output::next("fix the failed checks, then run `sprag verify` again");
        }
    }
    match told {
        VerifyReport::Nobody => {}
        VerifyReport::Session { session, notes } => {
            output::line(format!("reported to session `{}`", one_line(session.as_str())));
            notes.iter().for_each(output::line);
        }
        VerifyReport::Not { session, why } => {
            output::line(format!(
                "not reported to session `{}`: {}",
                one_line(session.as_str()),
                one_line(why)
            ));
        }
    }
}

fn line(ran: &CheckRan) -> String {
    one_line(&ran.issue())
}
