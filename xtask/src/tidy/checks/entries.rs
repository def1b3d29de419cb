//! Checks that a directory of sources has at most 22 entries, so that it reads like a table of contents.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "entries", about: "a directory of sources has at most 22 entries", find };

const MAX_ENTRIES: usize = 22;

/// Directories that may be longer, each with its reason.
const LONG_LISTS: &[(&str, &str)] = &[
    ("crates/sprag/tests/it/stories", "one scenario script per file"),
    ("crates/sprag-host/tests/recorded", "one recorded payload per file"),
    ("crates/sprag-syntax/tests", "stories and changes as data"),
    ("crates/sprag-policy/src/packs", "one rule pack per file"),
    ("xtask/src/e2e/cases", "one real-client case per file"),
    ("xtask/src/bench", "one bench per file"),
];

fn find(tree: &Tree) -> Vec<Finding> {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in tree.paths.iter().filter(|path| path.starts_with("crates/") || path.starts_with("xtask/")) {
        let parts: Vec<&str> = path.split('/').collect();
        let mut end = 0;
        for part in &parts[..parts.len() - 1] {
            end += part.len() + usize::from(end > 0);
            let entry = path[end + 1..].split('/').next().unwrap_or_default();
            if !matches!(entry, "mod.rs" | "lib.rs") {
                entries.entry(&path[..end]).or_default().insert(entry);
            }
        }
    }
    let is_list = |dir: &str| LONG_LISTS.iter().any(|(list, _)| dir.starts_with(list));
    let is_long = |entry: &(&str, BTreeSet<&str>)| entry.1.len() > MAX_ENTRIES && !is_list(entry.0);
    entries
        .into_iter()
        .filter(is_long)
        .map(|(dir, entries)| {
            let what = format!("{} entries, at most {MAX_ENTRIES}: split it into rooms", entries.len());
            Finding::new(dir, 1, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_directory_is_found() {
        let files: Vec<String> =
            (0..23).map(|number| format!("crates/sprag-x/src/room/f{number}.rs")).collect();
        let mut sources: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "")).collect();
        let found: Vec<String> = find(&Tree::of(&sources)).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["crates/sprag-x/src/room:1: 23 entries, at most 22: split it into rooms"]);
        sources.pop();
        sources.push(("crates/sprag-x/src/room/mod.rs", ""));
        assert_eq!(find(&Tree::of(&sources)), []);
    }
}
