//! Protects the files of intents. They say what agents may change, so a program of an agent must not change,
//! remove or replace them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_govern::facts::ProtectedDamage;
use sprag_govern::gates::scope;

use super::snapshot::{
    DirStamp, GuardedPart, ProtectedSnapshot, ProtectedStamp, RestoreMode, locked, put_aside, read_bytes,
    write_in,
};
use crate::config::hash_of;
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

/// Reports whether git checked out the file with a tree. Then the change was made elsewhere.
pub(crate) fn is_from_git(world: &World<'_>, input: &Input, path: &Path) -> bool {
    let (Event::ToolFinished { .. }, Some(worktree)) = (&input.event, &world.places.worktree) else {
        return false;
    };
    if !input.script().is_some_and(scope::moves_trees) {
        return false;
    }
    let committed = || {
        let below = path.strip_prefix(worktree).ok().and_then(Path::to_str)?;
        history::text(&world.places, &world.places.head()?, below, GIT_DEADLINE)
    };
    committed().is_some_and(|committed| read_bytes(path).is_ok_and(|found| found == committed))
}

/// Removes a new file of intents. If the project had none, the new file stays, because it breaks no rule.
pub(crate) fn take_away(
    world: &World<'_>,
    kept: &ProtectedSnapshot,
    path: &Path,
    now: Timestamp,
    mode: RestoreMode,
) -> Option<ProtectedDamage> {
    fs::symlink_metadata(path).ok()?;
    let worktree = world.places.worktree.as_deref()?;
    let adds_intents = files(worktree).any(|file| file == path);
    if !adds_intents || !files(worktree).any(|file| kept.files.contains_key(&file)) {
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

/// Notes that a person changed a file of intents with a Sprag command. Later restores use this content, even
/// after a call that runs already.
pub(crate) fn rewritten(world: &World<'_>, path: &Path) {
    let noted = locked(world, |kept| {
        let (Some(dir), Ok(bytes)) = (path.parent().and_then(DirStamp::read), read_bytes(path)) else {
            return Ok(());
        };
        if kept.of.0.as_path() != world.places.worktree.as_deref().unwrap_or(Path::new("")) {
            return Ok(());
        }
        let hash = hash_of(&bytes);
        disk::replace(world.disk, &super::snapshot::dir(world).join(&hash), &bytes)?;
        kept.files.insert(path.to_path_buf(), ProtectedStamp::new(&fs::metadata(path)?, dir.id, hash));
        Ok(())
    });
    noted.discard("the next such call restores the file from its copy");
}
