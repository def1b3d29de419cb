//! Checks that the tree has no unfinished code: no placeholder that panics, no test that never runs.

use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "unfinished", about: "no placeholder, no ignored test, no broken file", find };

const PATTERNS: &[(&str, &str)] = &[
    ("todo !", "`todo!`"),
    ("unimplemented !", "`unimplemented!`"),
    ("# [ ignore", "`#[ignore]`: the test never runs"),
];

fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.rust {
        if source.is_broken {
            findings.push(Finding::new(&source.path, 1, "the file is not valid Rust"));
        }
        for (pattern, what) in PATTERNS {
            let uses = source.find(pattern).into_iter();
            findings.extend(uses.map(|rest| Finding::new(&source.path, rest[0].line, *what)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anywhere() {
        let text = "fn f() { todo!() }\n#[test]\n#[ignore = \"slow\"]\nfn t() { unimplemented!() }";
        let found = find(&Tree::of(&[("crates/x/tests/a.rs", text), ("xtask/src/b.rs", "fn f( {")]));
        let lines: Vec<(&str, usize)> = found.iter().map(|f| (f.file.as_str(), f.line)).collect();
        let (a, b) = ("crates/x/tests/a.rs", "xtask/src/b.rs");
        assert_eq!(lines, [(a, 1), (a, 4), (a, 3), (b, 1)]);
    }
}
