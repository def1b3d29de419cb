//! Checks that processes start in one file, with a deadline and a process group. Git starts in one other
//! file, with settings that make reads harmless.

use super::is_product;
use crate::tidy::source::{Place, Source, Token};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "processes", about: "processes start in sys/exec.rs, git only in git/mod.rs", find };

const STARTS: &str = "crates/sprag-host/src/sys/exec.rs";
const ASKS_GIT: &str = "crates/sprag-host/src/git/mod.rs";

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust
        .iter()
        // Build scripts are not part of the product.
        .filter(|source| is_product(&source.path) && !source.path.ends_with("/build.rs"))
        .flat_map(|source| {
            let mut findings = Vec::new();
            if source.path != STARTS {
                let starts =
                    source.find("Command :: new").into_iter().filter(|rest| rest[0].place == Place::Product);
                let what = "`Command::new`: processes start in sprag-host/src/sys/exec.rs";
                findings.extend(starts.map(|rest| Finding::new(&source.path, rest[0].line, what)));
            }
            if source.path != ASKS_GIT {
                let what = "git starts only in sprag-host/src/git/mod.rs";
                findings.extend(git(source).map(|token| Finding::new(&source.path, token.line, what)));
            }
            findings
        })
        .collect()
}

/// Returns the tokens that name git as a program to start: in a `program` field or in a call of `exec` or
/// `Command`. A search on PATH starts nothing.
fn git(source: &Source) -> impl Iterator<Item = &Token> {
    source
        .tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "\"git\"" && token.place == Place::Product)
        .filter_map(|(at, token)| {
            let before = source.tokens[..at].iter().rev();
            let phrase = before.take_while(|token| !matches!(token.text.as_str(), ";" | "{" | "}" | ","));
            let words: Vec<&str> = phrase.map(|token| token.text.as_str()).collect();
            let starts = words.iter().any(|word| matches!(*word, "program" | "exec" | "Command"));
            (starts && !words.contains(&"on_path")).then_some(token)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        find(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_in_its_place() {
        let text = "\
fn f() { Command::new(\"ls\"); }
fn g() { run(&Run { dir, program: OsStr::new(\"git\"), args }); }
fn h() { exec::quick(\"git\", args); exec::on_path(\"git\", path); map.get(\"git\"); }
#[cfg(test)] mod tests { fn f() { Command::new(\"git\"); } }
";
        assert_eq!(lines("crates/sprag-host/src/pipeline/mod.rs", text), [1, 2, 3]);
        assert_eq!(lines(STARTS, text), [2, 3]);
        assert_eq!(lines(ASKS_GIT, text), [1]);
        assert!(lines("crates/sprag/tests/it/hook.rs", text).is_empty());
        assert!(lines("xtask/src/place.rs", text).is_empty());
    }
}
