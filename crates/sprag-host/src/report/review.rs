//! Reviews from outside the hooks: starting a reviewer as a process of its own, and finding the session
//! a token belongs to.

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

/// Where the reviewer of a stage leaves its verdict, for whoever started it.
pub const VERDICT: &str = "SPRAG_REVIEW_VERDICT";

/// What is kept of a reviewer's own words, in bytes, and what of that is told, in characters.
const OUTPUT: usize = 64 * 1024;
const SAID: usize = 2000;
/// Longer than any verdict.
const LEFT: u64 = 64 * 1024;

/// What came of a reviewer's process.
pub struct Reviewed {
    /// The last one it gave.
    pub verdict: Option<PastReview>,
    pub is_timed_out: bool,
    /// The end of what it said.
    pub said: String,
}

/// The state of a session's review; none, where there is no such session.
pub fn state(store: &Store, session: &SessionId) -> Option<ReviewGate> {
    journal::read(&journal::path(store, session)).ok().map(|(loaded, _)| loaded.session.review().clone())
}

/// The reviews of all sessions that were not moved away.
pub fn all(store: &Store) -> Vec<(SessionId, ReviewGate)> {
    let journals = journal::all(store).into_iter().filter_map(|path| journal::read(&path).ok());
    let of_session = journals.filter_map(|(loaded, records)| {
        let session = records.iter().rev().find_map(|record| record.session.clone())?;
        Some((session, loaded.session.review().clone()))
    });
    of_session.collect()
}

/// The session whose open review has this token.
pub fn owner(store: &Store, token: &str) -> Option<SessionId> {
    all(store).into_iter().find(|(_, review)| review.knows(token)).map(|(session, _)| session)
}

/// Whether a token that is a process's is used below that very process.
pub fn may_use(world: &World<'_>, session: &SessionId, token: &str) -> bool {
    let is_process = state(&world.store(), session)
        .as_ref()
        .and_then(ReviewGate::seat)
        .is_some_and(|seat| seat.is_process());
    !is_process
        || purpose::task(world.places.user.as_ref(), world.env) == Some(Purpose::review(session, token))
}

/// Whether it is used where a sandbox hides which process that is. Then the verdict is left for whoever
/// runs the reviewer, and counts only if that one takes it in.
pub fn is_used_in_sandbox(world: &World<'_>, session: &SessionId, token: &str) -> bool {
    purpose::claimed_from_sandbox(world.places.user.as_ref(), world.env)
        == Some(Purpose::review(session, token))
}

/// The program of a client, as the session's own client would find it: an agent can put another one of
/// that name in front of what its commands see. A person's own surroundings are theirs.
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

/// Who is to review what.
pub struct ReviewerOrder<'a> {
    pub session: &'a SessionId,
    pub client: &'a Client,
    pub program: &'a Path,
    /// With [`PROMPT`] among them.
    pub args: &'a [&'a str],
    pub deadline: Duration,
}

/// Starts a reviewer and waits for it. A gate that has nothing to review refuses.
pub fn run(world: &World<'_>, order: &ReviewerOrder<'_>) -> Result<Result<Reviewed, Reason>, ReportError> {
    let session = order.session;
    let token = new_record::new_token().ok_or_else(|| io::Error::other("there is no randomness"))?;
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
        program: order.program.as_os_str(),
        args: &args,
        dir,
        env: &[
            (purpose::VARIABLE, OsStr::new(&run.token)),
            (TOKEN, OsStr::new(token)),
            (PASS, OsStr::new(token)),
            (SESSION, OsStr::new(order.session.as_str())),
        ],
        unset: judge::UNSET,
        stdin: b"",
        deadline: order.deadline,
        cap: OUTPUT,
    })
}

/// A reviewer in a sandbox leaves its verdict where it can.
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

/// Arguments with the prompt put in.
pub fn asked<'a>(args: &[&'a str], prompt: &'a str) -> Vec<&'a OsStr> {
    args.iter().map(|arg| OsStr::new(if *arg == PROMPT { prompt } else { arg })).collect()
}

/// Writes down what a reviewer of a stage has decided. Whether it counts is for whoever gave it the token.
pub fn leave(path: &Path, decided: &ReviewDecision, disk: &dyn Disk) -> io::Result<()> {
    disk::replace_derived(disk, path, &serde_json::to_vec(decided).map_err(io::Error::other)?)
}

/// What it has left there, if that came with its token.
pub fn read_decision(path: &Path, token: &str) -> Option<ReviewDecision> {
    let decided: ReviewDecision = serde_json::from_slice(&disk::read_regular(path, LEFT).ok()?).ok()?;
    (decided.token.as_ref()?.as_str() == token).then_some(decided)
}

/// What every reviewer is told to look for.
pub const LOOK: &str =
    "Look for what was asked and is missing, for mistakes, and for claims that nothing shows.";

fn prompt(session: &SessionId) -> String {
    let id = session.as_str();
    format!(
        "You review the work of another agent, in this repository. You did not write it and you change nothing.\n\
         1. Run `sprag review context --session {id}`: what was asked for, and the diff.\n\
         2. Read the changed code and what it touches; run the tests that cover it. {LOOK}\n\
         3. Decide, exactly once: `sprag decide COMPLETE --summary TEXT --session {id}` if it does what was asked and \
         is sound, else `sprag decide ISSUES --summary TEXT --message TEXT --session {id}`, with every issue by file \
         and line in the message. The token you need is in your environment."
    )
}
