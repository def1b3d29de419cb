//! `crates/sprag/hot.txt`: the functions hook calls and searches go through, as the linker knows them. The program lays
//! them side by side (`crates/sprag/build.rs`): spread over all of it, each would cost a page fault.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::saved::Saved;
use super::scene::Scene;
use super::{instructions, search};
use crate::workspace;

/// Fewer than any hook call goes through: a program without its symbols shows none.
const FEWEST: usize = 300;

/// Writes the list anew.
pub fn write(
    valgrind: &Path,
    program: &Path,
    folder: &Path,
    scenes: &mut [(Scene, Saved)],
) -> anyhow::Result<()> {
    let mut called: BTreeMap<String, usize> = BTreeMap::new();
    for (scene, saved) in scenes {
        let profile = instructions::profile(valgrind, folder, scene)?;
        for name in names(&profile) {
            *called.entry(name).or_default() += 1;
        }
        saved.restore()?;
    }
    ensure!(
        called.len() >= FEWEST,
        "only {} functions have a name: was the program stripped?\n  next: cargo xtask bench --hot",
        called.len()
    );
    // A search is a process of its own as well; what it alone needs comes last.
    for name in names(&search::profile(valgrind, program, folder)?) {
        called.entry(name).or_default();
    }
    // What every call goes through is not to lie between what one of them does.
    let mut called: Vec<(String, usize)> = called.into_iter().collect();
    called.sort_by_key(|(_, calls)| Reverse(*calls));
    let path = workspace::root().join("crates/sprag/hot.txt");
    let mut text: String = called.iter().map(|(name, _)| format!("{name}\n")).collect();
    text.insert_str(0, "# written by `cargo xtask bench --hot`\n");
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!("{} functions are written to `{}`", called.len(), path.display());
    Ok(())
}

/// `fn=(12) name` where a function is met first, `fn=(12)` from then on; `cfn` likewise.
fn names(profile: &str) -> BTreeSet<String> {
    let functions = profile.lines().filter_map(|line| line.strip_prefix("fn=").or(line.strip_prefix("cfn=")));
    let named = functions.filter_map(|function| function.split_once(") "));
    // A cycle of calls and a function without a name are told in ways of their own.
    let is_one = |name: &String| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || "_.$".contains(c)) && !name.starts_with("0x")
    };
    named.map(|(_, name)| name.split('\'').next().unwrap_or(name).to_owned()).filter(is_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_once_and_addresses_are_none() {
        let profile = "fl=(1) ???\nfn=(1) _RNvCs1_4main\n0 12\ncfn=(2) memcpy\ncalls=1 0\nfn=(2)\nfn=(3) 0x00123\nfn=(4) (below main)\nfn=(5) _ZN3foo17h01E'2\n";
        let found: Vec<String> = names(profile).into_iter().collect();
        assert_eq!(found, ["_RNvCs1_4main", "_ZN3foo17h01E", "memcpy"]);
    }
}
