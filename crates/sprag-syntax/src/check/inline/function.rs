//! A private function that is only called: its body takes the place of the calls.

use super::super::effects::{Effect, effect, is_assigned, is_shared};
use super::super::names::Seen;
use super::super::scope::Use;
use super::{Edit, Put, is_special_place, runs_before};
use crate::lang::Lang;
use crate::symbol::{QuickMap, Sym};
use crate::tree::Id;

/// More calls are not looked at.
const MANY: usize = 64;

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
        check_place(seen, call, body, shape)?;
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

/// What the place of a call would make of a body.
fn check_place(seen: &Seen<'_>, call: Id, body: Id, shape: Shape) -> Result<(), &'static str> {
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
    // Names of a class's body are looked up in the class first.
    if scope.is_some_and(|scope| tree.kind(scope) == "class_definition") {
        return Err("a name may be captured by a class");
    }
    let binds = tree.walk(body).any(|id| {
        matches!(seen.scopes.of_leaf(id), Use::Local(binding) | Use::Named(binding)
            if seen.scopes.bindings[binding as usize].at == id)
    });
    if scope.is_none() && binds && !matches!(shape, Shape::Value(_)) {
        return Err("its names would be the module's");
    }
    // What locals hold is dropped when a function of Python ends.
    if tree.lang == Lang::Python && binds && matches!(shape, Shape::Statements) {
        return Err("its values would be dropped later");
    }
    match shape {
        Shape::Value(value) if is_special_place(seen, call, value) => {
            Err("its place takes more than a value")
        }
        _ => Ok(()),
    }
}

/// The class of a private method, `None` for a private function of a module.
fn owner(seen: &Seen<'_>, name: Id, function: Id) -> Result<Option<Id>, &'static str> {
    let tree = seen.tree;
    let holder = seen.parent(function);
    match (tree.lang, tree.kind(holder)) {
        (Lang::Python, "module") if seen.text(name).starts_with('_') => Ok(None),
        (Lang::Python, "block") if seen.text(name).starts_with('_') && !seen.text(name).starts_with("__") => {
            let class = seen.parent(holder);
            let is_heir = tree.child(class, "superclasses").is_some();
            match tree.kind(class) {
                // A class may inherit a method of that name, and call it.
                "class_definition" if is_heir => Err("it may override another"),
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
            let is_own =
                super::super::names::is_own_object(seen, id, object, class) && !is_given_anew(seen, object);
            if is_member && is_own && is_call(member) {
                Ok((seen.parent(member), Some(object)))
            } else {
                Err("it is used in another way")
            }
        }
    }
}

/// `self` is a name like any other, and may be another object further down.
fn is_given_anew(seen: &Seen<'_>, object: Id) -> bool {
    let Use::Local(own) = seen.scopes.of_leaf(object) else { return false };
    let tree = seen.tree;
    tree.walk(tree.root).any(|id| {
        tree.is_leaf(id)
            && matches!(seen.scopes.of_leaf(id), Use::Local(binding) | Use::Named(binding) if binding == own)
            && is_assigned(seen, id)
    })
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
                | "generator_expression"
                | "generator_function"
                | "generator_function_declaration"
                | "method_definition"
                | "class"
                | "labeled_statement"
                | "import_statement"
                | "import_from_statement"
        );
        // `f"{x}"` is as good as any expression; `f"{x=}"` is one leaf and prints itself.
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
            && matches!(seen.scopes.of_leaf(id), Use::Local(_));
        if is_directive || is_mangled || is_tag {
            return Err("its body means something else elsewhere");
        }
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

fn clone_fill(fill: &QuickMap<Id, Id>) -> QuickMap<Id, Id> {
    fill.iter().map(|(from, to)| (*from, *to)).collect()
}
