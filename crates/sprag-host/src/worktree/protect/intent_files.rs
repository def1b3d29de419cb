//! Protects the files of intents. They say what agents may change, so a program of an agent must not change,
//! remove or replace them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_base::time::Timestamp;
use sprag_govern::event::Event;
use sprag_govern::facts::ProtectedDamage;
use sprag_govern::gates::scope;

use super::guarded::{self, GuardedPart};
use super::snapshot::{CompareCx, GuardedManifest, RestoreMode, put_aside, read_bytes};
use crate::git::history;
use crate::intent_files::{files, ignore_files};
use crate::sys::locations::Locations;
use crate::world::World;

const GIT_DEADLINE: Duration = Duration::from_secs(2);

/// Returns all files of intents, existing or not, if the project has intents.
pub(crate) fn all(places: &Locations) -> Vec<PathBuf> {
    let Some(worktree) = places.worktree.as_deref() else { return Vec::new() };
    if files(worktree).any(|path| fs::symlink_metadata(path).is_ok()) {
        files(worktree).chain(ignore_files(worktree)).collect()
    } else {
        Vec::new()
    }
}

/// Returns how a kept file is guarded.
pub(crate) fn guard(places: &Locations, path: &Path) -> GuardedPart {
    let is_one = |worktree: &Path| files(worktree).chain(ignore_files(worktree)).any(|found| found == path);
    match path {
        path if guarded::is_agent(path) => GuardedPart::Agent,
        _ if places.worktree.as_deref().is_some_and(is_one) => GuardedPart::Intents,
        _ => GuardedPart::Whole,
    }
}

/// Reports whether git checked out the file with a tree. Then the change was made elsewhere: a call of this
/// session moved the tree, or the commit is older than the session.
pub(crate) fn is_from_git(world: &World<'_>, cx: &CompareCx<'_>, path: &Path) -> bool {
    let Some(worktree) = &world.places.worktree else { return false };
    let Some(below) = path.strip_prefix(worktree).ok().and_then(Path::to_str) else { return false };
    let is_moved = matches!(cx.input.event, Event::ToolFinished { .. })
        && cx.input.script().is_some_and(scope::moves_trees);
    let committed = || {
        let head = world.places.head()?;
        let is_older = || {
            let made = history::commit_seconds(&world.places, &head, GIT_DEADLINE);
            made.zip(cx.started).is_some_and(|(made, started)| made < started.millis() / 1000)
        };
        (is_moved || is_older()).then(|| history::text(&world.places, &head, below, GIT_DEADLINE))?
    };
    match read_bytes(path) {
        Ok(found) => committed().is_some_and(|committed| found == committed),
        Err(_) => false,
    }
}

/// Removes a new file of intents. If the project had none, the new file stays, because it breaks no rule.
pub(crate) fn take_away(
    world: &World<'_>,
    sealed: &GuardedManifest,
    path: &Path,
    now: Timestamp,
    mode: RestoreMode,
) -> Option<ProtectedDamage> {
    fs::symlink_metadata(path).ok()?;
    let worktree = world.places.worktree.as_deref()?;
    let adds_intents = files(worktree).any(|file| file == path);
    if !adds_intents || !files(worktree).any(|file| sealed.stamp(&file).is_some()) {
        return None;
    }
    let aside = read_bytes(path).ok().and_then(|bytes| put_aside(world, path, &bytes, now, mode));
    let path_text = path.display().to_string();
    if mode == RestoreMode::Predict {
        return Some(ProtectedDamage::Restored { path: path_text, kept: aside });
    }
    Some(match world.disk.remove(path) {
        Ok(()) => ProtectedDamage::Restored { path: path_text, kept: aside },
        Err(error) => ProtectedDamage::Left {
            path: path_text,
            why: format!("the file is new and cannot be removed ({error}); ask the user"),
        },
    })
}
