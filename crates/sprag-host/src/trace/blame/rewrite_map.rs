//! Reads which commits replaced which: from git's `post-rewrite` hook, or from the list of a rewriting tool.

use std::collections::{HashMap, HashSet};
use std::io;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::time::Timestamp;
use sprag_trace::ChangeRecord;
use sprag_trace::records::RewrittenCommits;

use crate::store::projections::each_line;
use crate::store::{Store, new_record};
use crate::sys::disk::{Disk, open_regular};
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

/// Kind of the records of the hook; other lines need no parsing.
const REWRITTEN: &[u8] = b"trace.rewritten";
/// Most pairs of one rewrite.
const PAIRS: usize = 10_000;
const MAP_BYTES: u64 = 64 * 1024 * 1024;

/// For each new commit, the commits that it replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteMap {
    sources: HashMap<String, Vec<String>>,
}

impl RewriteMap {
    pub fn load(places: &Locations) -> io::Result<RewriteMap> {
        let mut told = RewriteMap::default();
        for path in Store::at(&places.store).log_files() {
            each_line(&path, 0, |line| {
                if memchr::memmem::find(line, REWRITTEN).is_some()
                    && let Ok(record) = Record::parse(line)
                    && let Some(ChangeRecord::Rewritten(rewritten)) = ChangeRecord::read(&record)
                {
                    rewritten.pairs.into_iter().for_each(|(old, new)| told.add(old, new));
                }
            })?;
        }
        // `git filter-repo` leaves this file.
        let map = places.common.as_ref().map(|common| common.join("filter-repo/commit-map"));
        let map = map.and_then(|map| open_regular(&map).ok()).map(|file| read_capped(file, MAP_BYTES));
        let map = map.and_then(Result::ok).unwrap_or_default();
        for (old, new) in pairs(&String::from_utf8_lossy(&map)) {
            told.add(old, new);
        }
        Ok(told)
    }

    fn add(&mut self, old: String, new: String) {
        if old != new && is_name(&old) && is_name(&new) {
            self.sources.entry(new).or_default().push(old);
        }
    }

    /// Returns all commits that a commit replaced, through any number of rewrites.
    pub fn sources_of(&self, commit: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([commit]);
        let mut next = vec![commit];
        while let Some(name) = next.pop() {
            for old in self.sources.get(name).into_iter().flatten() {
                if seen.insert(old) {
                    found.push(old.clone());
                    next.push(old);
                }
            }
        }
        found
    }
}

/// Records the output of a hook: lines with an old and a new name. Returns their number.
pub fn note(store: &Store, disk: &dyn Disk, text: &str, now: Timestamp) -> io::Result<usize> {
    let pairs: Vec<(String, String)> = pairs(text).into_iter().take(PAIRS).collect();
    let count = pairs.len();
    if count > 0 {
        let rewritten = ChangeRecord::Rewritten(RewrittenCommits { pairs });
        store.log(disk, &[new_record::record(&rewritten, now, None, None)])?;
    }
    Ok(count)
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (old, new) = (words.next()?, words.next()?);
        (is_name(old) && is_name(new)).then(|| (old.to_owned(), new.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// Reports whether a text is the name of a commit. A dropped commit has only zeros.
fn is_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !text.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_followed_through_all_its_rewrites() {
        let name = |letter: &str| letter.repeat(40);
        let mut told = RewriteMap::default();
        for (old, new) in [("a", "b"), ("b", "c"), ("d", "c"), ("c", "a"), ("0", "c")] {
            told.add(name(old), name(new));
        }
        let mut found = told.sources_of(&name("c"));
        found.sort();
        assert_eq!(found, [name("a"), name("b"), name("d")]);
        assert!(told.sources_of(&name("e")).is_empty());
    }

    #[test]
    fn lines_that_name_no_commits_are_passed_over() {
        let text = format!("old new\n{} {} amend\nx y\n", "1".repeat(40), "2".repeat(40));
        assert_eq!(pairs(&text), [("1".repeat(40), "2".repeat(40))]);
    }
}
