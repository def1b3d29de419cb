//! Public units that were added, removed or renamed.

use std::collections::HashSet;

use crate::change::ApiChange;
use crate::check::LoadedTrees;
use crate::lang::Lang;
use crate::proof::{ProofSide, ProofStep};
use crate::symbol::{QuickSet, Symbols};
use crate::tree::{NodeId, SyntaxTree};
use crate::units::outline;

/// Maximum number of reported names.
const MANY: usize = 200;

pub(crate) fn compare(loaded: &LoadedTrees, steps: &[ProofStep]) -> ApiChange {
    let (before, after) = (public(loaded, ProofSide::Before), public(loaded, ProofSide::After));
    let (old, new): (HashSet<&String>, HashSet<&String>) = (before.iter().collect(), after.iter().collect());
    let mut added: Vec<String> =
        after.iter().filter(|name| !old.contains(name)).take(MANY).cloned().collect();
    let mut removed: Vec<String> =
        before.iter().filter(|name| !new.contains(name)).take(MANY).cloned().collect();
    let mut renamed = Vec::new();
    for step in steps {
        let ProofStep::Rename { from, to } = step else { continue };
        let new_name = |name: &str| {
            name.split('.')
                .map(|part| if part == from { to.as_str() } else { part })
                .collect::<Vec<_>>()
                .join(".")
        };
        removed.retain(|old| {
            let new = new_name(old);
            let is_renamed = added.contains(&new);
            if is_renamed {
                added.retain(|name| *name != new);
                renamed.push((old.clone(), new));
            }
            !is_renamed
        });
    }
    added.dedup();
    removed.dedup();
    ApiChange { added, removed, renamed }
}

fn public(loaded: &LoadedTrees, side: ProofSide) -> Vec<String> {
    let mut names = Vec::new();
    for tree in loaded.side(side).iter().flatten() {
        let exported = exports(tree);
        for entry in outline(tree, &loaded.symbols) {
            if is_public(tree, &loaded.symbols, &entry.name, entry.id, &exported) {
                names.push(entry.name);
            }
        }
    }
    names
}

/// Returns the nodes inside `export` statements.
fn exports(tree: &SyntaxTree) -> QuickSet<NodeId> {
    let statements = tree.walk(tree.root).filter(|id| tree.kind(*id) == "export_statement");
    statements.flat_map(|statement| tree.walk(statement)).collect()
}

fn is_public(
    tree: &SyntaxTree,
    symbols: &Symbols,
    name: &str,
    id: NodeId,
    exported: &QuickSet<NodeId>,
) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    match tree.lang {
        Lang::Rust => tree
            .kids(id)
            .iter()
            .any(|kid| tree.kind(*kid) == "visibility_modifier" && tree.kids(*kid).len() <= 1),
        Lang::Go => name.split('.').all(|part| part.starts_with(|c: char| c.is_uppercase())),
        Lang::Python => !name.split('.').any(|part| part.starts_with('_') && !part.ends_with("__")),
        Lang::Java => tree.kids(id).iter().any(|kid| {
            tree.kind(*kid) == "modifiers"
                && (tree.has_token(*kid, "public") || tree.has_token(*kid, "protected"))
        }),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let is_private = tree
                .kids(id)
                .iter()
                .any(|kid| tree.kind(*kid) == "accessibility_modifier" && tree.has_token(*kid, "private"));
            exported.contains(&id)
                && !is_private
                && !last.starts_with('#')
                && !symbols.text(tree.sym(id)).starts_with('#')
        }
    }
}
