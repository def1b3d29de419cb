//! Inlining of a private function that is only called: its body replaces the calls.

mod body;

use super::{NodeEdit, Put, runs_before};
use crate::check::effects::{ExprEffect, effect, is_assigned, is_shared};
use crate::check::names::NamedFile;
use crate::check::order::is_quiet;
use crate::check::scope::IdentifierUse;
use crate::lang::Lang;
use crate::symbol::QuickMap;
use crate::tree::NodeId;
use body::{check_body, check_names, check_place, given};

/// Maximum number of calls to inline.
const MANY: usize = 64;

pub(crate) fn is_function(seen: &NamedFile<'_>, name: NodeId) -> bool {
    matches!(
        seen.tree.kind(seen.parent(name)),
        "function_declaration" | "function_definition" | "method_definition"
    )
}

pub(crate) fn plan(seen: &NamedFile<'_>, name: NodeId) -> Result<NodeEdit, &'static str> {
    let tree = seen.tree;
    let function = seen.parent(name);
    let owner = owner(seen, name, function)?;
    if tree.has_token(function, "async") || tree.has_token(function, "*") {
        return Err("not a plain function");
    }
    if tree.lang == Lang::Python && runs_before(seen, function) {
        return Err("something may run before it");
    }
    let mut parameters = parameters(seen, function)?;
    // The first parameter of a Python method is its object.
    let receiver = match (tree.lang, owner) {
        (Lang::Python, Some(_)) if parameters.is_empty() => return Err("a method without an object"),
        (Lang::Python, Some(_)) => Some(parameters.remove(0)),
        _ => None,
    };
    let body = tree.child(function, "body").ok_or("no body")?;
    let shape = shape(seen, body)?;
    check_body(seen, body, owner)?;
    let mut edit = NodeEdit::default();
    let mut count = 0;
    for id in
        tree.walk(tree.root).filter(|id| tree.is_leaf(*id) && *id != name && tree.sym(*id) == tree.sym(name))
    {
        let (call, object) = called(seen, id, owner)?;
        if tree.walk(function).any(|inner| inner == id) {
            return Err("it calls itself");
        }
        let mut fill = arguments(seen, call, &parameters, body)?;
        if let (Some(receiver), Some(object)) = (receiver, object) {
            for leaf in
                tree.walk(body).filter(|leaf| seen.scopes.of_leaf(*leaf) == IdentifierUse::Local(receiver))
            {
                fill.insert(leaf, object);
            }
        }
        check_place(seen, call, body, shape)?;
        let statement = seen.parent(call);
        let holder = seen.parent(statement);
        let is_listed = matches!(tree.kind(holder), "statement_block" | "block" | "program" | "module");
        let is_alone = tree.named_kids(statement).count() == 1;
        let statements = |fill: &QuickMap<NodeId, NodeId>| {
            tree.named_kids(body).map(|kid| Put::Filled(kid, clone_fill(fill))).collect::<Vec<_>>()
        };
        let is_returned = tree.kind(statement) == "return_statement" && is_alone && is_listed;
        let given = match shape {
            FunctionShape::Returns if !is_returned => Some(given(seen, call, body)?),
            _ => None,
        };
        check_names(seen, call, body, given.as_ref().map(|given| given.local).as_slice())?;
        match (shape, given) {
            (FunctionShape::Value(value), _) => edit.put(call, vec![Put::Filled(value, fill)]),
            (FunctionShape::Returns, Some(given)) => {
                let own = |leaf: &NodeId| seen.scopes.of_leaf(*leaf) == IdentifierUse::Local(given.local);
                fill.extend(tree.walk(body).filter(own).map(|leaf| (leaf, given.name)));
                let mut body = statements(&fill);
                body.pop();
                edit.put(given.statement, body);
            }
            // A return from the function becomes a return from the caller.
            (FunctionShape::Returns, None) => edit.put(statement, statements(&fill)),
            (FunctionShape::Statements, _) if tree.kind(statement) == "expression_statement" && is_alone => {
                if !is_listed && tree.named_kids(body).count() != 1 {
                    return Err("there is no room for its body");
                }
                edit.put(statement, statements(&fill));
            }
            (FunctionShape::Statements, _) => return Err("its value is used"),
        }
        count += 1;
        if count > MANY {
            return Err("it is called too often");
        }
    }
    if count == 0 {
        return Err("it is not called");
    }
    edit.remove(function);
    Ok(edit)
}

/// Returns the class of a private method, or `None` for a private function of a module.
fn owner(seen: &NamedFile<'_>, name: NodeId, function: NodeId) -> Result<Option<NodeId>, &'static str> {
    let tree = seen.tree;
    let holder = seen.parent(function);
    match (tree.lang, tree.kind(holder)) {
        (Lang::Python, "module") if seen.text(name).starts_with('_') => Ok(None),
        (Lang::Python, "block") if seen.text(name).starts_with('_') && !seen.text(name).starts_with("__") => {
            let class = seen.parent(holder);
            let is_heir = tree.child(class, "superclasses").is_some();
            match tree.kind(class) {
                // The class may inherit and call a method of that name.
                "class_definition" if is_heir => Err("it may override another"),
                "class_definition" if is_watched(seen, class) => Err("something sees all of the class"),
                "class_definition" => Ok(Some(class)),
                _ => Err("not a private function"),
            }
        }
        (_, "program") if tree.lang.is_script() => Ok(None),
        (_, "class_body") if tree.lang.is_script() => {
            let modifiers =
                tree.kids(function).iter().filter(|kid| tree.kind(**kid) == "accessibility_modifier");
            let is_private = seen.text(name).starts_with('#')
                || modifiers.into_iter().any(|kid| tree.has_token(*kid, "private"));
            let is_plain = !["get", "set", "static", "?"].iter().any(|token| tree.has_token(function, token));
            let siblings = tree.kids(holder);
            let at = siblings.iter().position(|kid| *kid == function).unwrap_or(0);
            let is_decorated = at > 0 && tree.kind(siblings[at - 1]) == "decorator";
            if is_private && is_plain && !is_decorated && !is_watched(seen, seen.parent(holder)) {
                Ok(Some(seen.parent(holder)))
            } else {
                Err("not a private function")
            }
        }
        _ => Err("not a private function"),
    }
}

/// Reports whether an unknown decorator receives the class.
fn is_watched(seen: &NamedFile<'_>, class: NodeId) -> bool {
    let tree = seen.tree;
    let around = tree.kids(seen.parent(class)).iter().take_while(|kid| **kid != class);
    let said = around.chain(tree.kids(class)).copied();
    said.into_iter().any(|kid| tree.kind(kid) == "decorator" && !is_quiet(tree, seen.symbols, kid))
}

/// Returns the call whose function `id` names, and the object that it is called on.
fn called(
    seen: &NamedFile<'_>,
    id: NodeId,
    owner: Option<NodeId>,
) -> Result<(NodeId, Option<NodeId>), &'static str> {
    let tree = seen.tree;
    let is_call = |id: NodeId| {
        let call = seen.parent(id);
        matches!(tree.kind(call), "call_expression" | "call") && tree.field(id) == "function"
    };
    match owner {
        None if is_call(id) && seen.scopes.of_leaf(id) == IdentifierUse::Free => Ok((seen.parent(id), None)),
        None => Err("it is used in another way"),
        Some(class) => {
            let member = seen.parent(id);
            let object = tree
                .child(member, "object")
                .filter(|object| *object != id)
                .ok_or("it is used in another way")?;
            let is_member = matches!(tree.kind(member), "attribute" | "member_expression")
                && tree.kids(member).len() == 3;
            let is_own = crate::check::names::is_own_object(seen, id, object, class)
                && is_this_object(seen, object, class);
            if is_member && is_own && is_call(member) {
                Ok((seen.parent(member), Some(object)))
            } else {
                Err("it is used in another way")
            }
        }
    }
}

/// Reports whether `self` or `this` is the object of the class. `self` is an ordinary name and may be
/// reassigned. `this` is the class in static code, and another object in a nested function.
fn is_this_object(seen: &NamedFile<'_>, object: NodeId, class: NodeId) -> bool {
    const HOMES: &[&str] = &[
        "method_definition",
        "function_expression",
        "function_declaration",
        "generator_function",
        "generator_function_declaration",
        "class_static_block",
        "field_definition",
        "public_field_definition",
    ];
    let tree = seen.tree;
    match seen.scopes.of_leaf(object) {
        IdentifierUse::Local(own) => !tree.walk(tree.root).any(|id| {
            tree.is_leaf(id)
                && matches!(seen.scopes.of_leaf(id), IdentifierUse::Local(binding) | IdentifierUse::Named(binding) if binding == own)
                && is_assigned(seen, id)
        }),
        _ => seen.enclosing(object, HOMES).is_some_and(|home| {
            tree.child(class, "body") == Some(seen.parent(home))
                && !tree.has_token(home, "static")
                && tree.kind(home) != "class_static_block"
        }),
    }
}

#[derive(Clone, Copy)]
enum FunctionShape {
    /// Only a `return` of this value.
    Value(NodeId),
    /// Statements without a return.
    Statements,
    /// Statements that end with a return; others may return too.
    Returns,
}

fn shape(seen: &NamedFile<'_>, body: NodeId) -> Result<FunctionShape, &'static str> {
    let tree = seen.tree;
    let statements: Vec<NodeId> = tree.named_kids(body).collect();
    if let [only] = statements[..]
        && tree.kind(only) == "return_statement"
    {
        let value = tree.kids(only).get(1).copied().ok_or("it returns nothing")?;
        return Ok(FunctionShape::Value(value));
    }
    let returns = tree.walk(body).any(|id| tree.kind(id) == "return_statement");
    match statements.last() {
        None => Err("it does nothing"),
        Some(_) if !returns => Ok(FunctionShape::Statements),
        Some(last)
            if matches!(tree.kind(*last), "return_statement" | "raise_statement" | "throw_statement") =>
        {
            Ok(FunctionShape::Returns)
        }
        Some(_) => Err("it returns from the middle"),
    }
}

fn parameters(seen: &NamedFile<'_>, function: NodeId) -> Result<Vec<u32>, &'static str> {
    let tree = seen.tree;
    let list = tree.child(function, "parameters").ok_or("no parameters")?;
    let mut found = Vec::new();
    for parameter in tree.named_kids(list) {
        let name = match tree.kind(parameter) {
            "identifier" => parameter,
            "required_parameter" if tree.child(parameter, "value").is_none() => tree
                .child(parameter, "pattern")
                .filter(|name| tree.kind(*name) == "identifier")
                .ok_or("a pattern")?,
            _ => return Err("parameters that are not plain"),
        };
        match seen.scopes.of_leaf(name) {
            IdentifierUse::Local(binding) => found.push(binding),
            _ => return Err("parameters that are not plain"),
        }
    }
    Ok(found)
}

/// Maps each use of a parameter to its argument.
fn arguments(
    seen: &NamedFile<'_>,
    call: NodeId,
    parameters: &[u32],
    body: NodeId,
) -> Result<QuickMap<NodeId, NodeId>, &'static str> {
    let tree = seen.tree;
    let list = tree.child(call, "arguments").ok_or("no arguments")?;
    let arguments: Vec<NodeId> = tree.named_kids(list).collect();
    if arguments.len() != parameters.len() || has_optional(seen, call) {
        return Err("arguments that do not fit");
    }
    for argument in &arguments {
        let is_plain = tree.is_leaf(*argument)
            && effect(seen, *argument) <= ExprEffect::Local
            && tree.kind(*argument) != "this";
        if !is_plain {
            return Err("an argument that is evaluated");
        }
        if let IdentifierUse::Local(binding) | IdentifierUse::Named(binding) = seen.scopes.of_leaf(*argument)
            && is_shared(seen, binding)
        {
            return Err("an argument that may change meanwhile");
        }
    }
    let mut fill = QuickMap::default();
    for id in tree.walk(body).filter(|id| tree.is_leaf(*id)) {
        match seen.scopes.of_leaf(id) {
            IdentifierUse::Local(binding) => {
                if let Some(at) = parameters.iter().position(|parameter| *parameter == binding) {
                    fill.insert(id, arguments[at]);
                }
            }
            IdentifierUse::Named(binding) if parameters.contains(&binding) => {
                return Err("a parameter whose name counts");
            }
            _ => {}
        }
    }
    Ok(fill)
}

fn has_optional(seen: &NamedFile<'_>, call: NodeId) -> bool {
    seen.tree.kids(call).iter().any(|kid| matches!(seen.tree.kind(*kid), "optional_chain" | "type_arguments"))
}

fn clone_fill(fill: &QuickMap<NodeId, NodeId>) -> QuickMap<NodeId, NodeId> {
    fill.iter().map(|(from, to)| (*from, *to)).collect()
}
