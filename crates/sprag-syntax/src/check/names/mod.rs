//! The names obligation: a name that is visible outside one function may be renamed under three conditions.
//! Every use must refer to the declaration, the new name must be unused, and the old name must be gone. A use
//! that the checker does not understand counts as foreign.

mod declarations;
mod imports;
mod reflection;
mod strings;

use std::cell::OnceCell;

use super::scope::{IdentifierUse, Scopes};
use super::{LoadedTrees, ProofError, refused};
use crate::check::canon::is_name;
use crate::lang::Lang;
use crate::proof::ProofSide;
use crate::symbol::{Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};
pub(crate) use imports::{resolves, takes_all};
use reflection::{Handed, RuntimeShape};
pub(crate) use reflection::{has_classes, is_spelled, lists_modules};
use strings::{is_predeclared, is_protocol, is_spoken};

/// A file of the left side with the analysis of its names.
pub(crate) struct NamedFile<'a> {
    pub tree: &'a SyntaxTree,
    pub symbols: &'a Symbols,
    pub scopes: &'a Scopes,
    pub parents: Vec<NodeId>,
    pub path: &'a str,
    /// For each binding: whether it is reassigned and an inner function sees it.
    pub shared: OnceCell<Vec<bool>>,
}

impl<'a> NamedFile<'a> {
    pub(crate) fn new(
        tree: &'a SyntaxTree,
        symbols: &'a Symbols,
        scopes: &'a Scopes,
        path: &'a str,
    ) -> NamedFile<'a> {
        let mut parents = vec![tree.root; tree.len()];
        for node in tree.walk(tree.root) {
            for kid in tree.kids(node) {
                parents[*kid as usize] = node;
            }
        }
        NamedFile { tree, symbols, scopes, parents, path, shared: OnceCell::new() }
    }

    pub(crate) fn parent(&self, id: NodeId) -> NodeId {
        self.parents[id as usize]
    }

    pub(crate) fn text(&self, id: NodeId) -> &str {
        self.symbols.text(self.tree.sym(id))
    }

    /// Returns the class whose body contains a node; an anonymous class counts.
    pub(crate) fn class_of(&self, id: NodeId) -> Option<NodeId> {
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

    /// Returns the nearest enclosing node of one of these kinds.
    pub(crate) fn enclosing(&self, id: NodeId, kinds: &[&str]) -> Option<NodeId> {
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

/// Maximum number of uses of a name.
const MANY: usize = 2000;

/// The declaration of a renamed name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Declaration {
    pub file: usize,
    pub kind: Declares,
    /// The class that it is a member of.
    pub owner: Option<NodeId>,
    pub shape: RuntimeShape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Declares {
    /// A function, type or value of a module.
    Top,
    /// A method of a class.
    Method,
    /// A field of a class.
    Field,
}

/// The visibility of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum NameVisibility {
    /// Only in its own file; code elsewhere that uses it would not compile.
    File,
    /// Anywhere in the tree.
    Tree,
}

/// Accepts a rename of the left side and returns who could use the name, or refuses it with a reason.
pub(crate) fn check_rename(
    loaded: &LoadedTrees,
    seen: &[Option<NamedFile<'_>>],
    from: &str,
    to: &str,
) -> Result<NameVisibility, ProofError> {
    let escapes = |why: &str| refused(format!("rename of `{from}`: {why}"));
    let symbols = &loaded.symbols;
    let (Some(from_sym), Some(to_sym)) = (symbols.find(from), symbols.find(to)) else {
        return Err(escapes("the name does not occur"));
    };
    if is_spoken(from) || is_spoken(to) {
        return Err(escapes("the name has a meaning of its own"));
    }
    for lang in loaded.before.iter().flatten().map(|tree| tree.lang) {
        if is_open(lang, from) != is_open(lang, to) {
            return Err(escapes("it becomes public or private by its name"));
        }
        if is_predeclared(lang, to) {
            return Err(escapes("the new name has a meaning without being declared"));
        }
    }
    if reflection::is_mangled(loaded, from) || reflection::is_mangled(loaded, to) {
        return Err(escapes("it has another name outside of its class"));
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
            if is_spelled(tree, symbols, from) || is_spelled(tree, symbols, to) {
                return Err(escapes("a text spells it"));
            }
        }
    }
    // More uses would cost too much, and such a rename is unlikely.
    if seen.iter().flatten().map(|seen| occurrences(seen, from_sym).take(MANY).count()).sum::<usize>() >= MANY
    {
        return Err(escapes("it occurs too often"));
    }
    let mut declaration: Option<Declaration> = None;
    let mut reach = NameVisibility::File;
    for (file, seen) in seen.iter().enumerate() {
        let Some(seen) = seen else { continue };
        for id in occurrences(seen, from_sym) {
            if let Some(found) = declarations::declares(seen, file, id).map_err(escapes)? {
                match declaration {
                    Some(known) if known != found => return Err(escapes("it is declared twice")),
                    _ => declaration = Some(found),
                }
                reach = reach.max(declarations::reach(seen, id));
            }
        }
    }
    let declaration = declaration.ok_or_else(|| escapes("its declaration is not in the change"))?;
    if declaration.kind == Declares::Method && (is_protocol(from) || is_protocol(to)) {
        return Err(escapes("code that receives the object calls it by that name"));
    }
    let is_global = |seen: &NamedFile<'_>| declaration.kind == Declares::Top && !imports::is_module(seen);
    if seen[declaration.file].as_ref().is_some_and(is_global) {
        return Err(escapes("every script of a page sees it"));
    }
    if declaration.kind == Declares::Top && imports::is_taken_whole(loaded, seen, &declaration) {
        return Err(escapes("its module is taken as a whole"));
    }
    let (mut uses, mut handed) = (0, Handed::Never);
    for (file, seen) in seen.iter().enumerate() {
        let Some(seen) = seen else { continue };
        let imports = if imports::is_imported(loaded, seen, from_sym, &declaration) {
            Imports::Ours
        } else {
            Imports::Others
        };
        for id in occurrences(seen, from_sym) {
            match whose(loaded, seen, file, id, &declaration, imports).map_err(escapes)? {
                NameUse::Another | NameUse::Declaration => {}
                NameUse::Ours => {
                    uses += 1;
                    if reflection::is_handed(seen, id) {
                        handed = Handed::On;
                    }
                    if is_element(seen, id) && is_capital(from) != is_capital(to) {
                        return Err(escapes("an element goes by its first letter"));
                    }
                }
                NameUse::Unknown => return Err(escapes("a use of it may refer to another declaration")),
            }
        }
    }
    // A declaration without a use is used outside the change.
    if uses == 0 {
        return Err(escapes("the code that uses it is not in the change"));
    }
    let is_given = |seen: &NamedFile<'_>| reflection::is_given_away(seen, &declaration);
    if !is_hidden(from) && seen[declaration.file].as_ref().is_some_and(is_given) {
        return Err(escapes("code that receives the object may call it by that name"));
    }
    if seen.iter().flatten().any(|seen| reflection::asks(seen, &declaration, handed)) {
        return Err(escapes("something asks for names"));
    }
    Ok(reach)
}

/// Accepts the removal of the declaration at a position and returns who could have used it, or refuses it
/// with a reason. A new name cannot be looked up, but code that lists all names would find it.
pub(crate) fn check_vanishing(
    seen: &NamedFile<'_>,
    side: ProofSide,
    file: usize,
    at: usize,
) -> Result<NameVisibility, ProofError> {
    let tree = seen.tree;
    let is_it =
        |id: &NodeId| tree.node(*id).start as usize == at && is_name(tree.kind(*id)) && tree.is_leaf(*id);
    let Some(id) = tree.walk(tree.root).find(is_it) else { return Ok(NameVisibility::File) };
    if let IdentifierUse::Local(_) | IdentifierUse::Named(_) = seen.scopes.of_leaf(id) {
        return Ok(NameVisibility::File);
    }
    let is_missed = match (side, declarations::declares(seen, file, id)) {
        (_, Ok(None)) => false,
        (ProofSide::Before, Ok(Some(of))) => {
            let is_global = of.kind == Declares::Top && !imports::is_module(seen);
            let is_given = !is_hidden(seen.text(id)) && reflection::is_given_away(seen, &of);
            is_global || is_given || reflection::asks(seen, &of, Handed::Never)
        }
        (ProofSide::Before, Err(_)) => true,
        (ProofSide::After, Ok(Some(of))) => reflection::lists(seen, of.kind),
        (ProofSide::After, Err(_)) => false,
    };
    if is_missed {
        return Err(refused(format!(
            "inlining of `{}`: something may ask for it by its name",
            seen.text(id)
        )));
    }
    Ok(match side {
        ProofSide::Before => declarations::reach(seen, id),
        ProofSide::After => declarations::reach_of_new(seen, id),
    })
}

/// Reports whether only its class can name a member.
fn is_hidden(name: &str) -> bool {
    name.starts_with('#') || name.starts_with('_')
}

fn is_capital(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Reports whether an identifier is a JSX tag: `<Row/>` is a component, `<row/>` is an HTML element.
fn is_element(seen: &NamedFile<'_>, id: NodeId) -> bool {
    seen.tree.kind(seen.parent(id)).starts_with("jsx_")
}

fn occurrences<'a>(seen: &'a NamedFile<'_>, sym: Sym) -> impl Iterator<Item = NodeId> + 'a {
    let tree = seen.tree;
    tree.walk(tree.root)
        .filter(move |id| tree.is_leaf(*id) && tree.sym(*id) == sym && is_name(tree.kind(*id)))
}

/// Whether a file imports the name from the declaring file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Imports {
    Ours,
    Others,
}

/// The meaning of an occurrence of a name.
enum NameUse {
    Declaration,
    /// A use of the declaration.
    Ours,
    /// A local of the same name, which stays separate.
    Another,
    Unknown,
}

fn whose(
    loaded: &LoadedTrees,
    seen: &NamedFile<'_>,
    file: usize,
    id: NodeId,
    of: &Declaration,
    imports: Imports,
) -> Result<NameUse, &'static str> {
    if declarations::declares(seen, file, id)?.is_some() {
        return Ok(NameUse::Declaration);
    }
    if let IdentifierUse::Local(_) = seen.scopes.of_leaf(id) {
        return Ok(NameUse::Another);
    }
    let is_ours = is_ours(loaded, seen, file, id, of, imports);
    Ok(if is_ours { NameUse::Ours } else { NameUse::Unknown })
}

fn is_ours(
    loaded: &LoadedTrees,
    seen: &NamedFile<'_>,
    file: usize,
    id: NodeId,
    of: &Declaration,
    imports: Imports,
) -> bool {
    let tree = seen.tree;
    let here = file == of.file;
    let is_named = matches!(seen.scopes.of_leaf(id), IdentifierUse::Named(_));
    if is_named
        || tree.kind(id).starts_with("shorthand")
        || is_embedded(seen, id)
        || reflection::is_macro_input(seen, id)
    {
        return false;
    }
    if imports::is_import(seen, id) {
        return of.kind == Declares::Top && !here && imports::comes_from(loaded, seen, id, of);
    }
    if let Some(receiver) = declarations::receiver(seen, id) {
        return of.kind != Declares::Top && here && is_own_receiver(seen, id, receiver, of);
    }
    let is_bare = match tree.kind(id) {
        "identifier" => {
            seen.scopes.of_leaf(id) == IdentifierUse::Free || declarations::is_java_call(seen, id)
        }
        "type_identifier" => true,
        _ => false,
    };
    match of.kind {
        Declares::Top => is_bare && (here || imports == Imports::Ours),
        // Only Java uses its own members by their bare name.
        Declares::Method | Declares::Field => {
            is_bare
                && here
                && tree.lang == Lang::Java
                && seen.class_of(id) == of.owner
                && is_kind_of_use(seen, id, of)
        }
    }
}

/// Reports whether an identifier is an embedded Go type, which gives its name to a field.
fn is_embedded(seen: &NamedFile<'_>, id: NodeId) -> bool {
    let field = seen.enclosing(id, &["field_declaration"]);
    seen.tree.lang == Lang::Go && field.is_some_and(|field| seen.tree.child(field, "name").is_none())
}

/// Reports whether a use fits the declaration: a call refers to a method, anything else to a field.
fn is_kind_of_use(seen: &NamedFile<'_>, id: NodeId, of: &Declaration) -> bool {
    let is_call = declarations::is_java_call(seen, id);
    (of.kind == Declares::Method) == is_call
}

/// Reports whether a receiver is the class itself: `self.x`, `this.x` or `Self::x` inside the class, or the
/// name of the class for static members.
fn is_own_receiver(seen: &NamedFile<'_>, id: NodeId, receiver: NodeId, of: &Declaration) -> bool {
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

/// Reports whether `object` is the object whose method of `class` runs.
pub(crate) fn is_own_object(seen: &NamedFile<'_>, id: NodeId, object: NodeId, class: NodeId) -> bool {
    let inside = seen.class_of(id) == Some(class);
    match seen.tree.lang {
        Lang::Python => inside && is_first_parameter(seen, id, object),
        _ => inside && seen.tree.kind(object) == "this" && !in_plain_function(seen, id, class),
    }
}

/// Reports whether a node stands in a nested `function`, which has its own `this`.
fn in_plain_function(seen: &NamedFile<'_>, id: NodeId, owner: NodeId) -> bool {
    let functions = [
        "function_expression",
        "function_declaration",
        "generator_function",
        "generator_function_declaration",
    ];
    seen.enclosing(id, &functions)
        .is_some_and(|function| seen.tree.node(function).start > seen.tree.node(owner).start)
}

fn same_type(seen: &NamedFile<'_>, left: NodeId, right: NodeId) -> bool {
    let name = |id: NodeId| {
        let of = seen.tree.child(id, "type")?;
        seen.tree
            .walk(of)
            .find(|node| seen.tree.kind(*node) == "type_identifier")
            .map(|node| seen.tree.sym(node))
    };
    name(left).is_some() && name(left) == name(right)
}

fn same_receiver(seen: &NamedFile<'_>, left: NodeId, right: NodeId) -> bool {
    declarations::go_type(seen, left).is_some()
        && declarations::go_type(seen, left) == declarations::go_type(seen, right)
}

fn is_go_receiver(seen: &NamedFile<'_>, id: NodeId, receiver: NodeId) -> bool {
    let Some(method) = seen.enclosing(id, &["method_declaration"]) else { return false };
    let Some(list) = seen.tree.child(method, "receiver") else { return false };
    let own = seen.tree.walk(list).find(|node| seen.tree.kind(*node) == "identifier");
    match (own.map(|own| seen.scopes.of_leaf(own)), seen.scopes.of_leaf(receiver)) {
        (Some(IdentifierUse::Local(own)), IdentifierUse::Local(used)) => own == used,
        _ => false,
    }
}

/// Reports whether the receiver is the first parameter of the method, which Python calls `self` by
/// convention.
fn is_first_parameter(seen: &NamedFile<'_>, id: NodeId, receiver: NodeId) -> bool {
    let Some(method) = seen.enclosing(id, &["function_definition"]) else { return false };
    let Some(parameters) = seen.tree.child(method, "parameters") else { return false };
    let first = seen.tree.named_kids(parameters).next();
    let is_self = first.is_some_and(|first| matches!(seen.text_or_empty(first), "self" | "cls"));
    match (first.map(|first| seen.scopes.of_leaf(first)), seen.scopes.of_leaf(receiver)) {
        (Some(IdentifierUse::Local(own)), IdentifierUse::Local(used)) => is_self && own == used,
        _ => false,
    }
}

impl NamedFile<'_> {
    fn text_or_empty(&self, id: NodeId) -> &str {
        if self.tree.is_leaf(id) { self.text(id) } else { "" }
    }
}

/// Reports whether a name makes its declaration public, in languages where the name decides.
fn is_open(lang: Lang, name: &str) -> bool {
    match lang {
        Lang::Python => !name.starts_with('_'),
        Lang::Go => name.starts_with(char::is_uppercase),
        Lang::Rust | Lang::Java | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => true,
    }
}
