//! Takes a snapshot of protected files before a call, and restores them after it. Of a client's settings
//! Sprag restores only the hooks, because the client and its user change the rest at any time. The changed
//! content is kept next to the records, so that no edit is lost.
//!
//! A call may have left anything, for example links in place of directories. Sprag restores a file only into
//! its original directory, and keeps that directory open meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::digest::Digest;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::Input;
use sprag_govern::facts::ProtectedDamage;
use sprag_policy::call::ToolCall;

use crate::config::{hash_of, rule_layers};
use crate::store::lock_within;
use crate::sys::disk::{self, open_regular};
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;
use crate::worktree::protect::intent_files;
pub(crate) use crate::worktree::protect::intent_files::rewritten;
use crate::world::World;

const FILE_BYTES: u64 = 256 * 1024;
const FILES: usize = 100;
/// Seconds after which a call without an end is ignored.
const OPEN_SECONDS: i64 = 600;
/// Longest wait for the lock. A process that holds it longer may be hostile, and protection must not wait.
const LOCK_WAIT: Duration = Duration::from_millis(200);
/// Most damaged files that are kept.
const ASIDE: usize = 50;

/// Members of a client's settings that start Sprag or prevent its start.
const MEMBERS: &[&str] = &["hooks", "disableAllHooks"];

/// Hooks of git.
const GIT_HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Files before the first of the running calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProtectedSnapshot {
    /// Worktree and home of the files: a clone has several worktrees.
    pub(crate) of: (PathBuf, String),
    pub(crate) files: BTreeMap<PathBuf, ProtectedStamp>,
    /// Directories of the files and of possible new files.
    dirs: BTreeMap<PathBuf, Option<DirStamp>>,
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

impl ProtectedSnapshot {
    /// Reports whether no file has changed. Checks only stamps, because a full search would take longer than
    /// the rest of a call.
    fn is_as_it_was(&self, of: &(PathBuf, String)) -> bool {
        let is_same = |(path, stamp): (&PathBuf, &ProtectedStamp)| {
            fs::symlink_metadata(path).is_ok_and(|found| stamp.fits(&found, stamp.dir))
        };
        self.of == *of
            && self.dirs.iter().all(|(dir, stamp)| DirStamp::read(dir) == *stamp)
            && self.files.iter().all(is_same)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProtectedStamp {
    changed: (i64, i64),
    size: u64,
    mode: u32,
    /// Directory of the file, by device and inode.
    dir: (u64, u64),
    /// Hash of the content, which is kept under this name.
    hash: String,
}

/// Guarded part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardedPart {
    Whole,
    Members,
    /// The file decides what agents may change: Sprag always restores it, and removes a new one.
    Intents,
}

/// Keeps the files, unless another such call runs and may have changed them already.
pub(crate) fn before(world: &World<'_>, input: &Input) {
    // A file that cannot be kept cannot be restored. That does not justify a refusal.
    let kept = locked(world, |kept| {
        let of = whose(world, input);
        if !is_any_open(world, input.at)? && !kept.is_as_it_was(&of) {
            refresh(world, kept, of)?;
        }
        let mark = mark(world, input);
        world.disk.make_dirs(mark.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        disk::write_regular(&mark)?;
        Ok(())
    });
    kept.discard("a file without a copy cannot be restored; the call still runs");
}

/// Whether damage is undone or only predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoreMode {
    Restore,
    Predict,
}

/// Restores files that a call has changed.
pub(crate) fn after(world: &World<'_>, input: &Input, mode: RestoreMode) -> Vec<ProtectedDamage> {
    // Most calls can be analysed, so nothing was kept for them.
    let mark = mark(world, input);
    if !mark.exists() {
        return Vec::new();
    }
    let mut damage = Vec::new();
    if mode == RestoreMode::Predict {
        undo_all(world, input, &read_kept(world), mode, &mut damage);
    } else if world.disk.remove(&mark).is_ok() {
        let looked = locked(world, |kept| {
            undo_all(world, input, kept, mode, &mut damage);
            Ok(())
        });
        looked.discard("damage that cannot be read cannot be undone here");
    }
    damage
}

fn undo_all(
    world: &World<'_>,
    input: &Input,
    kept: &ProtectedSnapshot,
    mode: RestoreMode,
    damage: &mut Vec<ProtectedDamage>,
) {
    if kept.is_as_it_was(&whose(world, input)) {
        return;
    }
    let mut files: BTreeMap<PathBuf, GuardedPart> = guarded(&world.places, &input.home).into_iter().collect();
    // A removed file is not in the list any more.
    kept.files.keys().for_each(|path| {
        files.entry(path.clone()).or_insert_with(|| intent_files::guard(&world.places, path));
    });
    for (path, guard) in files {
        damage.extend(match guard {
            GuardedPart::Intents if intent_files::is_from_git(world, input, &path) => None,
            GuardedPart::Intents if !kept.files.contains_key(&path) => {
                intent_files::take_away(world, kept, &path, input.at, mode)
            }
            guard => undo(world, kept, &path, guard, input.at, mode),
        });
    }
}

fn whose(world: &World<'_>, input: &Input) -> (PathBuf, String) {
    (world.places.worktree.clone().unwrap_or_default(), input.home.clone())
}

/// Returns the path that marks a running call. Calls without an id are distinguished by their content.
fn mark(world: &World<'_>, input: &Input) -> PathBuf {
    let named =
        |call: &ToolCall| call.id.as_ref().map_or_else(|| call.summary().to_string(), Text::to_string);
    let call = input.event.call().map(named).unwrap_or_default();
    dir(world).join("open").join(Digest::hash_parts([input.session.as_str(), &call]).to_string())
}

/// Reports whether a call that Sprag cannot analyse is running.
fn is_any_open(world: &World<'_>, now: Timestamp) -> io::Result<bool> {
    let mut is_any = false;
    for entry in fs::read_dir(dir(world).join("open")).into_iter().flatten().flatten() {
        let since = entry.metadata().map_or(0, |found| found.mtime());
        if now.millis() / 1000 - since < OPEN_SECONDS {
            is_any = true
        } else {
            world.disk.remove(&entry.path())?
        }
    }
    Ok(is_any)
}

/// Larger than any snapshot.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn locked(
    world: &World<'_>,
    work: impl FnOnce(&mut ProtectedSnapshot) -> io::Result<()>,
) -> io::Result<()> {
    let dir = dir(world);
    world.disk.make_dirs(&dir)?;
    let lock = disk::append_regular(&dir.join("lock"))?;
    if !lock_within(&lock, LOCK_WAIT)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let before = read_kept(world);
    let mut kept = before.clone();
    work(&mut kept)?;
    if kept != before {
        let path = kept_path(world);
        disk::replace_derived(world.disk, &path, &postcard::to_allocvec(&kept).map_err(io::Error::other)?)?;
        drop_unused(world, &before, &kept);
    }
    Ok(())
}

fn kept_path(world: &World<'_>) -> PathBuf {
    dir(world).join("kept.bin")
}

fn read_kept(world: &World<'_>) -> ProtectedSnapshot {
    let bytes = disk::read_regular(&kept_path(world), KEPT_BYTES).ok();
    bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default()
}

/// Removes contents that no kept file has any more.
fn drop_unused(world: &World<'_>, before: &ProtectedSnapshot, now: &ProtectedSnapshot) {
    let used: Vec<&str> = now.files.values().map(|stamp| stamp.hash.as_str()).collect();
    let unused = before.files.values().filter(|stamp| !used.contains(&stamp.hash.as_str()));
    // A remaining file only costs its bytes.
    unused.for_each(|stamp| world.disk.remove(&dir(world).join(&stamp.hash)).unwrap_or_default());
}

pub(crate) fn dir(world: &World<'_>) -> PathBuf {
    world.places.store.join("guard")
}

fn refresh(world: &World<'_>, kept: &mut ProtectedSnapshot, of: (PathBuf, String)) -> io::Result<()> {
    let (mut files, mut dirs) = (BTreeMap::new(), BTreeMap::new());
    for (path, _) in guarded(&world.places, &of.1) {
        if let Some(dir) = path.parent().filter(|dir| !dirs.contains_key(*dir)) {
            dirs.insert(dir.to_path_buf(), DirStamp::read(dir));
        }
        // The target of a link is not protected here.
        let Some(found) = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file) else { continue };
        let dir_id = path.parent().and_then(|dir| dirs.get(dir)?.as_ref()).map(|dir| dir.id);
        let Some(dir_id) = dir_id else { continue };
        if let Some(known) = kept.files.get(&path).filter(|known| known.fits(&found, dir_id)) {
            files.insert(path, known.clone());
            continue;
        }
        let Ok(bytes) = read_bytes(&path) else { continue };
        let hash = hash_of(&bytes);
        let content = dir(world).join(&hash);
        if !content.exists() {
            disk::replace(world.disk, &content, &bytes)?;
        }
        files.insert(path, ProtectedStamp::new(&found, dir_id, hash));
    }
    // A missing directory for rules may get rules later.
    for (_, dir) in rule_layers::dirs(&world.places) {
        dirs.entry(dir.clone()).or_insert_with(|| DirStamp::read(&dir));
    }
    *kept = ProtectedSnapshot { of, files, dirs };
    Ok(())
}

/// Reads a whole file, or nothing: half a file could not be restored.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_capped(open_regular(path)?, FILE_BYTES + 1)?;
    if bytes.len() as u64 > FILE_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

impl ProtectedStamp {
    pub(crate) fn new(found: &fs::Metadata, dir: (u64, u64), hash: String) -> ProtectedStamp {
        let changed = (found.ctime(), found.ctime_nsec());
        ProtectedStamp { changed, size: found.size(), mode: found.mode(), dir, hash }
    }

    fn fits(&self, found: &fs::Metadata, dir: (u64, u64)) -> bool {
        *self == ProtectedStamp::new(found, dir, self.hash.clone())
    }
}

/// Undoes the change of one file.
fn undo(
    world: &World<'_>,
    kept: &ProtectedSnapshot,
    path: &Path,
    guard: GuardedPart,
    now: Timestamp,
    mode: RestoreMode,
) -> Option<ProtectedDamage> {
    let left = |why: String| Some(ProtectedDamage::Left { path: path.display().to_string(), why });
    let found = fs::symlink_metadata(path).ok();
    let Some(stamp) = kept.files.get(path) else {
        let is_new = found.is_some_and(|found| found.is_file()) && guard == GuardedPart::Whole;
        return left("the file is new; check it before you use it".to_owned()).filter(|_| is_new);
    };
    let dir_id = path.parent().and_then(DirStamp::read).map(|dir| dir.id);
    if found.as_ref().zip(dir_id).is_some_and(|(found, dir_id)| stamp.fits(found, dir_id)) {
        return None;
    }
    let content = dir(world).join(&stamp.hash);
    let before = read_bytes(&content).ok()?;
    let became = read_bytes(path).ok();
    let wanted = match (guard, &became) {
        (GuardedPart::Whole | GuardedPart::Intents, _) | (GuardedPart::Members, None) => before,
        (GuardedPart::Members, Some(became)) => with_members(&before, became),
    };
    let is_same = became.as_ref() == Some(&wanted);
    if is_same && dir_id == Some(stamp.dir) && found.is_some_and(|found| found.mode() == stamp.mode) {
        return None;
    }
    let aside = became.filter(|_| !is_same).and_then(|bytes| put_aside(world, path, &bytes, now, mode));
    if mode == RestoreMode::Predict {
        return Some(ProtectedDamage::Restored { path: path.display().to_string(), kept: aside });
    }
    let put = put_back(path, &wanted, stamp).or_else(|error| match guard {
        GuardedPart::Intents => intent_files::remake(&world.places, path, &wanted, stamp.mode),
        GuardedPart::Whole | GuardedPart::Members => Err(error),
    });
    match put {
        Ok(()) => Some(ProtectedDamage::Restored { path: path.display().to_string(), kept: aside }),
        Err(error) => {
            left(format!("cannot restore it ({error}); the earlier content is in `{}`", content.display()))
        }
    }
}

/// Returns the current settings with the earlier guarded members.
fn with_members(before: &[u8], now: &[u8]) -> Vec<u8> {
    let (Ok(Value::Object(before_members)), Ok(Value::Object(mut members))) =
        (serde_json::from_slice::<Value>(before), serde_json::from_slice::<Value>(now))
    else {
        return before.to_vec();
    };
    if MEMBERS.iter().all(|name| before_members.get(*name) == members.get(*name)) {
        return now.to_vec();
    }
    for name in MEMBERS {
        match before_members.get(*name) {
            Some(member) => members.insert((*name).to_owned(), member.clone()),
            None => members.remove(*name),
        };
    }
    serde_json::to_vec_pretty(&Value::Object(members)).unwrap_or_else(|_| before.to_vec())
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

/// Returns the protected files, existing or not.
fn guarded(places: &Locations, home: &str) -> Vec<(PathBuf, GuardedPart)> {
    let mut found = Vec::new();
    let mut whole = |path: PathBuf| found.push((path, GuardedPart::Whole));
    if let Some(common) = &places.common {
        for name in GIT_HOOKS.iter() {
            whole(common.join("hooks").join(name));
        }
        whole(common.join("info/exclude"));
    }
    for config in config_dirs(places) {
        for name in ["config.toml", "local.toml", "role"].iter() {
            whole(config.join(name));
        }
    }
    for (_, path) in rule_layers::files(places) {
        whole(path);
    }
    let roots = places.worktree.iter().map(PathBuf::as_path);
    let roots: Vec<&Path> = roots.chain(Some(Path::new(home)).filter(|_| !home.is_empty())).collect();
    for root in roots.iter() {
        whole(root.join(".codex/hooks.json"));
    }
    for root in roots {
        for name in [".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json"] {
            found.push((root.join(name), GuardedPart::Members));
        }
    }
    found.truncate(FILES);
    found.extend(intent_files::all(places).into_iter().map(|path| (path, GuardedPart::Intents)));
    found
}

fn config_dirs(places: &Locations) -> impl Iterator<Item = PathBuf> {
    places.project().into_iter().chain(places.user.as_ref().map(|user| user.config.clone()))
}
