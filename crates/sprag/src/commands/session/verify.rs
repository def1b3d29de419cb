//! `sprag verify`: the configured checks, run now.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::text::one_line;
use sprag_check::{Profile, Ran, Results, Status};
use sprag_govern::event::Actor;
use sprag_govern::gates::completion::Plan;
use sprag_govern::report::Report;
use sprag_host::checks::session;
use sprag_host::report::{self, ReportError};
use sprag_host::world::World;

use crate::commands::{Cx, Ending, Outcome, warn};
use crate::failure::Failure;
use crate::output;

/// Nobody waits for a hook here.
const BUDGET_SECONDS: u32 = 3600;

/// Run the configured checks and tell a session that they pass
///
/// Exits with 1 if a mandatory one fails. A session whose stop is held for it is let go once all pass;
/// what counts is what Sprag itself finds on the tree as it is.
#[derive(clap::Args)]
pub struct Args {
    /// How thorough (default: as a stop of the session would be, else `completion.profile`)
    #[arg(long)]
    profile: Option<Depth>,
    /// The session, by id or its start (default: the one of this worktree, if there is one)
    #[arg(long)]
    session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Depth {
    Quick,
    Standard,
    Deep,
}

impl From<Depth> for Profile {
    fn from(depth: Depth) -> Profile {
        match depth {
            Depth::Quick => Profile::Quick,
            Depth::Standard => Profile::Standard,
            Depth::Deep => Profile::Deep,
        }
    }
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
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
        // Whoever names none may mean none.
        Err(ReportError::NoSession | ReportError::Ambiguous(_) | ReportError::Unknown(_)) => None,
    };
    let wanted = session.as_ref().and_then(|session| session::plan(&world, session, cx.now));
    let least = wanted.map(|plan| plan.profile);
    let profile = args.profile.map(Profile::from).or(least).unwrap_or(policy.profile);
    let results = with_progress(&world, cx, profile)?;
    let told = tell_session(&world, cx, session, least, &results);
    if args.json {
        output::json(object(&results, &told));
    } else {
        show(&results, &told);
    }
    Ok(if results.status() == Status::Failed { Ending::No } else { Ending::Done })
}

fn with_progress(world: &World<'_>, cx: &Cx, profile: Profile) -> Result<Results, Failure> {
    let checks = &world.config.settings.govern.gates.completion.check;
    let count = checks.iter().filter(|check| check.profile <= profile).count();
    let bar = output::progress(count as u64, "checking");
    let watch = |check: &sprag_check::Check| {
        bar.set_message(one_line(check.name.as_str()));
        bar.inc(1);
    };
    let results = session::run(world, &cx.cwd, Plan { profile, budget_seconds: BUDGET_SECONDS }, &watch)?;
    bar.finish_and_clear();
    Ok(results)
}

/// What became of the report.
enum Told {
    Nobody,
    Session { session: SessionId, notes: Vec<String> },
    Not { session: SessionId, why: String },
}

/// A session is told only of what its own stop would find, and what need not be found out again for it.
fn tell_session(
    world: &World<'_>,
    cx: &Cx,
    session: Option<SessionId>,
    least: Option<Profile>,
    results: &Results,
) -> Told {
    let Some(session) = session else {
        return Told::Nobody;
    };
    let Some(least) = least else {
        return Told::Not { session, why: "it works in another place".to_owned() };
    };
    if results.profile < least {
        let why = format!("it has to pass `{}`", least.name());
        return Told::Not { session, why };
    }
    if results.tree.is_none() || !results.ran.iter().all(|ran| ran.outcome.is_lasting()) {
        return Told::Not { session, why: "not all results last; its next stop finds out".to_owned() };
    }
    match report::tell(world, &session, &Actor::Main, Report::Verified, &cx.cwd, cx.now) {
        Ok(told) => Told::Session { session, notes: told.notes },
        Err(ReportError::Io(error)) => Told::Not { session, why: error.to_string() },
        Err(ReportError::NoSession | ReportError::Ambiguous(_) | ReportError::Unknown(_)) => {
            Told::Not { session, why: "it is not there any more".to_owned() }
        }
    }
}

fn object(results: &Results, told: &Told) -> Value {
    let mut object = results.report();
    object["profile"] = json!(results.profile);
    object["tree"] = json!(results.tree);
    object["session"] = match told {
        Told::Nobody | Told::Not { .. } => Value::Null,
        Told::Session { session, .. } => json!(session),
    };
    if let Told::Session { notes, .. } = told {
        object["notes"] = json!(notes);
    }
    object
}

fn show(results: &Results, told: &Told) {
    for ran in &results.ran {
        output::line(line(ran));
        let tail = ran.outcome.tail();
        tail.lines().for_each(|line| output::line(format!("    {line}")));
    }
    match results.status() {
        Status::Passed => output::line(format!("passed ({})", results.profile.name())),
        Status::Skipped => output::line(format!("no check belongs to `{}`", results.profile.name())),
        Status::Failed => {
            output::line(format!("failed ({})", results.profile.name()));
            output::next("fix what is reported, then run `sprag verify` again");
        }
    }
    match told {
        Told::Nobody => {}
        Told::Session { session, notes } => {
            output::line(format!("told session `{}`", one_line(session.as_str())));
            notes.iter().for_each(output::line);
        }
        Told::Not { session, why } => {
            output::line(format!("did not tell session `{}`: {}", one_line(session.as_str()), one_line(why)));
        }
    }
}

fn line(ran: &Ran) -> String {
    one_line(&ran.issue())
}
