//! Compares the protected files with a sealed manifest at every event, and restores a changed file. Of
//! settings that the client, git and the user change at any time, Sprag restores only the guarded members.
//! The changed content is kept next to the records, so that no edit is lost.
//!
//! A call may have left anything, for example links in place of directories. Sprag restores a file into its
//! original directory, and keeps that directory open meanwhile. If the directory is gone, Sprag makes it again
//! below the worktree, the git directory or the home, and follows no link there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input, StartSource};
use sprag_govern::facts::ProtectedDamage;

use crate::config::hash_of;
use crate::store::lock_within;
use crate::sys::disk::{self, Disk, open_regular};
use crate::sys::exec::read_capped;
use crate::sys::human;
use crate::sys::locations::UserLocations;
use crate::worktree::protect::guarded::{self, GuardedPart};
use crate::worktree::protect::{intent_files, members};
use crate::world::World;

const FILE_BYTES: u64 = 256 * 1024;
/// Longest wait for the lock. A process that holds it longer may be hostile, and protection must not wait.
const LOCK_WAIT: Duration = Duration::from_millis(200);
/// Most damaged files that are kept.
const ASIDE: usize = 50;

/// The sealed state of the protected files of one worktree and one home.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GuardedManifest {
    /// Every protected file, and its stamp if it existed.
    pub(crate) files: Vec<(PathBuf, Option<ProtectedStamp>)>,
    /// Directories in which a new file would be protected too.
    dirs: Vec<(PathBuf, Option<DirStamp>)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DirStamp {
    pub(crate) id: (u64, u64),
    changed: (i64, i64),
}

impl DirStamp {
    /// Returns the stamp of a directory, but not of a link to one.
    pub(crate) fn read(dir: &Path) -> Option<DirStamp> {
        let found = fs::symlink_metadata(dir).ok().filter(fs::Metadata::is_dir)?;
        Some(DirStamp { id: (found.dev(), found.ino()), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

impl GuardedManifest {
    /// Reports whether no file has changed. Checks only stamps: this runs at every event.
    fn is_as_sealed(&self) -> bool {
        let is_same = |(path, stamp): &(PathBuf, Option<ProtectedStamp>)| match fs::symlink_metadata(path) {
            Ok(found) => stamp.as_ref().is_some_and(|stamp| stamp.fits(&found)),
            Err(_) => stamp.is_none(),
        };
        self.files.iter().all(is_same) && self.dirs.iter().all(|(dir, stamp)| DirStamp::read(dir) == *stamp)
    }

    pub(crate) fn stamp(&self, path: &Path) -> Option<&ProtectedStamp> {
        self.files.iter().find(|(known, _)| known == path).and_then(|(_, stamp)| stamp.as_ref())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProtectedStamp {
    id: (u64, u64),
    changed: (i64, i64),
    size: u64,
    mode: u32,
    /// Directory of the file, by device and inode.
    dir: (u64, u64),
    /// Hash of the content, which is kept under this name.
    hash: String,
}

/// Whether damage is undone or only predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoreMode {
    Restore,
    Predict,
}

/// Compares the protected files with the manifest and restores changed ones. The first event seals them.
pub(crate) fn compare(world: &World<'_>, cx: &CompareCx<'_>, mode: RestoreMode) -> Vec<ProtectedDamage> {
    let Some(path) = manifest_path(world, cx.input) else { return Vec::new() };
    let sealed = read_manifest(&path);
    if sealed.as_ref().is_some_and(GuardedManifest::is_as_sealed) {
        return Vec::new();
    }
    let mut damage = Vec::new();
    if mode == RestoreMode::Predict {
        if let Some(sealed) = &sealed {
            undo_all(world, cx, sealed, mode, &mut damage);
        }
        return damage;
    }
    let compared = locked(world, || {
        // Another event may have restored the files meanwhile.
        let sealed = read_manifest(&path);
        let is_sealed_anew = matches!(&sealed, Some(sealed) if sealed.is_as_sealed());
        if is_sealed_anew {
            return Ok(());
        }
        if let Some(sealed) = &sealed {
            if is_between_sessions(world, cx.input) {
                undo_all(world, cx, sealed, RestoreMode::Predict, &mut damage);
                damage.iter_mut().for_each(notice);
            } else {
                undo_all(world, cx, sealed, mode, &mut damage);
            }
        }
        seal(world, &path, &cx.input.home, sealed.unwrap_or_default(), &damage)
    });
    if let Err(error) = compared
        && !is_sandbox_of_stage(cx.input, &error)
    {
        report_failure(world, cx, &path, &error, &mut damage);
    }
    damage
}

/// Reports a comparison that failed. A busy lock is normal if many hooks run at once, and hides no damage:
/// Sprag then refuses changes until another event could restore the files.
fn report_failure(
    world: &World<'_>,
    cx: &CompareCx<'_>,
    path: &Path,
    error: &io::Error,
    damage: &mut Vec<ProtectedDamage>,
) {
    if error.kind() != io::ErrorKind::WouldBlock {
        // Not refused: a disk without space must not stop the agent. The next event compares again.
        let why = format!("cannot compare the protected files: {error}");
        damage.push(ProtectedDamage::Noticed { path: path.display().to_string(), why });
    } else if let Some(sealed) = read_manifest(path) {
        undo_all(world, cx, &sealed, RestoreMode::Predict, damage);
        for found in damage {
            let path = found.path().to_owned();
            let why = "another process locks the files that restore it".to_owned();
            *found = ProtectedDamage::Left { path, why };
        }
    }
}

/// Reports whether the sandbox of a stage denies the state of the user. The orchestrator checks a stage's work
/// from outside.
fn is_sandbox_of_stage(input: &Input, error: &io::Error) -> bool {
    let is_denied =
        matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    is_denied && input.stage.is_some()
}

/// Reports whether no agent ran since the last comparison, as far as Sprag knows. A change is then the work of
/// a person. An agent that starts another one still runs itself.
fn is_between_sessions(world: &World<'_>, input: &Input) -> bool {
    let is_start = matches!(input.event, Event::SessionStarted { source: StartSource::Startup });
    let user = world.places.user.as_ref();
    is_start && user.is_some_and(|user| !human::is_other_agent_alive(user))
}

fn notice(damage: &mut ProtectedDamage) {
    let path = damage.path().to_owned();
    *damage = ProtectedDamage::Noticed { path, why: "it changed since the last session".to_owned() };
}

/// The event of a comparison.
pub(crate) struct CompareCx<'a> {
    pub(crate) input: &'a Input,
    /// Start of the session. Commits that are older were not made by its agent.
    pub(crate) started: Option<Timestamp>,
}

fn undo_all(
    world: &World<'_>,
    cx: &CompareCx<'_>,
    sealed: &GuardedManifest,
    mode: RestoreMode,
    damage: &mut Vec<ProtectedDamage>,
) {
    let (input, now) = (cx.input, cx.input.at);
    let mut files: BTreeMap<PathBuf, GuardedPart> =
        guarded::all(&world.places, &input.home).into_iter().collect();
    // A removed file is not in the list any more.
    for (path, _) in sealed.files.iter().filter(|(_, stamp)| stamp.is_some()) {
        files.entry(path.clone()).or_insert_with(|| intent_files::guard(&world.places, path));
    }
    for (path, guard) in files {
        let is_changed = !is_as_sealed(sealed, &path);
        if !is_changed || intent_files::is_from_git(world, cx, &path) {
            continue;
        }
        damage.extend(match (guard, sealed.stamp(&path)) {
            (GuardedPart::Intents, None) => intent_files::take_away(world, sealed, &path, now, mode),
            (guard, None) => undo_new(world, &path, guard, now, mode),
            (guard, Some(stamp)) => undo(world, &path, stamp, guard, now, mode),
        });
    }
}

fn is_as_sealed(sealed: &GuardedManifest, path: &Path) -> bool {
    match (fs::symlink_metadata(path), sealed.stamp(path)) {
        (Ok(found), Some(stamp)) => stamp.fits(&found),
        (Err(_), None) => true,
        (Ok(_), None) | (Err(_), Some(_)) => false,
    }
}

/// Accepts the present state of all protected files: the next event seals it. Only for commands of a person.
pub fn accept(user: &UserLocations, disk: &dyn Disk) -> io::Result<()> {
    for entry in fs::read_dir(user.state.join(MANIFESTS)).into_iter().flatten().flatten() {
        disk.remove(&entry.path())?;
    }
    Ok(())
}

/// Writes a protected file for a command of Sprag, and seals the new content. For a command that agents may
/// run, the file is sealed only if it was as sealed before: the command must not pass on another change.
pub(crate) fn write_sealed(world: &World<'_>, path: &Path, bytes: &[u8], by: WrittenBy) -> io::Result<()> {
    locked(world, || {
        let manifests: Vec<(PathBuf, GuardedManifest)> = all_manifests(world)
            .filter_map(|file| read_manifest(&file).map(|manifest| (file, manifest)))
            .filter(|(_, sealed)| by == WrittenBy::Person || is_as_sealed(sealed, path))
            .collect();
        disk::replace(world.disk, path, bytes)?;
        for (file, mut sealed) in manifests {
            let stamp = stamp_of(world, &sealed, path)?;
            sealed.files.retain(|(known, _)| known != path);
            sealed.files.push((path.to_owned(), stamp));
            write_manifest(world, &file, &sealed)?;
        }
        Ok(())
    })
}

/// Kind of the user of a command that writes a protected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenBy {
    Person,
    /// A person or an agent.
    Anyone,
}

fn all_manifests(world: &World<'_>) -> impl Iterator<Item = PathBuf> {
    let dir = world.places.user.as_ref().map(|user| user.state.join(MANIFESTS));
    dir.and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Directory of the manifests in the state of the user.
const MANIFESTS: &str = "guarded";

/// Longer than any manifest.
const MANIFEST_BYTES: u64 = 1024 * 1024;

/// Returns the path of the manifest: a clone has several worktrees, and several homes may use it.
fn manifest_path(world: &World<'_>, input: &Input) -> Option<PathBuf> {
    let worktree = world.places.worktree.as_ref().map(|path| path.as_os_str().as_encoded_bytes());
    let name = Digest::hash_parts([worktree.unwrap_or_default(), input.home.as_bytes()]).short().to_string();
    Some(world.places.user.as_ref()?.state.join(MANIFESTS).join(name))
}

fn read_manifest(path: &Path) -> Option<GuardedManifest> {
    postcard::from_bytes(&disk::read_regular(path, MANIFEST_BYTES).ok()?).ok()
}

pub(crate) fn locked(world: &World<'_>, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let dir = dir(world);
    world.disk.make_dirs(&dir)?;
    let lock = disk::append_regular(&dir.join("lock"))?;
    if !lock_within(&lock, LOCK_WAIT)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    work()
}

/// Returns the directory of the kept contents.
pub(crate) fn dir(world: &World<'_>) -> PathBuf {
    world.places.store.join("guard")
}

/// Writes the manifest of the present files. A file that could not be restored keeps its earlier stamp, so
/// that the next event finds the damage again.
fn seal(
    world: &World<'_>,
    path: &Path,
    home: &str,
    before: GuardedManifest,
    damage: &[ProtectedDamage],
) -> io::Result<()> {
    let is_left = |path: &Path| {
        damage
            .iter()
            .any(|found| matches!(found, ProtectedDamage::Left { path: left, .. } if Path::new(left) == path))
    };
    let dirs: Vec<(PathBuf, Option<DirStamp>)> = guarded::dirs(&world.places, home)
        .into_iter()
        .map(|dir| (dir.clone(), DirStamp::read(&dir)))
        .collect();
    let mut files = Vec::new();
    for (path, _) in guarded::all(&world.places, home) {
        if is_left(&path) {
            files.push((path.clone(), before.stamp(&path).cloned()));
            continue;
        }
        let stamp = stamp_of(world, &before, &path)?;
        // A new file changes the stamp of its directory.
        if stamp.is_some() || !path.parent().is_some_and(|dir| dirs.iter().any(|(known, _)| known == dir)) {
            files.push((path, stamp));
        }
    }
    let now = GuardedManifest { files, dirs };
    write_manifest(world, path, &now)?;
    drop_unused(world, &before, &now);
    Ok(())
}

fn write_manifest(world: &World<'_>, path: &Path, manifest: &GuardedManifest) -> io::Result<()> {
    let bytes = postcard::to_allocvec(manifest).map_err(io::Error::other)?;
    disk::make_parent(world.disk, path)?;
    disk::replace_derived(world.disk, path, &bytes)
}

/// Returns the stamp of a file and keeps its content. `None`: no such file, or no regular one.
fn stamp_of(world: &World<'_>, before: &GuardedManifest, path: &Path) -> io::Result<Option<ProtectedStamp>> {
    let Some(found) = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file) else { return Ok(None) };
    let Some(dir_id) = path.parent().and_then(DirStamp::read).map(|dir| dir.id) else { return Ok(None) };
    if let Some(known) = before.stamp(path).filter(|known| known.fits(&found) && known.dir == dir_id) {
        return Ok(Some(known.clone()));
    }
    let Ok(bytes) = read_bytes(path) else { return Ok(None) };
    let hash = hash_of(&bytes);
    let content = dir(world).join(&hash);
    if !content.exists() {
        disk::replace(world.disk, &content, &bytes)?;
    }
    Ok(Some(ProtectedStamp::new(&found, dir_id, hash)))
}

/// Removes contents that no sealed file has any more.
fn drop_unused(world: &World<'_>, before: &GuardedManifest, now: &GuardedManifest) {
    let hashes = |manifest: &GuardedManifest| -> Vec<String> {
        manifest.files.iter().filter_map(|(_, stamp)| Some(stamp.as_ref()?.hash.clone())).collect()
    };
    let used = hashes(now);
    for hash in hashes(before).iter().filter(|hash| !used.contains(hash)) {
        world.disk.remove(&dir(world).join(hash)).discard("a remaining content only costs its bytes");
    }
}

/// Reads a whole file, or nothing: half a file could not be restored.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_capped(open_regular(path)?, FILE_BYTES + 1)?;
    if bytes.len() as u64 > FILE_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

impl ProtectedStamp {
    pub(crate) fn new(found: &fs::Metadata, dir: (u64, u64), hash: String) -> ProtectedStamp {
        let (id, changed) = ((found.dev(), found.ino()), (found.ctime(), found.ctime_nsec()));
        ProtectedStamp { id, changed, size: found.size(), mode: found.mode(), dir, hash }
    }

    /// Reports whether a file still has this stamp. The change time cannot be set by a program.
    fn fits(&self, found: &fs::Metadata) -> bool {
        self.id == (found.dev(), found.ino())
            && self.changed == (found.ctime(), found.ctime_nsec())
            && self.size == found.size()
            && self.mode == found.mode()
    }
}

fn left(path: &Path, why: String) -> ProtectedDamage {
    ProtectedDamage::Left { path: path.display().to_string(), why }
}

fn restored(path: &Path, kept: Option<String>) -> ProtectedDamage {
    ProtectedDamage::Restored { path: path.display().to_string(), kept }
}

/// Undoes a file that did not exist when the manifest was sealed.
fn undo_new(
    world: &World<'_>,
    path: &Path,
    guard: GuardedPart,
    now: Timestamp,
    mode: RestoreMode,
) -> Option<ProtectedDamage> {
    let found = fs::symlink_metadata(path).ok()?;
    let became = read_bytes(path).unwrap_or_default();
    let without = match guard {
        GuardedPart::GitHook => {
            let why = "the git hook is new; check it before you use it".to_owned();
            return Some(ProtectedDamage::Noticed { path: path.display().to_string(), why });
        }
        GuardedPart::Agent if !names_reviewer(&became) => return None,
        GuardedPart::Whole | GuardedPart::Agent | GuardedPart::Intents => None,
        GuardedPart::Members | GuardedPart::Tables | GuardedPart::GitKeys => {
            let wanted = members::restored(guard, b"", &became);
            if found.is_file() && wanted == became {
                return None;
            }
            Some(wanted).filter(|_| found.is_file())
        }
    };
    let aside = put_aside(world, path, &became, now, mode);
    if mode == RestoreMode::Predict {
        return Some(restored(path, aside));
    }
    let done = match without {
        Some(bytes) => disk::replace(world.disk, path, &bytes),
        None if found.is_dir() => {
            fs::remove_dir(path).or_else(|_| fs::rename(path, path.with_file_name(disk::temp_name(path)?)))
        }
        None => world.disk.remove(path),
    };
    Some(match done {
        Ok(()) => restored(path, aside),
        Err(error) => left(path, format!("it is new and cannot be removed ({error})")),
    })
}

/// Undoes the change of one file.
fn undo(
    world: &World<'_>,
    path: &Path,
    stamp: &ProtectedStamp,
    guard: GuardedPart,
    now: Timestamp,
    mode: RestoreMode,
) -> Option<ProtectedDamage> {
    let found = fs::symlink_metadata(path).ok();
    let dir_id = path.parent().and_then(DirStamp::read).map(|dir| dir.id);
    let content = dir(world).join(&stamp.hash);
    let Ok(before) = read_bytes(&content) else {
        return Some(left(path, "it changed, and its earlier content is gone".to_owned()));
    };
    let became = read_bytes(path).ok();
    let names = names_reviewer(&before) || became.as_deref().is_some_and(names_reviewer);
    if guard == GuardedPart::Agent && !names {
        return None;
    }
    let wanted = match (guard, &became) {
        (GuardedPart::Members | GuardedPart::Tables | GuardedPart::GitKeys, Some(became)) => {
            members::restored(guard, &before, became)
        }
        _ => before,
    };
    let is_same = became.as_ref() == Some(&wanted);
    if is_same && dir_id == Some(stamp.dir) && found.is_some_and(|found| found.mode() == stamp.mode) {
        return None;
    }
    let aside = became.filter(|_| !is_same).and_then(|bytes| put_aside(world, path, &bytes, now, mode));
    if mode == RestoreMode::Predict {
        return Some(restored(path, aside));
    }
    let put = put_back(path, &wanted, stamp).or_else(|_| remake(world, path, &wanted, stamp.mode));
    Some(match put {
        Ok(()) => restored(path, aside),
        Err(error) => left(
            path,
            format!("cannot restore it ({error}); its earlier content is in `{}`", content.display()),
        ),
    })
}

/// Reports whether the file of an agent contains the name of the reviewer.
fn names_reviewer(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).to_ascii_lowercase().contains("sprag-reviewer")
}

pub(crate) fn put_aside(
    world: &World<'_>,
    path: &Path,
    bytes: &[u8],
    now: Timestamp,
    mode: RestoreMode,
) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let aside = dir(world).join("damaged");
    if fs::read_dir(&aside).into_iter().flatten().count() >= ASIDE {
        return None;
    }
    let file = aside.join(format!("{}-{name}", now.millis()));
    if mode == RestoreMode::Restore {
        world.disk.make_dirs(&aside).ok()?;
        disk::replace(world.disk, &file, bytes).ok()?;
    }
    Some(file.display().to_string())
}

/// Writes a file into its original directory. Keeps the directory open and resolves only the file's own name
/// in it.
fn put_back(path: &Path, bytes: &[u8], stamp: &ProtectedStamp) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let dir: OwnedFd = rustix::fs::open(parent, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&dir)?;
    if (found.st_dev, found.st_ino) != stamp.dir {
        return Err(io::Error::other("its directory was replaced"));
    }
    let is_dir = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
    if is_dir {
        return Err(io::Error::other("a directory has its name"));
    }
    write_in(&dir, path, bytes, stamp.mode)
}

/// Writes a file whose directories are gone or were replaced, or whose name a directory has. Walks from the
/// root of the worktree, the git directory or the home. A link or another file in the place of a directory
/// gets another name, so that nothing is written through it.
fn remake(world: &World<'_>, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let places = &world.places;
    let home = world.env.get("HOME").map(PathBuf::from);
    let config = places.user.as_ref().and_then(|user| user.config.parent()).map(Path::to_path_buf);
    let roots = [places.worktree.clone(), places.common.clone(), places.git_dir.clone(), home, config];
    let above = roots.into_iter().flatten().filter(|root| path.starts_with(root) && root.is_dir());
    let root = above.max_by_key(|root| root.components().count()).ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let mut dir: OwnedFd = rustix::fs::open(&root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for part in parent.strip_prefix(&root).map_err(io::Error::other)?.components() {
        let part = part.as_os_str();
        let is_dir = |mode: u32| rustix::fs::FileType::from_raw_mode(mode).is_dir();
        match rustix::fs::statat(&dir, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if is_dir(found.st_mode) => {
                if found.st_mode & 0o700 != 0o700 {
                    let mode = Mode::from_raw_mode(found.st_mode & 0o7777 | 0o700);
                    rustix::fs::chmodat(&dir, part, mode, AtFlags::empty())?;
                }
            }
            found => {
                if found.is_ok() {
                    rustix::fs::renameat(&dir, part, &dir, &disk::temp_name(Path::new(part))?)?;
                }
                rustix::fs::mkdirat(&dir, part, Mode::from_raw_mode(0o755))?;
            }
        }
        dir = rustix::fs::openat(&dir, part, flags, Mode::empty())?;
    }
    let has_dir = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
    if has_dir && rustix::fs::unlinkat(&dir, name, AtFlags::REMOVEDIR).is_err() {
        rustix::fs::renameat(&dir, name, &dir, &disk::temp_name(path)?)?;
    }
    write_in(&dir, path, bytes, mode)
}

/// Writes a file in an open directory and replaces any file of that name.
pub(crate) fn write_in(dir: &OwnedFd, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let temp = disk::temp_name(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode & 0o7777);
    let mut file = File::from(rustix::fs::openat(dir, &temp, flags, Mode::from_raw_mode(0o600))?);
    let written = file
        .write_all(bytes)
        .and_then(|()| rustix::fs::fchmod(&file, mode).map_err(io::Error::from))
        .and_then(|()| file.sync_data())
        .and_then(|()| rustix::fs::renameat(dir, &temp, dir, name).map_err(io::Error::from));
    if written.is_err() {
        rustix::fs::unlinkat(dir, &temp, AtFlags::empty())
            .discard("the error of the write is the one to report");
    }
    written
}
