//! A file may move if neither its content nor its name depends on its path.

mod neighbours;

use super::canon::ItemPlacement;
use super::{LoadedTrees, ProofError, refused};
use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::{NodeId, SyntaxTree};

pub(crate) fn check_paths(loaded: &LoadedTrees, file: usize) -> Result<(), ProofError> {
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
    if matches!(
        old.as_str(),
        "conftest.py" | "setup.py" | "build.rs" | "lib.rs" | "main.rs" | "module-info.java"
    ) {
        return Err(refused("a file that belongs to its directory"));
    }
    let is_route = |name: &str| {
        let stem = name.split('.').next().unwrap_or(name);
        let routes = ["page", "layout", "route", "loading", "error", "template", "not-found", "middleware"];
        stem.starts_with('+') || routes.contains(&stem)
    };
    if left.lang.is_script() && is_route(&old) {
        return Err(refused("a file whose place is its address"));
    }
    if old != new && (is_spoken(&old) || is_spoken(&new)) {
        return Err(refused("a file name with a meaning of its own"));
    }
    if old != new {
        match left.lang {
            Lang::Java if has_public_type(left) => {
                return Err(refused("a public type goes by the name of its file"));
            }
            Lang::Java => {}
            Lang::Go if is_initialised(left, &loaded.symbols) => {
                return Err(refused("files of a package are initialised in the order of their names"));
            }
            Lang::Go => {}
            Lang::Rust | Lang::Python | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
                return Err(refused("a module goes by the name of its file"));
            }
        }
    }
    if neighbours::know(loaded, file, before, after) {
        return Err(refused("another file looks for it in its old place"));
    }
    if says_where(left, &loaded.symbols) || says_where(right, &loaded.symbols) {
        Err(refused("a moved file that refers to its neighbours"))
    } else {
        Ok(())
    }
}

/// Returns the name by which files outside the change would still look for a moved file.
pub(crate) fn claim(loaded: &LoadedTrees, file: usize) -> Option<String> {
    let (Some(before), Some(after)) = &loaded.paths[file] else { return None };
    let lang = loaded.before[file].as_ref()?.lang;
    let name = neighbours::known_as(before, lang)?;
    (before != after && !name.is_empty()).then(|| name.to_owned())
}

/// Reports whether a file kept its place, as far as its methods can tell. A lone method in a class without
/// the name of the file is an excerpt. It moved to the class of the other file, which decides how the method
/// is called.
pub(crate) fn place(loaded: &LoadedTrees, file: usize) -> ItemPlacement {
    let (Some(before), Some(after)) = &loaded.paths[file] else { return ItemPlacement::Same };
    let stem = |path: &str| {
        let base = path.rsplit('/').next().unwrap_or(path);
        base.split('.').next().unwrap_or(base).to_owned()
    };
    let stems = [stem(before), stem(after)];
    let is_excerpt = |tree: &SyntaxTree| {
        let &[class] = tree.kids(tree.root) else { return false };
        let name = tree.child(class, "name").map(|name| loaded.symbols.text(tree.sym(name)));
        let members: Vec<NodeId> =
            tree.child(class, "body").map(|body| tree.named_kids(body).collect()).unwrap_or_default();
        let is_method =
            matches!(members[..], [only] if tree.kind(only) == "method_declaration" && is_loose(tree, only));
        tree.kind(class) == "class_declaration"
            && is_method
            && name.is_some_and(|name| !stems.iter().any(|stem| stem == name))
    };
    let trees = [&loaded.before[file], &loaded.after[file]];
    let are_excerpts = trees
        .iter()
        .all(|tree| tree.as_ref().is_some_and(|tree| tree.lang == Lang::Java && is_excerpt(tree)));
    if stems[0] != stems[1] && are_excerpts { ItemPlacement::Other } else { ItemPlacement::Same }
}

/// Reports whether a method locks nothing.
fn is_loose(tree: &SyntaxTree, method: NodeId) -> bool {
    let modifiers = tree.kids(method).iter().filter(|kid| tree.kind(**kid) == "modifiers");
    !modifiers.into_iter().any(|modifiers| tree.has_token(*modifiers, "synchronized"))
}

/// Reports whether a Go file runs code before `main`.
fn is_initialised(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    tree.named_kids(tree.root).any(|item| match tree.kind(item) {
        "function_declaration" => {
            tree.child(item, "name").is_some_and(|name| symbols.text(tree.sym(name)) == "init")
        }
        "var_declaration" => tree.walk(item).any(|id| tree.kind(id) == "call_expression"),
        _ => false,
    })
}

/// Returns the meaningful parts of a path: directories that decide how a file is used, and the rest of the
/// path below a directory that names files.
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
    ];
    const NAMING: &[&str] =
        &["pages", "routes", "migrations", "commands", "templatetags", "bin", "benches", "examples"];
    // In Go these decide who may import a package and what a program is called. In other languages they are
    // ordinary names.
    const SPOKEN_IN_GO: &[&str] = &["internal"];
    const NAMING_IN_GO: &[&str] = &["cmd"];
    let is_go = path.ends_with(".go");
    let says =
        |all: &[&str], in_go: &[&str], part: &str| all.contains(&part) || is_go && in_go.contains(&part);
    let parts: Vec<&str> = path.split('/').collect();
    let (_, dirs) = parts.split_last().unwrap_or((&"", &[]));
    match dirs.iter().position(|part| says(NAMING, NAMING_IN_GO, part)) {
        Some(at) => parts[at..].to_vec(),
        None => dirs.iter().copied().filter(|part| says(SPOKEN, SPOKEN_IN_GO, part)).collect(),
    }
}

/// Returns the suffixes of a Go file name that select systems or tests.
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

fn has_public_type(tree: &SyntaxTree) -> bool {
    tree.named_kids(tree.root).any(|item| {
        tree.kids(item).iter().any(|kid| tree.kind(*kid) == "modifiers" && tree.has_token(*kid, "public"))
    })
}

/// Reports whether a file depends on its path: relative imports, included files, or names for its own path.
fn says_where(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    let mut above = tree.root;
    tree.walk(tree.root).any(|id| {
        let kind = tree.kind(id);
        let text = || symbols.text(tree.sym(id));
        if !tree.is_leaf(id) {
            above = id;
        }
        match tree.lang {
            Lang::Python => {
                // The start of the program decides whether a module is `__main__`, not its path.
                let is_start = tree.kind(above) == "comparison_operator"
                    && tree.kids(above).iter().any(|part| symbols.text(tree.sym(*part)).contains("__main__"));
                kind == "relative_import"
                    || (kind == "identifier"
                        && match text() {
                            "__file__" | "__path__" | "__package__" | "__spec__" | "__loader__" => true,
                            "__name__" => tree.field(id) != "attribute" && !is_start,
                            _ => false,
                        })
            }
            Lang::Rust => {
                (kind == "super" && tree.is_leaf(id))
                    || (kind == "mod_item" && tree.child(id, "body").is_none())
                    || (kind == "visibility_modifier" && tree.has_token(id, "in"))
                    || (kind == "attribute_item"
                        && tree.walk(id).any(|part| symbols.text(tree.sym(part)) == "path"))
                    || is_place_macro(tree, symbols, id)
            }
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
                (is_text(kind) && tree.is_leaf(id) && is_beside(text()))
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

/// Reports whether a node calls `include_str!`, `file!` or the like, directly or in the input of another
/// macro.
fn is_place_macro(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> bool {
    let is_one = |name: NodeId| {
        let macros = ["include", "include_str", "include_bytes", "module_path", "file"];
        macros.contains(&symbols.text(tree.sym(name)))
    };
    match tree.kind(id) {
        "macro_invocation" => tree.child(id, "macro").is_some_and(is_one),
        "token_tree" => tree.kids(id).windows(2).any(|pair| is_one(pair[0]) && tree.kind(pair[1]) == "!"),
        _ => false,
    }
}

fn is_text(kind: &str) -> bool {
    kind.contains("string") || matches!(kind, "gap" | "template_substitution")
}

/// Reports whether a text is a relative path of a file.
fn is_beside(text: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "html", "htm", "css", "scss", "sass", "less", "svg", "png", "jpg", "json", "js", "mjs", "cjs", "jsx",
        "ts", "tsx", "vue", "md", "graphql", "wasm", "node",
    ];
    let text = text.trim_matches(['\'', '"', '`']);
    let is_file = !text.contains(char::is_whitespace)
        && text.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending));
    text == "." || text == ".." || text.starts_with("./") || text.starts_with("../") || is_file
}
