//! The text that every path of a pattern contains, and cheap tests for paths without such a text.

use crate::pattern::word_glob::{WordGlob, WordGlobChar};

/// The number of parts of the deepest home.
const HOME_DEPTH: usize = 3;

/// A text that every path of a pattern contains.
pub(super) enum PathPiece {
    /// A whole part, between slashes.
    Part(String),
    Within(String),
    /// A home, or the root.
    Top,
}

/// Reports whether a path can be a home or the root; `texts` are the path and the directories it may start from.
pub(super) fn may_be_top(texts: &[&str]) -> bool {
    let depth = |text: &str| text.split('/').filter(|part| !part.is_empty() && *part != ".").count();
    let Some((path, places)) = texts.split_first() else { return false };
    if path.split('/').any(|part| part == "..") || path.starts_with('~') {
        return true;
    }
    let above = if path.starts_with('/') { 0 } else { places.first().map_or(0, |place| depth(place)) };
    above + depth(path) <= HOME_DEPTH
}

/// Reports whether a path can lie outside the worktree and the temporary directories. `texts` are the path and
/// its possible start directories; the last one is in the worktree.
pub(super) fn may_be_outside(texts: &[&str]) -> bool {
    let [path, places @ ..] = texts else { return false };
    let is_inside = |text: &str| {
        let below = |place: &str| text.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
        below("/tmp") || below("/dev") || places.last().is_some_and(|cwd| *cwd == text || below(cwd))
    };
    let leaves = |text: &str| text.split('/').any(|part| part == "..");
    let from = if path.starts_with('/') { path } else { places.first().unwrap_or(path) };
    let is_absolute = from.starts_with(['/', '~']);
    leaves(path) || leaves(from) || path.starts_with('~') || is_absolute && !is_inside(from)
}

/// Returns the longest whole part of a path pattern, or else the longest text in it.
pub(super) fn piece(glob: &WordGlob) -> Option<PathPiece> {
    let signs = match glob {
        WordGlob::Any => return None,
        WordGlob::Exact(text) => {
            let part = text.split('/').max_by_key(|part| part.len()).unwrap_or_default();
            return Some(if part.is_empty() { PathPiece::Top } else { PathPiece::Part(part.to_owned()) });
        }
        WordGlob::Signs(signs) => signs,
    };
    let text = |part: &[WordGlobChar]| -> Option<String> {
        let letter = |sign: &WordGlobChar| match sign {
            WordGlobChar::Char(c) => Some(*c),
            WordGlobChar::Star | WordGlobChar::Stars => None,
        };
        part.iter().map(letter).collect()
    };
    let longest =
        |texts: Vec<String>| texts.into_iter().max_by_key(String::len).filter(|text| !text.is_empty());
    let parts = signs.split(|sign| *sign == WordGlobChar::Char('/'));
    let whole = longest(parts.clone().filter_map(text).collect()).map(PathPiece::Part);
    let stretches = signs.split(|sign| !matches!(sign, WordGlobChar::Char(c) if *c != '/'));
    whole.or_else(|| longest(stretches.filter_map(text).collect()).map(PathPiece::Within))
}
