//! The cache file of the rules in force. A directory at its start lets a call read only the rules that it
//! concerns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::memmem;
use serde::Serialize;
use serde::de::DeserializeOwned;

use sprag_base::result::Discard as _;
use sprag_policy::{Decision, RuleConcern, RuleSet, Shard, Strictness};

use super::Good;
use crate::config::rule_files::Sourced;
use crate::sys::disk;

const EVERY: &str = "<every>";
const ALLOWING: &str = "<allow>";
const GOOD: &str = "<good>";

/// Larger than any cache file.
const CAP: u64 = 1024 * 1024;
/// Room for twice the directory of the built-in rules, so that most calls need two reads.
const HEAD: usize = 8 * 1024;

/// A cache file, or the bytes to write into one.
#[derive(Debug)]
pub(crate) struct RuleCache(CacheBytes);

#[derive(Debug)]
enum CacheBytes {
    Bytes(Vec<u8>),
    File { file: File, head: Vec<u8> },
}

/// Rules that restrict and rules that allow.
pub(crate) struct Sorted {
    pub restricting: RuleSet,
    pub allowing: RuleSet,
}

impl Sorted {
    pub(super) fn new(rules: &[Sourced], strictness: Strictness) -> Result<Sorted, sprag_policy::BadRule> {
        let is_allowing = |sourced: &&Sourced| sourced.rule.decision == Decision::Allow;
        let (allowing, restricting): (Vec<&Sourced>, Vec<&Sourced>) = rules.iter().partition(is_allowing);
        let set = |of: &[&Sourced]| RuleSet::new(of.iter().map(|sourced| &sourced.rule), strictness);
        Ok(Sorted { restricting: set(&restricting)?, allowing: set(&allowing)? })
    }
}

impl RuleCache {
    pub(super) fn new(rules: &Sorted, good: &Good) -> Result<RuleCache, postcard::Error> {
        let mut parts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (key, shard) in rules.restricting.shards() {
            parts.insert(key, bytes(&shard)?);
        }
        parts.insert(EVERY.to_owned(), bytes(&rules.restricting.whole())?);
        parts.insert(ALLOWING.to_owned(), bytes(&rules.allowing.whole())?);
        parts.insert(GOOD.to_owned(), bytes(good)?);
        let mut directory = "\n".to_owned();
        let mut at = 0;
        for (key, part) in &parts {
            writeln!(directory, "{key}\t{at} {}", part.len()).discard("writing to a string cannot fail");
            at += part.len();
        }
        let mut all = u32::try_from(directory.len()).unwrap_or(0).to_le_bytes().to_vec();
        all.extend(directory.into_bytes());
        for part in parts.into_values() {
            all.extend(part);
        }
        Ok(RuleCache(CacheBytes::Bytes(all)))
    }

    /// Opens the file and reads its head. Other parts are read when needed.
    pub(super) fn open(path: &Path) -> Option<RuleCache> {
        let file = disk::open_regular(path).ok()?;
        let size = file.metadata().ok()?.len();
        let length = usize::try_from(size).ok().filter(|_| size < CAP)?.min(HEAD);
        // Without zeros first, which would cost more than reading.
        let mut head = Vec::with_capacity(length);
        rustix::io::pread(&file, rustix::buffer::spare_capacity(&mut head), 0).ok()?;
        head.truncate(length);
        if head.len() < length {
            return None;
        }
        Some(RuleCache(CacheBytes::File { file, head }))
    }

    /// Returns all bytes of a cache that was just built.
    pub(super) fn made(&self) -> Option<&[u8]> {
        match &self.0 {
            CacheBytes::Bytes(bytes) => Some(bytes),
            CacheBytes::File { .. } => None,
        }
    }

    /// Returns the restricting rules that a call concerns; `None` if they cannot be read.
    pub(super) fn restricting(&self, concern: &RuleConcern) -> Option<RuleSet> {
        match concern {
            RuleConcern::None => Some(RuleSet::default()),
            RuleConcern::Every => self.part::<Shard>(EVERY).map(|shard| RuleSet::join([shard])),
            RuleConcern::Some(keys) => {
                let shards: Option<Vec<Shard>> = keys.iter().map(|key| self.part(key)).collect();
                shards.map(RuleSet::join)
            }
        }
    }

    pub(super) fn allowing(&self) -> Option<RuleSet> {
        self.part::<Shard>(ALLOWING).map(|shard| RuleSet::join([shard]))
    }

    pub(super) fn good(&self) -> Option<Good> {
        self.part(GOOD)
    }

    fn part<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let length = self.read(0..4)?;
        let start = u32::from_le_bytes(length.as_ref().try_into().ok()?) as usize + 4;
        let directory = self.read(4..start)?;
        let line = format!("\n{key}\t");
        let from = memmem::find(&directory, line.as_bytes())? + line.len();
        let end = from + memchr::memchr(b'\n', &directory[from..])?;
        let (at, length) = std::str::from_utf8(&directory[from..end]).ok()?.split_once(' ')?;
        let at = start.checked_add(at.parse().ok()?)?;
        postcard::from_bytes(&self.read(at..at.checked_add(length.parse().ok()?)?)?).ok()
    }

    fn read(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        match &self.0 {
            CacheBytes::Bytes(bytes) => bytes.get(range).map(Cow::Borrowed),
            CacheBytes::File { head, .. } if range.end <= head.len() => head.get(range).map(Cow::Borrowed),
            CacheBytes::File { file, .. } => {
                // A damaged directory must not cause a read beyond the maximum file size.
                let mut part = vec![0; range.len().min(CAP as usize)];
                file.read_exact_at(&mut part, range.start as u64).ok()?;
                Some(Cow::Owned(part))
            }
        }
    }
}

fn bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(value)
}
