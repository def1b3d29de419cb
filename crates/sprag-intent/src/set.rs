//! The intents of a repository, merged from several files, and the facts around them.

use serde::{Deserialize, Serialize};

use sprag_base::glob::CaseFolding;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::ignore::IgnoredIntents;
use super::ownership::WriteReach;
use super::status::IntentHistories;
use super::{Intent, IntentOrigin, IntentStatus};

/// The intents of a repository. Intents of the winning file stand first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IntentSet(Vec<Intent>);

impl IntentSet {
    /// Merges the files. On equal ids the earlier file wins.
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

    /// Returns up to three intents with the most similar ids, the nearest first.
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

    /// Returns up to three open intents that own the most of these paths.
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

/// Counts the letters to change between two ids.
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

/// An error in a file of intents, with its position.
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

/// The result of reading the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntentFiles {
    Good(IntentSet),
    /// At least one error.
    Bad(Vec<IntentFileError>),
}

/// Another session that works on an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub session: SessionId,
    pub intent: Text<64>,
    pub since: Option<Timestamp>,
    /// The worktree of that session.
    pub root: String,
}

/// A path that a call would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedPath {
    pub named: String,
    /// The absolute path, as named and with links resolved.
    pub paths: [String; 2],
    pub reach: WriteReach,
    /// The tool or program that would change the path.
    pub by: String,
}

/// The intents of the repository as a fact.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeFacts {
    pub read: IntentFiles,
    pub standings: IntentHistories,
    /// Other sessions. The host looks for them only at a choice and for an exclusive intent.
    pub holders: Vec<Holder>,
    pub ignored: IgnoredIntents,
    pub folding: CaseFolding,
    /// The worktree, as named and with links resolved. If the session started in another worktree of the
    /// clone, that one follows.
    pub roots: Vec<String>,
    /// Directories for scratch files, in all their spellings.
    pub temp: Vec<String>,
    /// The paths that the call would change, as far as the call names them.
    pub targets: Vec<ScopedPath>,
    /// Parts of the call that hide which paths it changes.
    pub unknown: Vec<Text<120>>,
    /// Files changed by calls that Sprag could not analyse before they ran. The host looks for them at a
    /// stop.
    pub strays: Option<Vec<String>>,
}
