//! Inlining of a local that is used once, in the next statement.

use super::{NodeEdit, Put, is_special_place, text_spells};
use crate::check::effects::{ExprEffect, effect, may_move_into};
use crate::check::names::NamedFile;
use crate::check::scope::IdentifierUse;
use crate::lang::Lang;
use crate::tree::NodeId;

pub(crate) fn plan(seen: &NamedFile<'_>, name: NodeId, binding: u32) -> Result<NodeEdit, &'static str> {
    let tree = seen.tree;
    if seen.scopes.bindings[binding as usize].is_pinned {
        return Err("its name counts");
    }
    let (statement, value) = declaration(seen, name).ok_or("not a plain declaration")?;
    let uses: Vec<NodeId> = tree
        .walk(tree.root)
        .filter(|id| tree.is_leaf(*id) && *id != name)
        .filter(|id| matches!(seen.scopes.of_leaf(*id), IdentifierUse::Local(other) | IdentifierUse::Named(other) if other == binding))
        .collect();
    let [place] = uses[..] else { return Err("it is not used exactly once") };
    if seen.scopes.of_leaf(place) != IdentifierUse::Local(binding) {
        return Err("its name counts where it is used");
    }
    let siblings = tree.kids(seen.parent(statement));
    let at = siblings.iter().position(|kid| *kid == statement).ok_or("a declaration in no block")?;
    let next = *siblings.get(at + 1).ok_or("nothing follows it")?;
    let in_next = tree.walk(next).any(|id| id == place);
    if !in_next {
        return Err("it is not used in the next statement");
    }
    if tree.field(place) == "left"
        && matches!(
            tree.kind(seen.parent(place)),
            "assignment" | "assignment_expression" | "augmented_assignment"
        )
    {
        return Err("it is assigned");
    }
    let home = seen.enclosing(statement, FUNCTIONS).unwrap_or(tree.root);
    if text_spells(seen, home, seen.text(name)) {
        return Err("a text spells it");
    }
    if is_special_place(seen, place, value) {
        return Err("its place takes more than a value");
    }
    is_the_same_there(seen, next, place, value)?;
    if tree.lang == Lang::Python
        && effect(seen, value) >= ExprEffect::Anything
        && !is_last(seen, home, statement, next)
    {
        return Err("its value would be dropped earlier");
    }
    let moved = effect(seen, value);
    if !may_move_into(seen, next, place, moved) && place != next {
        return Err("an effect would move");
    }
    typed(seen, statement, next, place, value, moved)?;
    let mut edit = NodeEdit::default();
    edit.remove(statement);
    edit.put(place, vec![Put::Node(value)]);
    Ok(edit)
}

/// Functions that can own locals.
const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "arrow_function",
    "method_definition",
    "function_item",
    "closure_expression",
    "method_declaration",
    "constructor_declaration",
    "func_literal",
    "lambda_expression",
];

/// Reports whether a function ends with `next`, so that its locals are dropped either way.
fn is_last(seen: &NamedFile<'_>, function: NodeId, statement: NodeId, next: NodeId) -> bool {
    let tree = seen.tree;
    let ends = matches!(tree.kind(next), "return_statement" | "raise_statement");
    let block = seen.parent(statement);
    ends || (seen.parent(block) == function && tree.kids(block).last() == Some(&next))
}

/// Checks that the position gives the expression no more meaning than its value.
fn is_the_same_there(
    seen: &NamedFile<'_>,
    next: NodeId,
    place: NodeId,
    value: NodeId,
) -> Result<(), &'static str> {
    let tree = seen.tree;
    let parent = seen.parent(place);
    // An expression after `?.` may not be evaluated at all.
    if tree.lang.is_script() && next != place {
        let mut below = place;
        while below != next {
            let above = seen.parent(below);
            let before = tree.kids(above).iter().take_while(|kid| **kid != below);
            let is_chained = |kid: &NodeId| tree.walk(*kid).any(|id| tree.kind(id) == "optional_chain");
            if before.into_iter().any(is_chained) {
                return Err("a chain may end early");
            }
            below = above;
        }
    }
    let is_variable = matches!(tree.kind(value), "identifier" | "selector_expression" | "index_expression")
        || (tree.kind(value) == "unary_expression" && tree.has_token(value, "*"));
    let takes_address =
        matches!(tree.kind(parent), "unary_expression" | "selector_expression" | "slice_expression");
    if tree.lang == Lang::Go && is_variable && takes_address {
        Err("a variable is not a copy of itself")
    } else {
        Ok(())
    }
}

/// Returns the statement that declares a local, and the value.
fn declaration(seen: &NamedFile<'_>, name: NodeId) -> Option<(NodeId, NodeId)> {
    let tree = seen.tree;
    let parent = seen.parent(name);
    match (tree.lang, tree.kind(parent)) {
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, "variable_declarator") => {
            let statement = seen.parent(parent);
            let count =
                tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "variable_declarator").count();
            let is_plain = count == 1
                && tree.child(parent, "type").is_none()
                && tree.kind(statement) == "lexical_declaration";
            let in_block = tree.kind(seen.parent(statement)) == "statement_block";
            is_plain.then_some(())?;
            in_block.then_some((statement, tree.child(parent, "value")?))
        }
        (Lang::Python, "assignment") => {
            let statement = seen.parent(parent);
            let is_plain = tree.child(parent, "left") == Some(name) && tree.child(parent, "type").is_none();
            is_plain
                .then_some((statement, tree.child(parent, "right")?))
                .filter(|_| tree.kind(statement) == "expression_statement")
        }
        (Lang::Go, "expression_list") => {
            let statement = seen.parent(parent);
            let right = tree.child(statement, "right")?;
            let is_plain = tree.kind(statement) == "short_var_declaration"
                && tree.kids(parent).len() == 1
                && tree.kids(right).len() == 1
                && tree.kind(seen.parent(statement)) == "statement_list";
            is_plain.then(|| (statement, tree.kids(right)[0]))
        }
        (Lang::Java, "variable_declarator") => {
            let statement = seen.parent(parent);
            let count =
                tree.named_kids(statement).filter(|kid| tree.kind(*kid) == "variable_declarator").count();
            let is_plain = tree.kind(statement) == "local_variable_declaration"
                && count == 1
                && matches!(tree.kind(seen.parent(statement)), "block" | "constructor_body");
            is_plain.then_some((statement, tree.child(parent, "value")?))
        }
        (Lang::Rust, "let_declaration") => {
            let is_plain = tree.child(parent, "pattern") == Some(name)
                && tree.child(parent, "type").is_none()
                && tree.child(parent, "alternative").is_none()
                && !tree.kids(parent).iter().any(|kid| tree.kind(*kid) == "mutable_specifier");
            is_plain.then_some((parent, tree.child(parent, "value")?))
        }
        _ => None,
    }
}

/// Checks the type: a variable has its own type, which an expression in its place may not have.
fn typed(
    seen: &NamedFile<'_>,
    statement: NodeId,
    next: NodeId,
    place: NodeId,
    value: NodeId,
    moved: ExprEffect,
) -> Result<(), &'static str> {
    let tree = seen.tree;
    let parent = seen.parent(place);
    let is_returned = matches!(tree.kind(parent), "return_statement" | "return_expression")
        || (tree.kind(parent) == "expression_list"
            && tree.kind(seen.parent(parent)) == "return_statement"
            && tree.kids(parent).len() == 1);
    match tree.lang {
        Lang::Java => {
            let is_inferred = tree
                .child(statement, "type")
                .is_some_and(|kind| tree.is_leaf(kind) && seen.text(kind) == "var");
            let is_same = || {
                let method = seen.enclosing(statement, &["method_declaration", "lambda_expression"])?;
                let wanted = tree.child(method, "type")?;
                Some(spelled(seen, wanted) == spelled(seen, tree.child(statement, "type")?))
            };
            let is_poly =
                matches!(tree.kind(value), "lambda_expression" | "method_reference" | "array_initializer");
            let in_lambda =
                seen.enclosing(statement, FUNCTIONS).is_some_and(|id| tree.kind(id) == "lambda_expression");
            if is_returned && !is_poly && !in_lambda && (is_inferred || is_same() == Some(true)) {
                Ok(())
            } else {
                Err("its type may count")
            }
        }
        Lang::Rust => {
            // Temporaries of a statement are dropped at its end; only a `return` ends at the same time.
            let is_tail = next == place
                && !tree.walk(value).any(|id| {
                    matches!(
                        tree.kind(id),
                        "field_expression"
                            | "macro_invocation"
                            | "await_expression"
                            | "reference_expression"
                            | "index_expression"
                    ) || (tree.kind(id) == "call_expression" && !is_constructor(seen, id))
                });
            if is_returned || is_tail { Ok(()) } else { Err("values may be dropped at another time") }
        }
        // An untyped constant takes the type of its context.
        Lang::Go if moved == ExprEffect::Nothing && !is_returned => Err("its type may count"),
        Lang::Go => {
            if is_returned || (tree.kind(value) == "call_expression" || is_local_value(seen, value)) {
                Ok(())
            } else {
                Err("its type may count")
            }
        }
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx | Lang::Python => {
            // A function takes the name of its variable.
            let takes_name = matches!(
                tree.kind(value),
                "arrow_function" | "function_expression" | "class" | "generator_function"
            );
            if takes_name { Err("the value takes its name") } else { Ok(()) }
        }
    }
}

/// Reports whether a value is a local or a part of one, which has a type. A name from elsewhere may be an
/// untyped constant.
fn is_local_value(seen: &NamedFile<'_>, value: NodeId) -> bool {
    let is_path = matches!(seen.tree.kind(value), "identifier" | "selector_expression" | "index_expression");
    let first = seen.tree.walk(value).find(|id| seen.tree.is_leaf(*id));
    is_path && first.is_some_and(|first| matches!(seen.scopes.of_leaf(first), IdentifierUse::Local(_)))
}

fn is_constructor(seen: &NamedFile<'_>, call: NodeId) -> bool {
    let Some(function) = seen.tree.child(call, "function") else { return false };
    let last = seen.tree.walk(function).filter(|id| seen.tree.is_leaf(*id)).last();
    last.is_some_and(|last| seen.text(last).starts_with(|c: char| c.is_uppercase()))
}

fn spelled(seen: &NamedFile<'_>, id: NodeId) -> Vec<String> {
    seen.tree.walk(id).filter(|id| seen.tree.is_leaf(*id)).map(|id| seen.text(id).to_owned()).collect()
}
