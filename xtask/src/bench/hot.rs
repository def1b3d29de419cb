//! `crates/sprag/hot.txt`: the functions that hook calls and searches run, by their symbol names. The program
//! places them side by side (`crates/sprag/build.rs`), because scattered functions cost a page fault each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::saved::Saved;
use super::scene::Scene;
use super::{instructions, search};
use crate::workspace;

/// The least number of functions of a hook call: a program without symbols shows none.
const FEWEST: usize = 300;

/// Writes the list again.
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
        "only {} functions have a name; the program may be stripped\n  next: cargo xtask bench --hot",
        called.len()
    );
    // A search is a separate process. Functions that only a search calls come last.
    for name in names(&search::profile(valgrind, program, folder)?) {
        called.entry(name).or_default();
    }
    // Functions that every call runs come first, so that functions of a single call do not separate them.
    let mut called: Vec<(String, usize)> = called.into_iter().collect();
    called.sort_by_key(|(_, calls)| Reverse(*calls));
    let path = workspace::root().join("crates/sprag/hot.txt");
    let mut text: String = called.iter().map(|(name, _)| format!("{name}\n")).collect();
    text.insert_str(0, "# written by `cargo xtask bench --hot`\n");
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!("wrote {} functions to `{}`", called.len(), path.display());
    Ok(())
}

/// Returns the function names of a profile. A function appears first as `fn=(12) name`, later as `fn=(12)`;
/// `cfn` likewise.
fn names(profile: &str) -> BTreeSet<String> {
    let functions = profile.lines().filter_map(|line| line.strip_prefix("fn=").or(line.strip_prefix("cfn=")));
    let named = functions.filter_map(|function| function.split_once(") "));
    // Callgrind marks cycles and functions without a name with other characters.
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
