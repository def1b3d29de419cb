//! Runs reviews outside the hooks: starts a reviewer process, and finds the session of a token.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_base::ids::SessionId;
use sprag_base::text::{Text, ending};
use sprag_base::time::Timestamp;
use sprag_govern::gates::review::ReviewGate;
use sprag_govern::gates::review::history::{PastReview, Reviews};
use sprag_govern::reason::Reason;
use sprag_govern::report::{Report, ReviewDecision};

use crate::clients::{Client, PROMPT};
use crate::purpose::program::{PASS, TOKEN};
use crate::purpose::{self, Purpose, PurposeGuard, program as judge};
use crate::report::{self, Delivery, ReportError};
use crate::store::{Store, inbox, journal, new_record, projections};
use crate::sys::disk::{self, Disk};
use crate::sys::exec::{self, ProcessEnd};
use crate::sys::{env, human, locations, processes};
use crate::world::World;

pub const SESSION: &str = "SPRAG_REVIEW_SESSION";

/// Path where the reviewer of a stage leaves its decision for the process that started it.
pub const VERDICT: &str = "SPRAG_REVIEW_VERDICT";

/// Bytes of the reviewer's output that Sprag keeps.
const OUTPUT: usize = 64 * 1024;
/// Characters of the output that Sprag shows.
const SAID: usize = 2000;
/// Larger than any decision.
const LEFT: u64 = 64 * 1024;

/// Result of a reviewer process.
pub struct Reviewed {
    /// Last decision of the reviewer.
    pub verdict: Option<PastReview>,
    pub is_timed_out: bool,
    /// End of the output.
    pub said: String,
}

/// Returns the review state of a session. `None`: the session is unknown.
pub fn state(store: &Store, session: &SessionId) -> Option<ReviewGate> {
    journal::read(&journal::path(store, session)).ok().map(|(loaded, _)| loaded.session.review().clone())
}

/// Returns the reviews of all sessions whose journals were not moved away.
pub fn all(store: &Store) -> Vec<(SessionId, ReviewGate)> {
    let journals = journal::all(store).into_iter().filter_map(|path| journal::read(&path).ok());
    let of_session = journals.filter_map(|(loaded, records)| {
        let session = records.iter().rev().find_map(|record| record.session.clone())?;
        Some((session, loaded.session.review().clone()))
    });
    of_session.collect()
}

/// Returns the session whose open review has this token.
pub fn owner(store: &Store, token: &str) -> Option<SessionId> {
    all(store).into_iter().find(|(_, review)| review.knows(token)).map(|(session, _)| session)
}

/// Reports whether this process may use a token. The token of a reviewer process is valid only below that
/// process.
pub fn may_use(world: &World<'_>, session: &SessionId, token: &str) -> bool {
    let is_process = state(&world.store(), session)
        .as_ref()
        .and_then(ReviewGate::seat)
        .is_some_and(|seat| seat.is_process());
    !is_process
        || purpose::task(world.places.user.as_ref(), world.env) == Some(Purpose::review(session, token))
}

/// Reports whether a token is used in a sandbox that hides the reviewer process. The decision then goes to
/// the inbox. It counts only if the runner of the reviewer takes it.
pub fn is_used_in_sandbox(world: &World<'_>, session: &SessionId, token: &str) -> bool {
    purpose::claimed_from_sandbox(world.places.user.as_ref(), world.env)
        == Some(Purpose::review(session, token))
}

/// Returns the program of a client, found on the `PATH` of the session's client. An agent could put another
/// program of that name on its own `PATH`. For a person the current `PATH` applies.
pub fn program(world: &World<'_>, session: &SessionId, name: &str) -> Option<PathBuf> {
    let store = world.store();
    let client = journal::read(&journal::path(&store, session)).ok()?.0.session.about.client;
    let is_person = human::check_not_below(&journal::clients(&store)).is_ok();
    let path = match client.filter(|_| !is_person) {
        Some(client) => processes::variable_of(client, "PATH").or_else(|| world.env.get("PATH"))?,
        None => world.env.get("PATH")?,
    };
    exec::on_foreign_path(name, &path, world.places.worktree.as_deref())
}

/// Request to start a reviewer.
pub struct ReviewerOrder<'a> {
    pub session: &'a SessionId,
    pub client: &'a Client,
    pub program: &'a Path,
    /// Arguments, including [`PROMPT`].
    pub args: &'a [&'a str],
    pub deadline: Duration,
}

/// Starts a reviewer and waits for its end. A gate with nothing to review refuses.
pub fn run(world: &World<'_>, order: &ReviewerOrder<'_>) -> Result<Result<Reviewed, Reason>, ReportError> {
    let session = order.session;
    let token = new_record::new_token().ok_or_else(|| io::Error::other("no random source is available"))?;
    let dir = world.places.worktree.clone().unwrap_or_else(|| locations::current_dir(world.env));
    let begun = env::now();
    let tell = |report: Report| report::send(world, session, report, &dir, env::now());
    let started =
        Report::ReviewerStarted { client: Text::from(order.client.name), token: Text::from(token.as_str()) };
    if let Delivery::Refused(reason) = tell(started)? {
        return Ok(Err(reason));
    }
    let ran = start(world, order, &token, &dir);
    take_left(world, session, &token, &dir)?;
    tell(Report::ReviewerEnded { token: Text::from(token.as_str()) })?;
    let ran = ran?;
    Ok(Ok(Reviewed {
        verdict: verdict_since(&world.store(), session, begun)?,
        is_timed_out: ran.ending == ProcessEnd::TimedOut,
        said: ending(&String::from_utf8_lossy(&ran.stdout), SAID).trim().to_owned(),
    }))
}

fn start(
    world: &World<'_>,
    order: &ReviewerOrder<'_>,
    token: &str,
    dir: &Path,
) -> io::Result<exec::ProcessOutput> {
    let user = world.places.user.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let run = PurposeGuard::begin(user, world.disk, Purpose::review(order.session, token))?;
    let prompt = prompt(order.session);
    let args = asked(order.args, &prompt);
    exec::run(&exec::ProcessSpec {
        dir,
        env: &[
            (purpose::VARIABLE, OsStr::new(&run.token)),
            (TOKEN, OsStr::new(token)),
            (PASS, OsStr::new(token)),
            (SESSION, OsStr::new(order.session.as_str())),
        ],
        unset: judge::UNSET,
        cap: OUTPUT,
        ..exec::ProcessSpec::new(order.program.as_os_str(), &args, order.deadline)
    })
}

/// Takes the decision that a sandboxed reviewer left in the inbox.
fn take_left(world: &World<'_>, session: &SessionId, token: &str, dir: &Path) -> Result<(), ReportError> {
    for (path, drop) in inbox::waiting(&world.places, world.env, session) {
        let is_its = matches!(&drop.report, Report::Decided(decided)
            if decided.token.as_ref().is_some_and(|given| given.as_str() == token));
        if is_its {
            report::send(world, session, drop.report, dir, env::now())?;
            world.disk.remove(&path)?;
        }
    }
    Ok(())
}

fn verdict_since(store: &Store, session: &SessionId, begun: Timestamp) -> io::Result<Option<PastReview>> {
    let reviews: Reviews = projections::load(store)?.state;
    let mut of_session = reviews.verdicts().iter().rev().filter(|verdict| verdict.session == *session);
    Ok(of_session.next().filter(|verdict| verdict.at >= begun).cloned())
}

/// Returns the arguments with the prompt in place of the placeholder.
pub fn asked<'a>(args: &[&'a str], prompt: &'a str) -> Vec<&'a OsStr> {
    args.iter().map(|arg| OsStr::new(if *arg == PROMPT { prompt } else { arg })).collect()
}

/// Writes the decision of a stage reviewer to a file. The process that issued the token decides whether it
/// counts.
pub fn leave(path: &Path, decided: &ReviewDecision, disk: &dyn Disk) -> io::Result<()> {
    disk::replace_derived(disk, path, &serde_json::to_vec(decided).map_err(io::Error::other)?)
}

/// Reads the decision at this path, if it has this token.
pub fn read_decision(path: &Path, token: &str) -> Option<ReviewDecision> {
    let decided: ReviewDecision = serde_json::from_slice(&disk::read_regular(path, LEFT).ok()?).ok()?;
    (decided.token.as_ref()?.as_str() == token).then_some(decided)
}

/// Instruction of all reviewers.
pub const LOOK: &str =
    "Look for missing parts of the request, for mistakes, and for claims without evidence.";

fn prompt(session: &SessionId) -> String {
    let id = session.as_str();
    format!(
        "You review the work of another agent in this repository. You did not write it. Change no files.\n\
         1. Run `sprag review context --session {id}` to see the request and the diff.\n\
         2. Read the changed code and the code that depends on it. Run the tests that cover it. {LOOK}\n\
         3. Decide exactly once: `sprag decide COMPLETE --summary TEXT --session {id}` if the work \
         fulfils the request and is correct, else `sprag decide ISSUES --summary TEXT --message TEXT \
         --session {id}`. Name the file and line of every issue in the message. The token is in your \
         environment."
    )
}
