//! Finds blocks of a file whose bytes equal those of a recorded block, at any position.

use std::collections::{BTreeSet, HashMap};

use sprag_base::sha256::Sha256Sum;

use super::distinctive;

/// A block that a record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownBlock {
    /// The number of lines.
    pub len: usize,
    pub sum: Sha256Sum,
    /// The number of the owner, chosen by the caller.
    pub owner: usize,
}

/// A block that was found, and its possible owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMatch {
    pub start: usize,
    pub len: usize,
    pub owners: Vec<usize>,
}

/// The limit on hashed bytes, over all blocks.
const WORK: usize = 256 * 1024 * 1024;

/// Finds blocks with at least `least` distinctive lines and at least one open line. Returns `None` if the
/// work exceeds the limit, because a partial result could hide other owners.
pub fn windows(
    lines: &[&[u8]],
    open: &[bool],
    wanted: &[KnownBlock],
    least: usize,
) -> Option<Vec<BlockMatch>> {
    let lengths: BTreeSet<usize> =
        wanted.iter().map(|it| it.len).filter(|&len| len > 0 && len <= lines.len()).collect();
    let mut owners: HashMap<(usize, Sha256Sum), Vec<usize>> = HashMap::new();
    for it in wanted {
        owners.entry((it.len, it.sum)).or_default().push(it.owner);
    }
    let sums = |count: &dyn Fn(usize) -> usize| -> Vec<usize> {
        let mut sum = 0;
        std::iter::once(0)
            .chain((0..lines.len()).map(|at| {
                sum += count(at);
                sum
            }))
            .collect()
    };
    let tells = sums(&|at| usize::from(distinctive::is_telling(lines[at])));
    let opens = sums(&|at| usize::from(open[at]));
    let bytes = sums(&|at| lines[at].len());
    let text = lines.concat();
    let mut found = Vec::new();
    let mut work = 0;
    for len in lengths {
        for start in 0..=lines.len() - len {
            let end = start + len;
            if tells[end] - tells[start] < least || opens[end] == opens[start] {
                continue;
            }
            let block = &text[bytes[start]..bytes[end]];
            work += block.len();
            if work > WORK {
                return None;
            }
            if let Some(owners) = owners.get(&(len, Sha256Sum::hash_bytes(block))) {
                found.push(BlockMatch { start, len, owners: owners.clone() });
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::lines;

    #[test]
    fn a_block_is_found_where_it_went_if_it_tells_enough() {
        let text = b"zero\n}\nline1\nline2\nline3\n}\n";
        let here = lines(text);
        let block = |text: &[u8], owner| KnownBlock {
            len: lines(text).len(),
            sum: Sha256Sum::hash_bytes(text),
            owner,
        };
        let wanted = [block(b"line1\nline2\nline3\n", 7), block(b"line2\n", 8), block(b"line9\nline1\n", 9)];
        let found = windows(&here, &[true; 6], &wanted, 3);
        assert_eq!(found, Some(vec![BlockMatch { start: 2, len: 3, owners: vec![7] }]));
        assert_eq!(windows(&here, &[false; 6], &wanted, 3), Some(Vec::new()));
        assert_eq!(windows(&here, &[true; 6], &wanted, 1).unwrap().len(), 2);
    }

    #[test]
    fn all_who_wrote_such_a_block_are_told() {
        let text = b"line1\nline2\nline3\n";
        let wanted = [1, 2].map(|owner| KnownBlock { len: 3, sum: Sha256Sum::hash_bytes(text), owner });
        assert_eq!(windows(&lines(text), &[true; 3], &wanted, 3).unwrap()[0].owners, [1, 2]);
    }
}
