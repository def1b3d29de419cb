//! Sugar of Rust: commas and blocks. Sugar that depends on the rest of the file stays in the tree, and these
//! functions report it to the comparison.

use super::{drop_last_comma, last_comma, sort_elements};
use crate::lang::Lang;
use crate::symbol::{QuickMap, QuickSet, Symbols};
use crate::tree::{NodeId, SyntaxTree};

pub(crate) fn settle(tree: &mut SyntaxTree, symbols: &mut Symbols, name: &str, kids: &mut Vec<NodeId>) {
    match name {
        "arguments"
        | "parameters"
        | "field_declaration_list"
        | "field_initializer_list"
        | "enum_variant_list"
        | "array_expression"
        | "struct_pattern"
        | "type_parameters"
        | "type_arguments"
        | "tuple_struct_pattern"
        | "slice_pattern"
        | "ordered_field_declaration_list" => drop_last_comma(tree, kids),
        "tuple_expression" | "tuple_type" | "tuple_pattern"
            if kids.iter().filter(|kid| tree.kind(**kid) == ",").count() > 1 =>
        {
            drop_last_comma(tree, kids);
        }
        "where_clause" | "match_arm" if kids.last().is_some_and(|last| tree.kind(*last) == ",") => {
            kids.pop();
        }
        // All names of one `use` are imported together.
        "use_list" => {
            drop_last_comma(tree, kids);
            sort_elements(tree, symbols, kids);
        }
        // `#[inline]` is only a hint to the compiler.
        "source_file" | "declaration_list" => kids.retain(|kid| !is_inline_hint(tree, symbols, *kid)),
        "closure_expression" => unwrap_body(tree, kids),
        _ => {}
    }
}

/// Returns the meaningless commas in calls of standard macros that the file does not redefine. They stay in
/// the tree, because the file may define such a macro further down.
pub(crate) fn idle_commas(tree: &SyntaxTree, symbols: &Symbols) -> QuickSet<NodeId> {
    let mut idle = QuickSet::default();
    if tree.lang != Lang::Rust {
        return idle;
    }
    let mut own = QuickSet::default();
    for id in tree.walk(tree.root) {
        match tree.kind(id) {
            "macro_definition" => own.extend(tree.child(id, "name").map(|name| tree.sym(name))),
            "use_declaration" => {
                own.extend(tree.walk(id).filter(|leaf| tree.is_leaf(*leaf)).map(|leaf| tree.sym(leaf)));
            }
            // This attribute imports unknown macros.
            "attribute_item" if tree.walk(id).any(|leaf| symbols.text(tree.sym(leaf)) == "macro_use") => {
                return idle;
            }
            _ => {}
        }
    }
    for id in tree.walk(tree.root).filter(|id| tree.kind(*id) == "macro_invocation") {
        let kids = tree.kids(id);
        let (Some(first), Some(last)) = (kids.first(), kids.last()) else { continue };
        let name = tree.sym(*first);
        if is_std_macro(symbols.text(name)) && !own.contains(&name) && tree.kind(*last) == "token_tree" {
            idle.extend(last_comma(tree, tree.kids(*last)));
            commas_of_structs(tree, *last, &mut idle);
        }
    }
    idle
}

/// Collects the trailing commas of `Name { a, b, }` among the tokens of a macro that takes expressions.
fn commas_of_structs(tree: &SyntaxTree, tokens: NodeId, idle: &mut QuickSet<NodeId>) {
    let tokens = tree.kids(tokens);
    for at in 0..tokens.len() {
        if tree.kind(tokens[at]) != "token_tree" {
            continue;
        }
        let inner = tree.kids(tokens[at]);
        let before = at.checked_sub(1).map_or("", |before| tree.kind(tokens[before]));
        if before == "identifier" && inner.first().is_some_and(|open| tree.kind(*open) == "{") {
            idle.extend(last_comma(tree, inner));
        }
        // Another macro may give its tokens another meaning.
        if before != "!" {
            commas_of_structs(tree, tokens[at], idle);
        }
    }
}

fn is_inline_hint(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> bool {
    let leaves = || tree.walk(id).filter(|node| tree.is_leaf(*node)).map(|node| symbols.text(tree.sym(node)));
    tree.kind(id) == "attribute_item" && leaves().eq(["#", "[", "inline", "]"])
}

/// Reports whether a macro takes expressions as arguments and allows a trailing comma.
pub(crate) fn is_std_macro(name: &str) -> bool {
    matches!(
        name,
        "format"
            | "print"
            | "println"
            | "eprint"
            | "eprintln"
            | "write"
            | "writeln"
            | "panic"
            | "vec"
            | "assert"
            | "assert_eq"
            | "assert_ne"
            | "debug_assert"
            | "debug_assert_eq"
            | "debug_assert_ne"
            | "unreachable"
            | "todo"
            | "unimplemented"
            | "format_args"
    )
}

/// Converts `|x| { y }` to `|x| y`.
fn unwrap_body(tree: &mut SyntaxTree, kids: &mut [NodeId]) {
    let body = kids.iter_mut().find(|kid| tree.field(**kid) == "body");
    if let Some(body) = body
        && let Some(value) = value_of(tree, *body)
    {
        *body = tree.with_field_of(value, *body);
    }
}

/// Returns the value of a Rust block that consists of only a value.
fn value_of(tree: &SyntaxTree, block: NodeId) -> Option<NodeId> {
    let &[open, only, close] = tree.kids(block) else { return None };
    let is_value = tree.kind(block) == "block"
        && tree.kind(open) == "{"
        && tree.kind(close) == "}"
        && !tree.kind(only).ends_with("_statement")
        && !tree.kind(only).ends_with("_declaration")
        && !tree.kind(only).ends_with("_item")
        && tree.kind(only) != "macro_definition";
    is_value.then_some(only)
}

/// Returns the blocks of arms `=> { x }` that equal `=> x`. Since edition 2024 a block drops temporaries that
/// its value borrows from. Without the block they live to the end of the statement. So both are equal only if
/// the statement ends with the match.
pub(crate) fn idle_blocks(tree: &SyntaxTree) -> QuickMap<NodeId, NodeId> {
    let mut idle = QuickMap::default();
    let mut stack = vec![(tree.root, Ends::Later)];
    while tree.lang == Lang::Rust
        && let Some((id, ends)) = stack.pop()
    {
        let kids = tree.kids(id);
        for (at, kid) in kids.iter().enumerate() {
            let is_tail = tree.kind(id) == "block" && at + 2 == kids.len();
            let inner = match (tree.kind(id), tree.field(*kid)) {
                ("expression_statement" | "return_expression", _) | ("let_declaration", "value") => {
                    Ends::Here
                }
                ("match_expression", "body") | ("match_block", _) | ("match_arm", "value") => ends,
                _ if is_tail => Ends::Here,
                _ => Ends::Later,
            };
            if tree.kind(id) == "match_arm"
                && tree.field(*kid) == "value"
                && let Some(value) = value_of(tree, *kid)
                && (ends == Ends::Here || !makes_temporaries(tree, value))
            {
                idle.insert(*kid, value);
            }
            stack.push((*kid, inner));
        }
    }
    idle
}

/// The end of the statement that contains an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Here,
    Later,
}

/// Reports whether a Rust expression may borrow from a temporary value.
fn makes_temporaries(tree: &SyntaxTree, value: NodeId) -> bool {
    let is_made = |id: NodeId| {
        !matches!(tree.kind(id), "identifier" | "self" | "field_expression" | "scoped_identifier")
    };
    tree.walk(value).any(|id| match tree.kind(id) {
        // A method borrows its object; a field is read in place.
        "field_expression" | "reference_expression" => tree.child(id, "value").is_some_and(is_made),
        "index_expression" | "unary_expression" => tree.named_kids(id).any(is_made),
        "macro_invocation" | "await_expression" | "match_expression" | "if_expression" => true,
        _ => false,
    })
}
