//! Checks that a visible type name is unique in the workspace, so that a search finds one definition.

use std::collections::BTreeMap;

use super::is_product;
use crate::tidy::modules::ItemKind;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "type_names", about: "a visible type name is defined once in the workspace", find };

/// Names that several files may define, with the reason.
const SHARED: &[(&str, &str)] = &[
    ("Args", "arguments of one command; no other file imports them"),
    ("Command", "subcommands of one command, and a command of the shell"),
    ("Answer", "answer to the question of one gate, always written with the gate: `commit::Answer`"),
    ("Question", "question of one gate, always written with the gate: `scope::Question`"),
    ("Settings", "settings of one gate, always written with the gate: `recall::Settings`"),
];

fn find(tree: &Tree) -> Vec<Finding> {
    let modules = tree.modules();
    let mut places: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for module in modules.modules.values().filter(|module| !module.is_test) {
        let source = &modules.sources[module.file];
        if !is_product(&source.path) || source.path.contains("/tests/") {
            continue;
        }
        let types = module.items.iter().filter(|item| {
            item.kind == ItemKind::Type
                && !item.visibility.is_empty()
                && item.scope.len() == module.body.len()
        });
        for item in types {
            let line = source.tokens[item.at].line;
            places.entry(&item.name).or_default().push((&source.path, line));
        }
    }
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let mut findings = Vec::new();
    for (name, places) in places.into_iter().filter(|(name, places)| places.len() > 1 && !is_shared(name)) {
        for (file, line) in &places {
            let others: Vec<&str> =
                places.iter().map(|(file, _)| *file).filter(|other| other != file).collect();
            findings.push(Finding::new(
                file,
                *line,
                format!("`{name}` is also defined in {}", others.join(", ")),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_defined_twice_is_found() {
        let tree = Tree::of(&[
            ("crates/sprag-x/src/a.rs", "pub struct Found;\nstruct Row;\npub struct Args;\n"),
            ("crates/sprag-y/src/b.rs", "struct Row;\npub(crate) enum Found {}\npub struct Args;\n"),
            ("crates/sprag-y/src/tests.rs", "pub struct Found;\n"),
        ]);
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/sprag-x/src/a.rs:1: `Found` is also defined in crates/sprag-y/src/b.rs",
                "crates/sprag-y/src/b.rs:2: `Found` is also defined in crates/sprag-x/src/a.rs",
            ]
        );
    }
}
