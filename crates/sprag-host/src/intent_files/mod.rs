//! The intents of a repository: finds, reads and changes their files, and caches them for hooks.

pub mod edit;
pub mod file;

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::text::Text;
use sprag_intent::{
    IgnoredIntents, Intent, IntentFileError, IntentFiles, IntentHistories, IntentOrigin, IntentSet,
};

use crate::sys::disk::read_small;

#[cfg(test)]
mod tests;

/// Maximum bytes of an intent file.
const LONGEST: u64 = 1024 * 1024;
const IGNORED: u64 = 64 * 1024;
const LINK: &str = "it is a symbolic link, and its target is not protected";

/// Files that list intents whose changes need the approval of a person, relative to the worktree.
const IGNORE_FILES: &[&str] = &[".orchestration/.intentignore", ".intentignore"];

/// The content of all intent files of a worktree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedIntents {
    pub read: IntentFiles,
    pub ignored: IgnoredIntents,
    pub warnings: Vec<IntentFileError>,
}

/// Returns the intent files; a repository with one of them has intents.
pub fn files(worktree: &Path) -> impl Iterator<Item = PathBuf> {
    IntentOrigin::ALL.map(|origin| worktree.join(origin.path())).into_iter()
}

/// Returns the ignore files, which count only in a repository with intents.
pub fn ignore_files(worktree: &Path) -> impl Iterator<Item = PathBuf> {
    IGNORE_FILES.iter().map(|path| worktree.join(path))
}

/// Reads all intent files. `None` if there are none.
pub fn load(worktree: &Path) -> Option<LoadedIntents> {
    let there: Vec<IntentOrigin> = IntentOrigin::ALL
        .into_iter()
        .filter(|origin| fs::symlink_metadata(worktree.join(origin.path())).is_ok())
        .collect();
    if there.is_empty() {
        return None;
    }
    let (mut sets, mut bad, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for origin in there {
        match text_of(worktree, origin) {
            Ok(text) => {
                let entries = file::read(&text, origin);
                sets.push(entries.intents);
                bad.extend(entries.bad);
                warnings.extend(entries.warnings);
            }
            Err(error) => bad.push(unreadable(origin, &error)),
        }
    }
    let read = if bad.is_empty() { IntentFiles::Good(IntentSet::new(sets)) } else { IntentFiles::Bad(bad) };
    let mut ignored = IgnoredIntents::default();
    for path in ignore_files(worktree) {
        ignored.join(IgnoredIntents::parse(&read_small(&path, IGNORED).unwrap_or_default()));
    }
    Some(LoadedIntents { read, ignored, warnings })
}

/// Returns the text of an intent file, up to the maximum length.
pub fn text_of(worktree: &Path, origin: IntentOrigin) -> io::Result<String> {
    let path = worktree.join(origin.path());
    let found = fs::symlink_metadata(&path)?;
    // An intent may own the target of the link.
    if found.is_symlink() {
        return Err(io::Error::other(LINK));
    }
    if found.len() > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    read_small(&path, LONGEST)
}

fn unreadable(origin: IntentOrigin, error: &io::Error) -> IntentFileError {
    let what = match error.kind() {
        io::ErrorKind::FileTooLarge => "the file is longer than 1 MB".to_owned(),
        io::ErrorKind::InvalidData => "the file is not UTF-8".to_owned(),
        _ => format!("cannot read the file: {error}"),
    };
    IntentFileError { origin, line: 1, column: 1, what: Text::new(what) }
}

/// Returns one intent as JSON.
pub fn json(intent: &Intent, standings: &IntentHistories) -> Value {
    let criteria: Vec<Value> = intent.criteria.iter().map(criterion).collect();
    serde_json::json!({
        "id": intent.id,
        "name": intent.name,
        "status": standings.status(intent).name(),
        "constraints": intent.constraints,
        "owned_scope": match &intent.owned {
            sprag_intent::Ownership::Everything => Value::Null,
            owned => serde_json::json!(owned.globs()),
        },
        "acceptance_criteria": criteria,
        "exclusive": intent.sharing == sprag_intent::IntentSharing::Exclusive,
        "fingerprint": intent.fingerprint,
        "file": intent.origin.path(),
        "line": intent.line,
        "unmet": standings.unmet(intent).iter().map(|criterion| &criterion.key).collect::<Vec<_>>(),
        "rest": file::rest(intent),
    })
}

fn criterion(criterion: &sprag_intent::Criterion) -> Value {
    let check = match &criterion.proof {
        sprag_intent::CriterionProof::Check(command) => Some(command),
        sprag_intent::CriterionProof::Word => None,
    };
    serde_json::json!({"id": criterion.key, "text": criterion.text, "check": check})
}
