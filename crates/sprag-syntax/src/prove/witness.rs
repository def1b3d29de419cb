//! Finds the first certain difference: a unit with the same name but other content, or an added or removed
//! public name.

use std::collections::{BTreeSet, HashMap};

use crate::change::{ApiChange, ChangeSet, Excerpt, Witness};
use crate::check::LoadedTrees;
use crate::proof::ProofSide;
use crate::symbol::Sym;
use crate::tree::{NodeId, SyntaxTree};
use crate::units::{LineStarts, UnitEntry, outline};

pub(crate) fn find(change: &ChangeSet<'_>, loaded: &LoadedTrees, api: &ApiChange) -> Option<Witness> {
    for (at, file) in change.files.iter().enumerate() {
        let path = file.path_after.or(file.path_before).unwrap_or_default().to_owned();
        let (before, after) = match (&loaded.before[at], &loaded.after[at]) {
            (Some(before), Some(after)) => (before, after),
            (Some(before), None) => {
                let excerpt = excerpt(file.before?, before, before.root);
                return Some(Witness { path, unit: String::new(), before: Some(excerpt), after: None });
            }
            (None, Some(after)) => {
                let excerpt = excerpt(file.after?, after, after.root);
                return Some(Witness { path, unit: String::new(), before: None, after: Some(excerpt) });
            }
            (None, None) => continue,
        };
        if before.plain == after.plain {
            continue;
        }
        let (left, right) = (outline(before, &loaded.symbols), outline(after, &loaded.symbols));
        let (left_names, right_names) = (by_name(&left), by_name(&right));
        // Inner units come last, because the smallest differing unit is the most precise.
        let mut found = None;
        for entry in &left {
            // Only names that are unique on each side can be compared.
            let (Some([_]), Some([twin])) = (
                left_names.get(entry.name.as_str()).map(Vec::as_slice),
                right_names.get(entry.name.as_str()).map(Vec::as_slice),
            ) else {
                continue;
            };
            if let Some((old, new)) = differing(before, entry.id, after, twin.id) {
                let inner = Witness {
                    path: path.clone(),
                    unit: entry.name.clone(),
                    before: Some(excerpt(file.before?, before, old)),
                    after: Some(excerpt(file.after?, after, new)),
                };
                found = Some(inner);
                let has_inner = left.iter().any(|other| other.name.starts_with(&format!("{}.", entry.name)));
                if !has_inner {
                    break;
                }
            }
        }
        if found.is_some() {
            return found;
        }
        for (names, entries, tree, source, is_new) in
            [(&api.added, &right, after, file.after, true), (&api.removed, &left, before, file.before, false)]
        {
            if let Some(entry) = entries.iter().find(|entry| names.contains(&entry.name)) {
                let shown = Some(excerpt(source?, tree, entry.id));
                let (before, after) = if is_new { (None, shown) } else { (shown, None) };
                return Some(Witness { path, unit: entry.name.clone(), before, after });
            }
        }
        if let Some((old, new)) = differing(before, before.root, after, after.root) {
            return Some(Witness {
                path,
                unit: String::new(),
                before: Some(excerpt(file.before?, before, old)),
                after: Some(excerpt(file.after?, after, new)),
            });
        }
    }
    None
}

/// Reports whether one side has a literal that the other side lacks.
pub(crate) fn has_other_literals(loaded: &LoadedTrees) -> bool {
    let literals = |side: ProofSide| -> BTreeSet<Sym> {
        let trees = loaded.side(side).iter().flatten();
        trees
            .flat_map(|tree| {
                let leaves = tree.walk(tree.root).filter(|id| tree.is_leaf(*id));
                leaves.filter(|id| is_literal(tree.kind(*id))).map(|id| tree.sym(id)).collect::<Vec<_>>()
            })
            .collect()
    };
    literals(ProofSide::Before) != literals(ProofSide::After)
}

fn is_literal(kind: &str) -> bool {
    ["string", "literal", "number", "integer", "float", "regex"].iter().any(|part| kind.contains(part))
}

fn by_name(entries: &[UnitEntry]) -> HashMap<&str, Vec<&UnitEntry>> {
    let mut found: HashMap<&str, Vec<&UnitEntry>> = HashMap::new();
    for entry in entries {
        found.entry(entry.name.as_str()).or_default().push(entry);
    }
    found
}

/// Returns the first nodes at which two trees differ.
fn differing(
    before: &SyntaxTree,
    mut old: NodeId,
    after: &SyntaxTree,
    mut new: NodeId,
) -> Option<(NodeId, NodeId)> {
    if is_same(before, old, after, new) {
        return None;
    }
    loop {
        let (left, right) = (before.kids(old), after.kids(new));
        let at = left.iter().zip(right).position(|(old, new)| !is_same(before, *old, after, *new));
        match at {
            Some(at) if before.kind(left[at]) == after.kind(right[at]) && !before.is_leaf(left[at]) => {
                (old, new) = (left[at], right[at]);
            }
            Some(at) => return Some((left[at], right[at])),
            None => return Some((old, new)),
        }
    }
}

fn is_same(before: &SyntaxTree, old: NodeId, after: &SyntaxTree, new: NodeId) -> bool {
    let mut right = after.walk(new);
    for left in before.walk(old) {
        let Some(right) = right.next() else { return false };
        let same = before.kind(left) == after.kind(right)
            && before.sym(left) == after.sym(right)
            && before.kids(left).len() == after.kids(right).len();
        if !same {
            return false;
        }
    }
    right.next().is_none()
}

fn excerpt(source: &[u8], tree: &SyntaxTree, id: NodeId) -> Excerpt {
    let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
    let node = tree.node(id);
    let text =
        String::from_utf8_lossy(source.get(node.start as usize..node.end as usize).unwrap_or_default());
    Excerpt { line: LineStarts::new(source).at(node.start), text: text.chars().take(200).collect() }
}
