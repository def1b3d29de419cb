//! Checks that pure crates name no module that reads or changes the world. The lints in their `clippy.toml`
//! forbid single functions; this check forbids whole modules, with all functions that future versions add.

use super::direction::PURE;
use crate::tidy::source::{Place, Source};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check {
    name: "purity",
    about: "pure crates read no clock, file, variable or process and print nothing",
    find,
};

const PATHS: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "process"],
    &["std", "net"],
    &["std", "thread"],
    &["SystemTime"],
    &["Instant", "now"],
];

const MACROS: &[&str] = &["println !", "eprintln !", "print !", "eprint !", "dbg !"];

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|source| is_pure(&source.path)).flat_map(named_in).collect()
}

fn is_pure(path: &str) -> bool {
    PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/")))
}

fn named_in(source: &Source) -> Vec<Finding> {
    let finding = |line: usize, name: &str| {
        Finding::new(&source.path, line, format!("`{name}` in a pure crate: the host must pass it in"))
    };
    let paths = source.paths();
    let paths = paths.iter().filter(|path| path.place == Place::Product).filter_map(|path| {
        let wanted = PATHS.iter().find(|wanted| path.has(wanted))?;
        Some(finding(path.line, &wanted.join("::")))
    });
    let macros = MACROS.iter().flat_map(|name| {
        let uses = source.find(name).into_iter().filter(|rest| rest[0].place == Place::Product);
        uses.map(|rest| finding(rest[0].line, &name.replace(' ', ""))).collect::<Vec<_>>()
    });
    let mut findings: Vec<Finding> = paths.chain(macros).collect();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_named_nowhere() {
        let text = "\
use std::{collections::BTreeMap, fs::{self, File}};
use std::time::{Duration, Instant};
fn f() { Instant::now(); println!(\"x\"); std::env::var(\"y\"); }
#[cfg(test)]
mod tests { use std::fs; fn f() { println!(\"x\"); } }
";
        let tree = Tree::of(&[("crates/sprag-base/src/a.rs", text), ("crates/sprag-host/src/a.rs", text)]);
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        let told = |line: usize, name: &str| {
            format!("crates/sprag-base/src/a.rs:{line}: `{name}` in a pure crate: the host must pass it in")
        };
        assert_eq!(
            found,
            [told(1, "std::fs"), told(3, "Instant::now"), told(3, "std::env"), told(3, "println!")]
        );
    }
}
