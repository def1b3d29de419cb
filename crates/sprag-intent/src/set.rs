//! All intents of a repository, from several files, and what is known around them.

use serde::{Deserialize, Serialize};

use sprag_base::glob::CaseFolding;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::ignore::IgnoredIntents;
use super::ownership::WriteReach;
use super::status::IntentHistories;
use super::{Intent, IntentOrigin, IntentStatus};

/// The intents of a repository, those of the file that wins first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IntentSet(Vec<Intent>);

impl IntentSet {
    /// On equal ids the file that comes first wins.
    pub fn new(files: impl IntoIterator<Item = Vec<Intent>>) -> IntentSet {
        let mut all: Vec<Intent> = Vec::new();
        for intents in files {
            let known: std::collections::HashSet<Text<64>> =
                all.iter().map(|known| known.id.clone()).collect();
            all.extend(intents.into_iter().filter(|intent| !known.contains(&intent.id)));
        }
        IntentSet(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Intent> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn find(&self, id: &str) -> Option<&Intent> {
        self.0.iter().find(|intent| intent.id.as_str() == id)
    }

    /// Ids like this one, the nearest first.
    pub fn nearest(&self, id: &str) -> Vec<&Intent> {
        let wanted = id.to_ascii_lowercase();
        let mut near: Vec<(usize, &Intent)> = self
            .0
            .iter()
            .map(|intent| (distance(&wanted, &intent.id.as_str().to_ascii_lowercase()), intent))
            .collect();
        near.sort_by_key(|(far, _)| *far);
        near.into_iter().map(|(_, intent)| intent).take(3).collect()
    }

    /// Open intents that own all of these paths; those that own the most of them, where none does.
    pub fn owning<'a>(
        &'a self,
        paths: &[String],
        standings: &IntentHistories,
        folding: CaseFolding,
    ) -> Vec<&'a Intent> {
        let open = self.0.iter().filter(|intent| standings.status(intent) != IntentStatus::Done);
        let mut owning: Vec<(usize, &Intent)> = open
            .map(|intent| {
                let owned = paths.iter().filter(|path| intent.owned.holds(path, WriteReach::Path, folding));
                (owned.count(), intent)
            })
            .filter(|(count, _)| *count > 0)
            .collect();
        owning.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let most = owning.first().map_or(0, |(count, _)| *count);
        owning.into_iter().take_while(|(count, _)| *count == most).map(|(_, intent)| intent).take(3).collect()
    }
}

/// Letters to change, within the bounds of an id.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<u8>, Vec<u8>) = (one.bytes().take(64).collect(), other.bytes().take(64).collect());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, a) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to, b) in other.iter().enumerate() {
            let replaced = before + usize::from(a != b);
            before = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(row[to + 1] + 1);
        }
    }
    row[other.len()]
}

/// What is wrong with a file of intents, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentFileError {
    pub origin: IntentOrigin,
    pub line: u32,
    pub column: u32,
    pub what: Text<300>,
}

impl std::fmt::Display for IntentFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.origin.path(), self.line, self.column, self.what)
    }
}

/// What came of reading the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntentFiles {
    Good(IntentSet),
    /// At least one.
    Bad(Vec<IntentFileError>),
}

/// Another session that is at work on an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub session: SessionId,
    pub intent: Text<64>,
    pub since: Option<Timestamp>,
    /// The worktree it works in.
    pub root: String,
}

/// A path that a call would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedPath {
    pub named: String,
    /// Absolute, once as it is named and once with links followed.
    pub paths: [String; 2],
    pub reach: WriteReach,
    /// The tool or program that would.
    pub by: String,
}

/// The intents of the repository as a fact.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeFacts {
    pub read: IntentFiles,
    pub standings: IntentHistories,
    /// Looked for only where it matters: at a choice, and for an intent that is one session's at a time.
    pub holders: Vec<Holder>,
    pub ignored: IgnoredIntents,
    pub folding: CaseFolding,
    /// The worktree, as it is named and with links followed.
    pub roots: [String; 2],
    /// Where scratch files may go, in all their spellings.
    pub temp: Vec<String>,
    /// What the call would change, as far as it names it.
    pub targets: Vec<ScopedPath>,
    /// What it names that should tell more, and does not.
    pub unknown: Vec<Text<120>>,
    /// What calls that nobody could read beforehand have changed; looked for at a stop.
    pub strays: Option<Vec<String>>,
}
