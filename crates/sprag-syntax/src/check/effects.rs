//! The effects obligation: an expression may be evaluated elsewhere only if nobody can tell. It moves past no effect,
//! none is made conditional, repeated or dropped, and it crosses no loop, function or branch.

use super::names::Seen;
use super::scope::Use;
use crate::lang::Lang;
use crate::tree::Id;

/// What evaluating an expression may do, from nothing to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// A value that is always the same.
    Nothing,
    /// Reads a local.
    Local,
    /// Reads what others may write, or what may run code of its own.
    Read,
    /// May do anything, but to locals.
    Anything,
    /// Assigns.
    Assignment,
}

pub(super) fn effect(seen: &Seen<'_>, id: Id) -> Effect {
    let tree = seen.tree;
    if tree.is_leaf(id) {
        return match (tree.kind(id), seen.scopes.of_leaf(id)) {
            // What a function inside may assign is not only read here.
            (_, Use::Local(binding) | Use::Named(binding)) if is_shared(seen, binding) => Effect::Read,
            (_, Use::Local(_) | Use::Named(_)) => Effect::Local,
            (_, Use::Free) => Effect::Read,
            ("this" | "self" | "super" | "crate" | "Self", _) => Effect::Local,
            ("identifier", _) => Effect::Read,
            _ => Effect::Nothing,
        };
    }
    let kids = |least: Effect| tree.kids(id).iter().map(|kid| effect(seen, *kid)).fold(least, Effect::max);
    match tree.kind(id) {
        // Making a function runs nothing.
        "lambda"
        | "arrow_function"
        | "function_expression"
        | "closure_expression"
        | "lambda_expression"
        | "func_literal" => Effect::Local,
        "member_expression"
        | "attribute"
        | "field_access"
        | "field_expression"
        | "selector_expression"
        | "subscript"
        | "subscript_expression"
        | "index_expression"
        | "array_access"
        | "slice_expression" => kids(Effect::Read),
        // Operators may be somebody's functions.
        "binary_operator"
        | "boolean_operator"
        | "comparison_operator"
        | "unary_operator"
        | "not_operator"
        | "binary_expression"
        | "unary_expression"
        // What is put into a text or asked whether it is true may be asked by a function of its own.
        | "interpolation"
        | "template_substitution"
        | "conditional_expression" => match kids(Effect::Nothing) {
            Effect::Nothing => Effect::Nothing,
            Effect::Local if matches!(tree.lang, Lang::Go | Lang::Java) => Effect::Local,
            other => other.max(Effect::Read),
        },
        "string"
        | "template_string"
        | "list"
        | "expression_list"
        | "array"
        | "object"
        | "dictionary"
        | "pair"
        | "set"
        | "parenthesized_expression"
        | "tuple_expression"
        | "array_expression"
        | "ternary_expression"
        | "scoped_identifier"
        | "argument_list"
        | "arguments"
        | "keyword_argument"
        | "composite_literal"
        | "literal_value"
        | "keyed_element"
        | "literal_element"
        | "as_expression"
        | "non_null_expression"
        | "concatenated_string"
        | "type_identifier"
        | "generic_type"
        | "type_arguments"
        | "format_specifier"
        | "array_initializer" => kids(Effect::Nothing),
        "named_expression"
        | "assignment_expression"
        | "augmented_assignment_expression"
        | "update_expression"
        | "assignment"
        | "augmented_assignment"
        | "compound_assignment_expr" => Effect::Assignment,
        _ => kids(Effect::Anything),
    }
}

/// Whether `moved` may be evaluated after `passed` instead of before it.
pub(super) fn may_pass(lang: Lang, moved: Effect, passed: Effect) -> bool {
    match moved {
        Effect::Nothing => true,
        Effect::Local => passed <= Effect::Read,
        Effect::Read => {
            passed <= if matches!(lang, Lang::Java | Lang::Go) { Effect::Read } else { Effect::Local }
        }
        Effect::Anything => passed <= Effect::Local,
        Effect::Assignment => passed == Effect::Nothing,
    }
}

/// Whether `place`, somewhere in the statement `within`, is evaluated exactly once and before all that matters to an
/// expression of effect `moved`.
pub(super) fn may_move_into(seen: &Seen<'_>, within: Id, place: Id, moved: Effect) -> bool {
    let tree = seen.tree;
    let mut below = place;
    while below != within {
        let above = seen.parent(below);
        if !is_straight(seen, above, below) {
            return false;
        }
        // In Go the order of reads and calls of one expression is not told.
        let is_lone = tree.lang != Lang::Go || moved <= Effect::Local;
        for kid in tree.kids(above) {
            if *kid == below {
                if is_lone {
                    break;
                }
                continue;
            }
            if tree.lang == Lang::Python && tree.kind(above) == "assignment" && tree.field(*kid) == "left" {
                // The right side comes first.
                continue;
            }
            let passed = passed_effect(seen, above, *kid);
            let allowed = match is_lone {
                true => may_pass(tree.lang, moved, passed),
                false => passed <= Effect::Local && moved < Effect::Assignment,
            };
            if !allowed {
                return false;
            }
        }
        below = above;
    }
    true
}

/// What is evaluated of a sibling: looking up what is called counts for little.
fn passed_effect(seen: &Seen<'_>, parent: Id, kid: Id) -> Effect {
    let tree = seen.tree;
    let is_callee = tree.field(kid) == "function" && matches!(tree.kind(parent), "call_expression" | "call");
    let is_receiver = tree.field(kid) == "object" && tree.kind(parent) == "method_invocation";
    let is_target = tree.kind(parent) == "variable_declarator"
        || tree.field(kid) == "type"
        || tree.field(kid) == "constructor";
    if is_target && tree.field(kid) != "value" && tree.is_leaf(kid) {
        return Effect::Nothing;
    }
    if tree.is_leaf(kid) && (is_callee || is_receiver) {
        return Effect::Local;
    }
    if tree.is_leaf(kid) && matches!(tree.field(kid), "name" | "property" | "field") {
        return Effect::Nothing;
    }
    let is_method = is_callee
        && matches!(
            tree.kind(kid),
            "member_expression" | "attribute" | "selector_expression" | "field_expression"
        );
    if is_method && tree.kids(kid).first().is_some_and(|of| tree.is_leaf(*of)) {
        return Effect::Local;
    }
    effect(seen, kid)
}

/// Whether a node evaluates this child exactly once, whatever happens.
fn is_straight(seen: &Seen<'_>, above: Id, below: Id) -> bool {
    let tree = seen.tree;
    let field = tree.field(below);
    match tree.kind(above) {
        "return_statement"
        | "expression_statement"
        | "return_expression"
        | "throw_statement"
        | "raise_statement"
        | "arguments"
        | "argument_list"
        | "expression_list"
        | "parenthesized_expression"
        | "keyword_argument"
        | "list"
        | "array"
        | "dictionary"
        | "pair"
        | "object"
        | "tuple_expression"
        | "template_substitution"
        | "template_string"
        | "interpolation"
        | "string"
        | "unary_expression"
        | "unary_operator"
        | "not_operator"
        | "spread_element"
        | "as_expression"
        | "non_null_expression"
        | "await_expression"
        | "await"
        | "new_expression"
        | "call_expression"
        | "call"
        | "method_invocation"
        | "lexical_declaration"
        | "local_variable_declaration"
        | "member_expression"
        | "attribute"
        | "field_access"
        | "selector_expression"
        | "subscript"
        | "subscript_expression"
        | "binary_operator" => true,
        "comparison_operator" => {
            tree.kids(above).iter().filter(|kid| tree.field(**kid) == "operators").count() == 1
        }
        "variable_declarator" => field == "value",
        "assignment_expression" | "assignment" | "short_var_declaration" | "assignment_statement" => {
            field == "right"
        }
        "binary_expression" => {
            let shorts = ["&&", "||", "??"].iter().any(|token| tree.has_token(above, token));
            !shorts || field == "left"
        }
        "boolean_operator" => field == "left",
        "ternary_expression" => field == "condition",
        "if_statement" | "switch_statement" | "if_expression" => field == "condition" || field == "value",
        "for_in_statement" => field == "right",
        "for_statement" => field == "right" && tree.lang == Lang::Python,
        _ => false,
    }
}

/// Whether an identifier is a target of an assignment.
pub(super) fn is_assigned(seen: &Seen<'_>, id: Id) -> bool {
    let tree = seen.tree;
    let mut below = id;
    let mut above = seen.parent(id);
    // Through patterns.
    while matches!(
        tree.kind(above),
        "expression_list"
            | "pattern_list"
            | "tuple_pattern"
            | "list_pattern"
            | "list"
            | "list_splat_pattern"
            | "array_pattern"
            | "object_pattern"
            | "pair_pattern"
            | "rest_pattern"
            | "assignment_pattern"
            | "parenthesized_expression"
            | "as_pattern_target"
    ) {
        (below, above) = (above, seen.parent(above));
    }
    let (kind, field) = (tree.kind(above), tree.field(below));
    match kind {
        "update_expression" | "delete_statement" | "inc_statement" | "dec_statement" => true,
        "as_pattern" => field == "alias",
        "named_expression" => field == "name",
        "for_statement" | "for_in_statement" | "for_in_clause" | "range_clause" | "receive_statement" => {
            field == "left"
        }
        _ => kind.contains("assignment") && field == "left",
    }
}

/// A local that is assigned again and that a function inside can see.
pub(super) fn is_shared(seen: &Seen<'_>, binding: u32) -> bool {
    const FUNCTIONS: &[&str] = &[
        "function_definition",
        "lambda",
        "arrow_function",
        "function_expression",
        "function_declaration",
        "method_definition",
        "func_literal",
        "closure_expression",
        "lambda_expression",
    ];
    let shared = seen.shared.get_or_init(|| {
        let homes: Vec<Option<Id>> =
            seen.scopes.bindings.iter().map(|binding| seen.enclosing(binding.at, FUNCTIONS)).collect();
        let mut captured = vec![false; homes.len()];
        let mut reassigned = vec![false; homes.len()];
        for id in seen.tree.walk(seen.tree.root) {
            if let Use::Local(binding) | Use::Named(binding) = seen.scopes.of_leaf(id) {
                let at = binding as usize;
                captured[at] |= seen.enclosing(id, FUNCTIONS) != homes[at];
                reassigned[at] |= seen.scopes.bindings[at].at != id && is_assigned(seen, id);
            }
        }
        captured.into_iter().zip(reassigned).map(|(captured, reassigned)| captured && reassigned).collect()
    });
    shared[binding as usize]
}
