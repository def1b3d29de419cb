//! A file may go by another path if nothing in it, and nothing about its name, says where it is.

use super::{Loaded, Refused, refused};
use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::Tree;

pub(super) fn check_paths(loaded: &Loaded, file: usize) -> Result<(), Refused> {
    let (Some(before), Some(after)) = &loaded.paths[file] else { return Ok(()) };
    if before == after {
        return Ok(());
    }
    let (Some(left), Some(right)) = (&loaded.before[file], &loaded.after[file]) else { return Ok(()) };
    if left.lang != right.lang {
        return Err(refused("another language"));
    }
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let (old, new) = (base(before), base(after));
    let ending = |name: &str| name.split_once('.').map(|(_, ending)| ending.to_owned());
    if ending(&old) != ending(&new) {
        return Err(refused("an ending that says what a file is"));
    }
    if places(before) != places(after) {
        return Err(refused("a directory with a meaning of its own"));
    }
    let takes_place = |other: &(Option<String>, Option<String>)| {
        other.0.as_ref() == Some(after) || other.1.as_ref() == Some(before)
    };
    if loaded.paths.iter().enumerate().any(|(number, other)| number != file && takes_place(other)) {
        return Err(refused("one file in the place of another"));
    }
    if left.lang == Lang::Go && go_tail(&old) != go_tail(&new) {
        return Err(refused("a file name that says where it is built"));
    }
    if old != new && (is_spoken(&old) || is_spoken(&new)) {
        return Err(refused("a file name with a meaning of its own"));
    }
    if old != new && left.lang == Lang::Java && has_public_type(left) {
        return Err(refused("a public type goes by the name of its file"));
    }
    match says_where(left, &loaded.symbols) || says_where(right, &loaded.symbols) {
        true => Err(refused("a moved file that refers to its neighbours")),
        false => Ok(()),
    }
}

/// Directories that decide what becomes of a file, in which a path is.
fn places(path: &str) -> Vec<&str> {
    const SPOKEN: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "__mocks__",
        "testdata",
        "fixtures",
        "main",
        "examples",
        "benches",
        "bin",
        "pages",
        "app",
        "routes",
        "migrations",
        "vendor",
        "internal",
        "cmd",
    ];
    let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    dir.split('/').filter(|part| SPOKEN.contains(part)).collect()
}

/// What a Go file's name says of systems and tests.
fn go_tail(name: &str) -> Vec<&str> {
    const KNOWN: &[&str] = &[
        "test",
        "linux",
        "darwin",
        "windows",
        "freebsd",
        "netbsd",
        "openbsd",
        "dragonfly",
        "solaris",
        "illumos",
        "plan9",
        "aix",
        "android",
        "ios",
        "js",
        "wasip1",
        "zos",
        "hurd",
        "nacl",
        "amd64",
        "386",
        "arm",
        "arm64",
        "ppc64",
        "ppc64le",
        "mips",
        "mipsle",
        "mips64",
        "mips64le",
        "riscv64",
        "s390x",
        "wasm",
        "loong64",
        "sparc64",
        "riscv",
        "ppc",
        "s390",
        "sparc",
    ];
    let stem = name.strip_suffix(".go").unwrap_or(name);
    stem.split('_').skip(1).filter(|part| KNOWN.contains(part)).collect()
}

fn is_spoken(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    matches!(
        stem,
        "__init__"
            | "__main__"
            | "conftest"
            | "setup"
            | "mod"
            | "lib"
            | "main"
            | "build"
            | "index"
            | "package-info"
            | "module-info"
            | "doc"
    ) || stem.starts_with("test_")
        || stem.ends_with("_test")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains(".d.ts")
        || name.starts_with('_')
        || name.starts_with('.')
}

fn has_public_type(tree: &Tree) -> bool {
    tree.named_kids(tree.root).any(|item| {
        tree.kids(item).iter().any(|kid| tree.kind(*kid) == "modifiers" && tree.has_token(*kid, "public"))
    })
}

/// Relative imports, included files, and names for one's own place.
fn says_where(tree: &Tree, symbols: &Symbols) -> bool {
    tree.walk(tree.root).any(|id| {
        let kind = tree.kind(id);
        let text = || symbols.text(tree.sym(id));
        match tree.lang {
            Lang::Python => {
                kind == "relative_import"
                    || (kind == "identifier"
                        && matches!(text(), "__file__" | "__path__" | "__package__" | "__spec__"))
            }
            Lang::Rust => {
                matches!(kind, "super" | "self") && tree.is_leaf(id) && text() == "super"
                    || (kind == "mod_item" && tree.child(id, "body").is_none())
                    || (kind == "identifier"
                        && matches!(
                            text(),
                            "include" | "include_str" | "include_bytes" | "path" | "module_path" | "file"
                        ))
            }
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
                let is_relative = |text: &str| {
                    let text = text.trim_matches(['\'', '"', '`']);
                    text == "." || text == ".." || text.starts_with("./") || text.starts_with("../")
                };
                (kind == "string" && is_relative(text()))
                    || (kind == "identifier" && matches!(text(), "__dirname" | "__filename"))
                    || kind == "meta_property"
            }
            Lang::Go => {
                kind == "directive" && (text().starts_with("//go:embed") || text().contains("#include"))
            }
            Lang::Java => false,
        }
    })
}
