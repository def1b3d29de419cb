//! Runs the configured checks of a worktree under a purpose guard. A check may start a client with Sprag's
//! hooks. The guard keeps these checks from judging the stops of that client.

use std::io;
use std::path::Path;
use std::time::Duration;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_check::{CompletionCheck, Profile, Results};
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::completion::CheckRun;
use sprag_govern::report::Report;

use crate::store::journal;
use crate::worktree::{self, tree_hash};
use crate::world::{World, started_elsewhere};
use crate::{checks, purpose};

/// Runs the planned checks in the worktree, or in this directory outside git. Outside git the tree has no
/// hash, so no result is stored.
pub fn run(
    world: &World<'_>,
    dir: &Path,
    plan: CheckRun,
    watch: &dyn Fn(&CompletionCheck),
) -> io::Result<Results> {
    let checks = &world.config.settings.govern.gates.completion.check;
    run_these(world, dir, checks, plan.profile, plan.budget_seconds, watch)
}

/// Runs the given checks instead of the configured ones.
pub(crate) fn run_these(
    world: &World<'_>,
    dir: &Path,
    checks: &[CompletionCheck],
    profile: Profile,
    budget_seconds: u32,
    watch: &dyn Fn(&CompletionCheck),
) -> io::Result<Results> {
    let Some(user) = &world.places.user else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no home directory to store the run in"));
    };
    let run = purpose::PurposeGuard::begin(user, world.process_disk(), purpose::Purpose::Check)?;
    let worktree = world.places.worktree.as_deref();
    let site = checks::CheckSite {
        store: &world.store(),
        worktree: worktree.unwrap_or(dir),
        disk: world.disk,
        tree: &|| worktree.and_then(|_| tree_hash::hash(&world.places, world.disk)),
        run: &run.token,
        watch,
    };
    Ok(checks::run(&site, checks, profile, Duration::from_secs(u64::from(budget_seconds))))
}

/// Returns the checks that a session would have to pass now.
pub fn plan(world: &World<'_>, id: &SessionId, now: Timestamp) -> Option<CheckRun> {
    let (loaded, _) = journal::read(&journal::path(&world.store(), id)).ok()?;
    let root = world.places.worktree.as_ref().map(|root| root.to_string_lossy().into_owned());
    let input = Input::new(now, id.clone(), Event::Reported(Report::Verified));
    let input = Input { root: root.unwrap_or_default(), ..input };
    let own = started_elsewhere(world, &loaded.session.about);
    let places = own.as_ref().map_or(&world.places, |own| &own.places);
    let changes = worktree::changes::changes(places, &loaded.session.about);
    let policy = &world.config.settings.govern.gates.completion;
    loaded.session.check_run(&input, policy, changes.as_ref())
}

/// Reports whether this process is part of a check. Only commands trust the variable alone; for hooks it
/// would be an off switch.
pub fn is_within_check(world: &World<'_>) -> bool {
    let task = || match purpose::task(world.places.user.as_ref(), world.env)? {
        task @ (purpose::Purpose::Judge | purpose::Purpose::Check | purpose::Purpose::Review { .. }) => {
            Some(task)
        }
        // An agent of a stage is not a check and may run checks.
        purpose::Purpose::Stage { .. } => None,
    };
    world.env.text(checks::VARIABLE).is_some() || task().is_some()
}
