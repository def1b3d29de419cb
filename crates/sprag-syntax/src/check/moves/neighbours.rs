//! Finds other files of a change that still import a moved file from its old path.

use crate::check::LoadedTrees;
use crate::check::names::resolves;
use crate::lang::Lang;
use crate::proof::ProofSide;
use crate::symbol::Symbols;
use crate::tree::SyntaxTree;

/// Reports whether another file still refers to `file` by its old path.
pub(crate) fn know(loaded: &LoadedTrees, file: usize, before: &str, after: &str) -> bool {
    loaded.after.iter().enumerate().filter(|(number, _)| *number != file).any(|(number, tree)| {
        let (Some(tree), Some(path)) = (tree, loaded.path_of(ProofSide::After, number)) else { return false };
        match tree.lang {
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
                imports_script(tree, &loaded.symbols, path, before)
            }
            Lang::Python => {
                let names = ["import_statement", "import_from_statement"];
                says(tree, &loaded.symbols, &names, module_name(before))
            }
            Lang::Rust => {
                let names = ["mod_item", "use_declaration", "scoped_identifier", "scoped_type_identifier"];
                says(tree, &loaded.symbols, &names, module_name(before))
            }
            // Files of one directory form one package.
            Lang::Go => directory(before) != directory(after) && directory(path) == directory(before),
            // Java uses the package that a file declares.
            Lang::Java => false,
        }
    })
}

/// Returns the name by which importers refer to a file. Java files declare their names themselves.
pub(crate) fn known_as(path: &str, lang: Lang) -> Option<&str> {
    match lang {
        Lang::Java => None,
        Lang::Go => directory(path).rsplit('/').next(),
        Lang::Rust | Lang::Python | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            Some(module_name(path))
        }
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns the module name of a file: its stem, or its directory if the file represents the directory.
fn module_name(path: &str) -> &str {
    let base = path.rsplit('/').next().unwrap_or(path);
    match base.split('.').next().unwrap_or(base) {
        "__init__" | "mod" | "index" => directory(path).rsplit('/').next().unwrap_or_default(),
        stem => stem,
    }
}

fn imports_script(tree: &SyntaxTree, symbols: &Symbols, path: &str, wanted: &str) -> bool {
    tree.walk(tree.root)
        .filter(|id| tree.kind(*id) == "string" && tree.is_leaf(*id))
        .any(|id| resolves(path, symbols.text(tree.sym(id)).trim_matches(['\'', '"']), wanted))
}

/// Reports whether a node of one of these kinds contains the name.
fn says(tree: &SyntaxTree, symbols: &Symbols, kinds: &[&str], name: &str) -> bool {
    let Some(name) = symbols.find(name) else { return false };
    tree.walk(tree.root).filter(|id| kinds.contains(&tree.kind(*id))).any(|id| {
        // The body of a module is not its name.
        tree.kids(id)
            .iter()
            .filter(|kid| tree.field(**kid) != "body")
            .any(|kid| tree.walk(*kid).any(|leaf| tree.is_leaf(leaf) && tree.sym(leaf) == name))
    })
}
