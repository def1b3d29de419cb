//! Checks that every dependency has a permissive licence. `deny.toml` has the same list for `cargo deny`;
//! this check needs no other program.

use crate::tidy::tree::{Package, Tree};
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "licences", about: "every dependency has an accepted licence", find };

const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn find(tree: &Tree) -> Vec<Finding> {
    tree.packages
        .iter()
        .filter_map(|package| {
            let what = match &package.licence {
                None => "has no licence expression".to_owned(),
                Some(licence) => match accepts(licence) {
                    Ok(true) => return None,
                    Ok(false) => format!("has the licence `{licence}`, which is not accepted"),
                    Err(Unreadable) => format!("has the licence `{licence}`: not an SPDX expression"),
                },
            };
            Some(Finding::new("Cargo.lock", locked_at(tree, package), format!("`{}` {what}", package.name)))
        })
        .collect()
}

fn locked_at(tree: &Tree, package: &Package) -> usize {
    let (name, version) =
        (format!("name = \"{}\"", package.name), format!("version = \"{}\"", package.version));
    let lines: Vec<&str> =
        tree.texts.get("Cargo.lock").map(|text| text.lines().collect()).unwrap_or_default();
    lines.windows(2).position(|pair| pair == [&name, &version]).map_or(1, |at| at + 1)
}

#[derive(Debug, PartialEq, Eq)]
struct Unreadable;

/// Reports whether accepted licences alone satisfy an SPDX expression.
fn accepts(expression: &str) -> Result<bool, Unreadable> {
    // Old manifests write a slash for `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let accepted = any_of(&mut rest)?;
    if rest.is_empty() { Ok(accepted) } else { Err(Unreadable) }
}

/// Reads `a OR b`, which binds weakest.
fn any_of(rest: &mut &[&str]) -> Result<bool, Unreadable> {
    let mut accepted = all_of(rest)?;
    while skip(rest, "OR") {
        accepted |= all_of(rest)?;
    }
    Ok(accepted)
}

/// Reads `a AND b`.
fn all_of(rest: &mut &[&str]) -> Result<bool, Unreadable> {
    let mut accepted = one(rest)?;
    while skip(rest, "AND") {
        accepted &= one(rest)?;
    }
    Ok(accepted)
}

/// Reads a licence, with or without an exception, or an expression in parentheses.
fn one(rest: &mut &[&str]) -> Result<bool, Unreadable> {
    if skip(rest, "(") {
        let accepted = any_of(rest)?;
        return if skip(rest, ")") { Ok(accepted) } else { Err(Unreadable) };
    }
    let licence = word(rest)?;
    if skip(rest, "WITH") {
        let whole = format!("{licence} WITH {}", word(rest)?);
        return Ok(ACCEPTED.contains(&whole.as_str()));
    }
    Ok(ACCEPTED.contains(&licence))
}

fn skip(rest: &mut &[&str], word: &str) -> bool {
    let is_next = rest.first() == Some(&word);
    if is_next {
        *rest = &rest[1..];
    }
    is_next
}

fn word<'a>(rest: &mut &[&'a str]) -> Result<&'a str, Unreadable> {
    let [first, after @ ..] = *rest else {
        return Err(Unreadable);
    };
    if matches!(*first, "(" | ")" | "AND" | "OR" | "WITH") {
        return Err(Unreadable);
    }
    *rest = after;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::workspace;

    #[test]
    fn expressions() {
        for fine in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Unlicense/MIT",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "GPL-3.0 AND MIT OR ISC",
            "((Zlib))",
        ] {
            assert_eq!(accepts(fine), Ok(true), "{fine}");
        }
        for not in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT AND (GPL-3.0 OR MPL-2.0)",
            "GPL-2.0 WITH Classpath-exception-2.0",
            "MIT WITH LLVM-exception",
            "mit",
        ] {
            assert_eq!(accepts(not), Ok(false), "{not}");
        }
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "OR MIT", "MIT WITH"] {
            assert_eq!(accepts(broken), Err(Unreadable), "{broken}");
        }
    }

    #[test]
    fn a_package_is_found_in_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        let mut tree = Tree::of(&[("Cargo.lock", lock)]);
        let package = |version: &str, licence: Option<&str>| Package {
            name: "a".to_owned(),
            version: version.to_owned(),
            licence: licence.map(str::to_owned),
            ours: None,
            dependencies: Vec::new(),
        };
        tree.packages =
            vec![package("1.0.0", Some("MIT")), package("2.0.0", Some("AGPL-3.0")), package("3.0.0", None)];
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        let expected = [
            "Cargo.lock:6: `a` has the licence `AGPL-3.0`, which is not accepted",
            "Cargo.lock:1: `a` has no licence expression",
        ];
        assert_eq!(found, expected);
    }

    #[derive(Deserialize)]
    struct Deny {
        licenses: DenyLicences,
    }

    #[derive(Deserialize)]
    struct DenyLicences {
        allow: Vec<String>,
    }

    #[test]
    fn deny_toml_has_the_same_list() {
        let text = std::fs::read_to_string(workspace::root().join("deny.toml")).unwrap();
        let deny: Deny = toml::from_str(&text).unwrap();
        assert_eq!(deny.licenses.allow, ACCEPTED);
    }
}
