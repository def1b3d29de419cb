//! Checks that no test sleeps: such a test wastes time on a fast machine and fails on a slow one. A lint
//! covers product code.

use crate::tidy::source::{Place, Source};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "sleeps", about: "no test sleeps", find };

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(sleeps).collect()
}

fn sleeps(source: &Source) -> Vec<Finding> {
    let paths = source.paths();
    let sleeps = paths.iter().filter(|path| path.place == Place::Test && path.has(&["thread", "sleep"]));
    let what = "`thread::sleep` in a test: wait for the event itself, with a deadline";
    sleeps.map(|path| Finding::new(&source.path, path.line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_wait_for_what_they_wait_for() {
        let text = "use std::{thread::{self, sleep}, time};\nfn t() { thread::sleep(time::Duration::MAX); }";
        let lines: Vec<usize> =
            find(&Tree::of(&[("crates/x/tests/a.rs", text)])).iter().map(|f| f.line).collect();
        assert_eq!(lines, [1, 2]);
        assert_eq!(find(&Tree::of(&[("crates/x/src/a.rs", text)])), []);
    }
}
