//! The files that an intent may change: patterns in order, of which the last matching one decides.

use serde::{Deserialize, Serialize};

use sprag_base::glob::{BadGlob, CaseFolding, Glob};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    Nothing,
    Everything,
    /// Patterns as written. A pattern that starts with `!` excludes paths.
    Globs(Vec<String>),
}

/// The part of the file tree that a write to a path may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteReach {
    /// Only the path.
    Path,
    /// The path and everything below it.
    Tree,
    /// The path becomes a directory. A new directory alone does not count as a change.
    Directory,
    /// The paths that a shell pattern matches.
    Wild,
    /// The path exists and is not a regular file. Writes into it are never allowed.
    Special,
}

/// The directory of git. No intent can own it.
const GIT: &str = ".git";

impl Ownership {
    /// Checks one pattern, with or without `!`.
    pub fn check(glob: &str) -> Result<(), BadGlob> {
        Glob::parse(glob.strip_prefix('!').unwrap_or(glob)).map(drop)
    }

    pub fn globs(&self) -> &[String] {
        match self {
            Ownership::Nothing | Ownership::Everything => &[],
            Ownership::Globs(globs) => globs,
        }
    }

    /// Reports whether a path may be changed. The path is relative to the repository, without `.` and `..`.
    pub fn holds(&self, path: &str, reach: WriteReach, folding: CaseFolding) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        if first.eq_ignore_ascii_case(GIT) {
            return false;
        }
        match (self, reach) {
            (_, WriteReach::Special) | (Ownership::Nothing, _) => false,
            (Ownership::Everything, _) => true,
            (Ownership::Globs(globs), WriteReach::Path) => fits(&read(globs), path, folding),
            (Ownership::Globs(globs), WriteReach::Tree) => fits_tree(&read(globs), path, folding),
            (Ownership::Globs(globs), WriteReach::Directory) => {
                let globs = read(globs);
                let could = |part: &OwnedPattern| part.adds && part.glob.may_fit_below(path, folding);
                fits(&globs, path, folding) || globs.iter().any(could)
            }
            (Ownership::Globs(globs), WriteReach::Wild) => fits_wild(globs, path, folding),
        }
    }
}

struct OwnedPattern {
    adds: bool,
    glob: Glob,
}

/// Parses patterns. The reader of the file has checked them already, so this function skips a bad one.
fn read(globs: &[String]) -> Vec<OwnedPattern> {
    let part = |text: &String| {
        let (adds, text) = text.strip_prefix('!').map_or((true, text.as_str()), |rest| (false, rest));
        Glob::parse(text).ok().map(|glob| OwnedPattern { adds, glob })
    };
    globs.iter().filter_map(part).collect()
}

fn fits(parts: &[OwnedPattern], path: &str, folding: CaseFolding) -> bool {
    parts.iter().rev().find(|part| part.glob.fits(path, folding)).is_some_and(|part| part.adds)
}

/// Reports whether a whole directory is owned: one pattern adds all of it, and no later pattern excludes a
/// part of it.
fn fits_tree(parts: &[OwnedPattern], dir: &str, folding: CaseFolding) -> bool {
    for part in parts.iter().rev() {
        if part.adds && part.glob.fits_tree(dir, folding) {
            return true;
        }
        if !part.adds && (part.glob.may_fit_below(dir, folding) || part.glob.fits(dir, folding)) {
            return false;
        }
    }
    // A pattern that matches only `dir` does not cover the paths below it.
    false
}

/// Reports whether every path that a shell pattern could match is owned. Either the intent owns all of the
/// directory before the first wildcard, or one pattern of the intent matches the shell pattern as text. The
/// second way needs patterns without `!` and `?`.
fn fits_wild(globs: &[String], path: &str, folding: CaseFolding) -> bool {
    let dirs = path.split('/').take_while(|name| !name.contains(WILD));
    let dir = dirs.collect::<Vec<_>>().join("/");
    let is_plain = !globs.iter().any(|glob| glob.starts_with('!') || glob.contains('?'));
    let parts = read(globs);
    fits_tree(&parts, &dir, folding) || is_plain && fits(&parts, path, folding)
}

/// Characters with a special meaning in a shell pattern.
pub const WILD: [char; 3] = ['*', '?', '['];
