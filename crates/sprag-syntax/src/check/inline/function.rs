//! A private function that is only called: its body takes the place of the calls.

use super::super::effects::{Effect, effect};
use super::super::names::Seen;
use super::super::scope::Use;
use super::{Edit, Put, runs_before};
use crate::lang::Lang;
use crate::symbol::{QuickMap, Sym};
use crate::tree::Id;

pub(super) fn is_function(seen: &Seen<'_>, name: Id) -> bool {
    matches!(
        seen.tree.kind(seen.parent(name)),
        "function_declaration" | "function_definition" | "method_definition"
    )
}

pub(super) fn plan(seen: &Seen<'_>, name: Id) -> Result<Edit, &'static str> {
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
    // A method of Python is given its object first.
    let receiver = match (tree.lang, owner) {
        (Lang::Python, Some(_)) if parameters.is_empty() => return Err("a method without an object"),
        (Lang::Python, Some(_)) => Some(parameters.remove(0)),
        _ => None,
    };
    let body = tree.child(function, "body").ok_or("no body")?;
    let shape = shape(seen, body)?;
    check_body(seen, body, owner)?;
    let mut edit = Edit::default();
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
            for leaf in tree.walk(body).filter(|leaf| seen.scopes.of_leaf(*leaf) == Use::Local(receiver)) {
                fill.insert(leaf, object);
            }
        }
        check_names(seen, call, body)?;
        let statement = seen.parent(call);
        let holder = seen.parent(statement);
        let is_listed = matches!(tree.kind(holder), "statement_block" | "block" | "program" | "module");
        let is_alone = tree.named_kids(statement).count() == 1;
        let statements =
            || tree.named_kids(body).map(|kid| Put::Filled(kid, clone_fill(&fill))).collect::<Vec<_>>();
        match shape {
            Shape::Value(value) => edit.put(call, vec![Put::Filled(value, fill)]),
            // Returning from the function is returning from the caller.
            Shape::Returns if tree.kind(statement) == "return_statement" && is_alone && is_listed => {
                edit.put(statement, statements());
            }
            Shape::Statements if tree.kind(statement) == "expression_statement" && is_alone => {
                if !is_listed && tree.named_kids(body).count() != 1 {
                    return Err("there is no room for its body");
                }
                edit.put(statement, statements());
            }
            Shape::Returns | Shape::Statements => return Err("its value is used"),
        }
        count += 1;
    }
    if count == 0 {
        return Err("it is not called");
    }
    edit.remove(function);
    Ok(edit)
}

/// The class of a private method, `None` for a private function of a module.
fn owner(seen: &Seen<'_>, name: Id, function: Id) -> Result<Option<Id>, &'static str> {
    let tree = seen.tree;
    let holder = seen.parent(function);
    match (tree.lang, tree.kind(holder)) {
        (Lang::Python, "module") if seen.text(name).starts_with('_') => Ok(None),
        (Lang::Python, "block") if seen.text(name).starts_with('_') && !seen.text(name).starts_with("__") => {
            let class = seen.parent(holder);
            if tree.kind(class) == "class_definition" {
                Ok(Some(class))
            } else {
                Err("not a private function")
            }
        }
        (_, "program") if tree.lang.is_script() => Ok(None),
        (_, "class_body") if tree.lang.is_script() => {
            let modifiers =
                tree.kids(function).iter().filter(|kid| tree.kind(**kid) == "accessibility_modifier");
            let is_private = seen.text(name).starts_with('#')
                || modifiers.into_iter().any(|kid| tree.has_token(*kid, "private"));
            let is_plain = !["get", "set", "static"].iter().any(|token| tree.has_token(function, token));
            let siblings = tree.kids(holder);
            let at = siblings.iter().position(|kid| *kid == function).unwrap_or(0);
            let is_decorated = at > 0 && tree.kind(siblings[at - 1]) == "decorator";
            if is_private && is_plain && !is_decorated {
                Ok(Some(seen.parent(holder)))
            } else {
                Err("not a private function")
            }
        }
        _ => Err("not a private function"),
    }
}

/// The call that `id` names the function of, and the object it is called on.
fn called(seen: &Seen<'_>, id: Id, owner: Option<Id>) -> Result<(Id, Option<Id>), &'static str> {
    let tree = seen.tree;
    let is_call = |id: Id| {
        let call = seen.parent(id);
        matches!(tree.kind(call), "call_expression" | "call") && tree.field(id) == "function"
    };
    match owner {
        None if is_call(id) && seen.scopes.of_leaf(id) == Use::Free => Ok((seen.parent(id), None)),
        None => Err("it is used in another way"),
        Some(class) => {
            let member = seen.parent(id);
            let object = tree
                .child(member, "object")
                .filter(|object| *object != id)
                .ok_or("it is used in another way")?;
            let is_member = matches!(tree.kind(member), "attribute" | "member_expression")
                && tree.kids(member).len() == 3;
            let is_own = super::super::names::is_own_object(seen, id, object, class);
            if is_member && is_own && is_call(member) {
                Ok((seen.parent(member), Some(object)))
            } else {
                Err("it is used in another way")
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Shape {
    /// Nothing but a `return` of this.
    Value(Id),
    /// Statements, none of which returns.
    Statements,
    /// Statements of which the last one returns, and others may.
    Returns,
}

fn shape(seen: &Seen<'_>, body: Id) -> Result<Shape, &'static str> {
    let tree = seen.tree;
    let statements: Vec<Id> = tree.named_kids(body).collect();
    if let [only] = statements[..]
        && tree.kind(only) == "return_statement"
    {
        let value = tree.kids(only).get(1).copied().ok_or("it returns nothing")?;
        return Ok(Shape::Value(value));
    }
    let returns = tree.walk(body).any(|id| tree.kind(id) == "return_statement");
    match statements.last() {
        None => Err("it does nothing"),
        Some(_) if !returns => Ok(Shape::Statements),
        Some(last)
            if matches!(tree.kind(*last), "return_statement" | "raise_statement" | "throw_statement") =>
        {
            Ok(Shape::Returns)
        }
        Some(_) => Err("it returns from the middle"),
    }
}

fn parameters(seen: &Seen<'_>, function: Id) -> Result<Vec<u32>, &'static str> {
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
            Use::Local(binding) => found.push(binding),
            _ => return Err("parameters that are not plain"),
        }
    }
    Ok(found)
}

/// What would mean something else in another function.
fn check_body(seen: &Seen<'_>, body: Id, owner: Option<Id>) -> Result<(), &'static str> {
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
        );
        // In a method of the same class it is the same object.
        let is_bound = is_bound && !(tree.kind(id) == "this" && owner.is_some());
        let is_named = tree.is_leaf(id)
            && matches!(
                seen.text(id),
                "arguments" | "super" | "locals" | "eval" | "exec" | "vars" | "__class__" | "await" | "yield"
            );
        if is_bound || is_named {
            return Err("its body belongs where it is");
        }
        if let Use::Local(binding) = seen.scopes.of_leaf(id)
            && is_assigned(seen, id)
            && seen.scopes.bindings[binding as usize].at != id
        {
            return Err("it assigns");
        }
    }
    Ok(())
}

/// Each use of a parameter with the argument it stands for.
fn arguments(
    seen: &Seen<'_>,
    call: Id,
    parameters: &[u32],
    body: Id,
) -> Result<QuickMap<Id, Id>, &'static str> {
    let tree = seen.tree;
    let list = tree.child(call, "arguments").ok_or("no arguments")?;
    let arguments: Vec<Id> = tree.named_kids(list).collect();
    if arguments.len() != parameters.len() || has_optional(seen, call) {
        return Err("arguments that do not fit");
    }
    for argument in &arguments {
        let is_plain = tree.is_leaf(*argument)
            && effect(seen, *argument) <= Effect::Local
            && tree.kind(*argument) != "this";
        if !is_plain {
            return Err("an argument that is evaluated");
        }
        if let Use::Local(binding) | Use::Named(binding) = seen.scopes.of_leaf(*argument)
            && is_shared(seen, binding)
        {
            return Err("an argument that may change meanwhile");
        }
    }
    let mut fill = QuickMap::default();
    for id in tree.walk(body).filter(|id| tree.is_leaf(*id)) {
        match seen.scopes.of_leaf(id) {
            Use::Local(binding) => {
                if let Some(at) = parameters.iter().position(|parameter| *parameter == binding) {
                    fill.insert(id, arguments[at]);
                }
            }
            Use::Named(binding) if parameters.contains(&binding) => {
                return Err("a parameter whose name counts");
            }
            _ => {}
        }
    }
    Ok(fill)
}

fn has_optional(seen: &Seen<'_>, call: Id) -> bool {
    seen.tree.kids(call).iter().any(|kid| matches!(seen.tree.kind(*kid), "optional_chain" | "type_arguments"))
}

/// Names of the body must mean at the call what they mean in the function.
fn check_names(seen: &Seen<'_>, call: Id, body: Id) -> Result<(), &'static str> {
    let tree = seen.tree;
    let caller = outermost(seen, call);
    let bound: Vec<Sym> = tree
        .walk(caller)
        .filter(|id| tree.is_leaf(*id))
        .filter_map(|id| match seen.scopes.of_leaf(id) {
            Use::Local(binding) | Use::Named(binding) => Some(seen.scopes.bindings[binding as usize].name),
            _ => None,
        })
        .collect();
    let all: Vec<Sym> = tree.walk(caller).filter(|id| tree.is_leaf(*id)).map(|id| tree.sym(id)).collect();
    for id in tree.walk(body).filter(|id| tree.is_leaf(*id)) {
        let clashes = match seen.scopes.of_leaf(id) {
            Use::Free => bound.contains(&tree.sym(id)),
            Use::Local(binding) => {
                let declared = seen.scopes.bindings[binding as usize].at;
                tree.walk(body).any(|inner| inner == declared) && all.contains(&tree.sym(id))
            }
            Use::Named(_) | Use::Text => false,
        };
        if clashes {
            return Err("a name would be captured");
        }
    }
    Ok(())
}

fn outermost(seen: &Seen<'_>, id: Id) -> Id {
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

fn is_assigned(seen: &Seen<'_>, id: Id) -> bool {
    let parent = seen.parent(id);
    let kind = seen.tree.kind(parent);
    (seen.tree.field(id) == "left" && kind.contains("assignment"))
        || matches!(
            kind,
            "update_expression" | "delete_statement" | "for_in_statement" | "pattern_list" | "array_pattern"
        ) && seen.tree.field(id) != "right"
        || (kind == "expression_list"
            && matches!(seen.tree.kind(seen.parent(parent)), "assignment")
            && seen.tree.field(parent) == "left")
}

/// A local that is assigned again and that a function inside can see.
fn is_shared(seen: &Seen<'_>, binding: u32) -> bool {
    let tree = seen.tree;
    let functions = [
        "function_definition",
        "lambda",
        "arrow_function",
        "function_expression",
        "function_declaration",
        "method_definition",
    ];
    let declared = seen.scopes.bindings[binding as usize].at;
    let home = seen.enclosing(declared, &functions);
    let uses: Vec<Id> = tree
        .walk(tree.root)
        .filter(|id| matches!(seen.scopes.of_leaf(*id), Use::Local(other) | Use::Named(other) if other == binding))
        .collect();
    let is_captured = uses.iter().any(|id| seen.enclosing(*id, &functions) != home);
    let is_reassigned = uses.iter().any(|id| *id != declared && is_assigned(seen, *id));
    is_captured && is_reassigned
}

fn clone_fill(fill: &QuickMap<Id, Id>) -> QuickMap<Id, Id> {
    fill.iter().map(|(from, to)| (*from, *to)).collect()
}
