//! Where the changes of an intent may be made: patterns in their order, of which the last that fits decides.

use serde::{Deserialize, Serialize};

use sprag_base::glob::{BadGlob, CaseFolding, Glob};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    Nothing,
    Everything,
    /// Each as it is written; one that starts with `!` takes away.
    Globs(Vec<String>),
}

/// How much of the world a write to a path may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteReach {
    /// The path itself.
    Path,
    /// Whatever is below it, too.
    Tree,
    /// It becomes a directory, which is no change by itself.
    Directory,
    /// What a pattern of the shell stands for.
    Wild,
    /// It is there, and no file: nothing is to be written into it.
    Special,
}

/// What git keeps for itself is nobody's to own.
const GIT: &str = ".git";

impl Ownership {
    /// One pattern, with or without its mark.
    pub fn check(glob: &str) -> Result<(), BadGlob> {
        Glob::parse(glob.strip_prefix('!').unwrap_or(glob)).map(drop)
    }

    pub fn globs(&self) -> &[String] {
        match self {
            Ownership::Nothing | Ownership::Everything => &[],
            Ownership::Globs(globs) => globs,
        }
    }

    /// Whether a path may be changed: relative to the repository, without `.` and `..`.
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

/// Patterns were looked at when their file was read; one that is bad after all adds nothing.
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

/// Of a whole directory: something takes all of it, and nothing after that could take any of it away.
fn fits_tree(parts: &[OwnedPattern], dir: &str, folding: CaseFolding) -> bool {
    for part in parts.iter().rev() {
        if part.adds && part.glob.fits_tree(dir, folding) {
            return true;
        }
        if !part.adds && (part.glob.may_fit_below(dir, folding) || part.glob.fits(dir, folding)) {
            return false;
        }
    }
    // A pattern that names just this may still do, if it is no directory at all.
    false
}

/// All that a pattern of the shell could stand for: what is below the directories it names, or just what one
/// of ours takes, where nothing is taken away and no `?` is taken for a star.
fn fits_wild(globs: &[String], path: &str, folding: CaseFolding) -> bool {
    let dirs = path.split('/').take_while(|name| !name.contains(WILD));
    let dir = dirs.collect::<Vec<_>>().join("/");
    let is_plain = !globs.iter().any(|glob| glob.starts_with('!') || glob.contains('?'));
    let parts = read(globs);
    fits_tree(&parts, &dir, folding) || is_plain && fits(&parts, path, folding)
}

/// Characters that a shell takes for more than themselves.
pub const WILD: [char; 3] = ['*', '?', '['];
