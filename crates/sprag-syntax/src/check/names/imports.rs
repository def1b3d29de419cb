//! Imports from other files of the change: a use counts if its import leads to the declaring file.

use super::{Declaration, LoadedTrees, NamedFile};
use crate::lang::Lang;
use crate::symbol::Sym;
use crate::tree::{NodeId, SyntaxTree};

const IMPORTS: &[&str] = &[
    "import_statement",
    "import_from_statement",
    "use_declaration",
    "import_declaration",
    "export_statement",
];

/// Reports whether an item is a Rust glob import, `use module::*;`.
pub(crate) fn takes_all(tree: &SyntaxTree, item: NodeId) -> bool {
    tree.kind(item) == "use_declaration" && tree.walk(item).any(|id| tree.kind(id) == "*")
}

/// Reports whether an identifier stands in an import, and not in an exported declaration.
pub(crate) fn is_import(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let Some(import) = seen.enclosing(id, IMPORTS) else { return false };
    seen.tree.kind(import) != "export_statement" || seen.enclosing(id, &["export_clause"]).is_some()
}

/// Reports whether the import that contains `id` takes it from the declaring file.
pub(crate) fn comes_from(loaded: &LoadedTrees, seen: &NamedFile<'_>, id: NodeId, of: &Declaration) -> bool {
    let Some(path) = loaded.path_before(of.file) else { return false };
    let Some(import) = seen.enclosing(id, IMPORTS) else { return false };
    match seen.tree.lang {
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let source =
                seen.tree.child(import, "source").map(|source| seen.text(source).trim_matches(['\'', '"']));
            // A re-export is for files outside the change.
            seen.tree.kind(import) == "import_statement"
                && source.is_some_and(|source| resolves(seen.path, source, path))
        }
        Lang::Python => {
            let module = seen.tree.child(import, "module_name");
            let is_name = seen.enclosing(id, &["dotted_name", "aliased_import"]).is_some_and(|name| {
                seen.tree.field(name) == "name" || seen.tree.field(seen.parent(name)) == "name"
            });
            module.is_some_and(|module| is_name && python_module(seen, module, path))
        }
        _ => false,
    }
}

/// Reports whether a file imports the name from the declaring file.
pub(crate) fn is_imported(loaded: &LoadedTrees, seen: &NamedFile<'_>, name: Sym, of: &Declaration) -> bool {
    let tree = seen.tree;
    // Files of one Go package see each other.
    if tree.lang == Lang::Go {
        let directory =
            |path: &str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
        let is_beside =
            loaded.path_before(of.file).is_some_and(|path| directory(path) == directory(seen.path));
        // A test in the same directory may belong to another package.
        let declaring = loaded.before.get(of.file).and_then(Option::as_deref);
        let package = |tree: &SyntaxTree| {
            tree.walk(tree.root).find(|id| tree.kind(*id) == "package_identifier").map(|id| tree.sym(id))
        };
        return is_beside && declaring.is_some_and(|declaring| package(declaring) == package(tree));
    }
    tree.walk(tree.root).any(|id| {
        tree.is_leaf(id) && tree.sym(id) == name && is_import(seen, id) && comes_from(loaded, seen, id, of)
    })
}

/// Reports whether the top-level names of a file are its own: a script without imports and exports shares
/// them with the page.
pub(crate) fn is_module(seen: &NamedFile<'_>) -> bool {
    let tree = seen.tree;
    !tree.lang.is_script()
        || tree.walk(tree.root).any(|id| match tree.kind(id) {
            "import_statement" | "export_statement" => true,
            "identifier" => matches!(seen.text(id), "require" | "module" | "exports"),
            _ => false,
        })
}

/// Reports whether a file of the change imports the declaring file as an object, and with it all its names.
pub(crate) fn is_taken_whole(loaded: &LoadedTrees, seen: &[Option<NamedFile<'_>>], of: &Declaration) -> bool {
    let Some(path) = loaded.path_before(of.file) else { return true };
    seen.iter().flatten().any(|seen| {
        let tree = seen.tree;
        let is_text = |id: &NodeId| tree.kind(*id) == "string" && tree.is_leaf(*id);
        tree.lang.is_script()
            && tree.walk(tree.root).filter(is_text).any(|id| {
                let is_it = resolves(seen.path, seen.text(id).trim_matches(['\'', '"']), path);
                is_it && !takes_names(seen, id)
            })
    })
}

/// Reports whether an import or export lists the names that it takes.
fn takes_names(seen: &NamedFile<'_>, source: NodeId) -> bool {
    let statement = seen.parent(source);
    let is_import = matches!(seen.tree.kind(statement), "import_statement" | "export_statement");
    let takes_all = seen
        .tree
        .walk(statement)
        .any(|id| matches!(seen.tree.kind(id), "namespace_import" | "namespace_export" | "*"));
    is_import && !takes_all
}

/// Reports whether the relative import `source` of the file `from` leads to `path`.
pub(crate) fn resolves(from: &str, source: &str, path: &str) -> bool {
    if !source.starts_with('.') {
        return false;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in source.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            part => parts.push(part),
        }
    }
    let wanted = parts.join("/");
    let wanted = wanted.strip_suffix(".js").unwrap_or(&wanted);
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    stem == wanted || stem == format!("{wanted}/index") || path == wanted
}

/// Reports whether the module name `a.b.c` or `.c` refers to the path `.../a/b/c.py`.
fn python_module(seen: &NamedFile<'_>, module: NodeId, path: &str) -> bool {
    let tree = seen.tree;
    let words: Vec<&str> =
        tree.walk(module).filter(|id| tree.kind(*id) == "identifier").map(|id| seen.text(id)).collect();
    let dots = tree
        .walk(module)
        .filter(|id| tree.is_leaf(*id) && tree.kind(*id) != "identifier")
        .map(|id| seen.text(id))
        .collect::<String>();
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    if tree.kind(module) != "relative_import" {
        return words.len() > 1
            && (stem == words.join("/") || stem.ends_with(&format!("/{}", words.join("/"))));
    }
    let up = dots.chars().take_while(|c| *c == '.').count();
    let mut parts: Vec<&str> = seen.path.split('/').collect();
    for _ in 0..up {
        parts.pop();
    }
    parts.extend(words);
    parts.join("/") == stem
}
