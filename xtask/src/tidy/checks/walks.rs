//! Checks the walks of ARCHITECTURE.md: every file of a walk exists and defines the function of its line, and
//! an earlier file of the walk names that function.

use std::collections::BTreeSet;

use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "walks", about: "the walks of ARCHITECTURE.md follow the code", find };

const DOCUMENT: &str = "ARCHITECTURE.md";

/// Walks that the document must have.
const WALKS: &[&str] = &["One hook call", "One stop", "One reflection", "One stage"];

fn find(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.texts.get(DOCUMENT) else { return Vec::new() };
    let mut findings = Vec::new();
    let mut walk: Option<&str> = None;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut walked: BTreeSet<&str> = BTreeSet::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("### ") {
            walk = WALKS.iter().copied().find(|walk| *walk == title);
            seen.clear();
        } else if line.starts_with("## ") {
            walk = None;
        }
        let (Some(walk), Some((path, name))) = (walk, step(line)) else { continue };
        walked.insert(walk);
        let finding = |what: String| Finding::new(DOCUMENT, at + 1, what);
        let Some(source) = tree.rust.iter().find(|source| source.path == path) else {
            findings.push(finding(format!("`{path}` does not exist")));
            continue;
        };
        let is_defined = ["fn", "struct", "enum", "trait", "const"]
            .iter()
            .any(|keyword| !source.find(&format!("{keyword} {name}")).is_empty());
        if !is_defined {
            findings.push(finding(format!("`{path}` does not define `{name}`")));
        }
        seen.insert(path);
        let is_called = seen.iter().any(|file| {
            let sources = tree.rust.iter().filter(|source| source.path == *file);
            let minimum = if *file == path { 2 } else { 1 };
            sources.into_iter().any(|source| source.find(name).len() >= minimum)
        });
        if !is_called && seen.len() > 1 {
            findings.push(finding(format!("no earlier file of this walk names `{name}` of `{path}`")));
        }
    }
    for missing in WALKS.iter().filter(|walk| !walked.contains(*walk)) {
        findings.push(Finding::new(DOCUMENT, 1, format!("the walk `{missing}` is missing")));
    }
    findings
}

/// Returns the file and the function of ``7. `crates/a.rs` :: `run` does it.``
fn step(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(". `")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (path, rest) = rest.split_once("` :: `")?;
    let (name, _) = rest.split_once('`')?;
    Some((path, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(walk: &str) -> Vec<String> {
        let others: String =
            WALKS[1..].iter().map(|walk| format!("### {walk}\n1. `a.rs` :: `f` x.\n")).collect();
        let document = format!("## Walks\n### One hook call\n{walk}{others}");
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", &document),
            ("a.rs", "fn f() { g() }\n"),
            ("b.rs", "fn g() {}\nfn h() {}\n"),
        ]);
        find(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_walk_follows_the_calls() {
        assert_eq!(found("1. `a.rs` :: `f` starts.\n2. `b.rs` :: `g` ends.\n"), [""; 0]);
    }

    #[test]
    fn a_file_a_function_or_a_call_that_is_gone_is_found() {
        let lines = "1. `a.rs` :: `f` starts.\n2. `c.rs` :: `g` is gone.\n3. `b.rs` :: `x` is gone.\n4. `b.rs` :: `h` has no caller.\n";
        assert_eq!(
            found(lines),
            [
                "ARCHITECTURE.md:4: `c.rs` does not exist",
                "ARCHITECTURE.md:5: `b.rs` does not define `x`",
                "ARCHITECTURE.md:5: no earlier file of this walk names `x` of `b.rs`",
                "ARCHITECTURE.md:6: no earlier file of this walk names `h` of `b.rs`",
            ]
        );
        assert_eq!(found(""), ["ARCHITECTURE.md:1: the walk `One hook call` is missing"]);
    }
}
