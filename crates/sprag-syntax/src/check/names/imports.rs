//! Names that come from another file of the change: an import is ours if it leads to the file that declares the name.

use super::{Declaration, Loaded, Seen};
use crate::lang::Lang;
use crate::symbol::Sym;
use crate::tree::Id;

const IMPORTS: &[&str] = &[
    "import_statement",
    "import_from_statement",
    "use_declaration",
    "import_declaration",
    "export_statement",
];

/// Whether an identifier stands in an import, and not in a declaration that is exported.
pub(super) fn is_import(seen: &Seen<'_>, id: Id) -> bool {
    let Some(import) = seen.enclosing(id, IMPORTS) else { return false };
    seen.tree.kind(import) != "export_statement" || seen.enclosing(id, &["export_clause"]).is_some()
}

/// Whether the import that holds `id` takes it from the declaring file.
pub(super) fn comes_from(loaded: &Loaded, seen: &Seen<'_>, id: Id, of: &Declaration) -> bool {
    let Some(path) = loaded.path_before(of.file) else { return false };
    let Some(import) = seen.enclosing(id, IMPORTS) else { return false };
    match seen.tree.lang {
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let source =
                seen.tree.child(import, "source").map(|source| seen.text(source).trim_matches(['\'', '"']));
            source.is_some_and(|source| resolves(seen.path, source, path))
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

/// Whether a file has imported the name from the declaring file.
pub(super) fn is_imported(loaded: &Loaded, seen: &Seen<'_>, name: Sym, of: &Declaration) -> bool {
    let tree = seen.tree;
    // Files of one Go package see each other.
    if tree.lang == Lang::Go {
        let directory =
            |path: &str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
        return loaded.path_before(of.file).is_some_and(|path| directory(path) == directory(seen.path));
    }
    tree.walk(tree.root).any(|id| {
        tree.is_leaf(id) && tree.sym(id) == name && is_import(seen, id) && comes_from(loaded, seen, id, of)
    })
}

/// Whether `receiver` is the declaring file as a module.
pub(super) fn is_module(_loaded: &Loaded, _seen: &Seen<'_>, _receiver: Id, _of: &Declaration) -> bool {
    false
}

/// `./x` seen from a file, against the path of another.
fn resolves(from: &str, source: &str, path: &str) -> bool {
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

/// `a.b.c` or `.c` against `.../a/b/c.py`.
fn python_module(seen: &Seen<'_>, module: Id, path: &str) -> bool {
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
