//! Sugar: notations that a formatter may choose freely. The structure of a tree already expresses
//! parentheses, commas and semicolons, so they are removed. Exceptions are listed where they apply.

mod rust;

use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::{NodeId, SyntaxTree};
pub(crate) use rust::{idle_blocks, idle_commas, is_std_macro};

/// Removes the sugar among the children of a new node. Returns the kind of the node, or `None` if the node is
/// dropped.
pub(crate) fn settle(
    tree: &mut SyntaxTree,
    symbols: &mut Symbols,
    kind: u16,
    field: u16,
    kids: &mut Vec<NodeId>,
) -> Option<u16> {
    let name = tree.kind_name(kind);
    unwrap_parentheses(tree, name, kids);
    match tree.lang {
        Lang::Python => return python(tree, kind, field, name, kids),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => script(tree, symbols, name, kids),
        Lang::Rust => rust::settle(tree, symbols, name, kids),
        Lang::Go => go(tree, name, kids),
        Lang::Java => java(tree, name, kids),
    }
    Some(kind)
}

fn unwrap_parentheses(tree: &mut SyntaxTree, parent: &str, kids: &mut [NodeId]) {
    for kid in kids.iter_mut() {
        let mut changed = *kid;
        while tree.kind(changed) == "parenthesized_expression" && tree.kids(changed).len() == 3 {
            let inner = tree.kids(changed)[1];
            if !may_unwrap(tree, parent, *kid, inner) {
                break;
            }
            changed = inner;
        }
        if changed != *kid {
            *kid = tree.with_field_of(changed, *kid);
        }
    }
}

fn may_unwrap(tree: &SyntaxTree, parent: &str, kid: NodeId, inner: NodeId) -> bool {
    match tree.lang {
        // `(x.f)(y)` calls the value of a field, `x.f(y)` calls a method.
        Lang::Rust => !(parent == "call_expression" && tree.kind(inner) == "field_expression"),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let is_directive = parent == "expression_statement" && tree.kind(inner) == "string";
            // `(a?.b).c` fails where `a?.b.c` is undefined.
            let ends_chain = matches!(
                parent,
                "member_expression" | "call_expression" | "subscript_expression" | "non_null_expression"
            ) && has_optional_chain(tree, inner);
            // A parenthesized target gives its function no name.
            let is_target = matches!(parent, "assignment_expression" | "augmented_assignment_expression")
                && tree.field(kid) == "left";
            !is_directive
                && !ends_chain
                && !is_target
                && parent != "export_statement"
                && parent != "decorator"
        }
        Lang::Go => !matches!(tree.kind(inner), "parenthesized_type" | "pointer_type"),
        // `f"{(x := 1)}"` assigns, `f"{x := 1}"` formats.
        Lang::Python => parent != "interpolation",
        Lang::Java => true,
    }
}

fn has_optional_chain(tree: &SyntaxTree, mut id: NodeId) -> bool {
    loop {
        if tree.kids(id).iter().any(|kid| tree.kind(*kid) == "optional_chain") || tree.has_token(id, "?.") {
            return true;
        }
        let next = ["object", "function"].iter().find_map(|field| tree.child(id, field));
        match next.or_else(|| (tree.kind(id) == "non_null_expression").then(|| tree.kids(id)[0])) {
            Some(next) => id = next,
            None => return false,
        }
    }
}

fn python(tree: &mut SyntaxTree, kind: u16, _field: u16, name: &str, kids: &mut Vec<NodeId>) -> Option<u16> {
    match name {
        // One kind for `a, b` and `(a, b)`; the kind distinguishes a tuple of one element from the element.
        "tuple" | "expression_list" | "pattern_list" | "tuple_pattern" => {
            kids.retain(|kid| !matches!(tree.kind(*kid), "(" | ")"));
            // A comma after a single element makes it a tuple.
            if kids.len() > 2 && kids.last().is_some_and(|last| tree.kind(*last) == ",") {
                kids.pop();
            }
            return Some(tree.kind_number("expression_list").unwrap_or(kind));
        }
        "import_from_statement" | "with_clause" => {
            kids.retain(|kid| !matches!(tree.kind(*kid), "(" | ")"));
            if kids.last().is_some_and(|last| tree.kind(*last) == ",") {
                kids.pop();
            }
        }
        "class_definition" => {
            kids.retain(|kid| !(tree.field(*kid) == "superclasses" && tree.kids(*kid).len() == 2));
        }
        "argument_list" | "parameters" | "list" | "dictionary" | "set" | "list_pattern" => {
            drop_last_comma(tree, kids)
        }
        "lambda_parameters" if kids.len() > 1 && kids.last().is_some_and(|last| tree.kind(*last) == ",") => {
            kids.pop();
        }
        "module" | "block" => kids.retain(|kid| tree.kind(*kid) != ";"),
        _ => {}
    }
    Some(kind)
}

fn script(tree: &mut SyntaxTree, symbols: &mut Symbols, name: &str, kids: &mut Vec<NodeId>) {
    match name {
        "program" | "statement_block" | "class_body" | "switch_case" | "switch_default"
        | "class_static_block" => {
            kids.retain(|kid| !matches!(tree.kind(*kid), ";" | "empty_statement"));
        }
        "interface_body" | "object_type" => kids.retain(|kid| !matches!(tree.kind(*kid), ";" | ",")),
        "object" | "array" | "arguments" | "formal_parameters" | "object_pattern" | "array_pattern"
        | "enum_body" | "type_parameters" | "type_arguments" | "tuple_type" => drop_last_comma(tree, kids),
        "named_imports" | "export_clause" => {
            drop_last_comma(tree, kids);
            // Names of one clause are bound together.
            sort_elements(tree, symbols, kids);
        }
        "arrow_function" => {
            if let Some(at) = kids.iter().position(|kid| tree.field(*kid) == "parameter") {
                kids[at] = as_parameters(tree, symbols, kids[at]);
            }
        }
        _ => {
            if name.ends_with("_statement")
                || name.ends_with("_declaration")
                || name.ends_with("_definition")
                || name.ends_with("_signature")
            {
                while name != "for_statement"
                    && name != "empty_statement"
                    && kids.last().is_some_and(|last| tree.kind(*last) == ";")
                {
                    kids.pop();
                }
            }
        }
    }
    if name == "pair"
        && let Some(key) = kids.first().copied().filter(|key| tree.kind(*key) == "string")
    {
        // `{"a": 1}` equals `{a: 1}`.
        let text = symbols.text(tree.sym(key));
        let text = text.strip_prefix('\'').unwrap_or(text).to_owned();
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
            && text.starts_with(|c: char| !c.is_ascii_digit());
        if is_name {
            let sym = symbols.intern(&text);
            let plain = tree.with_sym(key, sym);
            kids[0] = tree.with_kind(plain, "property_identifier");
        }
    }
}

/// Converts `x => 1` to `(x) => 1`.
fn as_parameters(tree: &mut SyntaxTree, symbols: &mut Symbols, name: NodeId) -> NodeId {
    let inner = match tree.lang {
        Lang::JavaScript => tree.without_field(name),
        _ => {
            let pattern = tree.with_field_named(name, "pattern");
            let parameter = tree.with_kids(name, &[pattern]);
            let parameter = tree.with_sym(parameter, crate::symbol::Sym::NONE);
            let parameter = tree.with_kind(parameter, "required_parameter");
            tree.without_field(parameter)
        }
    };
    let (open, close) = (symbols.intern("("), symbols.intern(")"));
    let bare = tree.without_field(name);
    let open = tree.with_sym(bare, open);
    let open = tree.with_kind(open, "(");
    let close = tree.with_sym(bare, close);
    let close = tree.with_kind(close, ")");
    let list = tree.with_kids(name, &[open, inner, close]);
    let list = tree.with_sym(list, crate::symbol::Sym::NONE);
    let list = tree.with_kind(list, "formal_parameters");
    tree.with_field_named(list, "parameters")
}

fn go(tree: &mut SyntaxTree, name: &str, kids: &mut Vec<NodeId>) {
    match name {
        "source_file"
        | "block"
        | "statement_list"
        | "field_declaration_list"
        | "import_spec_list"
        | "const_declaration"
        | "var_declaration"
        | "var_spec_list"
        | "type_declaration"
        | "interface_type" => {
            kids.retain(|kid| tree.kind(*kid) != ";");
        }
        "argument_list" | "parameter_list" | "literal_value" | "type_parameter_list" | "type_arguments" => {
            drop_last_comma(tree, kids);
        }
        _ => {}
    }
}

fn java(tree: &mut SyntaxTree, name: &str, kids: &mut Vec<NodeId>) {
    match name {
        "class_body" | "interface_body" | "program" => kids.retain(|kid| tree.kind(*kid) != ";"),
        "array_initializer" | "element_value_array_initializer" => drop_last_comma(tree, kids),
        _ => {}
    }
}

/// Returns the lone statement of a block, so that `if (x) { y; }` equals `if (x) y;`. A declaration keeps its
/// block, which is its scope. This happens after a tree is built, because inlining changes the number of
/// statements in a block.
pub(crate) fn lone_statement(tree: &SyntaxTree, parent: &str, block: NodeId) -> Option<NodeId> {
    let wanted = match tree.lang {
        Lang::Java => "block",
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => "statement_block",
        Lang::Rust | Lang::Go | Lang::Python => return None,
    };
    let is_body = matches!(tree.field(block), "consequence" | "alternative" | "body" | "");
    let has_bodies = matches!(
        parent,
        "if_statement"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
    );
    if !is_body || !has_bodies || tree.kind(block) != wanted {
        return None;
    }
    let &[_, only, _] = tree.kids(block) else { return None };
    let kind = tree.kind(only);
    (kind.ends_with("_statement") && kind != "labeled_statement").then_some(only)
}

/// Removes a meaningless comma before the closing bracket. A comma for a hole or a tuple stays.
fn drop_last_comma(tree: &SyntaxTree, kids: &mut Vec<NodeId>) {
    if last_comma(tree, kids).is_some() {
        kids.remove(kids.len() - 2);
    }
}

fn last_comma(tree: &SyntaxTree, kids: &[NodeId]) -> Option<NodeId> {
    let &[.., before, comma, last] = kids else { return None };
    let closes = matches!(tree.kind(last), ")" | "]" | "}" | ">");
    let is_element = !matches!(tree.kind(before), "," | "(" | "[" | "{" | "<");
    (closes && tree.kind(comma) == "," && is_element).then_some(comma)
}

/// Sorts the elements between commas by their texts.
fn sort_elements(tree: &SyntaxTree, symbols: &Symbols, kids: &mut [NodeId]) {
    let key = |id: NodeId| -> String {
        tree.walk(id)
            .filter(|node| tree.is_leaf(*node))
            .map(|node| symbols.text(tree.sym(node)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let places: Vec<usize> = (0..kids.len()).filter(|at| tree.is_named(kids[*at])).collect();
    let mut elements: Vec<NodeId> = places.iter().map(|at| kids[*at]).collect();
    elements.sort_by_cached_key(|id| key(*id));
    for (place, element) in places.into_iter().zip(elements) {
        kids[place] = element;
    }
}
