//! Protects the files of intents. They say what agents may change, so a program of an agent must not change,
//! remove or replace them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use sprag_base::time::Timestamp;
use sprag_govern::event::Event;
use sprag_govern::facts::ProtectedDamage;
use sprag_govern::gates::scope;

use super::guarded::GuardedPart;
use super::snapshot::{CompareCx, GuardedManifest, RestoreMode, put_aside, read_bytes, write_in};
use crate::git::history;
use crate::intent_files::{files, ignore_files};
use crate::sys::disk;
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
    if places.worktree.as_deref().is_some_and(is_one) { GuardedPart::Intents } else { GuardedPart::Whole }
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

/// Writes a file although its directory is gone or was replaced. Moves another file in place of the directory
/// aside, so that nothing is written through a link.
pub(crate) fn remake(places: &Locations, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let parts = || {
        let dir = path.parent()?;
        (dir.parent() == places.worktree.as_deref()).then_some(())?;
        Some((dir.parent()?, dir.file_name()?))
    };
    let (root, name) = parts().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let root: OwnedFd = rustix::fs::open(root, flags, Mode::empty())?;
    let is_dir = match rustix::fs::statat(&root, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => true,
        Ok(_) => {
            rustix::fs::renameat(&root, name, &root, &disk::temp_name(Path::new(name))?)?;
            false
        }
        Err(_) => false,
    };
    if !is_dir {
        rustix::fs::mkdirat(&root, name, Mode::from_raw_mode(0o755))?;
    }
    let dir: OwnedFd = rustix::fs::openat(&root, name, flags, Mode::empty())?;
    write_in(&dir, path, bytes, mode)
}
