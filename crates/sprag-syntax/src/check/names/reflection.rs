//! Who may see what something is called: texts that spell it, code that looks things up by name or asks things for
//! theirs, macros that are given its tokens.

use super::{Declaration, Declares, IdentifierUse, LoadedTrees, NamedFile};
use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::sugar::is_std_macro;
use crate::tree::{NodeId, SyntaxTree};

/// Whether a text of the tree may be a use of the name.
pub(crate) fn is_spelled(tree: &SyntaxTree, symbols: &Symbols, name: &str) -> bool {
    tree.walk(tree.root).any(|id| is_text(tree.kind(id)) && spells(symbols.text(tree.sym(id)), name))
}

fn is_text(kind: &str) -> bool {
    kind.contains("string")
        || matches!(kind, "template_string" | "jsx_text" | "directive" | "interpolation" | "gap" | "prologue")
}

/// Whether a function or class is only called, or also given to others, who may ask it for its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    Never,
    On,
}

/// Whether a use gives the thing itself away.
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

/// Whether something in the file finds things by their names, or tells what they are called.
pub(crate) fn asks(seen: &NamedFile<'_>, of: &Declaration, handed: Handed) -> bool {
    let tree = seen.tree;
    // What is a type only is gone when the program runs.
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
            // A member by a computed name may be any of them.
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

/// Whether something in a file of Python may list what a module has, or set something in it that is not named.
pub(crate) fn lists_modules(seen: &NamedFile<'_>) -> bool {
    let tree = seen.tree;
    let in_function = |id: NodeId| seen.enclosing(id, &["function_definition", "lambda"]).is_some();
    let leaves = || tree.walk(tree.root).filter(|id| tree.is_leaf(*id));
    let is_free =
        |id: NodeId| seen.scopes.of_leaf(id) == IdentifierUse::Free && tree.field(id) != "attribute";
    let lists = |id: NodeId| match seen.text(id) {
        "globals" | "eval" | "exec" => is_free(id),
        // The names of a function are not those of its module.
        "locals" => is_free(id) && !in_function(id),
        "vars" | "dir" => is_free(id) && !is_about_local(seen, id),
        "__dict__" | "__globals__" | "_getframe" | "currentframe" => true,
        _ => false,
    };
    // Where modules are found as objects, a local may be one.
    let finds_modules =
        |id: NodeId| matches!(seen.text(id), "modules" | "import_module" | "__import__" | "reload");
    let asks = |id: NodeId| {
        matches!(seen.text(id), "setattr" | "getattr" | "hasattr" | "delattr" | "vars" | "dir" | "getmembers")
    };
    leaves().any(lists) || leaves().any(finds_modules) && leaves().any(asks)
}

/// `vars(x)` of a local.
fn is_about_local(seen: &NamedFile<'_>, callee: NodeId) -> bool {
    let given = seen.tree.child(seen.parent(callee), "arguments");
    is_local(seen, given.and_then(|given| seen.tree.named_kids(given).next()))
}

/// The object of a local is not the module it stands in.
fn is_local(seen: &NamedFile<'_>, object: Option<NodeId>) -> bool {
    object.is_some_and(|object| {
        matches!(seen.scopes.of_leaf(object), IdentifierUse::Local(_) | IdentifierUse::Named(_))
    })
}

/// Whether something in the file makes a list of what there is of this kind.
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

/// Methods by which Java finds members; other libraries have such names, too.
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

/// Whether a file of Java has to do with classes as objects.
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

/// What is left of a declaration when the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RuntimeShape {
    Function,
    Class,
    /// Something that has no name of its own.
    Value,
    /// A type only.
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
            // A text that is there is looked at by itself.
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

/// Whether a class gives its own object to others, in a language that asks for no more than a name.
pub(crate) fn is_given_away(seen: &NamedFile<'_>, of: &Declaration) -> bool {
    let tree = seen.tree;
    let Some(owner) = of.owner.filter(|_| tree.lang.is_script() || tree.lang == Lang::Python) else {
        return false;
    };
    tree.walk(owner).any(|id| {
        let is_object = matches!(seen.text_or_empty(id), "this" | "self");
        // Under another name it is an object like any other.
        let is_value = matches!(tree.field(id), "right" | "value")
            && matches!(
                tree.kind(seen.parent(id)),
                "variable_declarator" | "assignment_expression" | "assignment"
            );
        is_object && (is_value || matches!(tree.kind(seen.parent(id)), "arguments" | "argument_list"))
    })
}

/// `__x` of a Python class is `_Class__x` to everybody else.
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

/// Whether an occurrence is given to a macro that may make anything of it, its text included.
pub(crate) fn is_macro_input(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let tree = seen.tree;
    if tree.lang != Lang::Rust || tree.kind(seen.parent(id)) != "token_tree" {
        return false;
    }
    let around = seen.enclosing(id, &["macro_invocation", "attribute_item", "macro_definition"]);
    let name = around.and_then(|around| tree.child(around, "macro"));
    !name.is_some_and(|name| is_std_macro(seen.text_or_empty(name)))
}

/// Whether a name stands in a text as a word. Who reads the text may take it for the name.
fn spells(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}
