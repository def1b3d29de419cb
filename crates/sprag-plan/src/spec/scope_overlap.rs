//! Whether two stages may want to change the same file. A yes may be one too many, a no is certain.

use sprag_base::glob::{CaseFolding, Glob};
use sprag_base::path::is_below;

use super::StageScope;
use super::graph::Graph;
use super::values::FileGlob;

/// What all comparisons of a plan may cost, in pairs of places in patterns.
const STEPS: u32 = 1_000_000;

/// Signs that stand for others.
const SIGNS: [char; 3] = ['*', '?', '{'];

/// A scope, made ready to be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeShape {
    /// In their order: what takes away counts for those before it.
    parts: Vec<ScopePart>,
}

#[derive(Clone, Debug)]
struct ScopePart {
    text: FileGlob,
    glob: Glob,
    /// The directory that is named before the first star.
    start: String,
    /// It names one path.
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

    /// Two patterns that fit the same path. `None`: it would cost too much to say.
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

    /// Whether all that the other names is taken away again behind this place. Who adds it once more is
    /// compared by itself.
    fn lets_go(&self, at: usize, other: &ScopePart) -> bool {
        self.parts[at + 1..].iter().filter(|part| part.text.is_exclusion()).any(|part| {
            let is_all_below =
                !other.start.is_empty() && part.glob.fits_tree(&other.start, CaseFolding::Exact);
            is_all_below || other.is_plain && part.glob.fits(other.text.as_str(), CaseFolding::Exact)
        })
    }
}

/// Two stages that may run at once and change the same file, by their places in the plan, and the patterns by
/// which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    pub one: usize,
    pub other: usize,
    pub by: (FileGlob, FileGlob),
}

/// What a comparison of all stages came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlaps {
    pub pairs: Vec<Overlap>,
    pub extent: Extent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// There were too many to compare them all, or to tell.
    Some,
}

/// Compares all stages that do not wait for each other; so many pairs are told at most.
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

/// What a pattern names before its first sign that stands for others: whole directories.
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
