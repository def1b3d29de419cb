//! Declarations whose names may change, and their visibility to other files.

use super::imports::takes_all;
use super::reflection::RuntimeShape;
use super::{Declaration, Declares, IdentifierUse, NameVisibility, NamedFile};
use crate::lang::Lang;
use crate::tree::NodeId;

/// Returns the declaration that an identifier names, if any. Returns an error if the name must not change.
pub(crate) fn declares(
    seen: &NamedFile<'_>,
    file: usize,
    id: NodeId,
) -> Result<Option<Declaration>, &'static str> {
    let tree = seen.tree;
    if tree.field(id) != "name" && tree.field(id) != "property" {
        return Ok(None);
    }
    let node = seen.parent(id);
    if seen.enclosing(node, &["ambient_declaration"]).is_some() {
        return Err("it is declared elsewhere");
    }
    let shape = shape(seen, node);
    let found = |kind, owner| Ok(Some(Declaration { file, kind, owner, shape }));
    match (tree.lang, tree.kind(node)) {
        (Lang::Rust, "function_item" | "const_item" | "static_item") => {
            attributes_allow(seen, node)?;
            match seen.enclosing(node, &["impl_item", "trait_item"]) {
                // A nested function is visible only inside its function.
                _ if seen.enclosing(node, &["block"]).is_some() => found(Declares::Top, None),
                None => found(Declares::Top, None),
                Some(owner) if tree.kind(owner) == "trait_item" || tree.child(owner, "trait").is_some() => {
                    Err("a trait knows it by that name")
                }
                Some(owner) => found(Declares::Method, Some(owner)),
            }
        }
        (Lang::Rust, "struct_item" | "enum_item" | "type_item" | "union_item") => {
            attributes_allow(seen, node)?;
            found(Declares::Top, None)
        }
        (
            Lang::Rust,
            "function_signature_item" | "trait_item" | "mod_item" | "macro_definition" | "associated_type",
        ) => Err("others may implement or import it"),
        (Lang::Rust, "field_declaration" | "enum_variant") => Err("it is part of a shape"),
        // A function without a body is written in another language.
        (Lang::Go, "function_declaration") if tree.child(node, "body").is_none() => {
            Err("it is linked by that name")
        }
        (Lang::Go, "function_declaration") => found(Declares::Top, None),
        (Lang::Go, "type_spec" | "type_alias") => Err("a type is printed and encoded under its name"),
        (Lang::Go, "const_spec" | "var_spec") if seen.enclosing(node, &["block"]).is_none() => {
            found(Declares::Top, None)
        }
        (Lang::Go, "method_declaration") => {
            let is_exported = seen.text(id).starts_with(|c: char| c.is_uppercase());
            if is_exported {
                return Err("an interface may know it by that name");
            }
            found(Declares::Method, Some(node))
                .map(|found| found.map(|it| Declaration { owner: first_method(seen, node), ..it }))
        }
        (Lang::Go, "method_elem" | "field_declaration") => Err("it is part of a shape"),
        (Lang::Java, "method_declaration") => java_method(seen, file, node),
        (Lang::Java, "variable_declarator") => {
            let field = seen.parent(node);
            if tree.kind(field) != "field_declaration" {
                return Ok(None);
            }
            let owner = seen.class_of(field);
            let class_is_plain = owner.is_some_and(|owner| !has_annotation(seen, owner));
            // Serializers write the field names of an object.
            let is_own = has_modifier(seen, field, "private") && has_modifier(seen, field, "static");
            if is_own && !has_annotation(seen, field) && class_is_plain {
                found(Declares::Field, owner)
            } else {
                Err("a field that others may see")
            }
        }
        (
            Lang::Java,
            "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration",
        ) => Err("a type of Java goes by its name in other files"),
        (Lang::Python, "function_definition") => python_function(seen, file, node),
        (Lang::Python, "class_definition") => Err("a class is shown and stored under its name"),
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, kind) => script(seen, file, id, node, kind),
        _ => Ok(None),
    }
}

/// Returns who can use the declaration that `id` names.
pub(crate) fn reach(seen: &NamedFile<'_>, id: NodeId) -> NameVisibility {
    let tree = seen.tree;
    let node = seen.parent(id);
    let is_hidden = match tree.lang {
        Lang::Rust => !tree.kids(node).iter().any(|kid| tree.kind(*kid) == "visibility_modifier"),
        // A method with another name implements other interfaces.
        Lang::Go => tree.kind(node) != "method_declaration" && !seen.text(id).starts_with(char::is_uppercase),
        Lang::Java => [node, seen.parent(node)].iter().any(|part| has_modifier(seen, *part, "private")),
        Lang::Python => false,
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let is_member = matches!(tree.kind(node), "method_definition" | "field_definition");
            if is_member || tree.kind(node) == "public_field_definition" {
                seen.text(id).starts_with('#') || has_modifier(seen, node, "private")
            } else {
                !is_exported(seen, id)
            }
        }
    };
    if is_hidden { NameVisibility::File } else { NameVisibility::Tree }
}

/// Returns who could take the new declaration `id` for another one. These are Rust modules in separate files
/// with a glob import, where the name may have come from elsewhere so far.
pub(crate) fn reach_of_new(seen: &NamedFile<'_>, id: NodeId) -> NameVisibility {
    let tree = seen.tree;
    let items = tree.kids(tree.root);
    let is_file = |item: &NodeId| tree.kind(*item) == "mod_item" && tree.child(*item, "body").is_none();
    let is_open = tree.lang == Lang::Rust
        && items.contains(&seen.parent(id))
        && items.iter().any(|item| takes_all(tree, *item))
        && items.iter().any(is_file);
    if is_open { NameVisibility::Tree } else { NameVisibility::File }
}

/// Reports whether a module exports a name, by `export` or through an exported object.
fn is_exported(seen: &NamedFile<'_>, name: NodeId) -> bool {
    let tree = seen.tree;
    tree.walk(tree.root).filter(|id| tree.is_leaf(*id)).any(|id| {
        let gives =
            matches!(seen.text(id), "module" | "exports") && seen.scopes.of_leaf(id) == IdentifierUse::Free;
        let is_named = tree.field(id) == "name" || tree.kind(seen.parent(id)) == "export_statement";
        let is_given = is_named && seen.enclosing(id, &["export_statement"]).is_some();
        gives || tree.sym(id) == tree.sym(name) && is_given
    })
}

fn shape(seen: &NamedFile<'_>, node: NodeId) -> RuntimeShape {
    let tree = seen.tree;
    let holds_code = |value: NodeId| {
        tree.walk(value).any(|id| tree.kind(id).contains("function") || tree.kind(id).starts_with("class"))
    };
    match tree.kind(node) {
        // A variable gives its name to an anonymous function or class.
        "variable_declarator" if !tree.child(node, "value").is_some_and(holds_code) => RuntimeShape::Value,
        "interface_declaration" | "type_alias_declaration" => RuntimeShape::Erased,
        "class_definition" | "class_declaration" | "abstract_class_declaration" => RuntimeShape::Class,
        _ => RuntimeShape::Function,
    }
}

fn script(
    seen: &NamedFile<'_>,
    file: usize,
    id: NodeId,
    node: NodeId,
    kind: &str,
) -> Result<Option<Declaration>, &'static str> {
    let tree = seen.tree;
    let shape = shape(seen, node);
    let found = |kind, owner| Ok(Some(Declaration { file, kind, owner, shape }));
    let is_local = matches!(seen.scopes.of_leaf(id), IdentifierUse::Local(_) | IdentifierUse::Named(_));
    match kind {
        _ if is_local => Ok(None),
        "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "interface_declaration"
        | "type_alias_declaration"
        | "class_declaration"
        | "abstract_class_declaration" => {
            let is_decorated = tree.kids(node).iter().any(|kid| tree.kind(*kid) == "decorator")
                || tree.kids(seen.parent(node)).iter().any(|kid| tree.kind(*kid) == "decorator");
            if is_decorated { Err("a decorator knows it by that name") } else { found(Declares::Top, None) }
        }
        "variable_declarator" => found(Declares::Top, None),
        "enum_declaration" | "internal_module" | "module" => Err("it may be merged with another of its name"),
        "method_definition" => {
            let owner =
                seen.enclosing(node, &["class_declaration", "abstract_class_declaration", "class", "object"]);
            let Some(owner) = owner.filter(|owner| tree.kind(*owner) != "object") else {
                return Err("a key of an object");
            };
            let is_private = seen.text(id).starts_with('#') || has_modifier(seen, node, "private");
            let has_heritage = tree.kids(owner).iter().any(|kid| tree.kind(*kid) == "class_heritage");
            let body = seen.parent(node);
            let at = tree.kids(body).iter().position(|kid| *kid == node).unwrap_or(0);
            let is_decorated = at > 0 && tree.kind(tree.kids(body)[at - 1]) == "decorator"
                || tree.kids(node).iter().any(|kid| tree.kind(*kid) == "decorator");
            let is_accessor = tree.has_token(node, "get") || tree.has_token(node, "set");
            let is_plain_class = is_private || !has_decorator(seen, owner);
            // An interface contains no private members; a base class may have a member of that name.
            let is_hidden = seen.text(id).starts_with('#');
            let is_extended =
                tree.walk(owner).take_while(|part| tree.kind(*part) != "class_body").any(|part| {
                    tree.kind(part) == "extends_clause"
                        || tree.kind(part) == "class_heritage" && tree.lang == Lang::JavaScript
                });
            let is_protected = has_modifier(seen, node, "protected");
            let is_own = is_hidden || is_private && !is_extended || !has_heritage && !is_protected;
            if is_own && !is_decorated && !is_accessor && is_plain_class {
                found(Declares::Method, Some(owner))
            } else {
                Err("a class further up may know it by that name")
            }
        }
        "public_field_definition" | "field_definition" => {
            let owner = seen.class_of(node);
            // Only these fields are hidden from code that lists the fields of an object.
            let is_hidden = seen.text(id).starts_with('#');
            let is_decorated = tree.kids(node).iter().any(|kid| tree.kind(*kid) == "decorator");
            if is_hidden && !is_decorated {
                found(Declares::Field, owner)
            } else {
                Err("a field that others may see")
            }
        }
        _ => Ok(None),
    }
}

fn has_decorator(seen: &NamedFile<'_>, class: NodeId) -> bool {
    [class, seen.parent(class)]
        .iter()
        .any(|node| seen.tree.kids(*node).iter().any(|kid| seen.tree.kind(*kid) == "decorator"))
}

fn python_function(
    seen: &NamedFile<'_>,
    file: usize,
    node: NodeId,
) -> Result<Option<Declaration>, &'static str> {
    let tree = seen.tree;
    let wrapper = seen.parent(node);
    if tree.kind(wrapper) == "decorated_definition" {
        let harmless =
            tree.kids(wrapper).iter().filter(|kid| tree.kind(**kid) == "decorator").all(|decorator| {
                let name = tree.kids(*decorator).get(1).filter(|name| tree.is_leaf(**name));
                name.is_some_and(|name| matches!(seen.text(*name), "staticmethod" | "classmethod"))
            });
        if !harmless {
            return Err("a decorator may know it by that name");
        }
    }
    match seen.enclosing(node, &["class_definition", "function_definition"]) {
        None => {
            Ok(Some(Declaration { file, kind: Declares::Top, owner: None, shape: RuntimeShape::Function }))
        }
        Some(owner) if tree.kind(owner) == "class_definition" => {
            let is_plain = tree.child(owner, "superclasses").is_none()
                && tree.kind(seen.parent(owner)) != "decorated_definition";
            if is_plain {
                Ok(Some(Declaration {
                    file,
                    kind: Declares::Method,
                    owner: Some(owner),
                    shape: RuntimeShape::Function,
                }))
            } else {
                Err("a class further up may know it by that name")
            }
        }
        // A local; its scope handles it.
        Some(_) => Ok(None),
    }
}

fn java_method(seen: &NamedFile<'_>, file: usize, node: NodeId) -> Result<Option<Declaration>, &'static str> {
    let tree = seen.tree;
    let owner = seen.class_of(node).ok_or("a method of no class")?;
    if has_annotation(seen, node) {
        return Err("an annotation may know it by that name");
    }
    // A native method is written in another language.
    if has_modifier(seen, node, "native") {
        return Err("it is linked by that name");
    }
    let has_supers = ["superclass", "interfaces"].iter().any(|field| tree.child(owner, field).is_some())
        || tree.kind(owner) != "class_declaration";
    let is_own = has_modifier(seen, node, "private") || has_modifier(seen, node, "static");
    // Bean properties are found by the names of their methods.
    let name = tree.child(node, "name").map(|name| seen.text(name)).unwrap_or_default();
    let is_property = ["get", "set", "is"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()))
    });
    let is_final = has_modifier(seen, node, "final") || has_modifier(seen, owner, "final");
    if is_own || marks_overrides(seen, owner) || is_final && !has_supers && !is_property {
        Ok(Some(Declaration {
            file,
            kind: Declares::Method,
            owner: Some(owner),
            shape: RuntimeShape::Function,
        }))
    } else {
        Err("a class further up may know it by that name")
    }
}

/// Reports whether a class marks its overrides consistently. Then a method without `@Override` overrides
/// nothing. One or two marks are not enough.
fn marks_overrides(seen: &NamedFile<'_>, class: NodeId) -> bool {
    const HABIT: usize = 3;
    let tree = seen.tree;
    let is_marked = |member: &NodeId| {
        let modifiers = tree.kids(*member).iter().filter(|kid| tree.kind(**kid) == "modifiers");
        modifiers.flat_map(|modifiers| tree.kids(*modifiers)).any(|mark| {
            tree.kind(*mark) == "marker_annotation"
                && tree.child(*mark, "name").is_some_and(|name| seen.text_or_empty(name) == "Override")
        })
    };
    let Some(body) = tree.child(class, "body").filter(|_| tree.kind(class) == "class_declaration") else {
        return false;
    };
    tree.named_kids(body).filter(is_marked).take(HABIT).count() == HABIT
}

/// Reports whether an identifier is a Java call `method(..)` without a receiver.
pub(crate) fn is_java_call(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let parent = seen.parent(id);
    seen.tree.lang == Lang::Java
        && seen.tree.kind(parent) == "method_invocation"
        && seen.tree.field(id) == "name"
        && seen.tree.child(parent, "object").is_none()
}

/// Returns the receiver of a member, if the identifier is a member.
pub(crate) fn receiver(seen: &NamedFile<'_>, id: NodeId) -> Option<NodeId> {
    let tree = seen.tree;
    let parent = seen.parent(id);
    let (kind, field) = (tree.kind(parent), tree.field(id));
    match (kind, field) {
        ("attribute", "attribute") | ("field_access", "field") | ("member_expression", "property") => {
            tree.child(parent, "object")
        }
        ("field_expression", "field") => tree.child(parent, "value"),
        ("selector_expression", "field") => tree.child(parent, "operand"),
        ("method_invocation", "name") => tree.child(parent, "object"),
        ("scoped_identifier" | "scoped_type_identifier", "name") => {
            tree.child(parent, "path").or(Some(parent))
        }
        ("qualified_type", "name") => tree.child(parent, "package").or(Some(parent)),
        ("method_reference", _) => tree.kids(parent).first().copied().filter(|first| *first != id),
        _ => None,
    }
}

/// Returns the name of the type that a Go method belongs to.
pub(crate) fn go_type<'a>(seen: &'a NamedFile<'_>, method: NodeId) -> Option<&'a str> {
    let receiver = seen.tree.child(method, "receiver")?;
    seen.tree
        .walk(receiver)
        .find(|node| seen.tree.kind(*node) == "type_identifier")
        .map(|node| seen.text(node))
}

/// Returns the first method of a Go type, which counts as the owner of all its methods.
fn first_method(seen: &NamedFile<'_>, method: NodeId) -> Option<NodeId> {
    let own = go_type(seen, method)?;
    let methods = seen
        .tree
        .kids(seen.tree.root)
        .iter()
        .copied()
        .filter(|kid| seen.tree.kind(*kid) == "method_declaration");
    methods.into_iter().find(|other| go_type(seen, *other) == Some(own))
}

fn has_modifier(seen: &NamedFile<'_>, node: NodeId, modifier: &str) -> bool {
    seen.tree.kids(node).iter().any(|kid| {
        matches!(seen.tree.kind(*kid), "modifiers" | "accessibility_modifier")
            && seen.tree.has_token(*kid, modifier)
    })
}

fn has_annotation(seen: &NamedFile<'_>, node: NodeId) -> bool {
    seen.tree.kids(node).iter().filter(|kid| seen.tree.kind(**kid) == "modifiers").any(|modifiers| {
        seen.tree.kids(*modifiers).iter().any(|kid| {
            let is_annotation = matches!(seen.tree.kind(*kid), "annotation" | "marker_annotation");
            let name = seen
                .tree
                .child(*kid, "name")
                .filter(|name| seen.tree.is_leaf(*name))
                .map(|name| seen.text(name));
            is_annotation
                && !matches!(
                    name,
                    Some("Nullable" | "NotNull" | "Nonnull" | "NonNull" | "Deprecated" | "SuppressWarnings")
                )
        })
    })
}

/// Checks that all attributes are known to ignore names.
fn attributes_allow(seen: &NamedFile<'_>, node: NodeId) -> Result<(), &'static str> {
    let tree = seen.tree;
    if let Some(around) = seen.enclosing(node, &["impl_item", "mod_item", "function_item"]) {
        attributes_allow(seen, around)?;
    }
    let siblings = tree.kids(seen.parent(node));
    let at = siblings.iter().position(|kid| *kid == node).unwrap_or(0);
    for sibling in siblings[..at].iter().rev().take_while(|kid| tree.kind(**kid) == "attribute_item") {
        let words: Vec<&str> =
            tree.walk(*sibling).filter(|id| tree.kind(*id) == "identifier").map(|id| seen.text(id)).collect();
        let is_blind = match words.first() {
            Some(
                &("inline" | "must_use" | "allow" | "expect" | "cfg" | "cold" | "test" | "track_caller"),
            ) => true,
            Some(&"derive") => words[1..].iter().all(|derived| {
                matches!(
                    *derived,
                    "Clone" | "Copy" | "PartialEq" | "Eq" | "PartialOrd" | "Ord" | "Hash" | "Default"
                )
            }),
            _ => false,
        };
        if !is_blind {
            return Err("an attribute may know it by that name");
        }
    }
    if tree.has_token(node, "extern")
        || tree
            .kids(node)
            .iter()
            .any(|kid| tree.walk(*kid).take(4).any(|id| tree.kind(id) == "extern_modifier"))
    {
        Err("it is linked by that name")
    } else {
        Ok(())
    }
}
