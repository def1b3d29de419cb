//! The names obligation: a name that is seen beyond one function may be renamed only if every use of it is known to
//! be ours, the new name was nobody's, and the old one is gone. Whatever is not understood is somebody else's.

mod declared;
mod imports;

use std::cell::OnceCell;

use super::refused;
use super::scope::{Scopes, Use};
use super::{Loaded, Refused};
use crate::check::canon::is_name;
use crate::lang::Lang;
use crate::symbol::{Sym, Symbols};
use crate::tree::{Id, Tree};

/// A file of the left side with what is known of its names.
pub(crate) struct Seen<'a> {
    pub tree: &'a Tree,
    pub symbols: &'a Symbols,
    pub scopes: &'a Scopes,
    pub parents: Vec<Id>,
    pub path: &'a str,
    /// By binding: whether it is assigned again and a function inside can see it.
    pub shared: OnceCell<Vec<bool>>,
}

impl<'a> Seen<'a> {
    pub fn of(tree: &'a Tree, symbols: &'a Symbols, scopes: &'a Scopes, path: &'a str) -> Seen<'a> {
        let mut parents = vec![tree.root; tree.len()];
        for node in tree.walk(tree.root) {
            for kid in tree.kids(node) {
                parents[*kid as usize] = node;
            }
        }
        Seen { tree, symbols, scopes, parents, path, shared: OnceCell::new() }
    }

    pub fn parent(&self, id: Id) -> Id {
        self.parents[id as usize]
    }

    pub fn text(&self, id: Id) -> &str {
        self.symbols.text(self.tree.sym(id))
    }

    /// The class whose body a node stands in; an anonymous one counts.
    pub fn class_of(&self, id: Id) -> Option<Id> {
        let mut at = id;
        while at != self.tree.root {
            let above = self.parent(at);
            let is_anonymous =
                self.tree.kind(at) == "class_body" && self.tree.kind(above) == "object_creation_expression";
            if is_anonymous || CLASSES.contains(&self.tree.kind(above)) {
                return Some(above);
            }
            at = above;
        }
        None
    }

    /// The next node further out of one of these kinds.
    pub fn enclosing(&self, id: Id, kinds: &[&str]) -> Option<Id> {
        let mut at = id;
        while at != self.tree.root {
            at = self.parent(at);
            if kinds.contains(&self.tree.kind(at)) {
                return Some(at);
            }
        }
        None
    }
}

pub(crate) const CLASSES: &[&str] = &[
    "class_definition",
    "class_declaration",
    "abstract_class_declaration",
    "class",
    "impl_item",
    "trait_item",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
];

/// More uses of a name are not looked at.
const MANY: usize = 2000;

/// Where a renamed name is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Declaration {
    pub file: usize,
    pub kind: Declares,
    /// The class it is a member of.
    pub owner: Option<Id>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Declares {
    /// A function, type or value of a module.
    Top,
    /// A function of a class.
    Method,
    /// A value of a class.
    Field,
}

/// Accepts a rename of the left side, or says why not.
pub(crate) fn check_rename(
    loaded: &Loaded,
    seen: &[Option<Seen<'_>>],
    from: &str,
    to: &str,
) -> Result<(), Refused> {
    let escapes = |why: &str| refused(format!("rename of `{from}`: {why}"));
    let symbols = &loaded.symbols;
    let (Some(from_sym), Some(to_sym)) = (symbols.find(from), symbols.find(to)) else {
        return Err(escapes("the name does not occur"));
    };
    if is_spoken(from) || is_spoken(to) {
        return Err(escapes("the name has a meaning of its own"));
    }
    let langs = loaded.before.iter().flatten().map(|tree| tree.lang);
    if langs.into_iter().any(|lang| is_open(lang, from) != is_open(lang, to)) {
        return Err(escapes("it becomes public or private by its name"));
    }
    for (trees, stranger, why) in [
        (&loaded.before, to_sym, "the new name was there before"),
        (&loaded.after, from_sym, "the old name is still there"),
    ] {
        for tree in trees.iter().flatten() {
            let has_stranger = tree
                .walk(tree.root)
                .any(|id| tree.is_leaf(id) && tree.sym(id) == stranger && is_name(tree.kind(id)));
            if has_stranger {
                return Err(escapes(why));
            }
            let is_spelled = is_spelled(tree, symbols, from);
            if is_spelled {
                return Err(escapes("a text spells it"));
            }
        }
    }
    let reads_names = |tree: &Tree| {
        tree.walk(tree.root).any(|id| tree.is_leaf(id) && READERS.contains(&symbols.text(tree.sym(id))))
    };
    if loaded.before.iter().flatten().any(|tree| reads_names(tree)) {
        return Err(escapes("something asks for names"));
    }
    // Beyond that looking at each would cost too much, and nobody renames so much at once.
    if seen.iter().flatten().map(|seen| occurrences(seen, from_sym).take(MANY).count()).sum::<usize>() >= MANY
    {
        return Err(escapes("it occurs too often"));
    }
    let mut declaration: Option<Declaration> = None;
    for (file, seen) in seen.iter().enumerate() {
        let Some(seen) = seen else { continue };
        for id in occurrences(seen, from_sym) {
            if let Some(found) = declared::declares(seen, file, id).map_err(escapes)? {
                match declaration {
                    Some(known) if known != found => return Err(escapes("it is declared twice")),
                    _ => declaration = Some(found),
                }
            }
        }
    }
    let declaration = declaration.ok_or_else(|| escapes("its declaration is not in the change"))?;
    for (file, seen) in seen.iter().enumerate() {
        let Some(seen) = seen else { continue };
        for id in occurrences(seen, from_sym) {
            if !is_ours(loaded, seen, file, id, from_sym, &declaration).map_err(escapes)? {
                return Err(escapes("a use of it may be somebody else's"));
            }
        }
    }
    Ok(())
}

fn occurrences<'a>(seen: &'a Seen<'_>, sym: Sym) -> impl Iterator<Item = Id> + 'a {
    let tree = seen.tree;
    tree.walk(tree.root)
        .filter(move |id| tree.is_leaf(*id) && tree.sym(*id) == sym && is_name(tree.kind(*id)))
}

fn is_ours(
    loaded: &Loaded,
    seen: &Seen<'_>,
    file: usize,
    id: Id,
    name: Sym,
    of: &Declaration,
) -> Result<bool, &'static str> {
    let tree = seen.tree;
    let is_declaration = declared::declares(seen, file, id)?.is_some();
    if is_declaration {
        return Ok(true);
    }
    let here = file == of.file;
    match seen.scopes.of_leaf(id) {
        // A local of the same name is another thing, and stays one.
        Use::Local(_) => return Ok(true),
        Use::Named(_) => return Ok(false),
        Use::Free | Use::Text => {}
    }
    if tree.kind(id).starts_with("shorthand") || is_embedded(seen, id) {
        return Ok(false);
    }
    if imports::is_import(seen, id) {
        return Ok(of.kind == Declares::Top && !here && imports::comes_from(loaded, seen, id, of));
    }
    if let Some(receiver) = declared::receiver(seen, id) {
        if of.kind == Declares::Top {
            return Ok(imports::is_module(loaded, seen, receiver, of));
        }
        return Ok(here && is_own_receiver(seen, id, receiver, of));
    }
    let is_bare = match tree.kind(id) {
        "identifier" => seen.scopes.of_leaf(id) == Use::Free || declared::is_java_call(seen, id),
        "type_identifier" => true,
        _ => false,
    };
    if !is_bare {
        return Ok(false);
    }
    match of.kind {
        Declares::Top => Ok(here || imports::is_imported(loaded, seen, name, of)),
        // Java alone calls its own members by their bare name.
        Declares::Method | Declares::Field => Ok(here
            && tree.lang == Lang::Java
            && seen.class_of(id) == of.owner
            && is_kind_of_use(seen, id, of)),
    }
}

/// An embedded type of Go gives its name to a field.
fn is_embedded(seen: &Seen<'_>, id: Id) -> bool {
    let field = seen.enclosing(id, &["field_declaration"]);
    seen.tree.lang == Lang::Go && field.is_some_and(|field| seen.tree.child(field, "name").is_none())
}

/// A call is of a method, anything else of a field.
fn is_kind_of_use(seen: &Seen<'_>, id: Id, of: &Declaration) -> bool {
    let is_call = declared::is_java_call(seen, id);
    (of.kind == Declares::Method) == is_call
}

/// `self.x`, `this.x`, `Self::x` inside of the class itself, or through the class's name where it is static.
fn is_own_receiver(seen: &Seen<'_>, id: Id, receiver: Id, of: &Declaration) -> bool {
    let tree = seen.tree;
    let Some(owner) = of.owner else { return false };
    let inside = match tree.lang {
        Lang::Rust => {
            let here = seen.enclosing(id, &["impl_item"]);
            here.is_some_and(|here| same_type(seen, here, owner))
        }
        Lang::Go => {
            seen.enclosing(id, &["method_declaration"]).is_some_and(|here| same_receiver(seen, here, owner))
        }
        _ => seen.class_of(id) == Some(owner),
    };
    let text = if tree.is_leaf(receiver) { seen.text(receiver) } else { "" };
    match tree.lang {
        Lang::Rust => inside && matches!(text, "self" | "Self"),
        Lang::Python => inside && is_first_parameter(seen, id, receiver),
        Lang::Go => inside && is_go_receiver(seen, id, receiver),
        Lang::Java | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            inside && text == "this" && !in_plain_function(seen, id, owner)
        }
    }
}

/// Whether `object` is the very object whose method of `class` is running.
pub(crate) fn is_own_object(seen: &Seen<'_>, id: Id, object: Id, class: Id) -> bool {
    let inside = seen.class_of(id) == Some(class);
    match seen.tree.lang {
        Lang::Python => inside && is_first_parameter(seen, id, object),
        _ => inside && seen.tree.kind(object) == "this" && !in_plain_function(seen, id, class),
    }
}

/// A `function` inside of a method has a `this` of its own.
fn in_plain_function(seen: &Seen<'_>, id: Id, owner: Id) -> bool {
    let functions = [
        "function_expression",
        "function_declaration",
        "generator_function",
        "generator_function_declaration",
    ];
    seen.enclosing(id, &functions)
        .is_some_and(|function| seen.tree.node(function).start > seen.tree.node(owner).start)
}

fn same_type(seen: &Seen<'_>, left: Id, right: Id) -> bool {
    let name = |id: Id| {
        let of = seen.tree.child(id, "type")?;
        seen.tree
            .walk(of)
            .find(|node| seen.tree.kind(*node) == "type_identifier")
            .map(|node| seen.tree.sym(node))
    };
    name(left).is_some() && name(left) == name(right)
}

fn same_receiver(seen: &Seen<'_>, left: Id, right: Id) -> bool {
    declared::go_type(seen, left).is_some() && declared::go_type(seen, left) == declared::go_type(seen, right)
}

fn is_go_receiver(seen: &Seen<'_>, id: Id, receiver: Id) -> bool {
    let Some(method) = seen.enclosing(id, &["method_declaration"]) else { return false };
    let Some(list) = seen.tree.child(method, "receiver") else { return false };
    let own = seen.tree.walk(list).find(|node| seen.tree.kind(*node) == "identifier");
    match (own.map(|own| seen.scopes.of_leaf(own)), seen.scopes.of_leaf(receiver)) {
        (Some(Use::Local(own)), Use::Local(used)) => own == used,
        _ => false,
    }
}

/// `self` is whatever the method calls its first parameter.
fn is_first_parameter(seen: &Seen<'_>, id: Id, receiver: Id) -> bool {
    let Some(method) = seen.enclosing(id, &["function_definition"]) else { return false };
    let Some(parameters) = seen.tree.child(method, "parameters") else { return false };
    let first = seen.tree.named_kids(parameters).next();
    let is_self = first.is_some_and(|first| matches!(seen.text_or_empty(first), "self" | "cls"));
    match (first.map(|first| seen.scopes.of_leaf(first)), seen.scopes.of_leaf(receiver)) {
        (Some(Use::Local(own)), Use::Local(used)) => is_self && own == used,
        _ => false,
    }
}

impl Seen<'_> {
    fn text_or_empty(&self, id: Id) -> &str {
        if self.tree.is_leaf(id) { self.text(id) } else { "" }
    }
}

/// Whether a text of the tree may be a use of the name.
pub(crate) fn is_spelled(tree: &Tree, symbols: &Symbols, name: &str) -> bool {
    tree.walk(tree.root).any(|id| is_text(tree.kind(id)) && spells(symbols.text(tree.sym(id)), name))
}

fn is_text(kind: &str) -> bool {
    kind.contains("string") || matches!(kind, "template_string" | "jsx_text" | "directive" | "interpolation")
}

/// What finds things by their names, or tells what they are called.
const READERS: &[&str] = &[
    "__name__",
    "__qualname__",
    "__dict__",
    "getattr",
    "hasattr",
    "setattr",
    "globals",
    "locals",
    "vars",
    "dir",
    "eval",
    "exec",
    "getmembers",
    "_getframe",
    "Reflect",
    "globalThis",
    "getOwnPropertyNames",
    "getSimpleName",
    "getMethod",
    "getDeclaredMethod",
    "getMethods",
    "getDeclaredMethods",
    "forName",
    "MethodByName",
    "type_name",
    "stringify",
];

/// Whether a name stands in a text as a word. Who reads the text may take it for the name.
fn spells(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// Whether others may see what goes by this name, where the name itself says so.
fn is_open(lang: Lang, name: &str) -> bool {
    match lang {
        Lang::Python => !name.starts_with('_'),
        Lang::Go => name.starts_with(char::is_uppercase),
        Lang::Rust | Lang::Java | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => true,
    }
}

/// Names that a language, a runtime or a tool knows.
fn is_spoken(name: &str) -> bool {
    const SPOKEN: &[&str] = &[
        "main",
        "init",
        "new",
        "default",
        "constructor",
        "toString",
        "toJSON",
        "valueOf",
        "equals",
        "hashCode",
        "compareTo",
        "clone",
        "finalize",
        "close",
        "run",
        "call",
        "get",
        "set",
        "apply",
        "accept",
        "test",
        "then",
        "next",
        "return",
        "throw",
        "render",
        "String",
        "Error",
        "Read",
        "Write",
        "Close",
        "Len",
        "Less",
        "Swap",
        "drop",
        "fmt",
        "from",
        "into",
        "eq",
        "cmp",
        "hash",
        "index",
        "deref",
        "iter",
        "setUp",
        "tearDown",
        "setup",
        "teardown",
        "exports",
        "module",
        "require",
        "arguments",
        "iterator",
        "readObject",
        "writeObject",
        "readResolve",
        "writeReplace",
        "length",
        "name",
        "prototype",
        "handler",
        "ServeHTTP",
        "MarshalJSON",
        "UnmarshalJSON",
        "Unwrap",
        "Is",
        "As",
        "Format",
        "GoString",
    ];
    SPOKEN.contains(&name)
        || (name.starts_with("__") && name.ends_with("__"))
        || name.starts_with("test_")
        || name.starts_with("ng")
        || ["Test", "Benchmark", "Example", "Fuzz"].iter().any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| !c.is_lowercase()))
        })
}
