//! Decides whether two stages may change the same file. A yes may be wrong; a no is certain.

use sprag_base::glob::{CaseFolding, Glob};
use sprag_base::path::is_below;

use super::StageScope;
use super::graph::Graph;
use super::values::FileGlob;

/// Limit on the cost of all comparisons of a plan, in pairs of pattern positions.
const STEPS: u32 = 1_000_000;

/// Wildcard characters.
const SIGNS: [char; 3] = ['*', '?', '{'];

/// A scope in a form that can be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeShape {
    /// The patterns in their order: an exclusion applies to those before it.
    parts: Vec<ScopePart>,
}

#[derive(Clone, Debug)]
struct ScopePart {
    text: FileGlob,
    glob: Glob,
    /// The directory before the first wildcard.
    start: String,
    /// The pattern names a single path.
    is_plain: bool,
}

impl ScopeShape {
    pub(crate) fn new(scope: &StageScope) -> ScopeShape {
        let part = |text: &FileGlob| ScopePart {
            glob: text.glob(),
            start: start(text.as_str().trim_start_matches('!')),
            is_plain: !text.as_str().contains(SIGNS) && !text.as_str().ends_with('/'),
            text: text.clone(),
        };
        ScopeShape { parts: scope.globs.iter().map(part).collect() }
    }

    /// Returns two patterns that match the same path. The outer `None` means that the comparison costs too
    /// much.
    pub(crate) fn meets(&self, other: &ScopeShape, steps: &mut u32) -> Option<Option<(FileGlob, FileGlob)>> {
        for (at, one) in self.adding() {
            for (place, two) in other.adding() {
                *steps = steps.checked_sub(1)?;
                let is_in = |path: &str, dir: &str| dir.is_empty() || is_below(path, dir, CaseFolding::Exact);
                let is_apart = !is_in(&two.start, &one.start) && !is_in(&one.start, &two.start);
                if is_apart {
                    continue;
                }
                if one.glob.meets(&two.glob, steps)? && !self.lets_go(at, two) && !other.lets_go(place, one) {
                    return Some(Some((one.text.clone(), two.text.clone())));
                }
            }
        }
        Some(None)
    }

    fn adding(&self) -> impl Iterator<Item = (usize, &ScopePart)> {
        self.parts.iter().enumerate().filter(|(_, part)| !part.text.is_exclusion())
    }

    /// Reports whether a later exclusion removes all paths of the other pattern. A pattern that adds them
    /// again is compared separately.
    fn lets_go(&self, at: usize, other: &ScopePart) -> bool {
        self.parts[at + 1..].iter().filter(|part| part.text.is_exclusion()).any(|part| {
            let is_all_below =
                !other.start.is_empty() && part.glob.fits_tree(&other.start, CaseFolding::Exact);
            is_all_below || other.is_plain && part.glob.fits(other.text.as_str(), CaseFolding::Exact)
        })
    }
}

/// Two stages that may run at the same time and change the same file: their indexes in the plan, and the
/// patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    pub one: usize,
    pub other: usize,
    pub by: (FileGlob, FileGlob),
}

/// Result of the comparison of all stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlaps {
    pub pairs: Vec<Overlap>,
    pub extent: Extent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// There were too many pairs to compare or to list.
    Some,
}

/// Compares all stages that do not wait for each other, and lists at most `most` pairs.
pub(crate) fn overlaps(scopes: &[ScopeShape], graph: &Graph, most: usize) -> Overlaps {
    let order = graph.order_known();
    let mut steps = STEPS;
    let mut pairs = Vec::new();
    for (other, theirs) in scopes.iter().enumerate().filter(|(_, scope)| !scope.parts.is_empty()) {
        for (one, ours) in scopes[..other].iter().enumerate().filter(|(_, scope)| !scope.parts.is_empty()) {
            if order.are_ordered(one, other) {
                continue;
            }
            match ours.meets(theirs, &mut steps) {
                None => return Overlaps { pairs, extent: Extent::Some },
                Some(None) => {}
                Some(Some(_)) if pairs.len() >= most => return Overlaps { pairs, extent: Extent::Some },
                Some(Some(by)) => pairs.push(Overlap { one, other, by }),
            }
        }
    }
    Overlaps { pairs, extent: Extent::All }
}

/// Returns the directories of a pattern before its first wildcard.
fn start(text: &str) -> String {
    let names: Vec<&str> = text.trim_start_matches("./").split('/').collect();
    let fixed = names.iter().take_while(|name| !name.contains(SIGNS)).count();
    names[..fixed.min(names.len() - 1)]
        .iter()
        .filter(|name| !name.is_empty() && **name != ".")
        .copied()
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::values::Readable as _;

    fn scope(globs: &[&str]) -> ScopeShape {
        let globs = globs.iter().map(|glob| FileGlob::read(glob).unwrap()).collect();
        ScopeShape::new(&StageScope { globs, ..StageScope::default() })
    }

    fn meet(one: &[&str], other: &[&str]) -> bool {
        let mut steps = STEPS;
        let there = scope(one).meets(&scope(other), &mut steps).unwrap().is_some();
        let back = scope(other).meets(&scope(one), &mut steps).unwrap().is_some();
        assert_eq!(there, back, "{one:?} {other:?}");
        there
    }

    #[test]
    fn scopes_that_may_want_the_same_file() {
        for (one, other) in [
            (&["src/**"][..], &["src/a.rs"][..]),
            (&["src/*.rs"], &["**/lib.rs"]),
            (&["a/**/z"], &["**/y/z"]),
            (&["docs/", "src/x"], &["src/x"]),
            (&["{a,b}/c*"], &["b/*d"]),
            (&["src/**", "!src/gen/**"], &["src/*/x"]),
            (&["src/**", "!src/gen/**", "src/gen/keep.rs"], &["src/gen/*.rs"]),
        ] {
            assert!(meet(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn scopes_that_never_do() {
        for (one, other) in [
            (&["src/**"][..], &["docs/**"][..]),
            (&["src/*.rs"], &["src/*.md"]),
            (&["src/*"], &["src/a/b"]),
            (&["a?"], &["abc"]),
            (&["src/**", "!src/gen/**"], &["src/gen/**"]),
            (&["src/**", "!src/lib.rs"], &["src/lib.rs"]),
        ] {
            assert!(!meet(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_would_cost_too_much_is_not_said() {
        let stars = "*a".repeat(400);
        let mut steps = 1000;
        assert_eq!(scope(&[&stars]).meets(&scope(&[&"*b".repeat(400)]), &mut steps), None);
    }
}
