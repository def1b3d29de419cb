//! Chains of trace records: every line holds the hash of the line before. So a reader detects a removed,
//! changed or swapped line. A reader that knows the last line also detects a cut at the end.
//!
//! A clone has two chains, one for provisional and one for final records. The final chain is separate because
//! Sprag also copies it into a committed file, where it must be complete without the other lines.

use sprag_base::record::Record;
use sprag_base::sha256::Sha256Sum;

use super::records::{chain_link, set_chain_link};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainName {
    Provisional,
    Final,
}

sprag_base::names! { pub const ALL, pub fn name(ChainName): Provisional = "provisional", Final = "final" }

impl ChainName {
    pub fn from_kind(kind: &str) -> Option<ChainName> {
        match kind {
            "trace.seen" | "trace.judged" => Some(ChainName::Provisional),
            "trace.final" => Some(ChainName::Final),
            _ => None,
        }
    }
}

/// The hash of the last line of each chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainHeads {
    provisional: Option<Sha256Sum>,
    last: Option<Sha256Sum>,
}

impl ChainHeads {
    pub fn get(&self, book: ChainName) -> Option<Sha256Sum> {
        match book {
            ChainName::Provisional => self.provisional,
            ChainName::Final => self.last,
        }
    }

    pub fn set(&mut self, book: ChainName, sum: Option<Sha256Sum>) {
        match book {
            ChainName::Provisional => self.provisional = sum,
            ChainName::Final => self.last = sum,
        }
    }

    /// Appends a record to its chain and returns its line. A record of another kind stays unchanged.
    pub fn link(&mut self, record: &mut Record) -> Vec<u8> {
        let Some(book) = ChainName::from_kind(&record.kind) else {
            return record.line();
        };
        set_chain_link(record, self.get(book));
        let line = record.line();
        self.set(book, Some(sum_of(&line)));
        line
    }

    /// Moves the head of the chain past an existing line.
    pub fn pass(&mut self, line: &[u8], record: &Record) {
        if let Some(book) = ChainName::from_kind(&record.kind) {
            self.set(book, Some(sum_of(line)));
        }
    }
}

/// Returns the hash that the next line stores: over all bytes except the line feed.
pub fn sum_of(line: &[u8]) -> Sha256Sum {
    Sha256Sum::hash_bytes(line.strip_suffix(b"\n").unwrap_or(line))
}

/// A fault in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenChain {
    /// The first record that is out of place.
    pub id: String,
    pub why: ChainFault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// The hash does not match the line before: that line was changed, removed or moved.
    Behind { line: usize },
    /// The link of the line cannot be read.
    Unreadable { line: usize },
    /// The last known line of this chain is missing.
    Missing(ChainName),
}

/// A reader that checks lines in order and reports the first fault.
#[derive(Default)]
pub struct ChainReader {
    heads: ChainHeads,
    seen: Vec<Sha256Sum>,
    line: usize,
}

impl ChainReader {
    /// Checks one line. Lines of other kinds pass.
    pub fn read_line(&mut self, line: &[u8]) -> Result<(), BrokenChain> {
        self.line += 1;
        // Skips other lines quickly. A trace line that turns into another kind still breaks the chain at the
        // next line.
        if !mentions_trace(line) {
            return Ok(());
        }
        let Ok(record) = Record::parse(line) else {
            return Ok(());
        };
        let Some(book) = ChainName::from_kind(&record.kind) else {
            return Ok(());
        };
        let wanted = self.heads.get(book);
        let Ok(prev) = chain_link(&record) else {
            return Err(BrokenChain { id: record.id, why: ChainFault::Unreadable { line: self.line } });
        };
        if prev != wanted {
            return Err(BrokenChain { id: record.id, why: ChainFault::Behind { line: self.line } });
        }
        let sum = sum_of(line);
        self.heads.set(book, Some(sum));
        self.seen.push(sum);
        Ok(())
    }

    /// Reports whether a line with this hash was read.
    pub fn has(&self, sum: &Sha256Sum) -> bool {
        self.seen.contains(sum)
    }

    pub fn count(&self) -> usize {
        self.seen.len()
    }

    pub fn heads(&self) -> &ChainHeads {
        &self.heads
    }
}

/// Reports whether a line may be a trace record, without parsing it.
pub fn mentions_trace(line: &[u8]) -> bool {
    line.windows(13).take(400).any(|part| part.starts_with(b"\"trace."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use sprag_base::time::Timestamp;

    use super::*;

    fn book(count: usize) -> (Vec<Vec<u8>>, ChainHeads) {
        let mut heads = ChainHeads::default();
        let lines = (0..count).map(|n| {
            let kind = ["trace.seen", "trace.final", "learning.kept"][n % 3];
            let mut record = Record::new(kind, Timestamp::from_millis(n as i64), json!({"n": n}));
            record.id = format!("id-{n}");
            heads.link(&mut record)
        });
        let lines = lines.collect();
        (lines, heads)
    }

    fn check(lines: &[Vec<u8>], heads: &ChainHeads) -> Result<(), ()> {
        let mut walk = ChainReader::default();
        lines.iter().try_for_each(|line| walk.read_line(line)).map_err(|_| ())?;
        let is_there = |book: ChainName| heads.get(book).is_none_or(|sum| walk.has(&sum));
        if ChainName::ALL.into_iter().all(is_there) { Ok(()) } else { Err(()) }
    }

    fn is_ours(at: usize) -> bool {
        at % 3 != 2
    }

    #[test]
    fn what_was_written_holds_together() {
        let (lines, heads) = book(20);
        assert_eq!(check(&lines, &heads), Ok(()));
        assert_eq!(check(&[], &ChainHeads::default()), Ok(()));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_seen(count in 1_usize..12, at: prop::sample::Index, byte: prop::sample::Index, to: u8) {
            let (mut lines, heads) = book(count);
            let at = at.index(count);
            prop_assume!(is_ours(at));
            let byte = byte.index(lines[at].len() - 1);
            prop_assume!(lines[at][byte] != to && to != b'\n');
            lines[at][byte] = to;
            prop_assert_eq!(check(&lines, &heads), Err(()));
        }

        #[test]
        fn a_removed_line_is_seen(count in 1_usize..12, at: prop::sample::Index) {
            let (mut lines, heads) = book(count);
            let at = at.index(count);
            prop_assume!(is_ours(at));
            lines.remove(at);
            prop_assert_eq!(check(&lines, &heads), Err(()));
        }

        #[test]
        fn two_swapped_lines_of_a_book_are_seen(count in 4_usize..16, at: prop::sample::Index) {
            let (mut lines, heads) = book(count);
            let at = at.index(count - 3);
            prop_assume!(is_ours(at));
            lines.swap(at, at + 3);
            prop_assert_eq!(check(&lines, &heads), Err(()));
        }

        #[test]
        fn what_is_cut_off_is_seen(count in 1_usize..12, left: prop::sample::Index) {
            let (mut lines, heads) = book(count);
            let left = left.index(count);
            prop_assume!((left..count).any(is_ours));
            lines.truncate(left);
            prop_assert_eq!(check(&lines, &heads), Err(()));
        }
    }
}
