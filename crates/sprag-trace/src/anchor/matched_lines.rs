//! Finds lines that came from another text: sequences of lines with the same order on both sides.

use std::collections::HashMap;

use super::distinctive::{is_telling, letters};

/// Lines `new..new + len` of the new text equal lines `old..old + len` of the old text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchedLines {
    pub new: usize,
    pub old: usize,
    pub len: usize,
    /// The number of distinctive lines.
    pub telling: usize,
    pub letters: usize,
}

/// A line that occurs more often than this starts no match.
const PLACES: usize = 32;
/// The limit on compared lines. After it the search stops.
const WORK: usize = 4_000_000;

/// Returns all matches of maximal length. A match has only lines that are `open` in the new text and `usable`
/// in the old one.
pub fn runs(new: &[&[u8]], open: &[bool], old: &[&[u8]], usable: &[bool]) -> Vec<MatchedLines> {
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, line) in old.iter().enumerate().filter(|(at, line)| usable[*at] && is_telling(line)) {
        places.entry(line).or_default().push(at);
    }
    let mut found: Vec<MatchedLines> = Vec::new();
    // The end of the last match on each diagonal: a match inside it is not reported again.
    let mut ends: HashMap<isize, usize> = HashMap::new();
    let mut work = 0;
    for at in (0..new.len()).filter(|&at| open[at]) {
        let Some(there) = places.get(new[at]).filter(|there| there.len() <= PLACES) else { continue };
        for &to in there {
            let diagonal = at as isize - to as isize;
            if ends.get(&diagonal).is_some_and(|&end| at < end) {
                continue;
            }
            let fits = |i: usize, j: usize| open[i] && usable[j] && new[i] == old[j];
            let before = (1..=at.min(to)).take_while(|&back| fits(at - back, to - back)).count();
            let after =
                (0..(new.len() - at).min(old.len() - to)).take_while(|&on| fits(at + on, to + on)).count();
            work += before + after;
            if work > WORK {
                return found;
            }
            ends.insert(diagonal, at + after);
            let (start, len) = (at - before, before + after);
            let lines = &new[start..start + len];
            found.push(MatchedLines {
                new: start,
                old: to - before,
                len,
                telling: lines.iter().filter(|line| is_telling(line)).count(),
                letters: lines.iter().map(|line| letters(line)).sum(),
            });
        }
    }
    found
}

/// The rule for several matches over one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTie {
    /// The match with the most distinctive lines wins. For texts that are known to belong to one change.
    Longest,
    /// All matches must name the same writer.
    Agree,
}

/// The result for one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried<W> {
    Nowhere,
    /// The line equals this old line, which this writer wrote.
    To(usize, W),
    /// Several writers are possible.
    Unclear,
}

/// Returns the writer of each new line. `writer` returns the writer of an old line, if known. An unknown
/// writer contradicts every other writer.
pub fn carry<W: Clone + PartialEq>(
    runs: &[MatchedLines],
    count: usize,
    tie: LineTie,
    writer: impl Fn(usize) -> Option<W>,
) -> Vec<Carried<W>> {
    let mut over: Vec<Vec<&MatchedLines>> = vec![Vec::new(); count];
    for run in runs {
        (run.new..run.new + run.len).for_each(|at| over[at].push(run));
    }
    let one = |at: usize, runs: &[&MatchedLines]| -> Carried<W> {
        let writers: Vec<(usize, Option<W>)> =
            runs.iter().map(|run| run.old + (at - run.new)).map(|there| (there, writer(there))).collect();
        match writers.split_first() {
            None => Carried::Nowhere,
            Some(((there, Some(first)), rest)) if rest.iter().all(|(_, it)| it.as_ref() == Some(first)) => {
                Carried::To(*there, first.clone())
            }
            Some(((_, None), rest)) if rest.iter().all(|(_, it)| it.is_none()) => Carried::Nowhere,
            Some(_) => Carried::Unclear,
        }
    };
    over.iter()
        .enumerate()
        .map(|(at, runs)| match tie {
            LineTie::Agree => one(at, runs),
            LineTie::Longest => {
                let most = runs.iter().map(|run| run.telling).max().unwrap_or(0);
                let longest: Vec<&MatchedLines> =
                    runs.iter().copied().filter(|run| run.telling == most).collect();
                one(at, &longest)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&[u8]> {
        text.split(' ').map(str::as_bytes).collect()
    }

    fn found(new: &str, old: &str) -> Vec<(usize, usize, usize)> {
        let (new, old) = (lines(new), lines(old));
        let runs = runs(&new, &vec![true; new.len()], &old, &vec![true; old.len()]);
        runs.iter().map(|run| (run.new, run.old, run.len)).collect()
    }

    #[test]
    fn a_run_is_as_long_as_it_can_be() {
        assert_eq!(found("new1 line1 } line2 new2", "line0 line1 } line2"), [(1, 1, 3)]);
    }

    #[test]
    fn a_brace_alone_is_no_run() {
        assert_eq!(found("x } y", "a } b"), []);
    }

    #[test]
    fn lines_in_another_order_are_runs_of_their_own() {
        assert_eq!(found("line3 line4 line1 line2", "line1 line2 line3 line4"), [(0, 2, 2), (2, 0, 2)]);
    }

    #[test]
    fn the_same_block_of_two_writers_is_nobodys_unless_one_is_longer() {
        let (new, old) = (lines("line1 line2"), lines("line1 line2 } line1 line2 rest"));
        let runs = runs(&new, &[true; 2], &old, &[true; 6]);
        let writer = |at: usize| Some(if at < 3 { "A" } else { "B" });
        assert_eq!(carry(&runs, 2, LineTie::Agree, writer), [Carried::Unclear, Carried::Unclear]);
        assert_eq!(carry(&runs, 2, LineTie::Longest, writer), [Carried::Unclear, Carried::Unclear]);
        assert_eq!(carry(&runs, 2, LineTie::Agree, |_| Some("A"))[0], Carried::To(0, "A"));
        let longer = [MatchedLines { len: 1, telling: 1, ..runs[0] }, runs[1]];
        assert_eq!(carry(&longer, 2, LineTie::Longest, writer)[0], Carried::To(3, "B"));
        assert_eq!(carry(&longer, 2, LineTie::Agree, writer)[0], Carried::Unclear);
    }

    #[test]
    fn a_writer_that_nobody_knows_speaks_against_the_others() {
        let (new, old) = (lines("line1"), lines("line1 line1"));
        let runs = runs(&new, &[true], &old, &[true; 2]);
        assert_eq!(carry(&runs, 1, LineTie::Agree, |at| (at == 0).then_some("A")), [Carried::Unclear]);
    }

    #[test]
    fn many_equal_lines_take_no_square_of_time() {
        let many: Vec<&[u8]> = vec![b"line1"; 100_000];
        assert!(runs(&many, &vec![true; many.len()], &many, &vec![true; many.len()]).is_empty());
    }
}
