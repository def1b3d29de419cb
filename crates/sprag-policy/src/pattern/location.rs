//! Resolves the directory that an operand names, and decides whether its loss would be a disaster. It
//! compares only texts and does not resolve symbolic links.

use sprag_base::glob::CaseFolding;
use sprag_base::path::relative;
use sprag_shell::{Word, WorkingDir};

use crate::pattern::word_glob::{GlobFit, Letter, WordGlob, WordGlobChar};

/// Absolute paths of the start directory, the worktree and the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPaths {
    /// The directory in which the shell started.
    pub start: String,
    /// The root of the worktree.
    pub repo: String,
    pub home: String,
}

/// Maximum length of a path on any system; a longer path counts as unknown.
const LONGEST: usize = 4096;

/// Names that no real directory has, so that an unknown directory never equals a known one.
const UNKNOWN_REPO: &str = "/\u{F0000}/\u{F0000}repo";
const UNKNOWN_HOME: &str = "/\u{F0000}home";

impl Default for KnownPaths {
    fn default() -> KnownPaths {
        KnownPaths::new(None, None)
    }
}

/// System directories, which are protected together with their direct entries.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
    "/System",
];

/// Directories whose loss is a disaster, but whose entries may belong to anyone.
const SHARED: &[&str] = &[
    "/",
    "/Applications",
    "/Library",
    "/Users",
    "/Volumes",
    "/data",
    "/home",
    "/media",
    "/mnt",
    "/nix",
    "/opt",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
    "/root",
    "/run",
    "/snap",
    "/srv",
    "/tmp",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/src",
    "/var",
];

/// Directories whose direct entries are state of the system.
const STATE: &[&str] = &["/var", "/var/lib", "/nix/var", "/boot/efi"];

const TEMPORARY: &[&str] =
    &["/tmp", "/var/tmp", "/private/tmp", "/private/var/folders", "/var/folders", "/dev/shm"];

/// Names of directories that tools create again.
const REBUILT: &[&str] = &[
    ".gradle",
    ".mypy_cache",
    ".next",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    "__pycache__",
    "node_modules",
];

/// Directories of a home whose entries tools create again.
const CACHES: &[&str] = &[
    ".bundle/cache",
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".gradle/caches",
    ".ivy2/cache",
    ".local/share/Trash",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm",
    ".nuget/packages",
    ".pnpm-store",
    ".terraform.d/plugin-cache",
    ".yarn/cache",
    "Library/Caches",
    "Library/Developer/Xcode/DerivedData",
    "go/pkg",
];

/// Parts of a home directory that cannot be restored.
const PERSONAL: &[&str] = &[
    ".aws",
    ".config",
    ".gnupg",
    ".kube",
    ".local",
    ".local/share",
    ".password-store",
    ".ssh",
    "Desktop",
    "Documents",
    "Library",
    "Pictures",
];

impl KnownPaths {
    pub fn new(start: Option<&str>, home: Option<&str>) -> KnownPaths {
        let place = |path: Option<&str>, unknown: &str| match path {
            Some(path) if path.starts_with('/') => normal(path),
            _ => unknown.to_owned(),
        };
        let start = place(start, UNKNOWN_REPO);
        KnownPaths { repo: start.clone(), home: place(home, UNKNOWN_HOME), start }
    }

    /// Sets the root of the worktree.
    pub fn in_repo(self, root: &str) -> KnownPaths {
        if root.starts_with('/') { KnownPaths { repo: normal(root), ..self } } else { self }
    }

    /// Returns the absolute path of a word as letters. A path relative to an unknown directory starts with a
    /// hole.
    pub fn resolve(&self, word: &Word, cwd: &WorkingDir) -> Vec<Letter> {
        if length(word) > LONGEST {
            return vec![Letter::Hole];
        }
        let mut path = match word {
            Word::Known(text) => globbed(text),
            Word::Partly(parts) => globbed_parts(parts),
            Word::Many => vec![Letter::Hole],
        };
        match path.first() {
            Some(Letter::Char('/')) => {}
            Some(Letter::Hole) if !matches!(word, Word::Known(_)) => {}
            Some(Letter::Char('~')) => {
                let own = matches!(path.get(1), None | Some(Letter::Char('/')));
                path.splice(0..1, chars(if own { &self.home } else { "/home/" }));
            }
            _ => {
                path.insert(0, Letter::Char('/'));
                path.splice(0..0, self.place(cwd));
            }
        }
        normal_letters(&path)
    }

    fn place(&self, cwd: &WorkingDir) -> Vec<Letter> {
        match cwd {
            WorkingDir::Unknown => vec![Letter::Hole],
            WorkingDir::At(path) if path.starts_with('/') => globbed(path),
            WorkingDir::At(path) if path == "~" || path.starts_with("~/") => {
                chars(&self.home).chain(chars(&path[1..])).collect()
            }
            WorkingDir::At(path) => {
                chars(&self.start).chain([Letter::Char('/')]).chain(chars(path)).collect()
            }
        }
    }

    /// Reports whether an operand is a root: `/`, a system directory, a home or its irreplaceable parts, the
    /// worktree or a directory above it, its `.git`. An operand that would be a root if its unknown parts
    /// were empty counts too, because that is how roots get lost.
    pub fn root(&self, word: &Word, cwd: &WorkingDir) -> GlobFit {
        if matches!(word, Word::Known(text) if text.is_empty()) {
            return GlobFit::No;
        }
        let path = self.resolve(word, cwd);
        let holes = path.contains(&Letter::Hole);
        if path.first() == Some(&Letter::Hole) {
            // The start is unknown, so the operand is a root if its known rest is one.
            return match text(&path) {
                rest if rest.is_empty() || rest == "/" => GlobFit::Maybe,
                rest if SYSTEM.contains(&rest.as_str()) || SHARED.contains(&rest.as_str()) => GlobFit::Maybe,
                rest if rest.split('/').any(|part| part == ".git") => GlobFit::Maybe,
                _ => GlobFit::No,
            };
        }
        let whole = text(&path);
        // `/tmp/*` means the entries, not the directory.
        if holes && TEMPORARY.contains(&whole.trim_end_matches('/')) && path.last() == Some(&Letter::Hole) {
            return GlobFit::No;
        }
        if self.is_root(&normal(&whole)) {
            return GlobFit::Yes;
        }
        match word {
            _ if !holes || !self.finds_root(&path) => GlobFit::No,
            // The shell expands a glob to existing files, and these roots exist.
            Word::Known(_) => GlobFit::Yes,
            Word::Partly(_) | Word::Many => GlobFit::Maybe,
        }
    }

    /// Reports whether an operand is a root outside the worktree, where a change of owner or mode does harm.
    pub fn system(&self, word: &Word, cwd: &WorkingDir) -> GlobFit {
        let path = self.resolve(word, cwd);
        let whole = normal(&text(&path));
        if path.first() != Some(&Letter::Hole) && below(&whole, &self.repo).is_some() {
            return GlobFit::No;
        }
        self.root(word, cwd)
    }

    /// Reports whether an operand lies outside the worktree and the temporary directories. Caches and built
    /// files can be made again and do not count.
    pub fn outside(&self, word: &Word, cwd: &WorkingDir) -> GlobFit {
        if matches!(word, Word::Known(text) if text.is_empty() || text.contains("://")) {
            return GlobFit::No;
        }
        self.outside_path(&self.resolve(word, cwd))
    }

    /// Reports the same for an absolute path.
    pub(crate) fn outside_path(&self, path: &[Letter]) -> GlobFit {
        if path.first() == Some(&Letter::Hole) {
            return GlobFit::No;
        }
        let known = text(path.split(|letter| *letter == Letter::Hole).next().unwrap_or_default());
        let known = normal(&known);
        let is_free = below(&known, &self.repo).is_some()
            || is_temporary(&known)
            || REBUILT.iter().any(|name| known.split('/').any(|part| part == *name))
            || below(&known, &self.home).is_some_and(|inner| {
                CACHES.iter().any(|cache| below(inner, cache).is_some_and(|rest| !rest.is_empty()))
            });
        (!is_free).into()
    }

    /// Returns a path as messages show it: relative to the worktree or, with `~`, to the home.
    pub(crate) fn short(&self, path: &str) -> String {
        let below = |base: &str| {
            let inner = path.strip_prefix(base)?.strip_prefix('/')?;
            (!base.is_empty() && !inner.is_empty()).then(|| inner.to_owned())
        };
        let at_home = || below(&self.home).map(|inner| format!("~/{inner}"));
        below(&self.repo).or_else(at_home).unwrap_or_else(|| path.to_owned())
    }

    /// Reports whether the home lies in the worktree.
    pub(crate) fn holds_home(&self) -> bool {
        contains(&self.repo, &self.home)
    }

    /// Reports whether a command runs below a temporary directory, outside the worktree.
    pub fn is_scratch(&self, cwd: &WorkingDir) -> bool {
        let place = normal_letters(&self.place(cwd));
        if place.contains(&Letter::Hole) {
            return false;
        }
        let place = text(&place);
        is_temporary(&place) && below(&place, &self.repo).is_none() && below(&self.repo, &place).is_none()
    }

    /// Reports whether an absolute path lies below a temporary directory, outside the worktree.
    pub(crate) fn scratch_path(&self, path: &[Letter]) -> GlobFit {
        if path.first() == Some(&Letter::Hole) {
            return GlobFit::No;
        }
        let known = text(path.split(|letter| *letter == Letter::Hole).next().unwrap_or_default());
        (is_temporary(&known) && below(&normal(&known), &self.repo).is_none()).into()
    }

    /// Reports whether a command runs outside the worktree and the temporary directories.
    pub(crate) fn is_away(&self, cwd: &WorkingDir) -> GlobFit {
        self.outside_path(&normal_letters(&self.place(cwd)))
    }

    /// Reports whether some root matches this path with holes.
    fn finds_root(&self, path: &[Letter]) -> bool {
        let signs = |path: &[Letter]| {
            let sign = |letter: &Letter| match letter {
                Letter::Char(c) => WordGlobChar::Char(*c),
                Letter::Hole => WordGlobChar::Star,
            };
            WordGlob::Signs(path.iter().map(sign).collect())
        };
        // A directory of unknown name may also be empty: `find . -name '.g*'`.
        let mut parts: Vec<&[Letter]> = path.split(|letter| *letter == Letter::Char('/')).collect();
        parts.retain(|part| *part != [Letter::Hole]);
        let joined = parts.join(&Letter::Char('/'));
        // The known start excludes most roots cheaply.
        let start =
            |path: &[Letter]| text(path.split(|letter| *letter == Letter::Hole).next().unwrap_or_default());
        let globs = [(start(path), signs(path)), (start(&joined), signs(&joined))];
        let found =
            |place: &str| globs.iter().any(|(start, glob)| place.starts_with(start) && glob.fits(place));
        let above = |place: &str| {
            let ends = place.char_indices().filter(|(at, c)| *c == '/' && *at > 0).map(|(at, _)| at);
            ends.chain([place.len()]).any(|end| found(&place[..end]))
        };
        SYSTEM.iter().chain(SHARED).any(|place| found(place))
            || above(&self.repo)
            || above(&self.home)
            || found(&format!("{}/.git", self.repo))
            || PERSONAL.iter().any(|inner| found(&format!("{}/{inner}", self.home)))
    }

    fn is_root(&self, path: &str) -> bool {
        if contains(path, &self.repo) || contains(path, &self.home) {
            return true;
        }
        if let Some(inner) = below(path, &self.repo)
            && (inner == ".git" || inner.starts_with(".git/"))
        {
            return true;
        }
        if is_temporary(path) {
            return false;
        }
        if below(path, &self.repo).is_some() {
            return false;
        }
        if let Some(inner) = below(path, &self.home) {
            return PERSONAL.contains(&inner) || inner.split('/').any(|part| part == ".git");
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let home = matches!(parent, "/home" | "/Users");
        let system = SYSTEM.iter().any(|place| below(path, place).is_some());
        let local = below(path, "/usr/local").is_some() || below(path, "/usr/src").is_some();
        name == ".git" || home || SHARED.contains(&path) || STATE.contains(&parent) || (system && !local)
    }

    /// Reports whether an operand is completely unknown, or known only as relative to an unknown directory.
    pub fn unknown(&self, word: &Word, cwd: &WorkingDir) -> GlobFit {
        if matches!(word, Word::Many) {
            return GlobFit::Yes;
        }
        let path = self.resolve(word, cwd);
        (path.first() == Some(&Letter::Hole) && text(&path).chars().all(|c| matches!(c, '/' | '.'))).into()
    }
}

/// Reports whether a path lies below a temporary directory.
fn is_temporary(path: &str) -> bool {
    TEMPORARY.iter().any(|place| below(path, place).is_some_and(|inner| !inner.is_empty()))
}

fn length(word: &Word) -> usize {
    match word {
        Word::Known(text) => text.len(),
        Word::Partly(parts) => parts.iter().flatten().map(String::len).sum(),
        Word::Many => 0,
    }
}

/// Returns the letters of a text; `*`, `?` and `[…]` become holes, because the shell expands them at run
/// time.
fn globbed(text: &str) -> Vec<Letter> {
    let mut letters = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let glob = match c {
            '*' | '?' => true,
            '[' => rest.as_str().contains(']') && rest.any(|c| c == ']'),
            _ => false,
        };
        if !glob {
            letters.push(Letter::Char(c));
        } else if letters.last() != Some(&Letter::Hole) {
            letters.push(Letter::Hole);
        }
    }
    letters
}

/// Returns the letters of a partly known word in the same way.
fn globbed_parts(parts: &[Option<String>]) -> Vec<Letter> {
    let mut letters = Vec::new();
    for part in parts {
        match part {
            Some(text) => letters.extend(globbed(text)),
            None => letters.push(Letter::Hole),
        }
    }
    letters
}

fn chars(text: &str) -> impl Iterator<Item = Letter> {
    text.chars().map(Letter::Char)
}

/// Returns only the known letters.
pub(crate) fn text(path: &[Letter]) -> String {
    path.iter()
        .filter_map(|letter| match letter {
            Letter::Char(c) => Some(*c),
            Letter::Hole => None,
        })
        .collect()
}

/// Reports whether `inner` is `outer` or below it.
fn contains(outer: &str, inner: &str) -> bool {
    below(inner, outer).is_some()
}

fn below<'a>(path: &'a str, place: &str) -> Option<&'a str> {
    relative(path, place, CaseFolding::Exact)
}

fn normal(path: &str) -> String {
    text(&normal_letters(&chars(path).collect::<Vec<_>>()))
}

/// Removes `.`, `..` and doubled slashes. A path that starts with a hole keeps it.
fn normal_letters(path: &[Letter]) -> Vec<Letter> {
    let mut parts: Vec<&[Letter]> = Vec::new();
    for part in path.split(|letter| *letter == Letter::Char('/')) {
        match part {
            [] | [Letter::Char('.')] => {}
            [Letter::Char('.'), Letter::Char('.')] => {
                // The parent of an unknown directory is unknown.
                if parts.last() != Some(&&[Letter::Hole][..]) || parts.len() > 1 {
                    parts.pop();
                }
            }
            part => parts.push(part),
        }
    }
    let mut whole = Vec::with_capacity(path.len() + 1);
    for part in &parts {
        let leads =
            whole.is_empty() && part.first() == Some(&Letter::Hole) && path.first() == Some(&Letter::Hole);
        if !leads {
            whole.push(Letter::Char('/'));
        }
        whole.extend_from_slice(part);
    }
    if parts.is_empty() {
        whole.push(Letter::Char('/'));
    }
    whole
}

#[cfg(test)]
#[path = "location_tests.rs"]
mod tests;
