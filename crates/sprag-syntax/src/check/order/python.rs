//! What may change places in Python: functions past each other, and past what runs nothing that could see them.

use super::ContainerKind;
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};

/// Whether a function of Python may go past a statement that is none: one that gives a name to a literal runs nothing,
/// and what a decorator runs does not see the class that is being made.
pub(crate) fn is_passed(tree: &SyntaxTree, symbols: &Symbols, id: NodeId, around: ContainerKind) -> bool {
    let assigns_literal = || {
        let [only] = tree.kids(id)[..] else { return false };
        // `__name__` and its like are read by what follows.
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

/// Literals, and collections of them.
fn is_data(tree: &SyntaxTree, value: NodeId) -> bool {
    tree.walk(value).all(|id| match tree.kind(id) {
        "string" => tree.is_leaf(id),
        "integer" | "float" | "true" | "false" | "none" | "list" | "tuple" | "expression_list"
        | "dictionary" | "pair" => true,
        kind => tree.is_leaf(id) && matches!(kind, "(" | ")" | "[" | "]" | "{" | "}" | "," | ":"),
    })
}

/// `_ignore_` and its like tell an enumeration what to make of what follows.
pub(crate) fn is_sunder(name: &str) -> bool {
    name.len() > 2 && name.starts_with('_') && name.ends_with('_') && !name.starts_with("__")
}

/// The function of Python below decorators.
fn wrapped_function(tree: &SyntaxTree, id: NodeId) -> Option<NodeId> {
    let inner = tree.child(id, "definition").filter(|_| tree.kind(id) == "decorated_definition");
    inner.filter(|inner| tree.kind(*inner) == "function_definition")
}

/// The words of a statement that are read when it is run: of a function all but its body.
pub(crate) fn evaluated(tree: &SyntaxTree, id: NodeId) -> Vec<Sym> {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let parts = tree.kids(id).iter().chain(tree.kids(function));
    let parts = parts.filter(|part| **part != function && tree.field(**part) != "body");
    let leaves = parts.flat_map(|part| tree.walk(*part)).filter(|leaf| tree.is_leaf(*leaf));
    leaves.map(|leaf| tree.sym(leaf)).collect()
}

/// Whether words that are read around a function are its name, or something is looked up to define it: what else runs
/// there may have set that.
pub(crate) fn is_known_to(tree: &SyntaxTree, id: NodeId, words: &QuickSet<Sym>) -> bool {
    let function = wrapped_function(tree, id).unwrap_or(id);
    let name = tree.child(function, "name");
    name.is_none_or(|name| words.contains(&tree.sym(name)))
        || !outer_parts(tree, function).into_iter().all(|part| is_data(tree, part))
}

/// Defaults and annotations of a function of Python, which are evaluated where it is defined.
fn outer_parts(tree: &SyntaxTree, function: NodeId) -> Vec<NodeId> {
    let parameters = tree.child(function, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let parts = parameters.iter().flat_map(|parameter| tree.kids(*parameter)).copied();
    let parts = parts.filter(|part| matches!(tree.field(*part), "value" | "type"));
    parts.chain(tree.child(function, "return_type")).collect()
}

/// Whether defining a function evaluates nothing that could tell where it stands.
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
    // Whatever a default looks up may count how often and when.
    let parameters = tree.child(id, "parameters").map(|list| tree.kids(list)).unwrap_or_default();
    let defaults = parameters.iter().filter_map(|parameter| tree.child(*parameter, "value"));
    let runs = |kind: &str| {
        matches!(kind, "subscript" | "attribute") || kind.ends_with("_operator") || kind == "interpolation"
    };
    is_plain && !defaults.flat_map(|value| tree.walk(value)).any(|node| runs(tree.kind(node)))
}

/// Names that are given where functions stand.
#[derive(Default)]
pub(crate) struct DefinedNames {
    /// By the definitions of their container.
    defined: QuickSet<Sym>,
    /// By the module itself, whatever it imports.
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

    /// Whether a decorator is one of the module's own, whatever it sounds like.
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

/// `__dict__` in `object.__dict__[key]`: what is looked up by its name is not listed.
pub(crate) fn looked_up(tree: &SyntaxTree) -> QuickSet<NodeId> {
    let subscripts = tree.walk(tree.root).filter(|id| tree.kind(*id) == "subscript");
    let members = subscripts.filter_map(|id| tree.child(id, "value"));
    members.filter_map(|member| tree.child(member, "attribute")).collect()
}

/// Whether a file has a class of classes, which is given what its classes declare.
pub(crate) fn makes_classes(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    let classes = tree.walk(tree.root).filter(|id| tree.kind(*id) == "class_definition");
    let bases = classes.filter_map(|class| tree.child(class, "superclasses"));
    let mut names = bases.flat_map(|list| tree.walk(list)).filter(|id| tree.is_leaf(*id));
    names.any(|id| symbols.text(tree.sym(id)) == "type")
}

/// `_Class__x` is what a class calls its `__x`.
pub(crate) fn is_mangled(name: &str) -> bool {
    let is_private = name.starts_with("__") && !name.ends_with("__");
    let is_spelled_out = name.starts_with('_') && !name.starts_with("__") && name[1..].contains("__");
    is_private || is_spelled_out
}
