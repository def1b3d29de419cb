//! Finds the changes of a session since its start. Sprag copies the index before the first change, and notes
//! unfinished files by hashes of their lines. Later git compares the worktree with that copy. So the user's
//! work never counts, and a commit hides nothing.
//!
//! With a split index the copy needs the shared part. Git keeps that part for two weeks after its last use.
//! Without it the size of the session is unknown.

mod dirty;
mod git_status;
#[cfg(test)]
pub(crate) mod tests;
mod todo_marks;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::git;
use crate::store::{Store, journal};
use crate::sys::disk::{self, Disk, open_regular, read_small};
use crate::sys::locations::Locations;
use dirty::{DirtyChange, DirtyEntry};
use git_status::StatusChange;

/// Baseline of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaselineName {
    /// Name by which [`since`] finds the baseline.
    pub name: String,
    /// Number of unfinished files.
    pub dirty: usize,
}

/// Changes since a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    /// Added and removed lines, at least one for each path.
    pub lines: u64,
    /// Paths relative to the worktree, sorted.
    pub paths: Vec<String>,
    pub marks: Vec<AddedMark>,
    /// Whether all changes were read. If not, there may be more.
    pub is_whole: bool,
}

/// An added line with a mark of unfinished work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddedMark {
    pub path: String,
    pub line: Option<u32>,
    pub text: Text<200>,
}

/// Most noted names. Files beyond them do not count, because they may be old or new.
const NAMES: usize = 20_000;
/// Most new files that are read.
const FILES: usize = 500;
const MARKS: usize = 50;
/// Most bytes of a note.
const NOTE_BYTES: u64 = 32 * 1024 * 1024;

/// Note next to the copy of the index. It is written last: without it there is no baseline.
#[derive(Debug, Serialize, Deserialize)]
struct BaselineNote {
    v: u32,
    /// Size of the index, if there was one.
    index: Option<u64>,
    is_whole: bool,
    files: Vec<DirtyEntry>,
}

/// Takes a baseline with one git process. Two processes may do so at once, under different names. The second
/// one calls [`drop_taken`].
pub(crate) fn capture(places: &Locations, disk: &dyn Disk, session: &SessionId) -> io::Result<BaselineName> {
    let (Some(worktree), Some(git_dir)) = (&places.worktree, &places.git_dir) else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "not in a git repository"));
    };
    let mut names =
        git::dirty_paths(places).ok_or_else(|| io::Error::other("git cannot list the changed files"))?;
    names.paths.retain(|path| !is_ours(path));
    let is_whole = names.is_whole && names.paths.len() <= NAMES;
    names.paths.truncate(NAMES);
    let files = dirty::read_entries(worktree, &names.paths);

    let name = format!("{}.{:016x}", journal::stem(session), disk::random()?);
    let dir = dir(&places.store, &name);
    disk.make_dirs(&dir)?;
    let written = copy_index(disk, git_dir, &dir.join("index")).and_then(|index| {
        let note = BaselineNote { v: 1, index, is_whole, files };
        let bytes = serde_json::to_vec(&note).map_err(io::Error::other)?;
        // After a power cut only the size of the session is unknown, so a sync is not worth its cost.
        disk::replace_derived(disk, &dir.join("dirty.json"), &bytes)
    });
    if let Err(error) = written {
        // The first error is the one to report.
        disk::remove_all(disk, &dir, 0).discard("remaining files are removed with the journal");
        return Err(error);
    }
    Ok(BaselineName { name, dirty: names.paths.len() })
}

/// Copies the index of a worktree and returns its size. `None`: there is no index yet.
fn copy_index(disk: &dyn Disk, git_dir: &Path, to: &Path) -> io::Result<Option<u64>> {
    match open_regular(&git_dir.join("index")) {
        Ok(index) => disk::copy_derived(disk, &index, index.metadata()?.modified()?, to).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reports whether the baseline exists.
pub(crate) fn is_kept(places: &Locations, name: &str) -> bool {
    session_part(name).is_some() && dir(&places.store, name).is_dir()
}

/// Returns the files that were unfinished at the baseline. `None`: the note is missing or incomplete.
pub(crate) fn dirty_paths(places: &Locations, name: &str) -> Option<Vec<String>> {
    session_part(name)?;
    let path = dir(&places.store, name).join("dirty.json");
    let note: BaselineNote = serde_json::from_str(&read_small(&path, NOTE_BYTES).ok()?).ok()?;
    let paths = note.files.iter().map(|entry| Some(String::from_utf8_lossy(&entry.path()?).into_owned()));
    paths.collect::<Option<Vec<String>>>().filter(|_| note.v == 1 && note.is_whole)
}

/// Returns the changes since a baseline, with one git process. `None`: the note is missing, or git failed.
pub(crate) fn since(places: &Locations, name: &str) -> Option<Since> {
    let worktree = places.worktree.as_ref()?;
    session_part(name)?;
    let dir = dir(&places.store, name);
    let note: BaselineNote =
        serde_json::from_str(&read_small(&dir.join("dirty.json"), NOTE_BYTES).ok()?).ok()?;
    let index = dir.join("index");
    let size = fs::symlink_metadata(&index).ok().map(|found| found.len());
    if note.v != 1 || size != note.index {
        return None;
    }
    let diff = git::status_against(places, &index)?;
    let mut all = BaselineDiff { is_whole: diff.is_whole && note.is_whole, ..BaselineDiff::default() };
    let mut known = HashSet::new();
    for entry in &note.files {
        let path = entry.path()?;
        if let Some(became) = entry.became(&dirty::below(worktree, &path)) {
            all.add(path.clone(), became);
        }
        known.insert(path);
    }
    let found = git_status::parse(&diff.text);
    for (path, change) in found.changed {
        if !known.contains(&path) {
            all.add(path, DirtyChange { change, is_whole: true });
        }
    }
    let new = found.untracked.into_iter().filter(|path| note.is_whole && !known.contains(path));
    let new = new.flat_map(|path| if path.ends_with(b"/") { within(worktree, &path) } else { vec![path] });
    for (at, path) in new.enumerate() {
        let became = if at < FILES {
            dirty::new(&dirty::below(worktree, &path))
        } else {
            DirtyChange { change: StatusChange::default(), is_whole: false }
        };
        all.add(path, became);
    }
    Some(all.summarize())
}

/// Returns the files of a nested repository, such as one from a project generator. Git names it as a whole.
fn within(worktree: &Path, nested: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut dirs = vec![nested.to_vec()];
    while let Some(dir) = dirs.pop() {
        let entries = fs::read_dir(dirty::below(worktree, &dir)).into_iter().flatten().flatten();
        for entry in entries.take(FILES) {
            let name = entry.file_name();
            let mut path = [dir.as_slice(), name.as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != ".git" => {
                    path.push(b'/');
                    dirs.push(path);
                }
                Ok(kind) if !kind.is_dir() => found.push(path),
                _ => {}
            }
        }
        if found.len() > FILES || dirs.len() > FILES {
            break;
        }
    }
    found.sort();
    found
}

#[derive(Default)]
struct BaselineDiff {
    by_path: BTreeMap<Vec<u8>, StatusChange>,
    is_whole: bool,
}

impl BaselineDiff {
    fn add(&mut self, path: Vec<u8>, became: DirtyChange) {
        if is_ours(&path) {
            return;
        }
        self.is_whole &= became.is_whole;
        self.by_path.insert(path, became.change);
    }

    fn summarize(self) -> Since {
        let mut since = Since { is_whole: self.is_whole, ..Since::default() };
        for (path, change) in self.by_path {
            let path = String::from_utf8_lossy(&path).into_owned();
            // A new mode, an empty file or a binary file is a change too.
            since.lines += change.lines.max(1);
            let left = MARKS - since.marks.len();
            let marks = change.marks.into_iter().take(left);
            since.marks.extend(marks.map(|spot| AddedMark {
                path: path.clone(),
                line: spot.line,
                text: spot.text,
            }));
            since.paths.push(path);
        }
        since
    }
}

/// Reports whether a path belongs to Sprag; such files are not work of the session.
fn is_ours(path: &[u8]) -> bool {
    path == b".sprag" || path.starts_with(b".sprag/")
}

/// Removes a baseline that was not used.
pub(crate) fn drop_taken(places: &Locations, disk: &dyn Disk, name: &str) -> io::Result<()> {
    disk::remove_all(disk, &dir(&places.store, name), 0)
}

/// Removes all baselines of a session.
pub(crate) fn forget(store: &Store, disk: &dyn Disk, session: &SessionId) -> io::Result<()> {
    let stem = journal::stem(session);
    for name in names(store).iter().filter(|name| session_part(name) == Some(&stem)) {
        disk::remove_all(disk, &dir(&store.dir, name), 0)?;
    }
    Ok(())
}

/// Returns baselines older than this time whose sessions have no journal.
pub(crate) fn orphans(store: &Store, before: Timestamp) -> Vec<PathBuf> {
    let journals = journal::all(store);
    let kept: HashSet<&OsStr> = journals.iter().filter_map(|path| path.file_stem()).collect();
    let has_journal = |name: &str| session_part(name).is_none_or(|stem| kept.contains(OsStr::new(stem)));
    let old = names(store).into_iter().filter(|name| !has_journal(name));
    old.map(|name| dir(&store.dir, &name)).filter(|dir| disk::is_older(dir, before)).collect()
}

fn dir(store: &Path, name: &str) -> PathBuf {
    store.join("start").join(name)
}

fn names(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.dir.join("start")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the session part of a baseline name. `None`: [`capture`] gave no such name.
fn session_part(name: &str) -> Option<&str> {
    let (stem, unique) = name.rsplit_once('.')?;
    let is_ours = unique.len() == 16 && unique.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_ours && !stem.is_empty() && !stem.starts_with('.') && !stem.contains('/')).then_some(stem)
}
