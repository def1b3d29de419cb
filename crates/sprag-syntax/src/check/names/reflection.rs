//! Code that can observe a name: texts that contain it, lookups by name, requests for the name of an object,
//! and macros that receive its tokens.

use super::{Declaration, Declares, IdentifierUse, LoadedTrees, NamedFile};
use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::sugar::is_std_macro;
use crate::tree::{NodeId, SyntaxTree};

/// Reports whether a text of the tree may be a use of the name.
pub(crate) fn is_spelled(tree: &SyntaxTree, symbols: &Symbols, name: &str) -> bool {
    tree.walk(tree.root).any(|id| is_text(tree.kind(id)) && spells(symbols.text(tree.sym(id)), name))
}

fn is_text(kind: &str) -> bool {
    kind.contains("string")
        || matches!(kind, "template_string" | "jsx_text" | "directive" | "interpolation" | "gap" | "prologue")
}

/// Whether a function or class is only called, or also passed to other code, which may ask for its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    Never,
    On,
}

/// Reports whether a use passes on the function or class itself.
pub(crate) fn is_handed(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    if tree.kind(id) == "type_identifier" {
        return false;
    }
    let parent = seen.parent(id);
    let whole = if super::declarations::receiver(seen, id).is_some() { parent } else { id };
    let is_called = matches!(tree.kind(seen.parent(whole)), "call" | "call_expression" | "new_expression")
        && matches!(tree.field(whole), "function" | "constructor");
    !is_called && tree.kind(parent) != "method_invocation" && !super::imports::is_import(seen, id)
}

/// Reports whether code in the file finds things by name or reads their names.
pub(crate) fn asks(seen: &NamedFile<'_>, of: &Declaration, handed: Handed) -> bool {
    let tree = seen.tree;
    // A pure type does not exist at run time.
    if of.shape == RuntimeShape::Erased {
        return false;
    }
    tree.walk(tree.root).any(|id| {
        if tree.is_leaf(id) {
            match tree.lang {
                Lang::Python => python(seen, id, of, handed),
                Lang::JavaScript | Lang::TypeScript | Lang::Tsx => script(seen, id, of, handed),
                Lang::Java => is_reflection(seen.text(id)) && has_classes(tree, seen.symbols),
                Lang::Go => matches!(seen.text(id), "MethodByName" | "FuncForPC" | "CallersFrames"),
                Lang::Rust => matches!(seen.text(id), "type_name" | "type_name_of_val"),
            }
        } else {
            // A member with a computed name may be any member.
            tree.lang.is_script()
                && of.kind == Declares::Method
                && tree.kind(id) == "subscript_expression"
                && (tree.field(id) == "function"
                    || tree.child(id, "object").is_some_and(|object| tree.kind(object) == "this"))
                && tree
                    .child(id, "index")
                    .is_some_and(|index| !matches!(tree.kind(index), "number" | "string"))
        }
    })
}

/// Reports whether a Python file may list the names of a module, or set one without naming it.
pub(crate) fn lists_modules(seen: &NamedFile<'_>) -> bool {
    let tree = seen.tree;
    let in_function = |id: NodeId| seen.enclosing(id, &["function_definition", "lambda"]).is_some();
    let leaves = || tree.walk(tree.root).filter(|id| tree.is_leaf(*id));
    let is_free =
        |id: NodeId| seen.scopes.of_leaf(id) == IdentifierUse::Free && tree.field(id) != "attribute";
    let lists = |id: NodeId| match seen.text(id) {
        "globals" | "eval" | "exec" => is_free(id),
        // Names of a function are not names of its module.
        "locals" => is_free(id) && !in_function(id),
        "vars" | "dir" => is_free(id) && !is_about_local(seen, id),
        "__dict__" | "__globals__" | "_getframe" | "currentframe" => true,
        _ => false,
    };
    // Code that finds modules as objects may store one in a local.
    let finds_modules =
        |id: NodeId| matches!(seen.text(id), "modules" | "import_module" | "__import__" | "reload");
    let asks = |id: NodeId| {
        matches!(seen.text(id), "setattr" | "getattr" | "hasattr" | "delattr" | "vars" | "dir" | "getmembers")
    };
    leaves().any(lists) || leaves().any(finds_modules) && leaves().any(asks)
}

/// Reports whether the argument of `vars(x)` is a local.
fn is_about_local(seen: &NamedFile<'_>, callee: NodeId) -> bool {
    let given = seen.tree.child(seen.parent(callee), "arguments");
    is_local(seen, given.and_then(|given| seen.tree.named_kids(given).next()))
}

/// Reports whether an object is a local, which is not the enclosing module.
fn is_local(seen: &NamedFile<'_>, object: Option<NodeId>) -> bool {
    object.is_some_and(|object| {
        matches!(seen.scopes.of_leaf(object), IdentifierUse::Local(_) | IdentifierUse::Named(_))
    })
}

/// Reports whether code in the file lists declarations of this kind.
pub(crate) fn lists(seen: &NamedFile<'_>, of: Declares) -> bool {
    let tree = seen.tree;
    let lists = |id: NodeId| {
        let is_free = seen.scopes.of_leaf(id) == IdentifierUse::Free;
        let is_member = tree.field(id) == "attribute";
        match (tree.lang, seen.text(id)) {
            (Lang::Python, "globals" | "eval" | "exec") => is_free && !is_member,
            (Lang::Python, "vars" | "dir") if is_free && !is_member => {
                of != Declares::Top || !is_about_local(seen, id)
            }
            (Lang::Python, "__dict__") => {
                of != Declares::Top || !is_local(seen, tree.child(seen.parent(id), "object"))
            }
            (Lang::Python, "getmembers") => true,
            (Lang::Java, text) => {
                let lists = match of {
                    Declares::Field => matches!(text, "getFields" | "getDeclaredFields"),
                    Declares::Top | Declares::Method => {
                        matches!(text, "getMethods" | "getDeclaredMethods" | "getMethodName")
                    }
                };
                lists && has_classes(seen.tree, seen.symbols)
            }
            (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, text) => {
                of != Declares::Top
                    && matches!(text, "getOwnPropertyNames" | "getOwnPropertyDescriptors" | "ownKeys")
            }
            _ => false,
        }
    };
    tree.walk(tree.root).any(|id| tree.is_leaf(id) && lists(id))
}

/// Reports whether Java finds members by a method of this name; other libraries use such names too.
fn is_reflection(name: &str) -> bool {
    matches!(
        name,
        "getMethod"
            | "getDeclaredMethod"
            | "getMethods"
            | "getDeclaredMethods"
            | "getField"
            | "getDeclaredField"
            | "getFields"
            | "getDeclaredFields"
            | "findVirtual"
            | "findStatic"
            | "findSpecial"
            | "invokeMethod"
            | "getMethodName"
    )
}

/// Reports whether a Java file handles classes as objects.
pub(crate) fn has_classes(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    tree.walk(tree.root).any(|id| {
        if tree.is_leaf(id) {
            matches!(
                symbols.text(tree.sym(id)),
                "getClass" | "reflect" | "MethodHandles" | "Class" | "StackTraceElement"
            )
        } else {
            tree.kind(id) == "class_literal"
        }
    })
}

/// The form of a declaration at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RuntimeShape {
    Function,
    Class,
    /// A value without its own name.
    Value,
    /// A pure type.
    Erased,
}

fn python(seen: &NamedFile<'_>, id: NodeId, of: &Declaration, handed: Handed) -> bool {
    let tree = seen.tree;
    let is_member = tree.field(id) == "attribute";
    let is_free = seen.scopes.of_leaf(id) == IdentifierUse::Free;
    match seen.text(id) {
        "getattr" | "hasattr" | "setattr" | "delattr" if is_free => {
            let arguments = tree
                .child(seen.parent(id), "arguments")
                .filter(|_| tree.field(id) == "function" && tree.kind(seen.parent(id)) == "call");
            let Some(arguments) = arguments else { return true };
            let mut given = tree.named_kids(arguments);
            let (object, name) = (given.next(), given.next());
            // A literal text is checked separately.
            let is_told = name.is_some_and(|name| tree.is_leaf(name) && tree.kind(name) == "string");
            let is_own = object.is_some_and(|object| matches!(seen.text_or_empty(object), "self" | "cls"));
            !(is_told || is_own && of.kind == Declares::Top)
        }
        "globals" | "locals" | "vars" | "dir" | "eval" | "exec" => is_free && !is_member,
        "__dict__" | "getmembers" | "_getframe" | "currentframe" | "getsource" | "attrgetter"
        | "methodcaller" => true,
        "__name__" | "__qualname__" => is_member && (handed == Handed::On || of.shape == RuntimeShape::Class),
        _ => false,
    }
}

fn script(seen: &NamedFile<'_>, id: NodeId, of: &Declaration, handed: Handed) -> bool {
    let is_free = seen.scopes.of_leaf(id) == IdentifierUse::Free;
    let is_member = seen.tree.field(id) == "property";
    match seen.text(id) {
        "Reflect" | "eval" | "Function" => is_free,
        "getOwnPropertyNames" | "getOwnPropertyDescriptors" | "ownKeys" => true,
        "name" => is_member && handed == Handed::On && of.shape != RuntimeShape::Value,
        "constructor" => {
            is_member
                && of.shape == RuntimeShape::Class
                && seen.tree.kind(seen.parent(id)) == "member_expression"
        }
        _ => false,
    }
}

/// Reports whether a class passes its own object to other code, in a language where a name is enough to call
/// a method.
pub(crate) fn is_given_away(seen: &NamedFile<'_>, of: &Declaration) -> bool {
    let tree = seen.tree;
    let Some(owner) = of.owner.filter(|_| tree.lang.is_script() || tree.lang == Lang::Python) else {
        return false;
    };
    tree.walk(owner).any(|id| {
        let is_object = matches!(seen.text_or_empty(id), "this" | "self");
        // After an assignment to another name the object can go anywhere.
        let is_value = matches!(tree.field(id), "right" | "value")
            && matches!(
                tree.kind(seen.parent(id)),
                "variable_declarator" | "assignment_expression" | "assignment"
            );
        is_object && (is_value || matches!(tree.kind(seen.parent(id)), "arguments" | "argument_list"))
    })
}

/// Reports whether a Python source uses the name `__x` in its form outside the class, `_Class__x`.
pub(crate) fn is_mangled(loaded: &LoadedTrees, name: &str) -> bool {
    let trees = loaded.before.iter().chain(&loaded.after).flatten();
    name.starts_with("__")
        && trees.filter(|tree| tree.lang == Lang::Python).any(|tree| {
            tree.walk(tree.root).filter(|id| tree.is_leaf(*id)).any(|id| {
                let text = loaded.symbols.text(tree.sym(id));
                text.len() > name.len() && text.starts_with('_') && text.ends_with(name)
            })
        })
}

/// Reports whether an occurrence is input of a macro that may use its text.
pub(crate) fn is_macro_input(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    if tree.lang != Lang::Rust || tree.kind(seen.parent(id)) != "token_tree" {
        return false;
    }
    let around = seen.enclosing(id, &["macro_invocation", "attribute_item", "macro_definition"]);
    let name = around.and_then(|around| tree.child(around, "macro"));
    !name.is_some_and(|name| is_std_macro(seen.text_or_empty(name)))
}

/// Reports whether a name occurs in a text as a word, because code that reads the text may use it as the
/// name.
fn spells(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}
