//! Finds commits that a commit may be a copy of. A copy by name, tree, change or author is kin. So is a
//! branch with most of the added lines. Lines of kin are compared one by one. Any other branch that left the
//! history is a stranger, and needs more in common.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sprag_base::digest::Digest;
use sprag_trace::anchor::commit_diff::{self, Direction, FileDiff};
use sprag_trace::anchor::distinctive::{LETTERS, bare, is_telling, letters};
use sprag_trace::anchor::index::Anchors;

use super::history::{History, is_uncommitted};
use crate::git::history::{CommitInfo, RevisionWalk};

/// Most commits that are read.
const MOST: usize = 2_000;
/// Most branches that left the history.
const HEADS: usize = 24;

/// Possible source of the lines of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineSource {
    pub commit: String,
    pub kinship: Kinship,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kinship {
    /// Exactly the same change, with the same lines in the same order.
    Twin,
    /// The same change as a whole branch, squashed.
    Squash,
    Kin,
    Stranger,
}

/// Recorded commits that left the history.
#[derive(Debug, Default)]
pub(crate) struct LostHistory {
    /// Existing commits that records name.
    recorded: Vec<Rc<CommitInfo>>,
    /// Commits that HEAD does not contain, with the commits between them.
    lost: Vec<Rc<CommitInfo>>,
    names: HashSet<String>,
    heads: Vec<LostHead>,
    digests: HashMap<String, Option<Digest>>,
}

/// Head of a branch that left the history.
#[derive(Debug)]
struct LostHead {
    name: String,
    /// Commits of the history since the branch left it. `None`: there are too many, or no common commit.
    since: Option<HashSet<String>>,
    /// All changes of the branch.
    work: Rc<Vec<FileDiff>>,
}

impl LostHistory {
    pub(super) fn find(history: &mut History<'_>, anchors: &Anchors) -> LostHistory {
        let named: Vec<&str> = anchors.revisions().collect();
        let there = history.existing(&named);
        let there: Vec<&str> = there.iter().map(String::as_str).collect();
        if there.is_empty() {
            return LostHistory::default();
        }
        let recorded = history.commits(&there, RevisionWalk::Named, MOST);
        let mut lost: Vec<Rc<CommitInfo>> = Vec::new();
        let mut names = HashSet::new();
        for part in there.chunks(400) {
            let found = history.commits(part, RevisionWalk::NotInHead, MOST);
            lost.extend(found.into_iter().filter(|it| names.insert(it.name.clone())));
        }
        let parents: HashSet<&str> = lost.iter().flat_map(|it| &it.parents).map(String::as_str).collect();
        let heads = lost.iter().filter(|it| !parents.contains(it.name.as_str())).take(HEADS);
        let heads = heads.map(|it| LostHead::from_history(history, &it.name)).collect();
        LostHistory { recorded, lost, names, heads, digests: HashMap::new() }
    }

    /// Returns all changes of a branch.
    pub(super) fn work_of(&self, head: &str) -> Option<Rc<Vec<FileDiff>>> {
        self.heads.iter().find(|it| it.name == head).map(|it| Rc::clone(&it.work))
    }

    /// Reports whether this commit is on a branch that left the history.
    pub(super) fn has(&self, commit: &str) -> bool {
        self.names.contains(commit)
    }

    /// Returns all possible sources of a commit, the most certain first.
    pub(super) fn origins(
        &mut self,
        history: &mut History<'_>,
        anchors: &Anchors,
        told: &[String],
        commit: &str,
    ) -> Vec<LineSource> {
        if is_uncommitted(commit) || self.recorded.is_empty() {
            return Vec::new();
        }
        let Some(own) = history.commit(commit) else { return Vec::new() };
        let changes = history.changes(commit).unwrap_or_default();
        let digest = commit_diff::digest(&changes, Direction::Forth);
        self.learn_digests(history);
        let added = Added::from_diffs(&changes);
        let mut found: HashMap<String, Kinship> = HashMap::new();
        let mut add = |name: &str, kinship: Kinship| {
            let known = found.entry(name.to_owned()).or_insert(kinship);
            *known = (*known).min(kinship);
        };
        for other in self.recorded.iter().chain(&self.lost).filter(|other| other.name != commit) {
            if digest.is_some()
                && added.is_own()
                && self.digests.get(&other.name).copied().flatten() == digest
            {
                add(&other.name, Kinship::Twin);
            }
            // Scripts make several commits in one second.
            let is_same_author = other.authored == own.authored
                && history
                    .changes(&other.name)
                    .is_some_and(|there| added.is_akin(&Added::from_diffs(&there)));
            let is_like = other.tree == own.tree || is_same_author;
            // An ancestor is not a copy, even if it is similar.
            let mut is_before =
                || !self.names.contains(&other.name) && history.is_before(&other.name, commit);
            if told.contains(&other.name) || is_like && !is_before() {
                add(&other.name, Kinship::Kin);
            }
        }
        let kin: HashSet<String> = found.keys().cloned().collect();
        let paths: HashSet<&str> =
            changes.iter().flat_map(|file| [&file.old, &file.new]).flatten().map(String::as_str).collect();
        for head in &self.heads {
            let is_before = head.since.as_ref().is_some_and(|since| !since.contains(commit));
            if head.name == commit || is_before || found.contains_key(&head.name) {
                continue;
            }
            let line = self.line_of(&head.name);
            let is_near = line.iter().any(|it| kin.contains(*it))
                || line.iter().flat_map(|it| anchors.paths_at(it)).any(|path| paths.contains(path));
            if !is_near {
                continue;
            }
            let work = &head.work;
            let kinship = if digest.is_some()
                && added.is_own()
                && commit_diff::digest(work, Direction::Forth) == digest
            {
                Kinship::Squash
            } else if line.iter().any(|it| kin.contains(*it)) || added.is_mostly_in(&Added::from_diffs(work))
            {
                Kinship::Kin
            } else {
                Kinship::Stranger
            };
            found.insert(head.name.clone(), kinship);
        }
        let mut origins: Vec<LineSource> =
            found.into_iter().map(|(commit, kinship)| LineSource { commit, kinship }).collect();
        origins.sort_by(|a, b| (a.kinship, &a.commit).cmp(&(b.kinship, &b.commit)));
        origins
    }

    /// Returns a lost commit and its lost ancestors. Empty if the history has the commit.
    pub(super) fn line_before<'s>(&'s self, commit: &str) -> Vec<&'s str> {
        if self.has(commit) { self.line_of(commit) } else { Vec::new() }
    }

    fn learn_digests(&mut self, history: &mut History<'_>) {
        if !self.digests.is_empty() {
            return;
        }
        let all: Vec<Rc<CommitInfo>> = self.lost.iter().take(MOST).cloned().collect();
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        history.learn_changes(&names);
        for name in names {
            let digest =
                history.changes(name).and_then(|changes| commit_diff::digest(&changes, Direction::Forth));
            self.digests.insert(name.to_owned(), digest);
        }
    }

    /// Returns a commit and its ancestors that left the history.
    fn line_of<'s>(&'s self, head: &str) -> Vec<&'s str> {
        let by_name: HashMap<&str, &Rc<CommitInfo>> =
            self.lost.iter().map(|it| (it.name.as_str(), it)).collect();
        let mut line: Vec<&str> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut next: Vec<&str> = by_name.get(head).map(|it| it.name.as_str()).into_iter().collect();
        while let Some(name) = next.pop() {
            if !seen.insert(name) {
                continue;
            }
            line.push(name);
            let parents = by_name.get(name).into_iter().flat_map(|it| &it.parents);
            next.extend(parents.filter_map(|parent| by_name.get(parent.as_str())).map(|it| it.name.as_str()));
        }
        line
    }
}

impl LostHead {
    fn from_history(history: &mut History<'_>, name: &str) -> LostHead {
        let base = history.places.head().and_then(|head| history.base(name, &head));
        let since = base.as_ref().and_then(|base| history.since(base));
        let work = base.as_ref().and_then(|base| history.between(base, name)).unwrap_or_default();
        LostHead { name: name.to_owned(), since, work }
    }
}

/// Distinctive lines that a change adds.
struct Added<'a>(HashSet<&'a [u8]>);

impl<'a> Added<'a> {
    fn from_diffs(files: &'a [FileDiff]) -> Added<'a> {
        let hunks = files.iter().flat_map(|file| &file.hunks);
        let lines = hunks.flat_map(|hunk| &hunk.added).map(|line| bare(line));
        Added(lines.filter(|line| is_telling(line)).collect())
    }

    /// Reports whether the lines are unlikely to come from another change.
    fn is_own(&self) -> bool {
        self.0.iter().any(|line| letters(line) >= LETTERS)
    }

    /// Reports whether the two share at least half of the lines of the smaller one.
    fn is_akin(&self, other: &Added<'_>) -> bool {
        let shared = self.0.iter().filter(|line| other.0.contains(**line)).count();
        shared > 0 && shared * 2 >= self.0.len().min(other.0.len())
    }

    /// Reports whether three in five lines, and at least three, are in the other; or all lines of the other,
    /// if it has more than one.
    fn is_mostly_in(&self, other: &Added<'_>) -> bool {
        let shared = self.0.iter().filter(|line| other.0.contains(**line)).count();
        let is_all = shared == other.0.len() && shared >= 2 && other.is_own();
        is_all || shared >= 3 && shared * 5 >= self.0.len() * 3
    }
}
