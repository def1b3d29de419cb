//! Checks that product code has no `unwrap`: a panic of `expect` gives the reason why it should not happen.

use crate::tidy::source::Place;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "unwraps", about: "no `unwrap` outside tests", find };

fn find(tree: &Tree) -> Vec<Finding> {
    let uses = tree.rust.iter().flat_map(|source| {
        let uses = source.find(". unwrap ( )").into_iter().filter(|rest| rest[0].place == Place::Product);
        uses.map(|rest| (source, rest[1].line)).collect::<Vec<_>>()
    });
    let what = "`unwrap` outside tests: `expect` says why it cannot fail";
    uses.map(|(source, line)| Finding::new(&source.path, line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_may() {
        let text =
            "fn f() { a.unwrap_or(1);\n b.unwrap() }\n#[cfg(test)] mod tests { fn f() { c.unwrap() } }";
        let lines: Vec<usize> = find(&Tree::of(&[("xtask/src/a.rs", text)])).iter().map(|f| f.line).collect();
        assert_eq!(lines, [2]);
    }
}
