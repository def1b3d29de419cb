//! Containers in which the order of declarations has no meaning. The canonical form sorts them by name.
//! Declarations of the same name keep their order, because the last one may count.

mod python;

use super::names::has_classes;
use crate::lang::Lang;
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};
use python::{
    DefinedNames, evaluated, is_inert, is_known_to, is_mangled, is_passed, is_sunder, looked_up,
    makes_classes,
};

/// Returns the children of a container in canonical order, or `None` if their order matters. `parent` is the
/// kind of the node whose body the container is.
pub(crate) fn arrange(
    tree: &SyntaxTree,
    symbols: &Symbols,
    id: NodeId,
    parent: &str,
    name_of: &dyn Fn(Sym) -> Sym,
) -> Option<Vec<NodeId>> {
    let reach = reach(tree.lang, tree.kind(id), parent)?;
    let kids = tree.kids(id);
    if tree.kind(id) == "class_body" && tree.lang.is_script() && has_odd_members(tree, id) {
        return None;
    }
    let names =
        if tree.lang == Lang::Python { DefinedNames::collect(tree, id) } else { DefinedNames::default() };
    let mut slots: Vec<OrderSlot> = Vec::new();
    let mut from = 0;
    for (at, kid) in kids.iter().enumerate() {
        // An attribute or directive before a declaration moves with it.
        let leads = matches!(tree.kind(*kid), "attribute_item" | "directive" | "decorator")
            && !says_whom(tree, symbols, *kid);
        if leads && at + 1 < kids.len() {
            continue;
        }
        let key = key(tree, symbols, &names, *kid, &kids[from..at], name_of);
        slots.push(OrderSlot { kids: from..at + 1, key });
        from = at + 1;
    }
    let mut order: Vec<&OrderSlot> = Vec::with_capacity(slots.len());
    match reach {
        DeclarationReach::Anywhere => {
            // A directive counts only before all other statements.
            let prologue = slots.iter().take_while(|slot| is_directive(tree, kids, slot)).count();
            let (prologue, slots) = slots.split_at(prologue);
            order.extend(prologue);
            let mut free: Vec<&OrderSlot> = slots.iter().filter(|slot| slot.key.is_some()).collect();
            free.sort_by(|left, right| left.key.cmp(&right.key));
            order.extend(free);
            order.extend(slots.iter().filter(|slot| slot.key.is_none()));
        }
        DeclarationReach::Run => order.extend(sorted_runs(slots.iter())),
        DeclarationReach::Past(around) => {
            let is_passed = |slot: &OrderSlot| is_passed(tree, symbols, kids[slot.kids.end - 1], around);
            let moves = |slot: &OrderSlot| slot.key.is_some() || is_passed(slot);
            for run in slots.chunk_by(|left, right| moves(left) && moves(right)) {
                let named = run.iter().filter(|slot| slot.key.is_none());
                let named: QuickSet<Sym> =
                    named.flat_map(|slot| evaluated(tree, kids[slot.kids.end - 1])).collect();
                let is_tied = |slot: &&OrderSlot| is_known_to(tree, kids[slot.kids.end - 1], &named);
                // Declarations of one name stay together.
                let tied: Vec<&String> =
                    run.iter().filter(is_tied).filter_map(|slot| slot.key.as_ref()).collect();
                let is_free = |slot: &&OrderSlot| {
                    slot.key.as_ref().is_some_and(|name| !is_sunder(name) && !tied.contains(&name))
                };
                let (mut free, rest): (Vec<&OrderSlot>, Vec<&OrderSlot>) = run.iter().partition(is_free);
                free.sort_by(|left, right| left.key.cmp(&right.key));
                order.extend(free);
                order.extend(sorted_runs(rest.into_iter()));
            }
        }
    }
    Some(order.into_iter().flat_map(|slot| kids[slot.kids.clone()].iter().copied()).collect())
}

/// Sorts each run of movable slots between the fixed ones.
fn sorted_runs<'a>(slots: impl Iterator<Item = &'a OrderSlot>) -> Vec<&'a OrderSlot> {
    let mut order: Vec<&OrderSlot> = slots.collect();
    for run in order.chunk_by_mut(|left, right| left.key.is_some() && right.key.is_some()) {
        run.sort_by(|left, right| left.key.cmp(&right.key));
    }
    order
}

/// Reports whether a slot holds only directives such as `'use strict'`.
fn is_directive(tree: &SyntaxTree, kids: &[NodeId], slot: &OrderSlot) -> bool {
    let is_text = |kid: &NodeId| {
        tree.kind(*kid) == "expression_statement"
            && tree.kids(*kid).first().is_some_and(|text| tree.kind(*text) == "string")
    };
    tree.lang.is_script() && kids[slot.kids.clone()].iter().all(|kid| is_text(kid) || tree.kind(*kid) == "{")
}

/// Reports whether a class has methods whose names are texts, numbers or computed; such a name may equal
/// another one.
fn has_odd_members(tree: &SyntaxTree, body: NodeId) -> bool {
    // A field belongs to the object, so it does not conflict with a member of the class.
    let is_field = |member: &NodeId| {
        tree.kind(*member).ends_with("field_definition") && !tree.has_token(*member, "accessor")
    };
    let methods = tree.named_kids(body).filter(|member| !is_field(member));
    methods
        .filter_map(|member| tree.child(member, "name").or_else(|| tree.child(member, "property")))
        .any(|name| !tree.kind(name).ends_with("property_identifier"))
}

struct OrderSlot {
    kids: std::ops::Range<usize>,
    /// `None` if the position matters.
    key: Option<String>,
}

/// How far a declaration may move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclarationReach {
    Anywhere,
    /// Only past declarations of the same kind.
    Run,
    /// Also past statements that do not run the declarations.
    Past(ContainerKind),
}

/// The container of the declarations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContainerKind {
    Module,
    Class,
}

fn reach(lang: Lang, kind: &str, parent: &str) -> Option<DeclarationReach> {
    match lang {
        Lang::Rust => matches!(kind, "source_file" | "declaration_list").then_some(DeclarationReach::Run),
        Lang::Go => matches!(kind, "source_file" | "import_spec_list").then_some(DeclarationReach::Anywhere),
        Lang::Java => matches!(kind, "program" | "class_body" | "enum_body_declarations" | "interface_body")
            .then_some(DeclarationReach::Anywhere),
        Lang::Python => match kind {
            "module" => Some(DeclarationReach::Past(ContainerKind::Module)),
            "block" if parent == "class_definition" => Some(DeclarationReach::Past(ContainerKind::Class)),
            _ => None,
        },
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => match kind {
            "program" | "class_body" => Some(DeclarationReach::Anywhere),
            // Functions of a function body exist from its start; functions of other blocks may not.
            "statement_block" => {
                let is_body = parent.starts_with("function")
                    || parent.starts_with("generator")
                    || parent == "method_definition"
                    || parent == "arrow_function";
                is_body.then_some(DeclarationReach::Anywhere)
            }
            _ => None,
        },
    }
}

/// Returns the sort key of a declaration, or `None` if its position matters.
fn key(
    tree: &SyntaxTree,
    symbols: &Symbols,
    names: &DefinedNames,
    id: NodeId,
    leads: &[NodeId],
    name_of: &dyn Fn(Sym) -> Sym,
) -> Option<String> {
    let has_lead = !leads.is_empty();
    let kind = tree.kind(id);
    let named = |id: NodeId| {
        let name = tree.child(id, "name").filter(|name| tree.is_leaf(*name))?;
        Some(symbols.text(name_of(tree.sym(name))).to_owned())
    };
    match tree.lang {
        Lang::Rust => match kind {
            "function_item"
            | "function_signature_item"
            | "struct_item"
            | "enum_item"
            | "union_item"
            | "trait_item"
            | "const_item"
            | "static_item"
            | "type_item"
            | "associated_type" => named(id),
            "use_declaration" if !has_lead => Some(spelled(tree, symbols, id, name_of)),
            "impl_item" => {
                let head = tree.kids(id).iter().filter(|kid| tree.field(**kid) != "body");
                Some(head.map(|kid| spelled(tree, symbols, *kid, name_of)).collect::<Vec<_>>().join(" "))
            }
            "mod_item" if !has_lead => named(id),
            _ => None,
        },
        Lang::Go => match kind {
            "directive" if says_whom(tree, symbols, id) => Some(spelled(tree, symbols, id, name_of)),
            // Tests run in the order of the file.
            "function_declaration" => named(id).filter(|name| name != "_" && !is_test(name)),
            "method_declaration" => {
                let receiver = tree.child(id, "receiver").map(|receiver| {
                    let of = tree.walk(receiver).find(|node| tree.kind(*node) == "type_identifier");
                    of.map(|of| symbols.text(name_of(tree.sym(of))).to_owned()).unwrap_or_default()
                });
                Some(format!("{}.{}", receiver?, named(id)?))
            }
            "type_declaration" => Some(spelled(tree, symbols, id, name_of)),
            // Go initializes packages in the order of their paths; a blank import exists only for that.
            "import_spec" => {
                let is_blank = tree.child(id, "name").is_some_and(|name| symbols.text(tree.sym(name)) == "_");
                (!is_blank && !has_lead).then(|| spelled(tree, symbols, id, name_of))
            }
            _ => None,
        },
        Lang::Java => match kind {
            // Parameters distinguish methods of the same name.
            "method_declaration" | "constructor_declaration" => {
                let parameters =
                    tree.child(id, "parameters").map(|list| spelled(tree, symbols, list, name_of));
                Some(format!("{} {}", named(id)?, parameters.unwrap_or_default()))
            }
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => named(id),
            "import_declaration" => Some(spelled(tree, symbols, id, name_of)),
            _ => None,
        },
        Lang::Python => match kind {
            "function_definition" if is_inert(tree, names, id) => {
                named(id).filter(|name| !is_test(name) && !is_mangled(name))
            }
            "decorated_definition" => {
                let definition = tree.child(id, "definition")?;
                let harmless =
                    tree.kids(id).iter().filter(|kid| tree.kind(**kid) == "decorator").all(|decorator| {
                        !names.has_own(tree, *decorator)
                            && matches!(
                                spelled(tree, symbols, *decorator, &|sym| sym).as_str(),
                                "@ staticmethod"
                                    | "@ classmethod"
                                    | "@ property"
                                    | "@ cached_property"
                                    | "@ abstractmethod"
                                    | "@ override"
                            )
                    });
                // A later `@name.setter` may extend a property.
                let inert =
                    tree.kind(definition) == "function_definition" && is_inert(tree, names, definition);
                (harmless && inert).then(|| named(definition)).flatten().filter(|name| !is_mangled(name))
            }
            _ => None,
        },
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => match kind {
            "function_declaration" | "generator_function_declaration" | "function_signature" => named(id),
            "interface_declaration" | "type_alias_declaration" if !has_lead => named(id),
            "export_statement" if !has_lead => {
                let inner = tree.child(id, "declaration")?;
                let is_free = matches!(
                    tree.kind(inner),
                    "function_declaration"
                        | "generator_function_declaration"
                        | "function_signature"
                        | "interface_declaration"
                        | "type_alias_declaration"
                );
                if is_free { named(inner) } else { None }
            }
            "method_definition" | "method_signature" | "abstract_method_signature" if !has_lead => {
                let signature = tree.kids(id).iter().filter(|kid| tree.field(**kid) != "body");
                let mut parts = signature.flat_map(|part| tree.walk(*part));
                let has_decorator = parts.any(|part| tree.kind(part) == "decorator");
                if has_decorator { None } else { named(id) }
            }
            _ => None,
        },
    }
}

/// Reports whether a test runner finds functions of this name.
fn is_test(name: &str) -> bool {
    ["test", "Test", "Benchmark", "Example", "Fuzz"].iter().any(|prefix| name.starts_with(prefix))
}

/// Reports whether a directive names its target itself, as `//go:linkname` does.
fn says_whom(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> bool {
    tree.kind(id) == "directive" && symbols.text(tree.sym(id)).starts_with("//go:linkname ")
}

/// Reports whether code in the file lists declarations in their order.
pub(crate) fn is_listed(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    let listers: &[&str] = match tree.lang {
        Lang::Python => &[
            "globals",
            "vars",
            "locals",
            "__dict__",
            "__subclasses__",
            "_getframe",
            "currentframe",
            "getouterframes",
            "getinnerframes",
            "f_locals",
            "f_back",
            "__globals__",
            "co_varnames",
            "findsource",
            "getsourcelines",
            "co_firstlineno",
        ],
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            &["getOwnPropertyNames", "getOwnPropertyDescriptors", "ownKeys", "eval"]
        }
        Lang::Java => &["getDeclaredMethods", "getMethods", "getDeclaredClasses", "getDeclaredConstructors"],
        Lang::Rust | Lang::Go => &[],
    };
    let is_called = |id: NodeId| tree.field(id) != "name" || tree.lang == Lang::Java;
    let own = looked_up(tree);
    let inspects = tree.lang == Lang::Python && symbols.find("inspect").is_some();
    let stack = symbols.find("stack").filter(|_| inspects);
    let lists = |id: NodeId| {
        tree.is_leaf(id)
            && tree.kind(id).ends_with("identifier")
            && is_called(id)
            && (listers.contains(&symbols.text(tree.sym(id))) || Some(tree.sym(id)) == stack)
            && !own.contains(&id)
    };
    let is_listed = !listers.is_empty() && tree.walk(tree.root).any(lists);
    match tree.lang {
        Lang::Java => is_listed && has_classes(tree, symbols),
        Lang::Python => is_listed || makes_classes(tree, symbols),
        _ => is_listed,
    }
}

/// Reports whether an attribute or decorator may observe the order of the members of a declaration.
pub(crate) fn is_overseen(tree: &SyntaxTree, symbols: &Symbols, id: NodeId, leads: &[NodeId]) -> bool {
    let said = leads.iter().chain(tree.kids(id)).copied();
    match tree.lang {
        Lang::Rust => {
            matches!(tree.kind(id), "impl_item" | "trait_item" | "mod_item")
                && leads
                    .iter()
                    .any(|lead| tree.kind(*lead) == "attribute_item" && !is_quiet(tree, symbols, *lead))
        }
        Lang::Python if tree.kind(id) == "class_definition" => {
            let keywords = tree.child(id, "superclasses");
            let has_keyword = keywords
                .is_some_and(|list| tree.kids(list).iter().any(|kid| tree.kind(*kid) == "keyword_argument"));
            has_keyword
                || leads.iter().any(|lead| tree.kind(*lead) == "decorator" && !is_quiet(tree, symbols, *lead))
        }
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx if tree.kind(id).contains("class") => {
            said.into_iter().any(|lead| tree.kind(lead) == "decorator" && !is_quiet(tree, symbols, lead))
        }
        _ => false,
    }
}

/// Reports whether an attribute or decorator is known to ignore order.
pub(crate) fn is_quiet(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> bool {
    let mut names = tree.walk(id).filter(|node| tree.is_leaf(*node) && tree.kind(*node) == "identifier");
    let Some(first) = names.next().map(|name| symbols.text(tree.sym(name))) else { return false };
    match tree.lang {
        Lang::Rust => matches!(
            first,
            "cfg"
                | "allow"
                | "expect"
                | "warn"
                | "deny"
                | "forbid"
                | "doc"
                | "must_use"
                | "deprecated"
                | "rustfmt"
                | "automatically_derived"
                | "path"
                | "cfg_attr"
                | "inline"
                | "non_exhaustive"
                | "macro_use"
                | "clippy"
        ),
        Lang::Python => {
            matches!(first, "dataclass" | "total_ordering" | "final" | "override_settings" | "dataclasses")
        }
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            matches!(first, "Component" | "Directive" | "Injectable" | "Pipe" | "NgModule" | "Service")
        }
        Lang::Go | Lang::Java => false,
    }
}

fn spelled(tree: &SyntaxTree, symbols: &Symbols, id: NodeId, name_of: &dyn Fn(Sym) -> Sym) -> String {
    let leaves = tree.walk(id).filter(|node| tree.is_leaf(*node));
    leaves.map(|leaf| symbols.text(name_of(tree.sym(leaf)))).collect::<Vec<_>>().join(" ")
}
