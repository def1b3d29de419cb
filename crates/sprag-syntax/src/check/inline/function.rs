//! A private function that is only called: its body takes the place of the calls.

use super::super::effects::{Effect, effect};
use super::super::names::Seen;
use super::super::scope::Use;
use super::{Edit, Put, runs_before};
use crate::lang::Lang;
use crate::symbol::{QuickMap, Sym};
use crate::tree::Id;

pub(super) fn is_function(seen: &Seen<'_>, name: Id) -> bool {
    matches!(seen.tree.kind(seen.parent(name)), "function_declaration" | "function_definition")
}

pub(super) fn plan(seen: &Seen<'_>, name: Id) -> Result<Edit, &'static str> {
    let tree = seen.tree;
    let function = seen.parent(name);
    let is_private = match tree.lang {
        Lang::Python => seen.text(name).starts_with('_') && tree.kind(seen.parent(function)) == "module",
        _ if tree.lang.is_script() => tree.kind(seen.parent(function)) == "program",
        _ => false,
    };
    if !is_private || tree.has_token(function, "async") || tree.has_token(function, "*") {
        return Err("not a private function");
    }
    if tree.lang == Lang::Python && runs_before(seen, function) {
        return Err("something may run before it");
    }
    let parameters = parameters(seen, function)?;
    let body = tree.child(function, "body").ok_or("no body")?;
    let shape = shape(seen, body)?;
    check_body(seen, body)?;
    let mut edit = Edit::default();
    let mut count = 0;
    for id in
        tree.walk(tree.root).filter(|id| tree.is_leaf(*id) && *id != name && tree.sym(*id) == tree.sym(name))
    {
        let call = seen.parent(id);
        let is_call = matches!(tree.kind(call), "call_expression" | "call") && tree.field(id) == "function";
        if !is_call || seen.scopes.of_leaf(id) != Use::Free {
            return Err("it is used in another way");
        }
        if tree.walk(function).any(|inner| inner == id) {
            return Err("it calls itself");
        }
        let fill = arguments(seen, call, &parameters, body)?;
        check_names(seen, call, body)?;
        match shape {
            Shape::Value(value) => edit.put(call, vec![Put::Filled(value, fill)]),
            Shape::Statements => {
                let statement = seen.parent(call);
                let holder = seen.parent(statement);
                let is_statement = tree.kind(statement) == "expression_statement"
                    && tree.named_kids(statement).count() == 1
                    && matches!(tree.kind(holder), "statement_block" | "block" | "program" | "module");
                let is_lone =
                    tree.kind(statement) == "expression_statement" && tree.named_kids(body).count() == 1;
                if !is_statement && !is_lone {
                    return Err("its value is used");
                }
                let statements =
                    tree.named_kids(body).map(|kid| Put::Filled(kid, clone_fill(&fill))).collect();
                edit.put(statement, statements);
            }
        }
        count += 1;
    }
    if count == 0 {
        return Err("it is not called");
    }
    edit.remove(function);
    Ok(edit)
}

#[derive(Clone, Copy)]
enum Shape {
    /// Nothing but a `return` of this.
    Value(Id),
    /// Statements, none of which returns.
    Statements,
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
    match tree.walk(body).any(|id| tree.kind(id) == "return_statement") || statements.is_empty() {
        true => Err("it returns from the middle"),
        false => Ok(Shape::Statements),
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
fn check_body(seen: &Seen<'_>, body: Id) -> Result<(), &'static str> {
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
