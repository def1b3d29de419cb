//! Checks that no result is discarded without a reason. Code that continues after a failure either reports it
//! or calls `.discard("why it is safe")` of `sprag_base::result::Discard`.

use crate::tidy::source::{Source, Token};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "discards", about: "a result is discarded only by `.discard(\"reason\")`", find };

/// The least number of words of a reason.
const FEWEST_WORDS: usize = 3;

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(|source| [lets(source), statements(source), reasons(source)].concat()).collect()
}

fn lets(source: &Source) -> Vec<Finding> {
    let calls = source.find("let _ =").into_iter().filter(|rest| {
        let mut value = rest.iter().take_while(|token| token.text != ";");
        value.any(|token| token.text == "(")
    });
    let what = "`let _ =` discards the result of a call; report it or `.discard(\"reason\")` it";
    calls.map(|rest| Finding::new(&source.path, rest[0].line, what)).collect()
}

/// Finds statements that end in a method that hides a failure.
fn statements(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for method in ["unwrap_or_default", "ok"] {
        for rest in source.find(&format!(". {method} ( ) ;")) {
            let before = &source.tokens[..source.tokens.len() - rest.len()];
            if !has_use(before) {
                let what =
                    format!("`.{method}();` discards a result; report it or `.discard(\"reason\")` it");
                findings.push(Finding::new(&source.path, rest[1].line, what));
            }
        }
    }
    findings
}

/// Reports whether the statement at the end of `before` uses its value.
fn has_use(before: &[Token]) -> bool {
    let mut depth = 0;
    for token in before.iter().rev() {
        match token.text.as_str() {
            ")" | "]" => depth += 1,
            "}" if depth > 0 => depth += 1,
            "(" | "[" | "{" if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            ";" | "{" | "}" | "(" | "[" => return false,
            "=" | "let" | "return" | "break" => return true,
            _ => {}
        }
    }
    false
}

fn reasons(source: &Source) -> Vec<Finding> {
    let short = source.find(". discard (").into_iter().filter(|rest| {
        let reason = rest.get(3).map_or("", |token| token.text.as_str());
        !reason.starts_with('"') || reason.split_whitespace().count() < FEWEST_WORDS
    });
    let what = format!("`.discard(..)` needs a reason of at least {FEWEST_WORDS} words in quotes");
    short.map(|rest| Finding::new(&source.path, rest[1].line, &*what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        find(&Tree::of(&[("crates/x/src/a.rs", text)])).iter().map(|f| f.line).collect()
    }

    #[test]
    fn a_let_does_not_throw_a_call_away() {
        let text = "fn f() {\n let _ = g(1);\n let _ = unused;\n let _guard = lock();\n let _ = write!(f, \"x\");\n}";
        assert_eq!(lines(text), [2, 5]);
    }

    #[test]
    fn a_statement_does_not_throw_a_result_away() {
        for method in ["unwrap_or_default", "ok"] {
            let text = format!(
                "fn f() {{\n g(1).{method}();\n g(|x| {{ let y = x; y }})\n .h()\n .{method}();\n if a {{ b = 1; }}\n self.g(a = 2).{method}();\n match a {{ _ => {{ g()?.{method}(); }} }}\n}}"
            );
            assert_eq!(lines(&text), [2, 5, 7, 8], "{method}");
        }
    }

    #[test]
    fn a_value_may_come_from_a_method_that_forgives() {
        for method in ["unwrap_or_default", "ok"] {
            let text = format!(
                "fn f() {{ let a = g().{method}(); self.a = g(1)\n.h().{method}(); loop {{ break g().{method}(); }} h(g().{method}()); return g().{method}(); }} fn h() {{ g().{method}() }}"
            );
            assert_eq!(lines(&text), Vec::<usize>::new(), "{method}");
        }
    }

    #[test]
    fn a_discard_gives_a_reason_of_three_words() {
        let text = "fn f() {\n g().discard(\"nobody is listening\");\n g().discard(\"not needed\");\n g().discard(WHY);\n g()\n .discard(\"\");\n}";
        assert_eq!(lines(text), [3, 4, 6]);
    }
}
