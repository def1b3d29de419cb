//! Computes the new and the deleted lines of a file as blocks. A limit on work, not on time, bounds the
//! comparison: lines that it cannot compare in detail count as replaced.

use std::collections::HashMap;
use std::ops;

use sprag_base::sha256::Sha256Sum;

use super::{LineRange, RANGES};

/// Splits bytes into lines with their line feeds. The last line may lack one.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// A place where two texts differ, in lines counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineHunk {
    pub old: ops::Range<usize>,
    pub new: ops::Range<usize>,
}

/// The blocks of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    pub ranges: Vec<LineRange>,
    pub deleted: Vec<LineRange>,
    /// The change has more blocks than a record holds.
    pub is_cut: bool,
}

/// Returns the blocks in which two texts differ.
pub fn between(before: &[u8], after: &[u8]) -> Blocks {
    let (old, new) = (lines(before), lines(after));
    let hunks = diff(&old, &new);
    let deleted = hunks.iter().filter_map(|hunk| block(&old, hunk.old.clone()));
    let ranges = hunks.iter().filter_map(|hunk| block(&new, hunk.new.clone()));
    Blocks {
        ranges: ranges.take(RANGES).collect(),
        deleted: deleted.take(RANGES).collect(),
        is_cut: hunks.len() > RANGES,
    }
}

/// Returns the block of these lines, or `None` for an empty span.
pub fn block(lines: &[&[u8]], span: ops::Range<usize>) -> Option<LineRange> {
    let within = lines.get(span.clone()).filter(|within| !within.is_empty())?;
    Some(LineRange {
        start: u32::try_from(span.start + 1).ok()?,
        end: u32::try_from(span.end).ok()?,
        content_hash: Sha256Sum::hash_bytes(&within.concat()),
        contributor: None,
    })
}

/// Returns a whole file without lines as one block.
pub fn whole(bytes: &[u8]) -> LineRange {
    LineRange { start: 1, end: 1, content_hash: Sha256Sum::hash_bytes(bytes), contributor: None }
}

/// Reports whether the bytes look binary: a NUL byte near the start.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8_000).any(|&byte| byte == 0)
}

/// The limit on edits between two lines that both sides share.
const EDITS: usize = 256;
/// The limit on steps in total. After it, the rest counts as replaced.
const WORK: usize = 20_000_000;

/// Returns the places where two lists of lines differ, in order. Adjacent differences form one hunk.
pub fn diff<'a>(old: &[&'a [u8]], new: &[&'a [u8]]) -> Vec<LineHunk> {
    let mut names: HashMap<&[u8], u32> = HashMap::with_capacity(old.len());
    let mut name = |line: &&'a [u8]| {
        let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
        *names.entry(line).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(&mut name).collect();
    let new: Vec<u32> = new.iter().map(&mut name).collect();
    let mut search = Search {
        old: &old,
        new: &new,
        counts: vec![LineCount::default(); names.len()],
        work: 0,
        same: Vec::new(),
    };
    search.run();
    let mut same = search.same;
    same.sort_unstable();
    between_same(&same, old.len(), new.len())
}

/// Equal lines on both sides: old start, new start, count.
type Same = (usize, usize, usize);

fn between_same(same: &[Same], old: usize, new: usize) -> Vec<LineHunk> {
    let mut hunks = Vec::new();
    let (mut at, mut to) = (0, 0);
    for &(i, j, count) in same.iter().chain([&(old, new, 0)]) {
        if i > at || j > to {
            hunks.push(LineHunk { old: at..i, new: to..j });
        }
        (at, to) = (i + count, j + count);
    }
    hunks
}

#[derive(Clone, Copy, Default)]
struct LineCount {
    old: u32,
    new: u32,
    at: u32,
}

struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// The count and position of each line in the part under comparison.
    counts: Vec<LineCount>,
    work: usize,
    same: Vec<Same>,
}

impl Search<'_> {
    fn run(&mut self) {
        let mut parts = vec![(0..self.old.len(), 0..self.new.len())];
        while let Some((old, new)) = parts.pop() {
            let (old, new) = self.trimmed(old, new);
            if old.is_empty() || new.is_empty() || self.work > WORK {
                continue;
            }
            self.work += old.len() + new.len();
            let anchors = self.anchors(&old, &new);
            if anchors.is_empty() {
                self.compare(old, new);
                continue;
            }
            let (mut at, mut to) = (old.start, new.start);
            for (i, j) in anchors {
                parts.push((at..i, to..j));
                self.same.push((i, j, 1));
                (at, to) = (i + 1, j + 1);
            }
            parts.push((at..old.end, to..new.end));
        }
    }

    /// Removes the lines that both sides start and end with.
    fn trimmed(
        &mut self,
        mut old: ops::Range<usize>,
        mut new: ops::Range<usize>,
    ) -> (ops::Range<usize>, ops::Range<usize>) {
        let pairs = self.old[old.clone()].iter().zip(&self.new[new.clone()]);
        let head = pairs.take_while(|(a, b)| a == b).count();
        if head > 0 {
            self.same.push((old.start, new.start, head));
        }
        old.start += head;
        new.start += head;
        let pairs = self.old[old.clone()].iter().rev().zip(self.new[new.clone()].iter().rev());
        let tail = pairs.take_while(|(a, b)| a == b).count();
        old.end -= tail;
        new.end -= tail;
        if tail > 0 {
            self.same.push((old.end, new.end, tail));
        }
        self.work += head + tail;
        (old, new)
    }

    /// Returns lines that occur once on each side, as many as have the same order.
    fn anchors(&mut self, old: &ops::Range<usize>, new: &ops::Range<usize>) -> Vec<(usize, usize)> {
        for &line in &self.old[old.clone()] {
            self.counts[line as usize].old += 1;
        }
        for (at, &line) in self.new[new.clone()].iter().enumerate() {
            let count = &mut self.counts[line as usize];
            count.new += 1;
            count.at = u32::try_from(at).unwrap_or(u32::MAX);
        }
        let once = old.clone().filter_map(|i| {
            let count = self.counts[self.old[i] as usize];
            (count.old == 1 && count.new == 1).then_some((i, new.start + count.at as usize))
        });
        let pairs: Vec<(usize, usize)> = once.collect();
        for &line in self.old[old.clone()].iter().chain(&self.new[new.clone()]) {
            self.counts[line as usize] = LineCount::default();
        }
        rising(&pairs)
    }

    /// Finds the fewest edits between two parts. With too many edits, it finds no equal lines.
    fn compare(&mut self, old: ops::Range<usize>, new: ops::Range<usize>) {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        let most = EDITS.min(a.len() + b.len());
        // For each number of edits, the position in `a` on each diagonal.
        let mut fronts: Vec<Vec<usize>> = Vec::new();
        let width = 2 * most + 1;
        let mut front = vec![0; width + 2];
        let at = |k: isize| (k + most as isize + 1) as usize;
        for edits in 0..=most {
            fronts.push(front.clone());
            let edits = edits as isize;
            for k in (-edits..=edits).step_by(2) {
                let down = k == -edits || (k != edits && front[at(k - 1)] < front[at(k + 1)]);
                let mut x = if down { front[at(k + 1)] } else { front[at(k - 1)] + 1 };
                let mut y = x.wrapping_add_signed(-k);
                while x < a.len() && y < b.len() && a[x] == b[y] {
                    x += 1;
                    y += 1;
                    self.work += 1;
                }
                self.work += 1;
                front[at(k)] = x;
                if x >= a.len() && y >= b.len() {
                    return self.walk_back(&fronts, at, (old.start, new.start), (a.len(), b.len()));
                }
            }
            if self.work > WORK {
                return;
            }
        }
    }

    fn walk_back(
        &mut self,
        fronts: &[Vec<usize>],
        at: impl Fn(isize) -> usize,
        from: (usize, usize),
        end: (usize, usize),
    ) {
        let (mut x, mut y) = end;
        for (edits, front) in fronts.iter().enumerate().rev() {
            let edits = edits as isize;
            let k = x as isize - y as isize;
            let down = k == -edits || (k != edits && front[at(k - 1)] < front[at(k + 1)]);
            let (px, py) = match (edits, down) {
                (0, _) => (0, 0),
                (_, true) => {
                    let px = front[at(k + 1)];
                    (px, px.wrapping_add_signed(-(k + 1)))
                }
                (_, false) => {
                    let px = front[at(k - 1)];
                    (px, px.wrapping_add_signed(-(k - 1)))
                }
            };
            // The start of the equal lines after the edit.
            let (sx, sy) = match (edits, down) {
                (0, _) => (0, 0),
                (_, true) => (px, py + 1),
                (_, false) => (px + 1, py),
            };
            if x > sx {
                self.same.push((from.0 + sx, from.1 + sy, x - sx));
            }
            (x, y) = (px, py);
        }
    }
}

/// Returns the longest subsequence of these pairs in which the second numbers rise too.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, j)) in pairs.iter().enumerate() {
        let place = ends.partition_point(|&end| pairs[end].1 < j);
        before.push(place.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(place) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        chain.push(pairs[at]);
        next = before[at];
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "}\n", "\n", "long line\r\n", "é\n"]);
        let text = prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat().into_bytes());
        let cut = |mut text: Vec<u8>, is_cut: bool| {
            if is_cut {
                text.pop();
            }
            text
        };
        (text.clone(), text, any::<bool>(), any::<bool>())
            .prop_map(move |(a, b, x, y)| (cut(a, x), cut(b, y)))
    }

    proptest! {
        /// Replacing the old lines with the new lines gives the new text, so the blocks are exact.
        #[test]
        fn blocks_are_what_changed((before, after) in texts()) {
            let (old, new) = (lines(&before), lines(&after));
            let hunks = diff(&old, &new);
            let mut made: Vec<&[u8]> = Vec::new();
            let (mut at, mut last) = (0, 0);
            for hunk in &hunks {
                prop_assert!(!(hunk.old.is_empty() && hunk.new.is_empty()));
                made.extend(&old[at..hunk.old.start]);
                prop_assert_eq!(made.len(), hunk.new.start);
                prop_assert!(last == 0 || hunk.new.start > last || hunk.old.start > at);
                made.extend(&new[hunk.new.clone()]);
                (at, last) = (hunk.old.end, hunk.new.end);
            }
            made.extend(&old[at..]);
            prop_assert_eq!(made.concat(), after.clone());
            let blocks = between(&before, &after);
            for range in &blocks.ranges {
                let bytes = new[range.start as usize - 1..range.end as usize].concat();
                prop_assert_eq!(range.content_hash, Sha256Sum::hash_bytes(&bytes));
            }
            prop_assert_eq!(blocks == Blocks::default(), before == after);
        }

        #[test]
        fn any_bytes_have_blocks(before: Vec<u8>, after: Vec<u8>) {
            between(&before, &after);
        }

        /// A block keeps its hash at any position.
        #[test]
        fn a_block_is_known_wherever_it_is(above in "[a-z\n]{0,40}", block in "([a-z]{1,8}\n){3,9}") {
            let above = format!("{above}\n");
            let first = between(b"", block.as_bytes());
            let moved = format!("{above}{block}");
            let count = lines(above.as_bytes()).len();
            let lines = lines(moved.as_bytes());
            let again = super::block(&lines, count..lines.len()).unwrap();
            prop_assert_eq!(again.content_hash, first.ranges[0].content_hash);
        }
    }

    #[test]
    fn the_fewest_lines_are_blamed() {
        let blocks = between(b"a\nb\nc\nd\n", b"a\nB\nc\nd\ne\n");
        let places = |ranges: &[LineRange]| ranges.iter().map(|it| (it.start, it.end)).collect::<Vec<_>>();
        assert_eq!(places(&blocks.ranges), [(2, 2), (5, 5)]);
        assert_eq!(places(&blocks.deleted), [(2, 2)]);
        let blocks = between(b"x\nx\nx\n", b"x\nx\n");
        assert_eq!((blocks.ranges.len(), blocks.deleted.len()), (0, 1));
    }

    #[test]
    fn a_large_file_is_compared_in_bounded_work() {
        let text = |from: usize| (from..from + 100_000).map(|n| format!("{}\n", n % 977)).collect::<String>();
        let (before, after) = (text(0), text(500));
        let old = lines(before.as_bytes());
        let new = lines(after.as_bytes());
        assert!(!diff(&old, &new).is_empty());
        let reversed: Vec<&[u8]> = old.iter().rev().copied().collect();
        assert!(!diff(&old, &reversed).is_empty());
    }
}
