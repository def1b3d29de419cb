//! Path patterns: `*` and `?` match within one name, `**` matches across directories, `{a,b}` matches either.
//! The lengths of pattern and path bound the work.

use std::collections::BTreeSet;
use std::fmt;

/// Whether upper and lower case differ in file names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseFolding {
    #[default]
    Exact,
    /// `A` and `a` are the same name.
    Folded,
}

/// Maximum number of patterns after the braces are expanded; braces multiply.
const ALTERNATIVES: usize = 64;
const LONGEST: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// The expanded patterns, each as a list of path parts.
    alternatives: Vec<Vec<GlobPart>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobPart {
    /// `**`: any number of directories, including none.
    Any,
    /// `**` at the end: at least one name.
    Below,
    Name(Vec<GlobChar>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobChar {
    Char(char),
    One,
    Many,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadGlob {
    Empty,
    TooLong,
    TooMany,
    Unclosed,
    /// The pattern leaves the repository (`..`) or is absolute.
    Outside,
}

impl fmt::Display for BadGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadGlob::Empty => f.write_str("the pattern is empty"),
            BadGlob::TooLong => write!(f, "the pattern is longer than {LONGEST} bytes"),
            BadGlob::TooMany => write!(f, "the braces expand to more than {ALTERNATIVES} patterns"),
            BadGlob::Unclosed => f.write_str("a brace is not closed"),
            BadGlob::Outside => f.write_str("a pattern must be relative to the repository, without `..`"),
        }
    }
}

impl Glob {
    pub fn parse(text: &str) -> Result<Glob, BadGlob> {
        if text.len() > LONGEST {
            return Err(BadGlob::TooLong);
        }
        let alternatives: Result<Vec<_>, _> = braces(text)?.iter().map(|text| parts(text)).collect();
        Ok(Glob { alternatives: alternatives? })
    }

    /// Reports whether the pattern matches a path that is relative to the repository, without `.` and `..`.
    pub fn fits(&self, path: &str, folding: CaseFolding) -> bool {
        let names: Vec<Vec<char>> = names(path, folding);
        self.alternatives.iter().any(|parts| fits(parts, &names, folding))
    }

    /// Reports whether the pattern matches every possible path below a directory.
    pub fn fits_tree(&self, dir: &str, folding: CaseFolding) -> bool {
        let names = names(dir, folding);
        // Only a pattern that ends in `**` matches names at any depth.
        let takes_all = |parts: &Vec<GlobPart>| {
            parts.last() == Some(&GlobPart::Below) && states(parts, &names, folding).last() == Some(&true)
        };
        self.alternatives.iter().any(takes_all)
    }

    /// Reports whether some path matches both patterns. `steps` is the budget of the search; returns `None`
    /// when the budget is used up.
    pub fn meets(&self, other: &Glob, steps: &mut u32) -> Option<bool> {
        for one in &self.alternatives {
            for two in &other.alternatives {
                if parts_meet(one, two, steps)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Reports whether some path below a directory could match.
    pub fn may_fit_below(&self, dir: &str, folding: CaseFolding) -> bool {
        let names = names(dir, folding);
        self.alternatives.iter().any(|parts| states(parts, &names, folding).iter().any(|&is_open| is_open))
    }
}

fn names(path: &str, folding: CaseFolding) -> Vec<Vec<char>> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| name.chars().map(|c| folded(c, folding)).collect()).collect()
}

fn folded(c: char, folding: CaseFolding) -> char {
    match folding {
        CaseFolding::Exact => c,
        CaseFolding::Folded => c.to_lowercase().next().unwrap_or(c),
    }
}

/// Returns the pattern parts that may come next after all names were read: one flag per part.
fn states(parts: &[GlobPart], names: &[Vec<char>], folding: CaseFolding) -> Vec<bool> {
    let mut open = vec![false; parts.len() + 1];
    open[0] = true;
    skip(parts, &mut open);
    for name in names {
        let mut next = vec![false; parts.len() + 1];
        for (at, part) in parts.iter().enumerate().filter(|&(at, _)| open[at]) {
            match part {
                GlobPart::Any => next[at] = true,
                GlobPart::Below => (next[at], next[at + 1]) = (true, true),
                GlobPart::Name(signs) => next[at + 1] |= fits_name(signs, name, folding),
            }
        }
        skip(parts, &mut next);
        open = next;
    }
    // After the last part nothing can follow.
    open.truncate(parts.len());
    open
}

fn skip(parts: &[GlobPart], open: &mut [bool]) {
    for (at, part) in parts.iter().enumerate() {
        if open[at] && *part == GlobPart::Any {
            open[at + 1] = true;
        }
    }
}

fn fits(parts: &[GlobPart], names: &[Vec<char>], folding: CaseFolding) -> bool {
    let Some((last, front)) = names.split_last() else { return false };
    let open = states(parts, front, folding);
    let ends = |at: usize, part: &GlobPart| {
        let fits = match part {
            GlobPart::Any => false,
            GlobPart::Below => true,
            GlobPart::Name(signs) => fits_name(signs, last, folding),
        };
        fits && at + 1 == parts.len()
    };
    parts.iter().enumerate().any(|(at, part)| open[at] && ends(at, part))
}

/// Reports whether some path matches both patterns.
fn parts_meet(one: &[GlobPart], two: &[GlobPart], steps: &mut u32) -> Option<bool> {
    // The positions after one more name: past the part, and for stars also the same part again.
    let after = |part: &GlobPart, at: usize| match part {
        GlobPart::Name(_) => [at + 1, at + 1],
        GlobPart::Any => [at, at],
        GlobPart::Below => [at, at + 1],
    };
    let fits = |here: &GlobPart, there: &GlobPart, steps: &mut u32| match (here, there) {
        (GlobPart::Name(here), GlobPart::Name(there)) => names_meet(here, there, steps),
        (GlobPart::Name(_) | GlobPart::Any | GlobPart::Below, _) => Some(true),
    };
    meet(one, two, &GlobPart::Any, after, fits, steps)
}

/// Reports whether some name matches both patterns of one name.
fn names_meet(one: &[GlobChar], two: &[GlobChar], steps: &mut u32) -> Option<bool> {
    let after = |sign: &GlobChar, at: usize| [if *sign == GlobChar::Many { at } else { at + 1 }; 2];
    let fits = |here: &GlobChar, there: &GlobChar, _: &mut u32| match (here, there) {
        (GlobChar::Char(here), GlobChar::Char(there)) => Some(here == there),
        (GlobChar::Char(_) | GlobChar::One | GlobChar::Many, _) => Some(true),
    };
    meet(one, two, &GlobChar::Many, after, fits, steps)
}

/// Walks both patterns at once. The search reaches a pair of positions by signs that match both so far. `star`
/// may match nothing.
fn meet<T: PartialEq>(
    one: &[T],
    two: &[T],
    star: &T,
    after: impl Fn(&T, usize) -> [usize; 2],
    fits: impl Fn(&T, &T, &mut u32) -> Option<bool>,
    steps: &mut u32,
) -> Option<bool> {
    let mut seen = BTreeSet::new();
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        if i == one.len() && j == two.len() {
            return Some(true);
        }
        if !seen.insert((i, j)) {
            continue;
        }
        *steps = steps.checked_sub(1)?;
        if one.get(i) == Some(star) {
            open.push((i + 1, j));
        }
        if two.get(j) == Some(star) {
            open.push((i, j + 1));
        }
        let (Some(here), Some(there)) = (one.get(i), two.get(j)) else { continue };
        if fits(here, there, steps)? {
            let (here, there) = (after(here, i), after(there, j));
            open.extend(here.iter().flat_map(|i| there.iter().map(|j| (*i, *j))));
        }
    }
    Some(false)
}

/// Matches greedily with backtracking: a star takes as little as possible, and one character more after each
/// failure.
fn fits_name(signs: &[GlobChar], name: &[char], folding: CaseFolding) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match signs.get(at) {
            Some(GlobChar::Many) => {
                star = Some((at, read));
                at += 1;
            }
            Some(GlobChar::One) => (at, read) = (at + 1, read + 1),
            Some(GlobChar::Char(c)) if folded(*c, folding) == name[read] => (at, read) = (at + 1, read + 1),
            _ => match star {
                Some((from, taken)) => {
                    star = Some((from, taken + 1));
                    (at, read) = (from + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    signs[at..].iter().all(|sign| *sign == GlobChar::Many)
}

fn parts(text: &str) -> Result<Vec<GlobPart>, BadGlob> {
    let trimmed = text.strip_prefix("./").unwrap_or(text);
    if trimmed.starts_with('/') || trimmed.starts_with('~') || trimmed.split('/').any(|part| part == "..") {
        return Err(BadGlob::Outside);
    }
    let is_dir = trimmed.ends_with('/');
    let names = trimmed.split('/').filter(|name| !name.is_empty() && *name != ".");
    let mut parts: Vec<GlobPart> = names
        .map(|name| match name {
            "**" => GlobPart::Any,
            name => GlobPart::Name(signs(name)),
        })
        .collect();
    if is_dir {
        parts.push(GlobPart::Any);
    }
    // `a/**/**` is `a/**`.
    parts.dedup_by(|one, other| *one == GlobPart::Any && *other == GlobPart::Any);
    match parts.last_mut() {
        None => Err(BadGlob::Empty),
        Some(last) => {
            if *last == GlobPart::Any {
                *last = GlobPart::Below;
            }
            Ok(parts)
        }
    }
}

fn signs(name: &str) -> Vec<GlobChar> {
    let mut signs: Vec<GlobChar> = name
        .chars()
        .map(|c| match c {
            '*' => GlobChar::Many,
            '?' => GlobChar::One,
            c => GlobChar::Char(c),
        })
        .collect();
    signs.dedup_by(|one, other| *one == GlobChar::Many && *other == GlobChar::Many);
    signs
}

/// Expands all braces, also nested ones.
fn braces(text: &str) -> Result<Vec<String>, BadGlob> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        // Take the innermost pair: the last `{` before the first `}`.
        let Some(end) = text.find('}') else {
            if text.contains('{') {
                return Err(BadGlob::Unclosed);
            }
            done.push(text);
            continue;
        };
        let Some(start) = text[..end].rfind('{') else { return Err(BadGlob::Unclosed) };
        for choice in text[start + 1..end].split(',') {
            open.push(format!("{}{choice}{}", &text[..start], &text[end + 1..]));
        }
        if open.len() + done.len() > ALTERNATIVES {
            return Err(BadGlob::TooMany);
        }
    }
    Ok(done)
}
