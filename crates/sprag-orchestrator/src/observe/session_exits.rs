//! How sessions ended, by what is in their folders: for whoever runs the plan, and for whoever speaks or looks while
//! nobody does.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sprag_host::git::{refs, worktree_guard};
use sprag_host::sys::env;
use sprag_plan::ids::Key;
use sprag_plan::reconcile::observed::{Alive, Session};
use sprag_plan::reconcile::settle;
use sprag_plan::run::Run;
use sprag_plan::run::record::{Ended, Progress, Recorded};
use sprag_plan::stage::Failure;

use crate::agent;
use crate::layout::worktree_of;
use crate::run_log::Log;
use crate::session_dir::{Probe, site_of};

/// An end, what follows from it, and what follows from that.
const ROUNDS: usize = 8;

/// How a session ended; `None` while it lives, or where nobody has taken it on.
pub fn ended(root: &Path, run: &Run, key: &Key, probe: &Probe) -> Option<Ended> {
    match probe {
        Probe::Running | Probe::Nothing => None,
        Probe::Died => Some(Ended::Failed { failure: Failure::Crash, progress: progress(root, run, key) }),
        Probe::Ended(exit) => Some(Ended::of(exit, run.killed(key), progress(root, run, key))),
    }
}

/// Whether a session has committed anything since its worktree was made.
fn progress(root: &Path, run: &Run, session: &Key) -> Progress {
    let Some(stage) = run.sessions().get(session) else { return Progress::Nothing };
    let base = run.standing(stage).and_then(|standing| standing.worktree.clone());
    let worktree = worktree_of(root, stage);
    // Its agent may have pointed git elsewhere.
    let proved = worktree_guard::prove_placed(root, &worktree);
    let head = proved.and_then(|()| refs::resolve(&worktree, "HEAD")).ok().flatten();
    match (head, base) {
        (Some(head), Some(base)) if head != base.0.as_str() => Progress::Committed,
        _ => Progress::Nothing,
    }
}

/// Writes down how agents ended that nobody was there to see, and what that comes to. For who holds the reign.
pub fn settle(log: &mut Log<'_>, root: &Path, folder: &Path) -> io::Result<()> {
    let sessions = sessions(log.run(), root, folder, |session| {
        agent::sweep(session);
    })?;
    for _ in 0..ROUNDS {
        let records = settle::settle(log.run(), &sessions, env::now());
        if records.is_empty() {
            break;
        }
        records.iter().try_for_each(|record| log.append(record))?;
    }
    Ok(())
}

/// The same in mind alone, for who only looks.
pub fn settled(mut run: Run, root: &Path, folder: &Path) -> io::Result<Run> {
    let sessions = sessions(&run, root, folder, |_| ())?;
    for _ in 0..ROUNDS {
        let records: Vec<Recorded> = settle::settle(&run, &sessions, env::now());
        if records.is_empty() {
            break;
        }
        records.iter().for_each(|record| run.apply(record));
    }
    Ok(run)
}

/// Sessions that no end is written down of. `died` is told of each whose supervisor is gone without a word.
fn sessions(
    run: &Run,
    root: &Path,
    folder: &Path,
    died: impl Fn(&str),
) -> io::Result<BTreeMap<Key, Session>> {
    let mut found = BTreeMap::new();
    for key in run.sessions().keys().filter(|key| run.ended(key).is_none()) {
        let site = site_of(folder, key);
        let probe = site.probe()?;
        if probe == Probe::Died {
            died(&site.id());
        }
        match (ended(root, run, key, &probe), probe) {
            (Some(ended), _) => drop(found.insert(key.clone(), Session::Over(ended))),
            (None, Probe::Running) => drop(found.insert(key.clone(), Session::Alive(Alive::Working))),
            (None, _) => {}
        }
    }
    Ok(found)
}
