//! The canonical form of a side: its trees as bytes, with numbered locals, sorted declarations and new names
//! in place of renamed ones. Two sides with the same bytes behave the same, if the separately checked
//! obligations hold.

use super::order::{arrange, is_listed, is_overseen};
use super::scope::{IdentifierUse, Scopes};
use crate::digest::sha256;
use crate::lang::Lang;
use crate::symbol::{QuickMap, QuickSet, Sym, Symbols};
use crate::tree::sugar::{idle_blocks, idle_commas, lone_statement};
use crate::tree::{NodeId, SyntaxTree};

/// One file in canonical form.
pub(crate) struct Canon {
    pub digest: [u8; 32],
    pub regions: Vec<Region>,
}

/// An outermost function, or another region with its own names.
pub(crate) struct Region {
    pub digest: [u8; 32],
    /// The locals by number.
    pub names: Vec<Sym>,
    /// Names that the region uses but does not declare.
    pub free: QuickSet<Sym>,
}

/// Converts a tree to canonical form; `renames` maps free names.
pub(crate) fn canon(
    tree: &SyntaxTree,
    symbols: &Symbols,
    scopes: &Scopes,
    renames: &QuickMap<Sym, Sym>,
    place: ItemPlacement,
) -> Canon {
    let mut emit = Emit {
        tree,
        symbols,
        scopes,
        renames,
        regions: Vec::new(),
        open: None,
        unused: idle_commas(tree, symbols),
        blocks: idle_blocks(tree),
        classes: 0,
        overseen: u32::from(is_listed(tree, symbols)),
        place,
    };
    match tree.lang {
        Lang::Java => emit.unused = unused_imports(tree, symbols),
        Lang::TypeScript => emit.unused = unused_specifiers(tree, symbols),
        _ => {}
    }
    let mut out = vec![tree.lang as u8];
    emit.node(tree.root, 0, "", &mut out);
    Canon { digest: sha256(&out), regions: emit.regions }
}

struct Emit<'a> {
    tree: &'a SyntaxTree,
    symbols: &'a Symbols,
    scopes: &'a Scopes,
    renames: &'a QuickMap<Sym, Sym>,
    regions: Vec<Region>,
    open: Option<OpenItem>,
    /// Unused imports and meaningless commas.
    unused: QuickSet<NodeId>,
    /// Blocks that consist of only their value.
    blocks: QuickMap<NodeId, NodeId>,
    /// The number of enclosing Java classes.
    classes: u32,
    /// The number of enclosing declarations that may observe the order of their members.
    overseen: u32,
    place: ItemPlacement,
}

/// Whether the items of a file kept their place. `Other`: a lone Java method moved to another class, which
/// decides who may call it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemPlacement {
    Same,
    Other,
}

#[derive(Default)]
struct OpenItem {
    numbers: QuickMap<u32, u32>,
    names: Vec<Sym>,
    free: QuickSet<Sym>,
}

impl Emit<'_> {
    fn node(&mut self, id: NodeId, field: u16, parent: &str, out: &mut Vec<u8>) {
        if self.open.is_some() || !self.scopes.is_region(id) {
            return self.plain(id, field, parent, out);
        }
        self.open = Some(OpenItem::default());
        let mut inner = Vec::new();
        self.plain(id, field, parent, &mut inner);
        let open = self.open.take().expect("opened above");
        let digest = sha256(&inner);
        out.push(b'R');
        out.extend_from_slice(&digest);
        self.regions.push(Region { digest, names: open.names, free: open.free });
    }

    fn plain(&mut self, id: NodeId, field: u16, parent: &str, out: &mut Vec<u8>) {
        let node = self.tree.node(id);
        out.extend_from_slice(&node.kind.to_le_bytes());
        out.extend_from_slice(&field.to_le_bytes());
        if self.tree.is_leaf(id) {
            return self.leaf(id, out);
        }
        out.push(b'(');
        let is_class = matches!(self.tree.kind(id), "class_body" | "interface_body" | "enum_body");
        self.classes += u32::from(is_class);
        let rename = |sym: Sym| self.renames.get(&sym).copied().unwrap_or(sym);
        let order = match self.overseen {
            0 => arrange(self.tree, self.symbols, id, parent, &rename),
            _ => None,
        };
        let kind = self.tree.kind(id);
        let count = self.tree.kids(id).len();
        let mut leads = Vec::new();
        for at in 0..count {
            let kid = match &order {
                Some(order) => order[at],
                None => self.tree.kids(id)[at],
            };
            if self.unused.contains(&kid) || self.is_unsaid(id, kid) {
                continue;
            }
            // A lone statement replaces its block.
            let value = self.blocks.get(&kid).copied();
            let shown = value.or_else(|| lone_statement(self.tree, kind, kid)).unwrap_or(kid);
            let is_overseen = is_overseen(self.tree, self.symbols, shown, &leads);
            self.overseen += u32::from(is_overseen);
            self.node(shown, self.tree.node(kid).field, kind, out);
            self.overseen -= u32::from(is_overseen);
            match self.tree.kind(kid) {
                "attribute_item" | "decorator" | "directive" => leads.push(kid),
                // `@a export class`
                "export" | "default" | "abstract" => {}
                _ => leads.clear(),
            }
        }
        self.classes -= u32::from(is_class);
        out.push(b')');
    }

    /// Reports whether `this` is redundant: `this.run()` equals `run()` in an outermost Java class.
    fn is_unsaid(&self, parent: NodeId, kid: NodeId) -> bool {
        let tree = self.tree;
        if tree.lang != Lang::Java {
            return false;
        }
        match tree.kind(parent) {
            "method_invocation" => {
                let through_this =
                    tree.child(parent, "object").is_some_and(|object| tree.kind(object) == "this");
                through_this && self.classes == 1 && (tree.field(kid) == "object" || tree.kind(kid) == ".")
            }
            "modifiers" => {
                self.place == ItemPlacement::Other
                    && self.classes == 1
                    && matches!(tree.kind(kid), "static" | "default" | "public" | "protected" | "private")
            }
            "method_declaration" => {
                let is_said = |modifier: &NodeId| !self.is_unsaid(kid, *modifier);
                tree.kind(kid) == "modifiers" && !tree.kids(kid).iter().any(is_said)
            }
            _ => false,
        }
    }

    fn leaf(&mut self, id: NodeId, out: &mut Vec<u8>) {
        let sym = self.tree.sym(id);
        match self.scopes.of_leaf(id) {
            IdentifierUse::Local(binding) => {
                let text_counts = self.scopes.bindings[binding as usize].is_pinned;
                self.local(binding, out);
                if text_counts {
                    self.text(sym, out);
                }
            }
            IdentifierUse::Named(binding) => {
                self.local(binding, out);
                self.text(sym, out);
            }
            IdentifierUse::Free => {
                let sym = self.renames.get(&sym).copied().unwrap_or(sym);
                if let Some(open) = &mut self.open {
                    open.free.insert(sym);
                }
                self.text(sym, out);
            }
            IdentifierUse::Text => {
                let sym = if is_name(self.tree.kind(id)) {
                    self.renames.get(&sym).copied().unwrap_or(sym)
                } else {
                    sym
                };
                self.text(sym, out);
            }
        }
    }

    fn local(&mut self, binding: u32, out: &mut Vec<u8>) {
        let open = self.open.get_or_insert_default();
        let next = open.names.len() as u32;
        let number = *open.numbers.entry(binding).or_insert(next);
        if number == next {
            open.names.push(self.scopes.bindings[binding as usize].name);
        }
        out.push(b'L');
        out.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, sym: Sym, out: &mut Vec<u8>) {
        spell(self.symbols.text(sym), out);
    }
}

fn spell(text: &str, out: &mut Vec<u8>) {
    out.push(b'=');
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Reports whether a kind of leaf is a name, not text or punctuation.
pub(crate) fn is_name(kind: &str) -> bool {
    kind.ends_with("identifier") || kind.ends_with("identifier_pattern")
}

/// Returns the Java imports of single types that the file never uses.
fn unused_imports(tree: &SyntaxTree, symbols: &Symbols) -> QuickSet<NodeId> {
    let mut counts: QuickMap<Sym, u32> = QuickMap::default();
    let mut imports = Vec::new();
    for kid in tree.kids(tree.root) {
        let is_import = tree.kind(*kid) == "import_declaration";
        let is_single = is_import
            && !tree.has_token(*kid, "static")
            && !tree.kids(*kid).iter().any(|part| tree.kind(*part) == "asterisk");
        if is_single
            && let Some(name) = tree.walk(*kid).filter(|node| tree.kind(*node) == "identifier").last()
        {
            imports.push((*kid, tree.sym(name)));
            continue;
        }
        for leaf in tree.walk(*kid).filter(|node| tree.is_leaf(*node)) {
            *counts.entry(tree.sym(leaf)).or_default() += 1;
        }
    }
    let is_used = |name: &Sym| counts.contains_key(name) || symbols.text(*name).is_empty();
    imports.into_iter().filter(|(_, name)| !is_used(name)).map(|(id, _)| id).collect()
}

/// Returns the names of a TypeScript import that the file never uses, if others of the same import stay. The
/// compiler drops them. TSX is excluded, because its elements may use imports without naming them.
fn unused_specifiers(tree: &SyntaxTree, symbols: &Symbols) -> QuickSet<NodeId> {
    let mut unused = QuickSet::default();
    let mut counts: QuickMap<Sym, u32> = QuickMap::default();
    let mut lists = Vec::new();
    for id in tree.walk(tree.root) {
        match tree.kind(id) {
            "named_imports" => lists.push(id),
            _ if tree.is_leaf(id) => *counts.entry(tree.sym(id)).or_default() += 1,
            _ => {}
        }
    }
    // Evaluated text may name anything.
    if symbols.find("eval").is_some_and(|eval| counts.contains_key(&eval)) {
        return unused;
    }
    for list in lists {
        let is_unused = |specifier: &NodeId| {
            let [name] = tree.kids(*specifier)[..] else { return false };
            tree.kind(*specifier) == "import_specifier" && counts.get(&tree.sym(name)) == Some(&1)
        };
        let kids = tree.kids(list);
        if tree.named_kids(list).all(|specifier| is_unused(&specifier)) {
            continue;
        }
        let mut commas = kids.iter().copied().filter(|kid| tree.kind(*kid) == ",");
        for specifier in tree.named_kids(list).filter(is_unused) {
            unused.insert(specifier);
            unused.extend(commas.next());
        }
    }
    unused
}
