//! The files and versions that a session has read. The read set is written with every event that changes it,
//! so it is small: a limited number of entries of 28 characters, the oldest removed first.

use sprag_base::digest::Digest;

use super::content::ShortHash;

/// Maximum number of entries. A file that drops out counts as never read.
const ENTRIES: usize = 128;
const BYTES: usize = 21;
const CHARS: usize = BYTES / 3 * 4;

const FULL: u32 = 0x7f_ffff;
const LOOSE: u32 = 0x80_0000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Oldest first.
    entries: Vec<ReadEntry>,
}

/// The read set from the view of one agent of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadHistory {
    /// The encoded read set, because few calls need it.
    known: String,
    agent: String,
}

impl ReadHistory {
    pub(crate) fn new(known: &str, agent: &str) -> ReadHistory {
        ReadHistory { known: known.to_owned(), agent: agent.to_owned() }
    }

    /// Returns the version of a file that the agent last read.
    pub fn seen(&self, real: &str) -> Option<ReadEntry> {
        ReadSet::parse(&self.known).find(&self.agent, real).copied()
    }

    /// Reports whether a large file still has the stamp of its last reading.
    pub fn knows_stamp(&self, real: &str, stamp: ShortHash) -> bool {
        let known = ReadSet::parse(&self.known);
        known.get(ReadKey::new("stamp", &self.agent, real)).is_some_and(|entry| entry.content == stamp)
    }
}

/// A key from the path of a file and its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadKey([u8; 6]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadEntry {
    key: ReadKey,
    pub content: ShortHash,
    pub coverage: Coverage,
    /// Git moved the whole tree since.
    pub is_loose: bool,
}

/// The part of a file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// This many lines from the start; other parts do not count.
    Lines(u32),
    Full,
}

/// Version of a missing file.
pub const ABSENT: ShortHash = [0; 12];

impl ReadKey {
    /// Builds a key. `agent` is empty for the session's own agent.
    pub fn new(kind: &str, agent: &str, path: &str) -> ReadKey {
        let [_, _, key @ ..] = Digest::hash_parts([kind, agent, path]).below(1 << 48).to_be_bytes();
        ReadKey(key)
    }
}

impl ReadEntry {
    pub fn new(key: ReadKey, content: ShortHash, coverage: Coverage) -> ReadEntry {
        ReadEntry { key, content, coverage, is_loose: false }
    }
}

impl ReadSet {
    /// Parses a read set. Entries that cannot be read are dropped.
    pub fn parse(text: &str) -> ReadSet {
        let entries = text.as_bytes().chunks_exact(CHARS).take(ENTRIES).filter_map(decode);
        ReadSet { entries: entries.collect() }
    }

    pub fn get(&self, key: ReadKey) -> Option<&ReadEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the version of a file that an agent last read. A sub-agent starts with the read set of the
    /// session's own agent.
    pub fn find(&self, agent: &str, real: &str) -> Option<&ReadEntry> {
        let own = self.get(ReadKey::new("", agent, real));
        own.or_else(|| self.get(ReadKey::new("", "", real)))
    }

    pub fn put(&mut self, entry: ReadEntry) {
        self.entries.retain(|known| known.key != entry.key);
        if self.entries.len() >= ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }

    pub fn take(&mut self, key: ReadKey) -> Option<ReadEntry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    pub fn loosen(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.is_loose = true);
    }
}

impl std::fmt::Display for ReadSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::with_capacity(self.entries.len() * CHARS);
        self.entries.iter().for_each(|entry| encode(entry, &mut text));
        f.write_str(&text)
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(entry: &ReadEntry, into: &mut String) {
    let lines = match entry.coverage {
        Coverage::Full => FULL,
        Coverage::Lines(lines) => lines.min(FULL - 1),
    };
    let flags = lines | if entry.is_loose { LOOSE } else { 0 };
    let mut bytes = [0; BYTES];
    bytes[..6].copy_from_slice(&entry.key.0);
    bytes[6..18].copy_from_slice(&entry.content);
    bytes[18..].copy_from_slice(&flags.to_be_bytes()[1..]);
    for part in bytes.chunks_exact(3) {
        let bits = u32::from(part[0]) << 16 | u32::from(part[1]) << 8 | u32::from(part[2]);
        for shift in [18, 12, 6, 0] {
            into.push(char::from(ALPHABET[(bits >> shift & 63) as usize]));
        }
    }
}

fn decode(text: &[u8]) -> Option<ReadEntry> {
    let mut bytes = [0; BYTES];
    for (part, four) in bytes.chunks_exact_mut(3).zip(text.chunks_exact(4)) {
        let mut bits = 0u32;
        for &byte in four {
            bits = bits << 6 | value(byte)?;
        }
        part.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    let (mut key, mut content) = ([0; 6], [0; 12]);
    key.copy_from_slice(&bytes[..6]);
    content.copy_from_slice(&bytes[6..18]);
    let flags = u32::from_be_bytes([0, bytes[18], bytes[19], bytes[20]]);
    let coverage = match flags & FULL {
        FULL => Coverage::Full,
        lines => Coverage::Lines(lines),
    };
    Some(ReadEntry { key: ReadKey(key), content, coverage, is_loose: flags & LOOSE != 0 })
}

fn value(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gates::stale::content::ContentHash;

    #[test]
    fn the_oldest_goes_first_and_a_second_look_replaces_the_first() {
        let mut set = ReadSet::default();
        let key = |at: usize| ReadKey::new("", "", &format!("/w/{at}"));
        for at in 0..ENTRIES + 2 {
            set.put(ReadEntry::new(key(at), ABSENT, Coverage::Full));
        }
        assert!(set.get(key(0)).is_none() && set.get(key(1)).is_none() && set.get(key(2)).is_some());
        let later = ContentHash::hash_bytes(b"later").short();
        set.put(ReadEntry::new(key(2), later, Coverage::Lines(3)));
        set.put(ReadEntry::new(key(0), later, Coverage::Full));
        assert_eq!(set.get(key(2)).unwrap().content, later, "it is the youngest but one now");
        assert!(set.get(key(3)).is_none());
        assert_eq!(set.to_string().len(), ENTRIES * CHARS);
    }

    #[test]
    fn whoever_looks_is_told_apart() {
        assert_ne!(ReadKey::new("", "", "/w/a"), ReadKey::new("", "x", "/w/a"));
        assert_ne!(ReadKey::new("", "", "/w/a"), ReadKey::new("", "", "/w/b"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            entries in prop::collection::vec((any::<[u8; 6]>(), any::<[u8; 12]>(), any::<u32>(), any::<bool>()), 0..40),
        ) {
            let mut set = ReadSet::default();
            for (key, content, lines, is_loose) in entries {
                let coverage = if lines % 3 == 0 { Coverage::Full } else { Coverage::Lines(lines % (FULL - 1)) };
                set.put(ReadEntry { is_loose, ..ReadEntry::new(ReadKey(key), content, coverage) });
            }
            prop_assert_eq!(ReadSet::parse(&set.to_string()), set);
        }

        #[test]
        fn any_text_is_some_set(text in ".{0,400}") {
            let set = ReadSet::parse(&text);
            prop_assert_eq!(ReadSet::parse(&set.to_string()), set);
        }
    }
}
