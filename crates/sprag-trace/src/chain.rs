//! The chain: every line of a book holds the hash of the line before it, so that nobody takes one out,
//! changes one or swaps two without its being seen. What is cut off at the end is seen by whoever knows
//! the last line.
//!
//! A clone has two books. What is provisional is one; what is final is another, because that one is also
//! copied into a file that is committed, line by line, and has to hold together there on its own.

use serde_json::Value;

use sprag_base::record::Record;
use sprag_base::sha256::Sum;

use super::{FINAL, JUDGED, SEEN};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Book {
    Provisional,
    Final,
}

impl Book {
    pub const ALL: [Book; 2] = [Book::Provisional, Book::Final];

    pub fn of(kind: &str) -> Option<Book> {
        match kind {
            SEEN | JUDGED => Some(Book::Provisional),
            FINAL => Some(Book::Final),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Book::Provisional => "provisional",
            Book::Final => "final",
        }
    }
}

/// The last line of a book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    provisional: Option<Sum>,
    last: Option<Sum>,
}

impl Heads {
    pub fn get(&self, book: Book) -> Option<Sum> {
        match book {
            Book::Provisional => self.provisional,
            Book::Final => self.last,
        }
    }

    pub fn set(&mut self, book: Book, sum: Option<Sum>) {
        match book {
            Book::Provisional => self.provisional = sum,
            Book::Final => self.last = sum,
        }
    }

    /// Puts a record behind what there is, and gives back its line. What is no trace is left as it is.
    pub fn link(&mut self, record: &mut Record) -> Vec<u8> {
        let Some(book) = Book::of(&record.kind) else {
            return record.line();
        };
        if let Value::Object(body) = &mut record.body {
            body.remove("prev");
            if let Some(prev) = self.get(book) {
                body.insert("prev".to_owned(), Value::String(prev.to_string()));
            }
        }
        let line = record.line();
        self.set(book, Some(sum_of(&line)));
        line
    }

    /// Takes note of a line that stands already.
    pub fn pass(&mut self, line: &[u8], record: &Record) {
        if let Some(book) = Book::of(&record.kind) {
            self.set(book, Some(sum_of(line)));
        }
    }
}

/// The hash by which the next line knows this one: of all its bytes but the line feed.
pub fn sum_of(line: &[u8]) -> Sum {
    Sum::of(line.strip_suffix(b"\n").unwrap_or(line))
}

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first record that does not stand where it should.
    pub id: String,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The line before it is not the one it was written behind: that one was changed, removed or moved.
    Behind { line: usize },
    /// It cannot be read.
    Unreadable { line: usize },
    /// It is the last one that is known of its book, and it is not there.
    Missing(Book),
}

/// Reads lines in their order and tells the first that is out of it.
#[derive(Default)]
pub struct Walk {
    heads: Heads,
    seen: Vec<Sum>,
    line: usize,
}

impl Walk {
    /// Takes one line, of whatever kind.
    pub fn take(&mut self, line: &[u8]) -> Result<(), Broken> {
        self.line += 1;
        // Most lines of a log are none of these; what was one cannot become another without breaking the
        // chain behind it.
        if !mentions_trace(line) {
            return Ok(());
        }
        let Ok(record) = Record::parse(line) else {
            return Ok(());
        };
        let Some(book) = Book::of(&record.kind) else {
            return Ok(());
        };
        let wanted = self.heads.get(book);
        let prev = match record.body.get("prev") {
            None => None,
            Some(prev) => match prev.as_str().and_then(Sum::parse) {
                Some(prev) => Some(prev),
                None => return Err(Broken { id: record.id, why: Why::Unreadable { line: self.line } }),
            },
        };
        if prev != wanted {
            return Err(Broken { id: record.id, why: Why::Behind { line: self.line } });
        }
        let sum = sum_of(line);
        self.heads.set(book, Some(sum));
        self.seen.push(sum);
        Ok(())
    }

    /// Whether a line was among them.
    pub fn has(&self, sum: &Sum) -> bool {
        self.seen.contains(sum)
    }

    pub fn count(&self) -> usize {
        self.seen.len()
    }

    pub fn heads(&self) -> &Heads {
        &self.heads
    }
}

/// Whether a line could be one of ours, without reading it.
pub fn mentions_trace(line: &[u8]) -> bool {
    line.windows(13).take(400).any(|part| part.starts_with(b"\"trace."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use sprag_base::time::Timestamp;

    use super::*;

    fn book(count: usize) -> (Vec<Vec<u8>>, Heads) {
        let mut heads = Heads::default();
        let lines = (0..count).map(|n| {
            let kind = [SEEN, FINAL, "learning.kept"][n % 3];
            let mut record = Record::new(kind, Timestamp::from_millis(n as i64), json!({"n": n}));
            record.id = format!("id-{n}");
            heads.link(&mut record)
        });
        let lines = lines.collect();
        (lines, heads)
    }

    fn check(lines: &[Vec<u8>], heads: &Heads) -> Result<(), ()> {
        let mut walk = Walk::default();
        lines.iter().try_for_each(|line| walk.take(line)).map_err(|_| ())?;
        let is_there = |book: Book| heads.get(book).is_none_or(|sum| walk.has(&sum));
        if Book::ALL.into_iter().all(is_there) { Ok(()) } else { Err(()) }
    }

    fn is_ours(at: usize) -> bool {
        at % 3 != 2
    }

    #[test]
    fn what_was_written_holds_together() {
        let (lines, heads) = book(20);
        assert_eq!(check(&lines, &heads), Ok(()));
        assert_eq!(check(&[], &Heads::default()), Ok(()));
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
