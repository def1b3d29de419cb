//! The type of a Rust constant. A text, a boolean and a number with a suffix have the same type everywhere. A
//! bare number takes the type of its context, which must be known to equal that of the constant.

use crate::check::names::NamedFile;
use crate::check::scope::IdentifierUse;
use crate::tree::NodeId;

/// The source of the type of a literal.
#[derive(Clone, Copy)]
pub(crate) enum Typed<'a> {
    Itself,
    /// The context decides; it must be this type.
    ByPlace(&'a str),
}

/// Returns how a literal gets the declared type of a constant, or `None` if it cannot have that type.
pub(crate) fn typed<'a>(seen: &'a NamedFile<'_>, of: NodeId, value: NodeId) -> Option<Typed<'a>> {
    const NUMBERS: &[&str] = &[
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    ];
    let tree = seen.tree;
    let spelled: Vec<&str> = tree.walk(of).filter(|id| tree.is_leaf(*id)).map(|id| seen.text(id)).collect();
    let literal = if tree.is_leaf(value) { seen.text(value) } else { "" };
    match (tree.kind(value), spelled.as_slice()) {
        ("string_literal", ["&", "str"] | ["&", "'static", "str"]) => {
            literal.starts_with('"').then_some(Typed::Itself)
        }
        ("raw_string_literal", ["&", "str"] | ["&", "'static", "str"]) => {
            literal.starts_with('r').then_some(Typed::Itself)
        }
        ("boolean_literal", ["bool"]) => Some(Typed::Itself),
        ("char_literal", ["char"]) => literal.starts_with('\'').then_some(Typed::Itself),
        ("integer_literal" | "float_literal", [of]) if NUMBERS.contains(of) => {
            match NUMBERS.iter().find(|suffix| literal.ends_with(**suffix)) {
                None => Some(Typed::ByPlace(of)),
                Some(suffix) => (suffix == of).then_some(Typed::Itself),
            }
        }
        _ => None,
    }
}

/// Reports whether a bare number at the position of `id` has the type `of`.
pub(crate) fn has_type(seen: &NamedFile<'_>, id: NodeId, of: &str) -> bool {
    let tree = seen.tree;
    let parent = seen.parent(id);
    let is_of = |kind: Option<NodeId>| kind.is_some_and(|kind| tree.is_leaf(kind) && seen.text(kind) == of);
    match tree.kind(parent) {
        "let_declaration" | "const_item" | "static_item" => {
            tree.field(id) == "value" && is_of(tree.child(parent, "type"))
        }
        "array_type" | "array_expression" => tree.field(id) == "length" && of == "usize",
        "return_expression" => {
            let function = seen.enclosing(id, &["function_item", "closure_expression", "async_block"]);
            function.is_some_and(|function| {
                tree.kind(function) == "function_item" && is_of(tree.child(function, "return_type"))
            })
        }
        "block" => {
            let function = seen.parent(parent);
            let ends = tree.kids(parent).iter().rev().nth(1) == Some(&id);
            ends && tree.kind(function) == "function_item" && is_of(tree.child(function, "return_type"))
        }
        "arguments" => {
            let call = seen.parent(parent);
            let place = tree.named_kids(parent).position(|kid| kid == id);
            let parameter = || {
                let callee = tree.child(call, "function")?;
                let function = declared(seen, callee, "function_item")?;
                let list = tree.child(function, "parameters")?;
                let parameter = tree.named_kids(list).nth(place?)?;
                tree.child(parameter, "type")
            };
            is_of(parameter())
        }
        "field_initializer" => {
            let field = || {
                let literal = seen.enclosing(id, &["struct_expression"])?;
                let of = declared(seen, tree.child(literal, "name")?, "struct_item")?;
                let name = tree.child(parent, "field").or_else(|| tree.child(parent, "name"))?;
                field_type(seen, of, name)
            };
            is_of(field())
        }
        "binary_expression" => {
            let is_shift = tree.has_token(parent, "<<") || tree.has_token(parent, ">>");
            let other = tree.named_kids(parent).find(|kid| *kid != id);
            !is_shift && other.is_some_and(|other| is_of(type_of(seen, other)) || is_size(seen, other, of))
        }
        _ => false,
    }
}

/// Returns the declaration of a name in this file, if it has no type parameters.
fn declared(seen: &NamedFile<'_>, name: NodeId, kind: &str) -> Option<NodeId> {
    let tree = seen.tree;
    if !tree.is_leaf(name)
        || matches!(seen.scopes.of_leaf(name), IdentifierUse::Local(_) | IdentifierUse::Named(_))
    {
        return None;
    }
    let same = tree.kids(tree.root).iter().copied().filter(|item| {
        tree.child(*item, "name").is_some_and(|own| tree.is_leaf(own) && tree.sym(own) == tree.sym(name))
    });
    let found: Vec<NodeId> = same.collect();
    match found[..] {
        [only] if tree.kind(only) == kind && tree.child(only, "type_parameters").is_none() => Some(only),
        _ => None,
    }
}

fn field_type(seen: &NamedFile<'_>, of: NodeId, name: NodeId) -> Option<NodeId> {
    let tree = seen.tree;
    let mut fields = tree.named_kids(tree.child(of, "body")?);
    let is_it =
        |field: &NodeId| tree.child(*field, "name").is_some_and(|own| tree.sym(own) == tree.sym(name));
    tree.child(fields.find(is_it)?, "type")
}

/// Returns the declared type of an operand.
fn type_of(seen: &NamedFile<'_>, id: NodeId) -> Option<NodeId> {
    let tree = seen.tree;
    match (tree.kind(id), seen.scopes.of_leaf(id)) {
        ("type_cast_expression", _) => tree.child(id, "type"),
        ("identifier", IdentifierUse::Local(binding)) => {
            let at = seen.scopes.bindings[binding as usize].at;
            let holder = seen.parent(at);
            let is_plain = tree.child(holder, "pattern") == Some(at);
            match tree.kind(holder) {
                "parameter" | "let_declaration" if is_plain => tree.child(holder, "type"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Reports whether a call returns a size, which always has the type `usize`.
fn is_size(seen: &NamedFile<'_>, id: NodeId, of: &str) -> bool {
    let tree = seen.tree;
    let method = || {
        let callee = tree.child(id, "function").filter(|_| tree.kind(id) == "call_expression")?;
        tree.child(callee, "field")
    };
    of == "usize" && method().is_some_and(|method| matches!(seen.text(method), "len" | "count" | "capacity"))
}
