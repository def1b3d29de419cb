//! The effects obligation: an expression may be evaluated elsewhere only if the difference cannot be
//! observed. It must not pass an effect or make one conditional, repeated or lost. It must not cross a loop,
//! a function or a branch.

use super::names::NamedFile;
use super::scope::IdentifierUse;
use crate::lang::Lang;
use crate::tree::NodeId;

/// The possible effect of evaluating an expression, from nothing to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExprEffect {
    /// A constant value.
    Nothing,
    /// Reads a local.
    Local,
    /// Reads a value that other code may write, or that may run code when it is read.
    Read,
    /// May do anything except assign locals.
    Anything,
    /// Assigns.
    Assignment,
}

pub(crate) fn effect(seen: &NamedFile<'_>, id: NodeId) -> ExprEffect {
    let tree = seen.tree;
    if tree.is_leaf(id) {
        return match (tree.kind(id), seen.scopes.of_leaf(id)) {
            // An inner function may assign such a local, so this is more than a local read.
            (_, IdentifierUse::Local(binding) | IdentifierUse::Named(binding))
                if is_shared(seen, binding) =>
            {
                ExprEffect::Read
            }
            (_, IdentifierUse::Local(_) | IdentifierUse::Named(_)) => ExprEffect::Local,
            (_, IdentifierUse::Free) => ExprEffect::Read,
            ("this" | "self" | "super" | "crate" | "Self", _) => ExprEffect::Local,
            ("identifier", _) => ExprEffect::Read,
            _ => ExprEffect::Nothing,
        };
    }
    let kids =
        |least: ExprEffect| tree.kids(id).iter().map(|kid| effect(seen, *kid)).fold(least, ExprEffect::max);
    match tree.kind(id) {
        // Creating a function runs nothing.
        "lambda"
        | "arrow_function"
        | "function_expression"
        | "closure_expression"
        | "lambda_expression"
        | "func_literal" => ExprEffect::Local,
        "member_expression"
        | "attribute"
        | "field_access"
        | "field_expression"
        | "selector_expression"
        | "subscript"
        | "subscript_expression"
        | "index_expression"
        | "array_access"
        | "slice_expression" => kids(ExprEffect::Read),
        // Operators may be user-defined functions.
        "binary_operator"
        | "boolean_operator"
        | "comparison_operator"
        | "unary_operator"
        | "not_operator"
        | "binary_expression"
        | "unary_expression"
        // Interpolation and truth tests may call user-defined functions.
        | "interpolation"
        | "template_substitution"
        | "conditional_expression" => match kids(ExprEffect::Nothing) {
            ExprEffect::Nothing => ExprEffect::Nothing,
            ExprEffect::Local if matches!(tree.lang, Lang::Go | Lang::Java) => ExprEffect::Local,
            other => other.max(ExprEffect::Read),
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
        | "array_initializer" => kids(ExprEffect::Nothing),
        "named_expression"
        | "assignment_expression"
        | "augmented_assignment_expression"
        | "update_expression"
        | "assignment"
        | "augmented_assignment"
        | "compound_assignment_expr" => ExprEffect::Assignment,
        _ => kids(ExprEffect::Anything),
    }
}

/// Reports whether `moved` may be evaluated after `passed` instead of before it.
pub(super) fn may_pass(lang: Lang, moved: ExprEffect, passed: ExprEffect) -> bool {
    match moved {
        ExprEffect::Nothing => true,
        ExprEffect::Local => passed <= ExprEffect::Read,
        ExprEffect::Read => {
            passed <= if matches!(lang, Lang::Java | Lang::Go) { ExprEffect::Read } else { ExprEffect::Local }
        }
        ExprEffect::Anything => passed <= ExprEffect::Local,
        ExprEffect::Assignment => passed == ExprEffect::Nothing,
    }
}

/// Reports whether `place`, inside the statement `within`, is evaluated exactly once, and before everything
/// that an expression of effect `moved` depends on.
pub(crate) fn may_move_into(seen: &NamedFile<'_>, within: NodeId, place: NodeId, moved: ExprEffect) -> bool {
    let tree = seen.tree;
    let mut below = place;
    while below != within {
        let above = seen.parent(below);
        if !is_straight(seen, above, below) || (moved > ExprEffect::Local && has_splat(seen, above)) {
            return false;
        }
        // Go does not define the order of reads and calls in one expression.
        let is_lone = tree.lang != Lang::Go || moved <= ExprEffect::Local;
        for kid in tree.kids(above) {
            if *kid == below {
                if is_lone {
                    break;
                }
                continue;
            }
            if tree.lang == Lang::Python && tree.kind(above) == "assignment" && tree.field(*kid) == "left" {
                // The right side is evaluated first.
                continue;
            }
            let passed = passed_effect(seen, above, *kid);
            let allowed = if is_lone {
                may_pass(tree.lang, moved, passed)
            } else {
                passed <= ExprEffect::Local && moved < ExprEffect::Assignment
            };
            if !allowed {
                return false;
            }
        }
        below = above;
    }
    true
}

/// Reports whether a Python call has a splat, because `f(a=x(), *y())` evaluates `y()` first.
fn has_splat(seen: &NamedFile<'_>, above: NodeId) -> bool {
    let is_splat = |kid: &NodeId| seen.tree.kind(*kid).ends_with("_splat");
    seen.tree.lang == Lang::Python && seen.tree.kids(above).iter().any(is_splat)
}

/// Returns the effect of evaluating a sibling. A callee and its receiver are looked up before the arguments.
/// Only a name that is never reassigned may be looked up later.
fn passed_effect(seen: &NamedFile<'_>, parent: NodeId, kid: NodeId) -> ExprEffect {
    let tree = seen.tree;
    let is_callee = matches!(tree.field(kid), "function" | "constructor")
        && matches!(tree.kind(parent), "call_expression" | "call" | "new_expression");
    let is_target = tree.kind(parent) == "variable_declarator" || tree.field(kid) == "type";
    if is_target && tree.field(kid) != "value" && tree.is_leaf(kid) {
        return ExprEffect::Nothing;
    }
    if tree.is_leaf(kid) && is_callee && is_settled(seen, kid) {
        return ExprEffect::Local;
    }
    let is_method = matches!(tree.field(kid), "name" | "property" | "field" | "attribute");
    if tree.is_leaf(kid) && is_method {
        return ExprEffect::Nothing;
    }
    effect(seen, kid)
}

/// Reports whether a name from outside functions always refers to the same thing, as far as this file shows.
/// It is a function or constant of the file, or a name that the file neither declares nor assigns. In Go such
/// a name may be a variable of another file.
fn is_settled(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    if seen.scopes.of_leaf(id) != IdentifierUse::Free {
        return false;
    }
    let same =
        || tree.walk(tree.root).filter(|other| tree.is_leaf(*other) && tree.sym(*other) == tree.sym(id));
    let is_function = |other: NodeId| {
        tree.field(other) == "name"
            && matches!(tree.kind(seen.parent(other)), "function_declaration" | "function_definition")
    };
    let is_declared = |other: NodeId| {
        matches!(tree.field(other), "name" | "alias" | "pattern")
            || tree.kind(seen.parent(other)).contains("import")
    };
    if same().any(is_function) {
        same().all(|other| is_function(other) || !(is_declared(other) || is_assigned(seen, other)))
    } else {
        // An import may change while the other module runs.
        (tree.lang != Lang::Go || is_predeclared(seen.text(id)))
            && !same().any(|other| is_declared(other) || is_assigned(seen, other))
    }
}

/// Reports whether Go predeclares this name.
pub(crate) fn is_predeclared(name: &str) -> bool {
    matches!(
        name,
        "append"
            | "cap"
            | "clear"
            | "close"
            | "complex"
            | "copy"
            | "delete"
            | "imag"
            | "len"
            | "make"
            | "max"
            | "min"
            | "new"
            | "panic"
            | "print"
            | "println"
            | "real"
            | "recover"
            | "any"
            | "bool"
            | "byte"
            | "comparable"
            | "error"
            | "float32"
            | "float64"
            | "int"
            | "int8"
            | "int16"
            | "int32"
            | "int64"
            | "rune"
            | "string"
            | "uint"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "uintptr"
            | "true"
            | "false"
            | "iota"
            | "nil"
    )
}

/// Reports whether a node evaluates this child exactly once in every case.
fn is_straight(seen: &NamedFile<'_>, above: NodeId, below: NodeId) -> bool {
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

/// Reports whether an identifier is a target of an assignment.
pub(crate) fn is_assigned(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    let mut below = id;
    let mut above = seen.parent(id);
    // Also through patterns.
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

/// Reports whether a local is reassigned and visible to an inner function. In Go a local with a pointer to it
/// counts too.
pub(crate) fn is_shared(seen: &NamedFile<'_>, binding: u32) -> bool {
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
        let homes: Vec<Option<NodeId>> =
            seen.scopes.bindings.iter().map(|binding| seen.enclosing(binding.at, FUNCTIONS)).collect();
        let mut captured = vec![false; homes.len()];
        let mut reassigned = vec![false; homes.len()];
        for id in seen.tree.walk(seen.tree.root) {
            if let IdentifierUse::Local(binding) | IdentifierUse::Named(binding) = seen.scopes.of_leaf(id) {
                let at = binding as usize;
                let is_pointed = seen.tree.lang == Lang::Go && may_be_pointed_to(seen, id);
                captured[at] |= is_pointed || seen.enclosing(id, FUNCTIONS) != homes[at];
                reassigned[at] |= is_pointed || (seen.scopes.bindings[at].at != id && is_assigned(seen, id));
            }
        }
        captured.into_iter().zip(reassigned).map(|(captured, reassigned)| captured && reassigned).collect()
    });
    shared[binding as usize]
}

/// Reports whether an expression may take the address of a local: `&x`, `x.f()` and `x[:]`.
fn may_be_pointed_to(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    let above = seen.parent(id);
    match tree.kind(above) {
        "unary_expression" => tree.has_token(above, "&"),
        "slice_expression" => tree.field(id) == "operand",
        "selector_expression" => {
            let outer = seen.parent(above);
            (tree.kind(outer) == "call_expression" && tree.field(above) == "function")
                || (tree.kind(outer) == "unary_expression" && tree.has_token(outer, "&"))
        }
        _ => false,
    }
}
