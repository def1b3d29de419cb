//! Facts about intents for hooks: cached files, recorded status, and the paths that a call would change.

pub mod completion;
pub mod context;
mod foreign_trace;
mod targets;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

use sprag_base::glob::CaseFolding;
use sprag_base::path::absolute;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::Input;
use sprag_govern::facts::SessionChanges;
use sprag_govern::gates::scope::StrayWindow;
use sprag_intent::status::IntentHistories;
use sprag_intent::{Holder, IntentFiles, IntentOrigin, IntentSet, IntentSharing, ScopeFacts};

use super::intent_files::LoadedIntents;
use super::intents::targets::targets;
use crate::git;
use crate::store::{journal, projections};
use crate::sys::disk;
use crate::sys::env::Env;
use crate::worktree::protect::snapshot::{self, WrittenBy};
use crate::worktree::tree_hash;
use crate::world::World;

/// Tolerance for the coarse clock of file times.
const SLACK_MILLIS: i64 = 20;
/// Maximum number of changed files that Sprag checks one by one.
const LOOKED_AT: usize = 5000;
/// Maximum number of commits of a session that Sprag checks.
const COMMITS: usize = 500;

/// Gathers the facts for the scope gate. `holders_of` is an intent; its other holders count.
pub(crate) fn gather_scope_facts(
    world: &World<'_>,
    input: &Input,
    holders_of: Option<&Text<64>>,
) -> Option<ScopeFacts> {
    let worktree = world.places.worktree.as_deref()?;
    let loaded = world.config.intents(worktree).unwrap_or_else(nothing);
    // If the records cannot be read, the scope stays the same and no intent counts as done.
    let standings = projections::load::<IntentHistories>(&world.store());
    let standings = standings.map(|folded| folded.state).unwrap_or_default();
    let is_held = holders_of.is_some_and(|id| is_exclusive(&loaded.read, id.as_str()));
    let holders = if is_held { holders(world, input) } else { Vec::new() };
    let (targets, unknown) = targets(world, input);
    Some(ScopeFacts {
        holders,
        standings,
        folding: folding(worktree),
        roots: roots(worktree),
        temp: temp(world.env),
        targets,
        unknown,
        ignored: loaded.ignored,
        read: loaded.read,
        strays: None,
    })
}

/// Returns a worktree as named and with links resolved.
pub(crate) fn roots(worktree: &Path) -> Vec<String> {
    let real = crate::sys::links::real(worktree);
    [worktree, &real].map(|root| root.to_string_lossy().into_owned()).to_vec()
}

/// Returns an empty set, for a repository without intent files.
fn nothing() -> LoadedIntents {
    let read = IntentFiles::Good(IntentSet::default());
    LoadedIntents { read, ignored: Default::default(), warnings: Vec::new() }
}

/// Reports whether an intent is exclusive. Only then Sprag reads all sessions to find other holders.
fn is_exclusive(read: &IntentFiles, id: &str) -> bool {
    let IntentFiles::Good(set) = read else { return false };
    set.find(id).is_some_and(|intent| intent.sharing == IntentSharing::Exclusive)
}

/// Returns other live sessions that selected an intent.
pub fn holders(world: &World<'_>, input: &Input) -> Vec<Holder> {
    let mut holders = Vec::new();
    for path in journal::all(&world.store()) {
        let is_recent = fs::metadata(&path).is_ok_and(|found| {
            input.at.millis() - found.mtime().saturating_mul(1000)
                < (crate::store::session_registry::LIVE_SECONDS + 60) * 1000
        });
        if !is_recent || path == journal::path(&world.store(), &input.session) {
            continue;
        }
        let Ok((loaded, records)) = journal::read(&path) else { continue };
        let Some(last) = records.last() else { continue };
        let about = &loaded.session.about;
        let is_live =
            !about.ended && input.at.seconds_since(last.at) < crate::store::session_registry::LIVE_SECONDS;
        if let (true, Some((chosen, since)), Some(session)) =
            (is_live, loaded.session.selected_intent(), &last.session)
        {
            holders.push(Holder {
                session: session.clone(),
                intent: chosen.id.clone(),
                since,
                root: about.root.clone(),
            });
        }
    }
    holders
}

/// Returns the temporary directories, both as named and with links resolved.
fn temp(env: &Env) -> Vec<String> {
    let own = env.text("TMPDIR").filter(|dir| dir.starts_with('/') && dir.len() > 1);
    let mut all = Vec::new();
    for dir in own.into_iter().chain(["/tmp".to_owned(), "/var/tmp".to_owned()]) {
        let real = crate::sys::links::real(Path::new(&dir)).to_string_lossy().into_owned();
        for dir in [absolute("/", &dir), real] {
            if !all.contains(&dir) && dir != "/" {
                all.push(dir);
            }
        }
    }
    all
}

/// Reports whether this file system ignores case.
fn folding(worktree: &Path) -> CaseFolding {
    let same = |one: &Path, other: &Path| {
        let stamp = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
        stamp(one).is_some_and(|found| stamp(other) == Some(found))
    };
    if same(&worktree.join(".git"), &worktree.join(".GIT")) {
        CaseFolding::Folded
    } else {
        CaseFolding::Exact
    }
}

/// Returns the files of this session that changed while one of these calls ran. `None` if unknown.
pub(crate) fn strays(
    world: &World<'_>,
    spans: &[StrayWindow],
    changes: &SessionChanges,
) -> Option<Vec<String>> {
    let root = world.places.worktree.as_deref()?;
    if changes.paths.len() > LOOKED_AT {
        return None;
    }
    let mut uncommitted: Option<Vec<String>> = None;
    let mut strays = Vec::new();
    for path in &changes.paths {
        let within: Vec<&StrayWindow> =
            spans.iter().filter(|span| changed_in(&root.join(path), span)).collect();
        if within.is_empty() {
            continue;
        }
        if within.iter().all(|span| span.moves) {
            let known = uncommitted.get_or_insert_with(|| {
                tree_hash::changed_paths(&world.places, world.disk).unwrap_or_default()
            });
            let is_own = || written_in(world, spans, &within, path);
            if !known.contains(path) && !is_own() {
                continue;
            }
        }
        strays.push(path.clone());
    }
    Some(strays)
}

/// Reports whether a commit with this path was written while one of these calls ran. A commit that git only
/// moves was written earlier.
fn written_in(world: &World<'_>, all: &[StrayWindow], spans: &[&StrayWindow], path: &str) -> bool {
    let seconds = |at: Timestamp| at.millis().div_euclid(1000);
    let Some(since) = all.iter().map(|span| seconds(span.from)).min() else { return false };
    let commits = git::blobs::authored(&world.places, since, COMMITS).unwrap_or_default();
    commits.iter().any(|(at, paths)| {
        paths.iter().any(|found| found == path)
            && spans.iter().any(|span| seconds(span.from) <= *at && *at <= seconds(span.to))
    })
}

/// Reports whether a file changed in this window. A deleted file has no time, so it counts.
fn changed_in(path: &Path, span: &StrayWindow) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    let times = [millis(found.mtime(), found.mtime_nsec()), millis(found.ctime(), found.ctime_nsec())];
    let is_in = |time: i64| {
        span.from.millis() - SLACK_MILLIS <= time && time <= span.to.millis().saturating_add(SLACK_MILLIS)
    };
    times.into_iter().any(is_in)
}

/// Returns the recorded history of all intents.
pub fn standings(world: &World<'_>) -> io::Result<IntentHistories> {
    Ok(projections::load::<IntentHistories>(&world.store())?.state)
}

/// Replaces an intent file for a command of Sprag. The guard of protected files then keeps this change.
pub fn replace(world: &World<'_>, origin: IntentOrigin, text: &str, by: WrittenBy) -> io::Result<()> {
    let worktree = world.places.worktree.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let path = worktree.join(origin.path());
    disk::make_parent(world.disk, &path)?;
    snapshot::write_sealed(world, &path, text.as_bytes(), by)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes that the user makes while no such call runs do not belong to the session.
    #[test]
    fn a_file_is_a_calls_if_it_changed_while_it_ran() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "x").unwrap();
        let at = fs::metadata(&path).unwrap().ctime() * 1000;
        let span = |from: i64, to: i64| StrayWindow {
            from: Timestamp::from_millis(at + from),
            to: Timestamp::from_millis(at + to),
            moves: false,
        };
        assert!(changed_in(&path, &span(-1000, 2000)));
        assert!(!changed_in(&path, &span(-9000, -1000)));
        assert!(!changed_in(&path, &span(2000, 9000)));
        // The modification time can be set back, the change time cannot.
        let old = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
        fs::File::options().write(true).open(&path).unwrap().set_times(old).unwrap();
        assert!(changed_in(&path, &span(-1000, 9000)));
        assert!(
            changed_in(&dir.path().join("gone"), &span(2000, 9000)),
            "the time of the deletion is unknown"
        );
    }
}
