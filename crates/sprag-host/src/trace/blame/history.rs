//! Queries git with a cache and a deadline, because blame returns to the same commits often.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use sprag_trace::anchor::commit_diff::{self, FileDiff};

use crate::git::history as git;
use crate::git::history::{Blamed, CommitInfo, FileVersion, RevisionWalk};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

/// Commit name of uncommitted lines.
pub const UNCOMMITTED: &str = "0000000000000000000000000000000000000000";
/// Most bytes of a file that is read.
pub const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Deadline of one git query.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct History<'a> {
    pub places: &'a Locations,
    until: Instant,
    /// Whether a query was skipped because the time ran out.
    pub ran_out: bool,
    blames: HashMap<(String, String), Option<Rc<Vec<Blamed>>>>,
    texts: HashMap<(String, String), Option<Rc<Vec<u8>>>>,
    commits: HashMap<String, Option<Rc<CommitInfo>>>,
    changes: HashMap<String, Option<Rc<Vec<FileDiff>>>>,
}

pub fn is_uncommitted(commit: &str) -> bool {
    commit.bytes().all(|byte| byte == b'0')
}

impl<'a> History<'a> {
    pub(super) fn new(places: &'a Locations, until: Instant) -> History<'a> {
        History {
            places,
            until,
            ran_out: false,
            blames: HashMap::new(),
            texts: HashMap::new(),
            commits: HashMap::new(),
            changes: HashMap::new(),
        }
    }

    /// Returns the time for the next query. `None`: no time is left.
    fn remaining_time(&mut self) -> Option<Duration> {
        let left = self.until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        self.ran_out |= left.is_none();
        Some(left?.min(PATIENCE))
    }

    pub(super) fn blame(&mut self, commit: &str, path: &str) -> Option<Rc<Vec<Blamed>>> {
        let key = (commit.to_owned(), path.to_owned());
        if let Some(known) = self.blames.get(&key) {
            return known.clone();
        }
        let left = self.remaining_time()?;
        let at = if is_uncommitted(commit) { FileVersion::Worktree } else { FileVersion::Commit(commit) };
        let blamed = git::blame(self.places, at, path, left).map(Rc::new);
        self.blames.insert(key, blamed.clone());
        blamed
    }

    pub(super) fn text(&mut self, commit: &str, path: &str) -> Option<Rc<Vec<u8>>> {
        let key = (commit.to_owned(), path.to_owned());
        if let Some(known) = self.texts.get(&key) {
            return known.clone();
        }
        let left = self.remaining_time()?;
        let text = if is_uncommitted(commit) {
            let file = open_regular(&self.places.worktree.as_ref()?.join(path));
            file.and_then(|file| read_capped(file, FILE_BYTES)).ok()
        } else {
            git::text(self.places, commit, path, left)
        };
        let text = text.map(Rc::new);
        self.texts.insert(key, text.clone());
        text
    }

    pub(super) fn commit(&mut self, name: &str) -> Option<Rc<CommitInfo>> {
        if let Some(known) = self.commits.get(name) {
            return known.clone();
        }
        let left = self.remaining_time()?;
        let found = git::commits(self.places, &[name], RevisionWalk::Named, 1, left)?.pop().map(Rc::new);
        self.commits.insert(name.to_owned(), found.clone());
        found
    }

    /// Returns those of these commits that still exist.
    pub(super) fn existing(&mut self, names: &[&str]) -> Vec<String> {
        let Some(left) = self.remaining_time() else { return Vec::new() };
        git::existing(self.places, names, left).unwrap_or_default()
    }

    pub(super) fn commits(&mut self, names: &[&str], walk: RevisionWalk, most: usize) -> Vec<Rc<CommitInfo>> {
        let Some(left) = self.remaining_time() else { return Vec::new() };
        let found = git::commits(self.places, names, walk, most, left).unwrap_or_default();
        let found: Vec<Rc<CommitInfo>> = found.into_iter().map(Rc::new).collect();
        self.commits.extend(found.iter().map(|it| (it.name.clone(), Some(Rc::clone(it)))));
        found
    }

    /// Returns the first parent, from which unchanged lines came.
    pub(super) fn parent(&mut self, commit: &str) -> Option<String> {
        if is_uncommitted(commit) {
            self.places.head()
        } else {
            self.commit(commit)?.parents.first().cloned()
        }
    }

    /// Returns the changes of a commit; a merge has none.
    pub(super) fn changes(&mut self, commit: &str) -> Option<Rc<Vec<FileDiff>>> {
        if let Some(known) = self.changes.get(commit) {
            return known.clone();
        }
        if is_uncommitted(commit) {
            let left = self.remaining_time()?;
            let diff = git::uncommitted(self.places, left).map(|diff| Rc::new(commit_diff::parse(&diff)));
            self.changes.insert(commit.to_owned(), diff.clone());
            return diff;
        }
        self.learn_changes(&[commit]);
        self.changes.get(commit).cloned().flatten()
    }

    /// Queries the changes of several commits at once.
    pub(super) fn learn_changes(&mut self, commits: &[&str]) {
        let new: Vec<&str> =
            commits.iter().copied().filter(|name| !self.changes.contains_key(*name)).collect();
        for names in new.chunks(100) {
            let Some(left) = self.remaining_time() else { return };
            let said = git::changes(self.places, names, left);
            let mut found: HashMap<String, Vec<FileDiff>> =
                said.iter().flat_map(|diff| commit_diff::parse_many(diff)).collect();
            for name in names {
                let files = said.is_some().then(|| Rc::new(found.remove(*name).unwrap_or_default()));
                self.changes.insert((*name).to_owned(), files);
            }
        }
    }

    pub(super) fn between(&mut self, from: &str, to: &str) -> Option<Rc<Vec<FileDiff>>> {
        let left = self.remaining_time()?;
        git::between(self.places, from, to, left).map(|diff| Rc::new(commit_diff::parse(&diff)))
    }

    /// Returns the newest common ancestor of two commits.
    pub(super) fn base(&mut self, a: &str, b: &str) -> Option<String> {
        let left = self.remaining_time()?;
        git::base(self.places, a, b, left)
    }

    /// Returns the commits of HEAD that this one lacks. `None`: there are too many.
    pub(super) fn since(&mut self, base: &str) -> Option<HashSet<String>> {
        let left = self.remaining_time()?;
        git::since(self.places, base, left)
    }

    pub(super) fn is_before(&mut self, a: &str, b: &str) -> bool {
        self.base(a, b).is_some_and(|base| base == a)
    }

    pub(super) fn message(&mut self, commit: &str) -> Option<String> {
        let left = self.remaining_time()?;
        git::message(self.places, commit, left)
    }
}
