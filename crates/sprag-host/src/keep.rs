//! Guarded files as they were before a call, and putting them back after it. Only what guards is put
//! back: of a client's settings that is its hooks, since the client and its user change the rest at
//! any time. What a file had become is kept beside the records, so that nobody loses an edit that
//! fell into the same moment.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::digest::Digest;
use sprag_core::event::{Event, Input};
use sprag_core::fact::Damage;
use sprag_core::time::Timestamp;

use crate::config::hash_of;
use crate::disk::{self, Disk, read_small};
use crate::places::Places;
use crate::walk::World;

const FILE_BYTES: u64 = 256 * 1024;
const FILES: usize = 100;
/// A call that never ended stands in nobody's way for longer.
const OPEN_SECONDS: i64 = 600;

/// Members of a client's settings that start us or keep us from being started.
const MEMBERS: &[&str] = &["hooks", "disableAllHooks"];

/// The files as they were before the first of the calls that run now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    files: BTreeMap<PathBuf, Stamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    changed: (i64, i64),
    size: u64,
    mode: u32,
    /// Of the content, which is kept under this name.
    hash: String,
}

/// What of a file is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    Whole,
    Members,
}

/// Keeps the files as they are, unless another such call runs and may have changed them already.
pub fn before(world: &World<'_>, input: &Input) {
    // What cannot be kept cannot be put back; that is no reason to stop anyone.
    let kept = locked(world, |kept| {
        if !is_any_open(world, input.at)? {
            refresh(world, kept)?;
        }
        let mark = mark(world, input);
        world.disk.make_dirs(mark.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        File::create(mark)?;
        Ok(())
    });
    kept.unwrap_or_default();
}

/// Puts back what a call has changed.
pub fn after(world: &World<'_>, input: &Input) -> Vec<Damage> {
    let mut damage = Vec::new();
    // Most calls could be read, and nothing was kept for them.
    let mark = mark(world, input);
    if !mark.exists() || world.disk.remove(&mark).is_err() {
        return damage;
    }
    let looked = locked(world, |kept| {
        let mut files: BTreeMap<PathBuf, Guard> = guarded(&world.places, &input.home).into_iter().collect();
        // What is gone is in no directory any more.
        kept.files.keys().for_each(|path| {
            files.entry(path.clone()).or_insert(Guard::Whole);
        });
        for (path, guard) in files {
            damage.extend(undo(world, kept, &path, guard, input.at));
        }
        Ok(())
    });
    looked.unwrap_or_default();
    damage
}

/// Stands for a call that was let through and has not ended. Calls without an id are told apart by
/// what they do.
fn mark(world: &World<'_>, input: &Input) -> PathBuf {
    let call = match &input.event {
        Event::ToolRequested { call }
        | Event::PermissionAsked { call }
        | Event::ToolFinished { call, .. } => {
            call.id.as_ref().map_or_else(|| call.summary().to_string(), ToString::to_string)
        }
        _ => String::new(),
    };
    dir(world).join("open").join(Digest::of([input.session.as_str(), &call]).to_string())
}

/// Whether a call of which nobody knows what it does is running.
fn is_any_open(world: &World<'_>, now: Timestamp) -> io::Result<bool> {
    let mut is_any = false;
    for entry in fs::read_dir(dir(world).join("open")).into_iter().flatten().flatten() {
        let since = entry.metadata().map_or(0, |found| found.mtime());
        match now.millis() / 1000 - since < OPEN_SECONDS {
            true => is_any = true,
            false => world.disk.remove(&entry.path())?,
        }
    }
    Ok(is_any)
}

fn locked(world: &World<'_>, work: impl FnOnce(&mut Kept) -> io::Result<()>) -> io::Result<()> {
    let dir = dir(world);
    world.disk.make_dirs(&dir)?;
    let lock = File::options().create(true).append(true).mode(0o600).open(dir.join("lock"))?;
    lock.lock()?;
    let path = dir.join("kept.json");
    let before: Kept = read_small(&path, FILE_BYTES)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let mut kept = before.clone();
    work(&mut kept)?;
    if kept != before {
        disk::replace_derived(world.disk, &path, &serde_json::to_vec(&kept).map_err(io::Error::other)?)?;
    }
    Ok(())
}

fn dir(world: &World<'_>) -> PathBuf {
    world.places.store.join("guard")
}

fn refresh(world: &World<'_>, kept: &mut Kept) -> io::Result<()> {
    let home =
        crate::places::home(world.env).map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files = BTreeMap::new();
    for (path, _) in guarded(&world.places, &home) {
        let Ok(found) = fs::metadata(&path) else { continue };
        if let Some(known) = kept.files.get(&path).filter(|known| known.fits(&found)) {
            files.insert(path, known.clone());
            continue;
        }
        let Ok(text) = read_small(&path, FILE_BYTES) else { continue };
        let hash = hash_of(&text);
        let content = dir(world).join(&hash);
        if !content.exists() {
            disk::replace(world.disk, &content, text.as_bytes())?;
        }
        files.insert(path, Stamp::new(&found, hash));
    }
    kept.files = files;
    Ok(())
}

impl Stamp {
    fn new(found: &fs::Metadata, hash: String) -> Stamp {
        Stamp { changed: (found.ctime(), found.ctime_nsec()), size: found.size(), mode: found.mode(), hash }
    }

    fn fits(&self, found: &fs::Metadata) -> bool {
        *self == Stamp::new(found, self.hash.clone())
    }
}

/// Undoes what happened to one file.
fn undo(world: &World<'_>, kept: &mut Kept, path: &Path, guard: Guard, now: Timestamp) -> Option<Damage> {
    let found = fs::metadata(path).ok();
    let Some(stamp) = kept.files.get(path) else {
        let is_new = found.is_some() && guard == Guard::Whole;
        let why = "it was not there before; look at it before it is used".to_owned();
        return is_new.then(|| Damage::Left { path: path.display().to_string(), why });
    };
    if found.as_ref().is_some_and(|found| stamp.fits(found)) {
        return None;
    }
    let before = read_small(&dir(world).join(&stamp.hash), FILE_BYTES).ok()?;
    let now_text = read_small(path, FILE_BYTES).ok();
    let wanted = match (guard, &now_text) {
        (Guard::Whole, _) | (Guard::Members, None) => before,
        (Guard::Members, Some(text)) => with_members(&before, text),
    };
    let is_same = now_text.as_ref() == Some(&wanted);
    if is_same && found.is_some_and(|found| found.mode() == stamp.mode) {
        return None;
    }
    let aside = now_text.filter(|_| !is_same).and_then(|text| put_aside(world, path, &text, now));
    let put = put_back(world.disk, path, &wanted, stamp.mode);
    let path = path.display().to_string();
    Some(match put {
        Ok(()) => Damage::Restored { path, kept: aside },
        Err(error) => Damage::Left { path, why: format!("it cannot be put back: {error}") },
    })
}

/// Settings as they are now, with the guarded members as they were.
fn with_members(before: &str, now: &str) -> String {
    let (Ok(Value::Object(before_members)), Ok(Value::Object(mut members))) =
        (serde_json::from_str::<Value>(before), serde_json::from_str::<Value>(now))
    else {
        return before.to_owned();
    };
    let is_same = MEMBERS.iter().all(|name| before_members.get(*name) == members.get(*name));
    if is_same {
        return now.to_owned();
    }
    for name in MEMBERS {
        match before_members.get(*name) {
            Some(member) => members.insert((*name).to_owned(), member.clone()),
            None => members.remove(*name),
        };
    }
    serde_json::to_string_pretty(&Value::Object(members))
        .map_or_else(|_| before.to_owned(), |text| text + "\n")
}

fn put_aside(world: &World<'_>, path: &Path, text: &str, now: Timestamp) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let aside = dir(world).join("damaged").join(format!("{}-{name}", now.millis()));
    disk::make_parent(world.disk, &aside).ok()?;
    disk::replace(world.disk, &aside, text.as_bytes()).ok()?;
    Some(aside.display().to_string())
}

fn put_back(disk: &dyn Disk, path: &Path, text: &str, mode: u32) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return Err(io::Error::other("a directory is in its place"));
    }
    disk::make_parent(disk, path)?;
    disk::replace(disk, path, text.as_bytes())?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
}

/// The files that are kept, present or not.
fn guarded(places: &Places, home: &str) -> Vec<(PathBuf, Guard)> {
    let mut found = Vec::new();
    let mut whole = |path: PathBuf| found.push((path, Guard::Whole));
    if let Some(common) = &places.common {
        files_in(&common.join("hooks"))
            .filter(|path| path.extension().is_none_or(|ending| ending != "sample"))
            .for_each(&mut whole);
    }
    if let Some(project) = places.project() {
        ["config.toml", "local.toml", "role"].iter().for_each(|name| whole(project.join(name)));
        files_in(&project.join("policy")).for_each(&mut whole);
    }
    let roots = places.worktree.iter().map(PathBuf::as_path);
    let roots: Vec<&Path> = roots.chain(Some(Path::new(home)).filter(|_| !home.is_empty())).collect();
    roots.iter().for_each(|root| whole(root.join(".codex/hooks.json")));
    for root in roots {
        for name in [".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json"] {
            found.push((root.join(name), Guard::Members));
        }
    }
    found.truncate(FILES);
    found
}

fn files_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.into_iter()
}
