//! What may change places in Python: functions past each other, and past what runs nothing that could see them.

use super::Around;
use crate::lang::Lang;
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{Id, Tree};

/// Whether a function of Python may go past a statement that is none: one that gives a name to a literal runs nothing,
/// and what a decorator runs does not see the class that is being made.
pub(super) fn is_passed(tree: &Tree, id: Id, around: Around) -> bool {
    let assigns_literal = || {
        let [only] = tree.kids(id)[..] else { return false };
        let is_plain = tree.child(only, "left").is_some_and(|left| tree.kind(left) == "identifier");
        let value = tree.child(only, "right").filter(|_| tree.child(only, "type").is_none());
        tree.kind(id) == "expression_statement"
            && tree.kind(only) == "assignment"
            && is_plain
            && value.is_some_and(|value| is_data(tree, value))
    };
    around == Around::Class && wrapped_function(tree, id).is_some() || assigns_literal()
}

/// Literals, and collections of them.
fn is_data(tree: &Tree, value: Id) -> bool {
    tree.walk(value).all(|id| match tree.kind(id) {
        "string" => tree.is_leaf(id),
        "integer" | "float" | "true" | "false" | "none" | "list" | "tuple" | "expression_list"
        | "dictionary" | "pair" => true,
        kind => tree.is_leaf(id) && matches!(kind, "(" | ")" | "[" | "]" | "{" | "}" | "," | ":"),
    })
}

/// `_ignore_` and its like tell an enumeration what to make of what follows.
pub(super) fn is_sunder(name: &str) -> bool {
    name.len() > 2 && name.starts_with('_') && name.ends_with('_') && !name.starts_with("__")
}

/// The function of Python below decorators.
fn wrapped_function(tree: &Tree, id: Id) -> Option<Id> {
    let inner = tree.child(id, "definition").filter(|_| tree.kind(id) == "decorated_definition");
    inner.filter(|inner| tree.kind(*inner) == "function_definition")
}

/// The words of a statement that are read when it is run: of a function all but its body.
pub(super) fn evaluated(tree: &Tree, id: Id) -> Vec<Sym> {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let parts = tree.kids(id).iter().chain(tree.kids(function));
    let parts = parts.filter(|part| **part != function && tree.field(**part) != "body");
    let leaves = parts.flat_map(|part| tree.walk(*part)).filter(|leaf| tree.is_leaf(*leaf));
    leaves.map(|leaf| tree.sym(leaf)).collect()
}

/// Whether words that are read in its class are its name, or are needed to define it.
pub(super) fn is_known_to(tree: &Tree, id: Id, words: &QuickSet<Sym>) -> bool {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let needed = outer_parts(tree, function).into_iter().flat_map(|part| tree.walk(part));
    let name = tree.child(function, "name").into_iter();
    name.chain(needed).any(|id| tree.is_leaf(id) && words.contains(&tree.sym(id)))
}

/// Defaults and annotations of a function of Python, which are evaluated where it is defined.
fn outer_parts(tree: &Tree, function: Id) -> Vec<Id> {
    let parameters = tree.child(function, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let parts = parameters.iter().flat_map(|parameter| tree.kids(*parameter)).copied();
    let parts = parts.filter(|part| matches!(tree.field(*part), "value" | "type"));
    parts.chain(tree.child(function, "return_type")).collect()
}

/// Whether defining a function evaluates nothing that could tell where it stands.
pub(super) fn is_inert(tree: &Tree, defined: &QuickSet<Sym>, id: Id) -> bool {
    let parts = outer_parts(tree, id).into_iter();
    let is_plain = parts.flat_map(|part| tree.walk(part)).all(|node| match tree.kind(node) {
        "call"
        | "await"
        | "named_expression"
        | "list_comprehension"
        | "dictionary_comprehension"
        | "set_comprehension" => false,
        "identifier" => !defined.contains(&tree.sym(node)),
        _ => true,
    });
    // Whatever a default looks up may count how often and when.
    let parameters = tree.child(id, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let defaults = parameters.iter().filter_map(|parameter| tree.child(*parameter, "value"));
    let runs = |kind: &str| kind == "subscript" || kind.ends_with("_operator") || kind == "interpolation";
    is_plain && !defaults.flat_map(|value| tree.walk(value)).any(|node| runs(tree.kind(node)))
}

/// The names that the statements of a container define.
pub(super) fn defined(tree: &Tree, container: Id) -> QuickSet<Sym> {
    let statements = tree.kids(container).iter().filter_map(|kid| match tree.kind(*kid) {
        "decorated_definition" => tree.child(*kid, "definition"),
        _ => Some(*kid),
    });
    statements.filter_map(|kid| tree.child(kid, "name").map(|name| tree.sym(name))).collect()
}

/// `__dict__` in `self.__dict__` and in `object.__dict__[key]` of Python.
pub(super) fn own_members(tree: &Tree, symbols: &Symbols) -> QuickSet<Id> {
    let mut own = QuickSet::default();
    // In a class of classes an object is a class; and anything may be called `self` where it is assigned.
    let is_odd = |id: Id| match tree.kind(id) {
        "class_definition" => {
            let bases = tree.child(id, "superclasses").into_iter().flat_map(|list| tree.walk(list));
            let mut names = bases.filter(|id| tree.is_leaf(*id)).map(|id| symbols.text(tree.sym(id)));
            names.any(|name| ["type", "Type", "Meta", "Metaclass"].iter().any(|end| name.ends_with(end)))
        }
        "identifier" => tree.field(id) == "left" && symbols.text(tree.sym(id)) == "self",
        _ => false,
    };
    if tree.lang != Lang::Python || tree.walk(tree.root).any(is_odd) {
        return own;
    }
    let is_self = |object: Id| tree.is_leaf(object) && symbols.text(tree.sym(object)) == "self";
    for id in tree.walk(tree.root) {
        match tree.kind(id) {
            "attribute" if tree.child(id, "object").is_some_and(is_self) => {
                own.extend(tree.child(id, "attribute"));
            }
            "subscript" => {
                let of = tree.child(id, "value").filter(|of| tree.kind(*of) == "attribute");
                own.extend(of.and_then(|of| tree.child(of, "attribute")));
            }
            _ => {}
        }
    }
    own
}
