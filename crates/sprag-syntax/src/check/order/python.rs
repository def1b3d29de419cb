//! Movable declarations in Python: functions may pass each other, and statements that run nothing that could
//! observe them.

use super::ContainerKind;
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};

/// Reports whether a Python function may move past a statement that is not a function. An assignment of a
/// literal runs nothing, and code of a decorator does not see the unfinished class.
pub(crate) fn is_passed(tree: &SyntaxTree, symbols: &Symbols, id: NodeId, around: ContainerKind) -> bool {
    let assigns_literal = || {
        let [only] = tree.kids(id)[..] else { return false };
        // Later code reads `__name__` and the like.
        let is_name =
            |left: NodeId| tree.kind(left) == "identifier" && !symbols.text(tree.sym(left)).starts_with("__");
        let is_plain = tree.child(only, "left").is_some_and(is_name);
        let value = tree.child(only, "right").filter(|_| tree.child(only, "type").is_none());
        tree.kind(id) == "expression_statement"
            && tree.kind(only) == "assignment"
            && is_plain
            && value.is_some_and(|value| is_data(tree, value))
    };
    around == ContainerKind::Class && wrapped_function(tree, id).is_some() || assigns_literal()
}

/// Reports whether a value consists of literals and collections of literals.
fn is_data(tree: &SyntaxTree, value: NodeId) -> bool {
    tree.walk(value).all(|id| match tree.kind(id) {
        "string" => tree.is_leaf(id),
        "integer" | "float" | "true" | "false" | "none" | "list" | "tuple" | "expression_list"
        | "dictionary" | "pair" => true,
        kind => tree.is_leaf(id) && matches!(kind, "(" | ")" | "[" | "]" | "{" | "}" | "," | ":"),
    })
}

/// Reports whether a name such as `_ignore_` controls how an enumeration treats its members.
pub(crate) fn is_sunder(name: &str) -> bool {
    name.len() > 2 && name.starts_with('_') && name.ends_with('_') && !name.starts_with("__")
}

/// Returns the Python function below decorators.
fn wrapped_function(tree: &SyntaxTree, id: NodeId) -> Option<NodeId> {
    let inner = tree.child(id, "definition").filter(|_| tree.kind(id) == "decorated_definition");
    inner.filter(|inner| tree.kind(*inner) == "function_definition")
}

/// Returns the names that a statement reads when it runs; the body of a function does not count.
pub(crate) fn evaluated(tree: &SyntaxTree, id: NodeId) -> Vec<Sym> {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let parts = tree.kids(id).iter().chain(tree.kids(function));
    let parts = parts.filter(|part| **part != function && tree.field(**part) != "body");
    let leaves = parts.flat_map(|part| tree.walk(*part)).filter(|leaf| tree.is_leaf(*leaf));
    leaves.map(|leaf| tree.sym(leaf)).collect()
}

/// Reports whether the surrounding code reads the name of a function, or the definition looks up a name.
/// Other code there may have set that name.
pub(crate) fn is_known_to(tree: &SyntaxTree, id: NodeId, words: &QuickSet<Sym>) -> bool {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let name = tree.child(function, "name");
    name.is_none_or(|name| words.contains(&tree.sym(name)))
        || !outer_parts(tree, function).into_iter().all(|part| is_data(tree, part))
}

/// Returns the defaults and annotations of a Python function, which are evaluated at its definition.
fn outer_parts(tree: &SyntaxTree, function: NodeId) -> Vec<NodeId> {
    let parameters = tree.child(function, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let parts = parameters.iter().flat_map(|parameter| tree.kids(*parameter)).copied();
    let parts = parts.filter(|part| matches!(tree.field(*part), "value" | "type"));
    parts.chain(tree.child(function, "return_type")).collect()
}

/// Reports whether the definition of a function evaluates nothing that depends on its position.
pub(crate) fn is_inert(tree: &SyntaxTree, names: &DefinedNames, id: NodeId) -> bool {
    let parts = outer_parts(tree, id).into_iter();
    let is_plain = parts.flat_map(|part| tree.walk(part)).all(|node| match tree.kind(node) {
        "call"
        | "await"
        | "named_expression"
        | "list_comprehension"
        | "dictionary_comprehension"
        | "set_comprehension" => false,
        "identifier" => !names.defined.contains(&tree.sym(node)),
        _ => true,
    });
    // A lookup in a default may run code that counts calls.
    let parameters = tree.child(id, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let defaults = parameters.iter().filter_map(|parameter| tree.child(*parameter, "value"));
    let runs = |kind: &str| {
        matches!(kind, "subscript" | "attribute") || kind.ends_with("_operator") || kind == "interpolation"
    };
    is_plain && !defaults.flat_map(|value| tree.walk(value)).any(|node| runs(tree.kind(node)))
}

/// Names that are defined next to functions.
#[derive(Default)]
pub(crate) struct DefinedNames {
    /// Names that the container defines.
    defined: QuickSet<Sym>,
    /// Names that the module defines itself, without imports.
    own: QuickSet<Sym>,
}

impl DefinedNames {
    pub(super) fn collect(tree: &SyntaxTree, container: NodeId) -> DefinedNames {
        let is_wrapped = tree.kids(container).iter().any(|kid| tree.kind(*kid) == "decorated_definition");
        let mut own = if is_wrapped { defined(tree, tree.root) } else { QuickSet::default() };
        if is_wrapped {
            let assigned = tree.walk(tree.root).filter(|id| tree.kind(*id) == "assignment");
            let targets = assigned.filter_map(|id| tree.child(id, "left")).flat_map(|left| tree.walk(left));
            own.extend(targets.filter(|id| tree.is_leaf(*id)).map(|id| tree.sym(id)));
        }
        DefinedNames { defined: defined(tree, container), own }
    }

    /// Reports whether the module itself defines a decorator, which may shadow a known one.
    pub(super) fn has_own(&self, tree: &SyntaxTree, decorator: NodeId) -> bool {
        tree.walk(decorator).any(|leaf| tree.is_leaf(leaf) && self.own.contains(&tree.sym(leaf)))
    }
}

fn defined(tree: &SyntaxTree, container: NodeId) -> QuickSet<Sym> {
    let statements = tree.kids(container).iter().filter_map(|kid| match tree.kind(*kid) {
        "decorated_definition" => tree.child(*kid, "definition"),
        _ => Some(*kid),
    });
    statements.filter_map(|kid| tree.child(kid, "name").map(|name| tree.sym(name))).collect()
}

/// Returns the uses of `__dict__` in `object.__dict__[key]`, which look up one name and list nothing.
pub(crate) fn looked_up(tree: &SyntaxTree) -> QuickSet<NodeId> {
    let subscripts = tree.walk(tree.root).filter(|id| tree.kind(*id) == "subscript");
    let members = subscripts.filter_map(|id| tree.child(id, "value"));
    members.filter_map(|member| tree.child(member, "attribute")).collect()
}

/// Reports whether a file has a metaclass, which receives the declarations of its classes.
pub(crate) fn makes_classes(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    let classes = tree.walk(tree.root).filter(|id| tree.kind(*id) == "class_definition");
    let bases = classes.filter_map(|class| tree.child(class, "superclasses"));
    let mut names = bases.flat_map(|list| tree.walk(list)).filter(|id| tree.is_leaf(*id));
    names.any(|id| symbols.text(tree.sym(id)) == "type")
}

/// Reports whether a name is private to a class: `__x`, or its mangled form `_Class__x`.
pub(crate) fn is_mangled(name: &str) -> bool {
    let is_private = name.starts_with("__") && !name.ends_with("__");
    let is_spelled_out = name.starts_with('_') && !name.starts_with("__") && name[1..].contains("__");
    is_private || is_spelled_out
}
