//! Conditions under which the body of a function means the same at the call.

use super::FunctionShape;
use crate::check::effects::is_assigned;
use crate::check::inline::is_special_place;
use crate::check::names::NamedFile;
use crate::check::scope::IdentifierUse;
use crate::lang::Lang;
use crate::symbol::QuickSet;
use crate::tree::NodeId;

/// Checks that nothing in the body would mean something else in another function.
pub(crate) fn check_body(
    seen: &NamedFile<'_>,
    body: NodeId,
    owner: Option<NodeId>,
) -> Result<(), &'static str> {
    let tree = seen.tree;
    for id in tree.walk(body) {
        let is_bound = matches!(
            tree.kind(id),
            "this"
                | "super"
                | "yield"
                | "yield_expression"
                | "await"
                | "await_expression"
                | "global_statement"
                | "nonlocal_statement"
                | "meta_property"
                | "function_declaration"
                | "function_definition"
                | "class_definition"
                | "class_declaration"
                | "lambda"
                | "arrow_function"
                | "function_expression"
                | "variable_declaration"
                | "decorator"
                | "generator_expression"
                | "generator_function"
                | "generator_function_declaration"
                | "method_definition"
                | "class"
                | "labeled_statement"
                | "named_expression"
                | "import_statement"
                | "import_from_statement"
        );
        // `f"{x}"` is an ordinary expression; `f"{x=}"` is one leaf and prints its source.
        let is_bound = is_bound || (tree.kind(id) == "interpolation" && tree.is_leaf(id));
        let is_directive =
            tree.kind(id) == "expression_statement" && tree.named_kids(id).all(|kid| tree.is_leaf(kid));
        let is_mangled = tree.is_leaf(id)
            && owner.is_none()
            && tree.lang == Lang::Python
            && seen.text(id).starts_with("__")
            && !seen.text(id).ends_with("__");
        let is_tag = tree.is_leaf(id)
            && tree.kind(seen.parent(id)).starts_with("jsx_")
            && tree.kind(seen.parent(id)) != "jsx_expression"
            && matches!(seen.scopes.of_leaf(id), IdentifierUse::Local(_));
        if is_directive || is_mangled || is_tag {
            return Err("its body means something else elsewhere");
        }
        // In a method of the same class `this` is the same object.
        let is_bound = is_bound && !(tree.kind(id) == "this" && owner.is_some());
        // As an attribute it is the class of that object; alone it is the enclosing class.
        let is_cell = tree.is_leaf(id) && seen.text(id) == "__class__" && tree.field(id) != "attribute";
        let is_named = tree.is_leaf(id)
            && matches!(
                seen.text(id),
                "arguments"
                    | "super"
                    | "locals"
                    | "eval"
                    | "exec"
                    | "vars"
                    | "await"
                    | "async"
                    | "yield"
                    // These functions inspect the caller.
                    | "inspect"
                    | "stacklevel"
                    | "_getframe"
                    | "currentframe"
                    | "extract_stack"
                    | "format_stack"
                    | "print_stack"
                    | "captureStackTrace"
            );
        if is_bound || is_named || is_cell {
            return Err("its body belongs where it is");
        }
        if let IdentifierUse::Local(binding) = seen.scopes.of_leaf(id)
            && is_assigned(seen, id)
            && seen.scopes.bindings[binding as usize].at != id
        {
            return Err("it assigns");
        }
    }
    Ok(())
}

/// Checks that the body means the same at the position of the call.
pub(crate) fn check_place(
    seen: &NamedFile<'_>,
    call: NodeId,
    body: NodeId,
    shape: FunctionShape,
) -> Result<(), &'static str> {
    const SCOPES: &[&str] = &[
        "function_definition",
        "lambda",
        "class_definition",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "arrow_function",
        "method_definition",
        "class_static_block",
    ];
    let tree = seen.tree;
    let scope = seen.enclosing(call, SCOPES);
    // Python looks up names in a class body in the class first.
    if scope.is_some_and(|scope| tree.kind(scope) == "class_definition") {
        return Err("a name may be captured by a class");
    }
    let binds = tree.walk(body).any(|id| {
        matches!(seen.scopes.of_leaf(id), IdentifierUse::Local(binding) | IdentifierUse::Named(binding)
            if seen.scopes.bindings[binding as usize].at == id)
    });
    if scope.is_none() && binds && !matches!(shape, FunctionShape::Value(_)) {
        return Err("its names would be the module's");
    }
    // Python drops the values of locals when their function ends.
    if tree.lang == Lang::Python && binds && matches!(shape, FunctionShape::Statements) {
        return Err("its values would be dropped later");
    }
    match shape {
        FunctionShape::Value(value) if is_special_place(seen, call, value) => {
            Err("its place takes more than a value")
        }
        _ => Ok(()),
    }
}

/// Checks that names in the body mean the same at the call. The names in `given` are replaced.
pub(crate) fn check_names(
    seen: &NamedFile<'_>,
    call: NodeId,
    body: NodeId,
    given: &[u32],
) -> Result<(), &'static str> {
    let tree = seen.tree;
    let (mut bound, mut all) = (QuickSet::default(), QuickSet::default());
    for id in tree.walk(outermost(seen, call)).filter(|id| tree.is_leaf(*id)) {
        all.insert(tree.sym(id));
        if let IdentifierUse::Local(binding) | IdentifierUse::Named(binding) = seen.scopes.of_leaf(id) {
            bound.insert(seen.scopes.bindings[binding as usize].name);
        }
    }
    let inside: QuickSet<NodeId> = tree.walk(body).collect();
    let clashes = |id: NodeId| match seen.scopes.of_leaf(id) {
        IdentifierUse::Free => bound.contains(&tree.sym(id)),
        IdentifierUse::Local(binding) => {
            let declared = seen.scopes.bindings[binding as usize].at;
            inside.contains(&declared) && !given.contains(&binding) && all.contains(&tree.sym(id))
        }
        IdentifierUse::Named(_) | IdentifierUse::Text => false,
    };
    if tree.walk(body).any(|id| tree.is_leaf(id) && clashes(id)) {
        Err("a name would be captured")
    } else {
        Ok(())
    }
}

/// A call `const a = f()` of a function whose body ends with `return b`, where `b` is its own `const`. After
/// inlining, `b` becomes `a`.
pub(super) struct ReturnedCall {
    /// The declaration in the caller that the body replaces.
    pub statement: NodeId,
    pub name: NodeId,
    pub local: u32,
}

pub(crate) fn given(seen: &NamedFile<'_>, call: NodeId, body: NodeId) -> Result<ReturnedCall, &'static str> {
    const NO: &str = "its value is used";
    let tree = seen.tree;
    let returns = tree.walk(body).filter(|id| tree.kind(*id) == "return_statement");
    let last = tree.named_kids(body).last().ok_or(NO)?;
    let &[_, returned] = tree.kids(last) else { return Err(NO) };
    let IdentifierUse::Local(local) = seen.scopes.of_leaf(returned) else { return Err(NO) };
    let at = seen.scopes.bindings[local as usize].at;
    let (inner, _) = declared(seen, at).ok_or(NO)?;
    let declarator = seen.parent(call);
    let name = tree.child(declarator, "name").ok_or(NO)?;
    let (statement, value) = declared(seen, name).ok_or(NO)?;
    let IdentifierUse::Local(outer) = seen.scopes.of_leaf(name) else { return Err(NO) };
    let is_same_kind = tree.child(inner, "kind").map(|kind| tree.kind(kind))
        == tree.child(statement, "kind").map(|kind| tree.kind(kind));
    let is_shape = returns.count() == 1
        && tree.kind(last) == "return_statement"
        && seen.parent(inner) == body
        && value == call
        && is_same_kind
        && tree.kind(seen.parent(statement)) == "statement_block";
    // While the body runs, nothing may read the new constant, and nothing may read its name as text.
    let asks = tree.walk(tree.root).filter(|id| tree.is_leaf(*id)).any(|id| match seen.scopes.of_leaf(id) {
        IdentifierUse::Local(binding) | IdentifierUse::Named(binding) if binding == outer => {
            tree.node(id).start < tree.node(statement).start
                || seen.enclosing(id, &["function_declaration"])
                    != seen.enclosing(name, &["function_declaration"])
        }
        IdentifierUse::Named(binding) => binding == local,
        _ => false,
    });
    if is_shape && !asks { Ok(ReturnedCall { statement, name, local }) } else { Err(NO) }
}

/// Returns the declaration of a single local in a script, and its value.
fn declared(seen: &NamedFile<'_>, name: NodeId) -> Option<(NodeId, NodeId)> {
    let tree = seen.tree;
    let declarator = seen.parent(name);
    let statement = seen.parent(declarator);
    let count = tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "variable_declarator").count();
    let is_plain = tree.kind(declarator) == "variable_declarator"
        && tree.kind(statement) == "lexical_declaration"
        && count == 1
        && tree.child(declarator, "name") == Some(name)
        && tree.child(declarator, "type").is_none();
    is_plain.then_some((statement, tree.child(declarator, "value")?))
}

fn outermost(seen: &NamedFile<'_>, id: NodeId) -> NodeId {
    let mut at = id;
    let mut found = id;
    while at != seen.tree.root {
        if seen.scopes.is_region(at) {
            found = at;
        }
        at = seen.parent(at);
    }
    found
}
