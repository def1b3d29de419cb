//! The files of a change, before and after.

use std::path::Path;

use super::{CAP, git};

/// Maximum number of files in one change.
const MOST: usize = 2000;

/// A change to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeRange {
    /// A commit against its first parent.
    Commit(String),
    Between {
        from: String,
        to: String,
    },
    /// The index against `HEAD`.
    Staged,
}

/// A file on both sides; `None` where it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileVersions {
    pub path_before: Option<String>,
    pub path_after: Option<String>,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// Returns the files that differ. `None` if the revision does not exist or the change is too large.
pub fn versions(worktree: &Path, range: &ChangeRange) -> Option<Vec<FileVersions>> {
    let empty = super::empty_tree(worktree)?;
    let raw = ["-r", "-z", "-M", "--raw", "--no-abbrev", "--no-ext-diff"];
    let listed = match range {
        ChangeRange::Staged => {
            let head = tree(worktree, "HEAD").unwrap_or(empty);
            let args: Vec<&str> =
                ["diff-index", "--cached"].into_iter().chain(raw).chain([head.as_str(), "--"]).collect();
            git(worktree, &args)?
        }
        ChangeRange::Commit(commit) => {
            let new = tree(worktree, commit)?;
            let old = tree(worktree, &format!("{commit}^")).unwrap_or(empty);
            compared(worktree, &raw, &old, &new)?
        }
        ChangeRange::Between { from, to } => {
            let (old, new) = (tree(worktree, from)?, tree(worktree, to)?);
            compared(worktree, &raw, &old, &new)?
        }
    };
    if listed.stdout.len() >= CAP {
        return None;
    }
    let mut parts =
        listed.stdout.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut found = Vec::new();
    while let Some(head) = parts.next().filter(|head| !head.is_empty()) {
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, status] = fields[..] else { return None };
        let first = parts.next()?;
        let second = if status.starts_with(['R', 'C']) { parts.next()? } else { first.clone() };
        let side = |mode: &str, object: &str, path: String| -> Option<(Option<String>, Option<Vec<u8>>)> {
            match mode {
                "000000" => Some((None, None)),
                // A link or a submodule is not a source file.
                mode if !mode.starts_with("100") => Some((Some(format!("{path}/")), Some(Vec::new()))),
                _ => Some((Some(path), Some(blob(worktree, object)?))),
            }
        };
        let (path_before, before) = side(old_mode, old, first)?;
        let (path_after, after) = side(new_mode, new, second)?;
        found.push(FileVersions { path_before, path_after, before, after });
        if found.len() > MOST {
            return None;
        }
    }
    Some(found)
}

fn compared(worktree: &Path, raw: &[&str], old: &str, new: &str) -> Option<super::ProcessOutput> {
    let args: Vec<&str> =
        ["diff-tree"].into_iter().chain(raw.iter().copied()).chain([old, new, "--"]).collect();
    git(worktree, &args)
}

/// Returns the tree of a revision.
pub fn tree(worktree: &Path, revision: &str) -> Option<String> {
    let name = format!("{revision}^{{tree}}");
    let ran = git(worktree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &name])?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let object = text.lines().last()?.trim();
    object.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| object.to_owned())
}

fn blob(worktree: &Path, object: &str) -> Option<Vec<u8>> {
    let ran = git(worktree, &["cat-file", "blob", object])?;
    (ran.stdout.len() < CAP).then_some(ran.stdout)
}
