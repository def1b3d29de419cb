//! Inlining of a private constant whose value is a literal.

mod number;

use super::{NodeEdit, Put, is_literal, is_special_place, runs_before};
use crate::check::effects::is_predeclared;
use crate::check::names::{NamedFile, takes_all};
use crate::check::scope::IdentifierUse;
use crate::lang::Lang;
use crate::tree::NodeId;
use number::Typed;

pub(crate) fn plan(seen: &NamedFile<'_>, name: NodeId) -> Result<NodeEdit, &'static str> {
    let tree = seen.tree;
    let (statement, value, typed) = declaration(seen, name)?;
    if !is_literal(seen, value) {
        return Err("not a literal");
    }
    if tree.lang == Lang::Go && is_predeclared(seen.text(name)) {
        return Err("its name has a global meaning");
    }
    let is_script = matches!(tree.lang, Lang::Python) || tree.lang.is_script();
    if is_script && runs_before(seen, statement) {
        return Err("something may run before it");
    }
    let brings_names =
        |id: NodeId| tree.kind(id) == "wildcard_import" && tree.node(id).start > tree.node(statement).start;
    if tree.lang == Lang::Python && tree.walk(tree.root).any(brings_names) {
        return Err("another module may give it a value");
    }
    let sym = tree.sym(name);
    let mut edit = NodeEdit::default();
    let mut count = 0;
    for id in tree.walk(tree.root).filter(|id| tree.is_leaf(*id) && *id != name) {
        let text = seen.text(id);
        if tree.kind(id).contains("string") && text.contains('{') && text.contains(seen.text(name)) {
            return Err("a text names it");
        }
        if tree.sym(id) != sym {
            continue;
        }
        let is_plain = tree.kind(id) == "identifier" && is_read(seen, id);
        if !is_plain || (is_script && tree.node(id).start < tree.node(statement).start) {
            return Err("it is used in another way");
        }
        let is_number = !tree.kind(value).contains("string");
        if is_number && tree.field(id) == "object" {
            return Err("its type may count");
        }
        if let Typed::ByPlace(of) = typed
            && !number::has_type(seen, id, of)
        {
            return Err("its type may count");
        }
        if is_special_place(seen, id, value)
            || is_compared_by_identity(seen, id, value)
            || is_module_name(seen, id)
        {
            return Err("its place takes more than a value");
        }
        if !is_seen_there(seen, statement, id) {
            return Err("its name may mean something else there");
        }
        count += 1;
        edit.put(id, vec![Put::Node(value)]);
    }
    if count == 0 {
        return Err("it is not used");
    }
    edit.remove(statement);
    Ok(edit)
}

/// Returns the declaring statement, its value and the source of its type.
fn declaration<'a>(
    seen: &'a NamedFile<'_>,
    name: NodeId,
) -> Result<(NodeId, NodeId, Typed<'a>), &'static str> {
    let tree = seen.tree;
    let parent = seen.parent(name);
    let text = seen.text(name);
    match (tree.lang, tree.kind(parent)) {
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, "variable_declarator") => {
            let statement = seen.parent(parent);
            let is_const = tree.child(statement, "kind").is_some_and(|kind| tree.kind(kind) == "const");
            let is_alone =
                tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "variable_declarator").count()
                    == 1;
            let is_private =
                tree.kind(seen.parent(statement)) == "program" && tree.child(parent, "type").is_none();
            let value = tree.child(parent, "value").ok_or("no value")?;
            if is_const && is_alone && is_private {
                Ok((statement, value, Typed::Itself))
            } else {
                Err("not a private constant")
            }
        }
        (Lang::Python, "assignment") => {
            let statement = seen.parent(parent);
            let value = tree.child(parent, "right").ok_or("no value")?;
            let is_private = text.starts_with('_') && tree.kind(seen.parent(statement)) == "module";
            if is_private && tree.child(parent, "left") == Some(name) && tree.child(parent, "type").is_none()
            {
                Ok((statement, value, Typed::Itself))
            } else {
                Err("not a private constant")
            }
        }
        (Lang::Java, "variable_declarator") => {
            let statement = seen.parent(parent);
            let modifiers = tree
                .kids(statement)
                .iter()
                .copied()
                .find(|kid| tree.kind(*kid) == "modifiers")
                .ok_or("no modifiers")?;
            let has = |token: &str| tree.has_token(modifiers, token);
            let is_private = has("static") && has("final") && has("private");
            let is_bare = tree.kids(modifiers).iter().all(|kid| !tree.kind(*kid).contains("annotation"));
            let is_alone =
                tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "variable_declarator").count()
                    == 1;
            let value = tree.child(parent, "value").ok_or("no value")?;
            let of = tree.child(statement, "type").ok_or("no type")?;
            if is_private && is_bare && is_alone && is_field(seen, statement) && java_type(seen, of, value) {
                Ok((statement, value, Typed::Itself))
            } else {
                Err("not a private constant of its literal's type")
            }
        }
        (Lang::Rust, "const_item") => {
            let is_private = !tree.kids(parent).iter().any(|kid| tree.kind(*kid) == "visibility_modifier");
            let value = tree.child(parent, "value").ok_or("no value")?;
            let of = tree.child(parent, "type").ok_or("no type")?;
            match (is_private, number::typed(seen, of, value)) {
                (true, Some(typed)) => Ok((parent, value, typed)),
                (false, _) => Err("not a private constant"),
                (_, None) => Err("not a constant of its literal's type"),
            }
        }
        (Lang::Go, "const_spec") => {
            let statement = seen.parent(parent);
            let is_private =
                !text.starts_with(|c: char| c.is_uppercase()) && tree.child(parent, "type").is_none();
            let specs = tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "const_spec").count();
            let list = tree.child(parent, "value").ok_or("no value")?;
            let names = tree.kids(parent).iter().filter(|kid| tree.field(**kid) == "name").count();
            if is_private
                && specs == 1
                && names == 1
                && tree.kids(list).len() == 1
                && tree.kind(seen.parent(statement)) == "source_file"
            {
                Ok((statement, tree.kids(list)[0], Typed::Itself))
            } else {
                Err("not a private constant")
            }
        }
        _ => Err("not a constant"),
    }
}

fn is_field(seen: &NamedFile<'_>, statement: NodeId) -> bool {
    seen.tree.kind(statement) == "field_declaration"
}

fn java_type(seen: &NamedFile<'_>, of: NodeId, value: NodeId) -> bool {
    let spelled: Vec<&str> =
        seen.tree.walk(of).filter(|id| seen.tree.is_leaf(*id)).map(|id| seen.text(id)).collect();
    let literal = seen.text(value);
    matches!(
        (spelled.as_slice(), seen.tree.kind(value)),
        (["String"], "string_literal") | (["boolean"], "true" | "false") | (["char"], "character_literal")
    ) || (spelled == ["int"]
        && seen.tree.kind(value).ends_with("integer_literal")
        && !literal.ends_with(['l', 'L']))
        || (spelled == ["long"]
            && seen.tree.kind(value).ends_with("integer_literal")
            && literal.ends_with(['l', 'L']))
        || (spelled == ["double"]
            && seen.tree.kind(value) == "decimal_floating_point_literal"
            && !literal.ends_with(['f', 'F']))
}

/// Reports whether a use only reads the constant, and is neither a target nor a pattern.
fn is_read(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    let parent = seen.parent(id);
    let kind = tree.kind(parent);
    let is_target = matches!(tree.field(id), "left" | "name" | "alias" | "pattern" | "label")
        && !matches!(
            kind,
            "binary_expression" | "comparison_operator" | "boolean_operator" | "binary_operator"
        );
    let in_token_tree = kind == "token_tree";
    // A method of a text is the same method for a literal and for a constant.
    let is_receiver = matches!(tree.field(id), "object" | "value" | "operand")
        && matches!(kind, "member_expression" | "attribute" | "field_expression" | "method_invocation");
    let is_known = seen.scopes.of_leaf(id) == IdentifierUse::Free;
    let is_strange = kind.contains("pattern")
        || kind.contains("import")
        || kind.contains("export")
        || matches!(
            kind,
            "type_query"
                | "global_statement"
                | "nonlocal_statement"
                | "delete_statement"
                | "update_expression"
                | "scoped_identifier"
                | "keyword_argument"
                | "jsx_opening_element"
                | "macro_invocation"
                | "use_declaration"
                | "match_pattern"
                | "member_expression"
                | "attribute"
                | "call_expression"
                | "call"
                | "method_reference"
                | "field_expression"
                | "annotation"
                | "element_value_pair"
                | "type_arguments"
                | "selector_expression"
                | "reference_expression"
        ) && !(kind == "keyword_argument" && tree.field(id) == "value");
    // A macro sees the tokens, not their value.
    is_known && !is_target && !in_token_tree && (!is_strange || is_receiver)
}

/// Reports whether the constant is the argument of `require(NAME)` or the like. Bundlers read only literal
/// texts there.
fn is_module_name(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    let callee = tree.child(seen.parent(seen.parent(id)), "function");
    callee.is_some_and(|callee| {
        tree.kind(callee) == "import"
            || (tree.is_leaf(callee) && matches!(seen.text(callee), "require" | "import" | "__import__"))
    })
}

/// Reports whether `is` compares the constant. `x is 1000` compares objects, and another literal is another
/// object.
fn is_compared_by_identity(seen: &NamedFile<'_>, id: NodeId, value: NodeId) -> bool {
    let tree = seen.tree;
    let parent = seen.parent(id);
    let is_single = matches!(tree.kind(value), "none" | "true" | "false");
    let asks = |kid: &NodeId| tree.is_leaf(*kid) && matches!(seen.text(*kid), "is" | "is not");
    tree.lang == Lang::Python
        && tree.kind(parent) == "comparison_operator"
        && !is_single
        && tree.walk(parent).any(|kid| asks(&kid))
}

/// Reports whether all named base types are known to have no constants. These are interfaces of the standard
/// library that the file imports by name.
fn has_no_fields(seen: &NamedFile<'_>, bases: NodeId) -> bool {
    const BARE: &[&str] =
        &["Serializable", "Comparator", "Callable", "Closeable", "Iterator", "Map", "List", "Set"];
    let tree = seen.tree;
    let is_imported = |name: &str| {
        let is_it = |import: &NodeId| {
            let mut leaves = tree.walk(*import).filter(|id| tree.is_leaf(*id)).map(|id| seen.text(id));
            let is_ours = leaves.by_ref().take(2).eq(["import", "java"]);
            tree.kind(*import) == "import_declaration" && is_ours && leaves.any(|text| text == name)
        };
        tree.kids(tree.root).iter().any(is_it)
    };
    let is_argument = |id: NodeId| seen.enclosing(id, &["type_arguments"]).is_some();
    let mut names = tree.walk(bases).filter(|id| tree.kind(*id) == "type_identifier" && !is_argument(*id));
    names.all(|id| BARE.contains(&seen.text(id)) && is_imported(seen.text(id)))
        && !tree.walk(bases).any(|id| tree.kind(id) == "scoped_type_identifier")
}

/// Reports whether a module is like `mod tests { use super::*; .. }` and no macro creates items in it. Then a
/// name that it does not declare comes from the outer module, or the compiler rejects it.
fn takes_all_of_outer(seen: &NamedFile<'_>, module: NodeId) -> bool {
    let tree = seen.tree;
    let Some(body) = tree.child(module, "body") else { return false };
    let is_glob = |item: NodeId| {
        let words = tree.walk(item).filter(|id| tree.is_leaf(*id)).map(|id| seen.text(id));
        tree.kind(item) == "use_declaration" && words.eq(["use", "super", "::", "*", ";"])
    };
    let is_made = |item: NodeId| tree.walk(item).take(3).any(|id| tree.kind(id) == "macro_invocation");
    tree.named_kids(body).any(is_glob) && !tree.named_kids(body).any(is_made)
}

/// Reports whether a use of the name refers to the constant: no class in between inherits another one, and no
/// Rust module hides it.
fn is_seen_there(seen: &NamedFile<'_>, statement: NodeId, id: NodeId) -> bool {
    let tree = seen.tree;
    let holder = seen.parent(statement);
    let mut at = id;
    while at != tree.root && at != holder {
        at = seen.parent(at);
        let hides = match tree.kind(at) {
            "mod_item" => !takes_all_of_outer(seen, at),
            // A glob import of a block takes precedence over names around the block.
            "block" => tree.kids(at).iter().any(|item| takes_all(tree, *item)),
            "class_declaration" | "enum_declaration" | "record_declaration" | "interface_declaration" => {
                let bases = tree.kids(at).iter().filter(|kid| {
                    matches!(tree.kind(**kid), "superclass" | "super_interfaces" | "extends_interfaces")
                });
                at != seen.parent(holder) && !bases.into_iter().all(|bases| has_no_fields(seen, *bases))
            }
            // The members that an anonymous class inherits are not visible in the file.
            "object_creation_expression" => {
                tree.kids(at).iter().any(|kid| tree.kind(*kid) == "class_body" && *kid != holder)
            }
            _ => false,
        };
        if hides {
            return false;
        }
    }
    at == holder
}
