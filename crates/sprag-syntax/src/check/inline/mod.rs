//! Inlining: replaces the uses of a declaration of one side by its value and removes the declaration. Each
//! form has its own obligations; any other form is refused.

mod constant;
mod function;
mod variable;

use super::names::{self, NamedFile};
use super::scope::IdentifierUse;
use super::{LoadedTrees, ProofError, refused};
use crate::lang::Lang;
use crate::proof::ProofSide;
use crate::symbol::QuickMap;
use crate::tree::{NodeId, SyntaxTree};

/// Inlines the declaration at byte `at`.
pub(crate) fn apply(
    loaded: &mut LoadedTrees,
    side: ProofSide,
    file: usize,
    at: usize,
    name: &str,
) -> Result<(), ProofError> {
    let escapes = |why: &str| refused(format!("inlining of `{name}`: {why}"));
    let path = loaded.path_of(side, file).unwrap_or_default().to_owned();
    let trees = loaded.side(side);
    let others = trees.iter().enumerate().filter(|(other, _)| *other != file).flat_map(|(_, tree)| tree);
    let Some(sym) = loaded.symbols.find(name) else { return Err(escapes("the name does not occur")) };
    let is_elsewhere =
        others.into_iter().any(|tree| tree.walk(tree.root).any(|id| tree.is_leaf(id) && tree.sym(id) == sym));
    let all = loaded.before.iter().chain(&loaded.after).flatten();
    let is_spelled = all.into_iter().any(|tree| names::is_spelled(tree, &loaded.symbols, name));
    let tree = trees.get(file).and_then(Option::as_deref).ok_or_else(|| escapes("no such file"))?;
    let edit = {
        let scopes = loaded.known(side).scopes[file].as_ref().ok_or_else(|| escapes("no such file"))?;
        let seen = NamedFile::new(tree, &loaded.symbols, scopes, &path);
        let id = tree
            .walk(tree.root)
            .find(|id| tree.is_leaf(*id) && tree.sym(*id) == sym && tree.node(*id).start as usize == at)
            .ok_or_else(|| escapes("no declaration there"))?;
        let edit = match scopes.of_leaf(id) {
            _ if is_spoken_of(&seen, id) => Err("an attribute or directive refers to it"),
            IdentifierUse::Local(binding) => variable::plan(&seen, id, binding),
            IdentifierUse::Free | IdentifierUse::Text if is_elsewhere => Err("another file names it"),
            IdentifierUse::Free | IdentifierUse::Text if is_spelled => Err("a text spells it"),
            IdentifierUse::Free | IdentifierUse::Text if asks_for_names(&seen, side) => {
                Err("something asks for names")
            }
            IdentifierUse::Free if is_global(&seen, id) => Err("it is global"),
            IdentifierUse::Free | IdentifierUse::Text => {
                if function::is_function(&seen, id) {
                    function::plan(&seen, id)
                } else {
                    constant::plan(&seen, id)
                }
            }
            IdentifierUse::Named(_) => Err("its name counts"),
        };
        edit.map_err(escapes)?
    };
    let mut tree = tree.clone();
    edit.apply(&mut tree);
    loaded.replace(side, file, tree);
    Ok(())
}

/// Reports whether an attribute, a directive or a decorator precedes the declaring statement.
fn is_spoken_of(seen: &NamedFile<'_>, name: NodeId) -> bool {
    let tree = seen.tree;
    let mut at = name;
    while at != tree.root && !STATEMENTS.contains(&tree.kind(at)) {
        at = seen.parent(at);
    }
    let siblings = tree.kids(seen.parent(at));
    let place = siblings.iter().position(|kid| *kid == at).unwrap_or(0);
    place > 0 && matches!(tree.kind(siblings[place - 1]), "attribute_item" | "directive" | "decorator")
}

/// Kinds of statements that declare something.
const STATEMENTS: &[&str] = &[
    "lexical_declaration",
    "expression_statement",
    "short_var_declaration",
    "local_variable_declaration",
    "let_declaration",
    "field_declaration",
    "const_item",
    "const_declaration",
    "function_declaration",
    "function_definition",
    "method_definition",
];

/// Reports whether code reads or sets names of a module indirectly. For a new name only code that lists all
/// names counts, because no other code knows it.
fn asks_for_names(seen: &NamedFile<'_>, side: ProofSide) -> bool {
    let tree = seen.tree;
    let readers: &[&str] = match (tree.lang, side) {
        (Lang::Python, ProofSide::Before) => {
            &["globals", "locals", "vars", "eval", "exec", "__dict__", "modules", "reload", "_getframe"]
        }
        (Lang::Python, ProofSide::After) => return names::lists_modules(seen),
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, _) => &["eval", "Function"],
        (Lang::Java, ProofSide::Before) => &["getDeclaredField", "getDeclaredFields", "getFields"],
        (Lang::Java, ProofSide::After) => &["getDeclaredFields", "getFields"],
        (Lang::Rust | Lang::Go, _) => &[],
    };
    tree.walk(tree.root).any(|id| {
        let is_local = matches!(seen.scopes.of_leaf(id), IdentifierUse::Local(_) | IdentifierUse::Named(_));
        tree.is_leaf(id)
            && tree.kind(id).ends_with("identifier")
            && !matches!(tree.kind(id), "type_identifier" | "property_identifier")
            && !is_local
            && readers.contains(&seen.text(id))
    })
}

/// Reports whether other scripts can see a name: a script without imports and exports shares its names with
/// the page.
fn is_global(seen: &NamedFile<'_>, name: NodeId) -> bool {
    let tree = seen.tree;
    let is_module = |item: NodeId| matches!(tree.kind(item), "import_statement" | "export_statement");
    let names_module = |id: NodeId| {
        tree.is_leaf(id)
            && seen.scopes.of_leaf(id) == IdentifierUse::Free
            && matches!(seen.text(id), "module" | "exports" | "require")
    };
    tree.lang.is_script()
        && seen.class_of(name).is_none()
        && !tree.kids(tree.root).iter().any(|item| is_module(*item))
        && !tree.walk(tree.root).any(names_module)
}

/// Reports whether a text below `id` contains the name as a word, because code may look up the name by that
/// text.
fn text_spells(seen: &NamedFile<'_>, id: NodeId, name: &str) -> bool {
    let tree = seen.tree;
    let is_text = |kind: &str| kind.contains("string") || matches!(kind, "interpolation" | "directive");
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    tree.walk(id).filter(|leaf| tree.is_leaf(*leaf) && is_text(tree.kind(*leaf))).any(|leaf| {
        let text = seen.text(leaf);
        text.match_indices(name)
            .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
    })
}

/// Reports whether a position gives an expression more meaning than its value. A call or lookup binds its
/// object, an optional chain continues, and a lone text is a directive.
fn is_special_place(seen: &NamedFile<'_>, place: NodeId, value: NodeId) -> bool {
    let tree = seen.tree;
    let parent = seen.parent(place);
    let goes_on = matches!(tree.field(place), "object" | "function" | "constructor")
        || tree.kind(parent) == "non_null_expression";
    let is_script = tree.lang.is_script();
    let is_called = matches!(tree.field(place), "function" | "constructor");
    let is_directive = tree.kind(parent) == "expression_statement" && tree.kind(value).contains("string");
    let is_asked =
        is_script && ["typeof", "delete", "void"].iter().any(|token| tree.has_token(parent, token));
    is_directive
        || is_asked
        || (is_script && is_called)
        || (is_script && goes_on && tree.walk(value).any(|id| tree.kind(id) == "optional_chain"))
}

/// An edit of a tree: replaces nodes by lists of other nodes.
#[derive(Default)]
pub(super) struct NodeEdit {
    instead: QuickMap<NodeId, Vec<Put>>,
}

/// A replacement for a node.
pub(super) enum Put {
    /// A node with all its children.
    Node(NodeId),
    /// A copy of a node with replaced leaves: the body of a function with its arguments.
    Filled(NodeId, QuickMap<NodeId, NodeId>),
}

impl NodeEdit {
    fn remove(&mut self, id: NodeId) {
        self.instead.insert(id, Vec::new());
    }

    fn put(&mut self, place: NodeId, with: Vec<Put>) {
        self.instead.insert(place, with);
    }

    fn apply(&self, tree: &mut SyntaxTree) {
        let root = tree.root;
        let new = self.rebuild(tree, root);
        tree.root = new.first().copied().unwrap_or(root);
    }

    fn rebuild(&self, tree: &mut SyntaxTree, id: NodeId) -> Vec<NodeId> {
        if let Some(puts) = self.instead.get(&id) {
            let mut out = Vec::new();
            for put in puts {
                let new = match put {
                    Put::Node(node) => {
                        // The inserted node may contain further replaced nodes.
                        let inner = if self.instead.contains_key(node) {
                            vec![*node]
                        } else {
                            self.rebuild(tree, *node)
                        };
                        inner.first().copied().unwrap_or(*node)
                    }
                    Put::Filled(node, fill) => filled(tree, *node, fill),
                };
                out.push(if puts.len() == 1 { tree.with_field_of(new, id) } else { new });
            }
            return out;
        }
        let kids = tree.kids(id).to_vec();
        let mut changed = false;
        let mut new = Vec::with_capacity(kids.len());
        for kid in kids {
            let made = if tree.is_leaf(kid) && !self.instead.contains_key(&kid) {
                vec![kid]
            } else {
                self.rebuild(tree, kid)
            };
            changed |= made != [kid];
            new.extend(made);
        }
        if changed { vec![tree.with_kids(id, &new)] } else { vec![id] }
    }
}

/// Copies a tree with some leaves replaced; all nodes of the copy are new.
fn filled(tree: &mut SyntaxTree, id: NodeId, fill: &QuickMap<NodeId, NodeId>) -> NodeId {
    if let Some(with) = fill.get(&id) {
        let copy = filled(tree, *with, &QuickMap::default());
        return tree.with_field_of(copy, id);
    }
    if tree.is_leaf(id) {
        let sym = tree.sym(id);
        return tree.with_sym(id, sym);
    }
    let kids = tree.kids(id).to_vec();
    let new: Vec<NodeId> = kids.into_iter().map(|kid| filled(tree, kid, fill)).collect();
    tree.with_kids(id, &new)
}

/// Reports whether an expression is a literal whose value cannot change.
pub(super) fn is_literal(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    match tree.kind(id) {
        "string"
        | "number"
        | "integer"
        | "float"
        | "true"
        | "false"
        | "null"
        | "none"
        | "string_literal"
        | "integer_literal"
        | "float_literal"
        | "boolean_literal"
        | "char_literal"
        | "character_literal"
        | "raw_string_literal"
        | "int_literal"
        | "rune_literal"
        | "interpreted_string_literal"
        | "decimal_integer_literal"
        | "hex_integer_literal"
        | "decimal_floating_point_literal"
        | "null_literal" => tree.is_leaf(id) || tree.kind(id) == "boolean_literal",
        _ => false,
    }
}

/// Reports whether code that runs while the module loads, before `until`, could call functions of this file.
pub(super) fn runs_before(seen: &NamedFile<'_>, until: NodeId) -> bool {
    let tree = seen.tree;
    let own: Vec<_> = tree
        .kids(tree.root)
        .iter()
        .flat_map(|item| tree.walk(*item).take(6).collect::<Vec<_>>())
        .filter(|id| tree.field(*id) == "name" && tree.is_leaf(*id))
        .map(|id| tree.sym(id))
        .collect();
    tree.kids(tree.root).iter().take_while(|item| **item != until).any(|item| {
        let is_inert = matches!(
            tree.kind(*item),
            "function_declaration"
                | "function_definition"
                | "import_statement"
                | "import_from_statement"
                | "future_import_statement"
                | "interface_declaration"
                | "type_alias_declaration"
                | "directive"
                | "generator_function_declaration"
        );
        let names_own = || {
            tree.walk(*item).any(|id| {
                tree.kind(id) == "identifier"
                    && seen.scopes.of_leaf(id) == IdentifierUse::Free
                    && own.contains(&tree.sym(id))
                    && tree.field(id) != "name"
            })
        };
        !is_inert && names_own()
    })
}
