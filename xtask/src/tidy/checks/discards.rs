//! A result that is thrown away without a word is how a step is logged that never happened. Whoever
//! can do without it says so by a name: `.ok()`, `.unwrap_or_default()`, with the reason above.

use crate::tidy::source::Source;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "discards", about: "no `let _ =` of a call", find };

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(discards).collect()
}

fn discards(source: &Source) -> Vec<Finding> {
    let lets = source.find("let _ =").into_iter();
    let calls =
        lets.filter(|rest| rest.iter().take_while(|token| token.text != ";").any(|token| token.text == "("));
    let what = "`let _ =` discards what a call says";
    calls.map(|rest| Finding::new(&source.path, rest[0].line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_not_discarded() {
        let text = "fn f() {\n let _ = g(1);\n let _ = unused;\n let _guard = lock();\n let _ = write!(f, \"x\");\n}";
        let lines: Vec<usize> =
            find(&Tree::of(&[("crates/x/src/a.rs", text)])).iter().map(|f| f.line).collect();
        assert_eq!(lines, [2, 5]);
    }
}
