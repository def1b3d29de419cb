//! Checks that a module with children is `x/mod.rs`, so that a directory shows one entry for each noun. A
//! path uses `super` at most once, because a reader cannot count several.

use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "modules", about: "no `x.rs` beside `x/`, no `super::super`", find };

fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.rust.iter().filter(|source| source.path.starts_with("crates/")) {
        let dir = source.path.trim_end_matches(".rs");
        if tree.has(dir) {
            findings.push(Finding::new(
                &source.path,
                1,
                format!("`{dir}/` exists too: move this file to its `mod.rs`"),
            ));
        }
        for rest in source.find("super :: super") {
            findings.push(Finding::new(
                &source.path,
                rest[0].line,
                "`super::super`: name the room with `crate::`",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_and_long_ways_up_are_found() {
        let tree = Tree::of(&[
            ("crates/sprag-x/src/a.rs", "use super::super::b;\nuse super::c;\n"),
            ("crates/sprag-x/src/a/d.rs", ""),
            ("crates/sprag-x/src/e/mod.rs", ""),
        ]);
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/sprag-x/src/a.rs:1: `crates/sprag-x/src/a/` exists too: move this file to its `mod.rs`",
                "crates/sprag-x/src/a.rs:1: `super::super`: name the room with `crate::`",
            ]
        );
    }
}
