//! The rules in force as the hooks find them: one file with a directory at its start, so that a call
//! that concerns two rules does not read the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use memchr::memmem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sprag_core::rules::{Concern, Decision, RuleSet, Shard, Strictness};

use super::Good;
use crate::policy::Sourced;

const EVERY: &str = "<every>";
const ALLOWING: &str = "<allow>";
const GOOD: &str = "<good>";

/// The bytes of such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept(pub Vec<u8>);

/// Rules that restrict and rules that allow.
pub struct Sorted {
    pub restricting: RuleSet,
    pub allowing: RuleSet,
}

impl Sorted {
    pub fn new(rules: &[Sourced], is_strict: bool) -> Result<Sorted, sprag_core::rules::BadRule> {
        let strictness = if is_strict { Strictness::Strict } else { Strictness::Usual };
        let is_allowing = |sourced: &&Sourced| sourced.rule.decision == Decision::Allow;
        let (allowing, restricting): (Vec<&Sourced>, Vec<&Sourced>) = rules.iter().partition(is_allowing);
        let set = |of: &[&Sourced]| RuleSet::new(of.iter().map(|sourced| &sourced.rule), strictness);
        Ok(Sorted { restricting: set(&restricting)?, allowing: set(&allowing)? })
    }
}

impl Kept {
    pub fn new(rules: &Sorted, good: &Good) -> Result<Kept, postcard::Error> {
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
            // Writing to a text cannot fail.
            writeln!(directory, "{key}\t{at} {}", part.len()).unwrap_or_default();
            at += part.len();
        }
        let mut all = u32::try_from(directory.len()).unwrap_or(0).to_le_bytes().to_vec();
        all.extend(directory.into_bytes());
        parts.into_values().for_each(|part| all.extend(part));
        Ok(Kept(all))
    }

    /// The restricting rules a call concerns; `None` if they cannot be had.
    pub fn restricting(&self, concern: &Concern) -> Option<RuleSet> {
        match concern {
            Concern::None => Some(RuleSet::default()),
            Concern::Every => self.part::<Shard>(EVERY).map(|shard| RuleSet::join([shard])),
            Concern::Some(keys) => {
                let shards: Option<Vec<Shard>> = keys.iter().map(|key| self.part(key)).collect();
                shards.map(RuleSet::join)
            }
        }
    }

    pub fn allowing(&self) -> Option<RuleSet> {
        self.part::<Shard>(ALLOWING).map(|shard| RuleSet::join([shard]))
    }

    pub fn good(&self) -> Option<Good> {
        self.part(GOOD)
    }

    fn part<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (directory, parts) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let line = format!("\n{key}\t");
        let from = memmem::find(directory, line.as_bytes())? + line.len();
        let end = from + memchr::memchr(b'\n', &directory[from..])?;
        let (at, length) = std::str::from_utf8(&directory[from..end]).ok()?.split_once(' ')?;
        let (at, length): (usize, usize) = (at.parse().ok()?, length.parse().ok()?);
        postcard::from_bytes(parts.get(at..at.checked_add(length)?)?).ok()
    }
}

fn bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(value)
}
