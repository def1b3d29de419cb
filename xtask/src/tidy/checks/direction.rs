//! Checks that crates depend downwards only, and that pure crates have few dependencies. A crate cannot use
//! code that it cannot reach.

use crate::tidy::tree::{Package, Tree};
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check {
    name: "direction",
    about: "crates depend downwards; pure crates only on the crates of their row",
    find,
};

struct Row {
    name: &'static str,
    /// Other crates of the workspace.
    ours: &'static [&'static str],
    foreign: Foreign,
}

enum Foreign {
    Any,
    /// Names; a `*` at the end matches any ending.
    Only(&'static [&'static str]),
}

/// A wildcard for every other crate of the workspace.
const EVERY: &str = "*";

const ROWS: &[Row] = &[
    Row { name: "sprag-base", ours: &[], foreign: Foreign::Only(&["serde", "serde_json", "sha2"]) },
    Row { name: "sprag-shell", ours: &["sprag-base"], foreign: Foreign::Only(&[]) },
    Row {
        name: "sprag-policy",
        ours: &["sprag-base", "sprag-shell"],
        foreign: Foreign::Only(&["serde", "serde_json"]),
    },
    Row { name: "sprag-check", ours: &["sprag-base"], foreign: Foreign::Only(&["serde", "serde_json"]) },
    Row {
        name: "sprag-intent",
        ours: &["sprag-base"],
        foreign: Foreign::Only(&["serde", "serde_json", "sha2"]),
    },
    Row {
        name: "sprag-trace",
        ours: &["sprag-base", "sprag-intent"],
        foreign: Foreign::Only(&["serde", "serde_json"]),
    },
    Row {
        name: "sprag-memory",
        ours: &["sprag-base"],
        foreign: Foreign::Only(&["serde", "serde_json", "rust-stemmers", "unicode-normalization"]),
    },
    Row { name: "sprag-syntax", ours: &[], foreign: Foreign::Only(&["serde", "sha2", "tree-sitter*"]) },
    Row {
        name: "sprag-plan",
        ours: &["sprag-base", "sprag-check", "sprag-intent"],
        foreign: Foreign::Only(&["serde", "serde_json", "regex-lite", "strsim"]),
    },
    Row {
        name: "sprag-govern",
        ours: &[
            "sprag-base",
            "sprag-shell",
            "sprag-policy",
            "sprag-check",
            "sprag-intent",
            "sprag-trace",
            "sprag-memory",
        ],
        foreign: Foreign::Only(&["serde", "serde_json", "sha2"]),
    },
    Row { name: "sprag-host", ours: &PURE, foreign: Foreign::Any },
    Row {
        name: "sprag-orchestrator",
        ours: &[
            "sprag-base",
            "sprag-check",
            "sprag-intent",
            "sprag-memory",
            "sprag-govern",
            "sprag-plan",
            "sprag-host",
        ],
        foreign: Foreign::Any,
    },
    Row { name: "sprag-ui", ours: &["sprag-base", "sprag-plan"], foreign: Foreign::Any },
    Row { name: "sprag", ours: &[EVERY], foreign: Foreign::Any },
    Row { name: "xtask", ours: &[EVERY], foreign: Foreign::Any },
];

/// Crates that read no clock, file, variable or process.
pub const PURE: [&str; 10] = [
    "sprag-base",
    "sprag-shell",
    "sprag-policy",
    "sprag-check",
    "sprag-intent",
    "sprag-trace",
    "sprag-memory",
    "sprag-syntax",
    "sprag-plan",
    "sprag-govern",
];

fn find(tree: &Tree) -> Vec<Finding> {
    let ours: Vec<(&Package, &str)> =
        tree.packages.iter().filter_map(|package| Some((package, package.ours.as_deref()?))).collect();
    let mut findings = Vec::new();
    for (package, manifest) in &ours {
        let Some(row) = ROWS.iter().find(|row| row.name == package.name) else {
            findings.push(Finding::new(
                manifest,
                1,
                format!("crate `{}` has no row in the table of directions", package.name),
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| !dependency.is_dev) {
            let name = dependency.name.as_str();
            let is_ours = ours.iter().any(|(other, _)| other.name == name);
            let is_allowed = row.ours.contains(&name) || row.ours.contains(&EVERY);
            let what = match &row.foreign {
                _ if is_ours && is_allowed => continue,
                _ if is_ours => format!("`{}` must not depend on `{name}`", package.name),
                Foreign::Any => continue,
                Foreign::Only(list) if list.iter().any(|allowed| fits(allowed, name)) => continue,
                Foreign::Only(list) => {
                    format!(
                        "`{}` is pure and must not depend on `{name}`, only on {}",
                        package.name,
                        list.join(", ")
                    )
                }
            };
            findings.push(Finding::new(manifest, tree.line(manifest, |line| declares(line, name)), what));
        }
    }
    findings
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

fn declares(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Dependency;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            licence: None,
            ours: Some(format!("crates/{name}/Cargo.toml")),
            dependencies: dependencies
                .iter()
                .map(|name| Dependency {
                    name: name.trim_start_matches("dev:").to_owned(),
                    is_dev: name.starts_with("dev:"),
                })
                .collect(),
        }
    }

    #[test]
    fn up_and_sideways_are_wrong_and_so_is_a_heavy_pure_crate() {
        let manifest = "[dependencies]\nserde.workspace = true\nserde_json = \"1\"\ntokio = \"1\"\n";
        let mut tree = Tree::of(&[("crates/sprag-base/Cargo.toml", manifest)]);
        tree.packages = vec![
            package("sprag-base", &["serde", "serde_json", "tokio", "dev:sprag-host", "dev:proptest"]),
            package("sprag-intent", &["sprag-base", "sha2"]),
            package("sprag-syntax", &["tree-sitter", "tree-sitter-rust", "sprag-base"]),
            package("sprag-host", &["sprag-base", "tokio", "sprag-ui"]),
            package("sprag-ui", &["sprag-plan", "ratatui", "sprag"]),
            package("sprag-plan", &["sprag-base"]),
            package("sprag", &["sprag-host", "sprag-ui", "clap"]),
            package("extra", &[]),
        ];
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        let expected = [
            "crates/sprag-base/Cargo.toml:4: `sprag-base` is pure and must not depend on `tokio`, only on serde, serde_json, sha2",
            "crates/sprag-syntax/Cargo.toml:1: `sprag-syntax` must not depend on `sprag-base`",
            "crates/sprag-host/Cargo.toml:1: `sprag-host` must not depend on `sprag-ui`",
            "crates/sprag-ui/Cargo.toml:1: `sprag-ui` must not depend on `sprag`",
            "crates/extra/Cargo.toml:1: crate `extra` has no row in the table of directions",
        ];
        assert_eq!(found, expected);
    }
}
