//! Checks that every gate with a question has a file of answers in the host.

use crate::tidy::source::Source;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "answers", about: "a gate with a question has a file of answers in the host", find };

const GATES: &str = "crates/sprag-govern/src/gates/";
const ANSWERS: &str = "crates/sprag-host/src/answers/";

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter_map(|source| unanswered(source, tree)).collect()
}

fn unanswered(source: &Source, tree: &Tree) -> Option<Finding> {
    let answer = format!("{ANSWERS}{}.rs", gate_of(&source.path)?);
    let questions = source.find("type Question =");
    let line = questions.iter().find(|rest| rest.get(3).is_some_and(|token| token.text != "("))?[0].line;
    let is_answered = tree.rust.iter().any(|file| file.path == answer);
    (!is_answered)
        .then(|| Finding::new(&source.path, line, format!("the gate has a question, but no `{answer}`")))
}

/// Returns the name of the gate that a file defines.
fn gate_of(path: &str) -> Option<&str> {
    let below = path.strip_prefix(GATES)?;
    let name = below.strip_suffix("/mod.rs").or_else(|| below.strip_suffix(".rs"))?;
    (!name.contains('/') && name != "mod").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_nobody_answers_is_found() {
        let asks = "impl Gate for X {\n    type Question = Question;\n}\n";
        let tree = Tree::of(&[
            ("crates/sprag-govern/src/gates/quiet.rs", "impl Gate for X {\n    type Question = ();\n}\n"),
            ("crates/sprag-govern/src/gates/known.rs", asks),
            ("crates/sprag-govern/src/gates/lost/mod.rs", asks),
            ("crates/sprag-govern/src/gates/mod.rs", "pub trait Gate {\n    type Question;\n}\n"),
            ("crates/sprag-host/src/answers/known.rs", ""),
        ]);
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/sprag-govern/src/gates/lost/mod.rs:2: the gate has a question, but no `crates/sprag-host/src/answers/lost.rs`"
            ]
        );
    }
}
