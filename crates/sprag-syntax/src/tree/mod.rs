//! A syntax tree of our own, made once from tree-sitter's: comments gone, every token that can matter kept, literals
//! as single leaves, sugar removed. Nodes are never changed: an edit makes new ones, so that sides and attempts can
//! share what they have in common.

mod lines;
mod source;
pub(crate) mod sugar;

use crate::lang::{Grammar, Lang};
use crate::symbol::Sym;
pub(crate) use source::{build, parse, read};

pub(crate) type Id = u32;

/// Deeper trees are refused, so that walks may recurse.
pub(crate) const MAX_DEPTH: usize = 400;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub kind: u16,
    pub field: u16,
    /// The text of a leaf.
    pub sym: Sym,
    pub start: u32,
    pub end: u32,
    kids_at: u32,
    kids: u32,
}

#[derive(Clone)]
pub(crate) struct Tree {
    pub lang: Lang,
    pub root: Id,
    /// The tree without comments and with all of its sugar, as one hash.
    pub plain: [u8; 32],
    grammar: &'static Grammar,
    nodes: Vec<Node>,
    lists: Vec<Id>,
}

impl Tree {
    pub fn node(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    pub fn kind(&self, id: Id) -> &'static str {
        self.grammar.kinds[self.nodes[id as usize].kind as usize]
    }

    pub fn is_named(&self, id: Id) -> bool {
        self.grammar.named[self.nodes[id as usize].kind as usize]
    }

    pub fn field(&self, id: Id) -> &'static str {
        self.grammar.fields[self.nodes[id as usize].field as usize]
    }

    pub fn sym(&self, id: Id) -> Sym {
        self.nodes[id as usize].sym
    }

    pub fn is_leaf(&self, id: Id) -> bool {
        self.nodes[id as usize].sym != Sym::NONE
    }

    pub fn kids(&self, id: Id) -> &[Id] {
        let node = &self.nodes[id as usize];
        &self.lists[node.kids_at as usize..(node.kids_at + node.kids) as usize]
    }

    pub fn named_kids(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.kids(id).iter().copied().filter(|kid| self.is_named(*kid))
    }

    pub fn child(&self, id: Id, field: &str) -> Option<Id> {
        self.kids(id).iter().copied().find(|kid| self.field(*kid) == field)
    }

    pub fn has_token(&self, id: Id, token: &str) -> bool {
        self.kids(id).iter().any(|kid| !self.is_named(*kid) && self.kind(*kid) == token)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node with other children.
    pub fn with_kids(&mut self, id: Id, kids: &[Id]) -> Id {
        let mut node = self.node(id);
        node.kids_at = self.lists.len() as u32;
        node.kids = kids.len() as u32;
        self.lists.extend_from_slice(kids);
        self.push(node)
    }

    /// The node in another place of its parent.
    pub fn with_field_of(&mut self, id: Id, place: Id) -> Id {
        let mut node = self.node(id);
        node.field = self.node(place).field;
        self.push(node)
    }

    pub fn with_kind(&mut self, id: Id, kind: &str) -> Id {
        let Some(kind) = self.grammar.kinds.iter().position(|name| *name == kind) else { return id };
        let mut node = self.node(id);
        node.kind = kind as u16;
        self.push(node)
    }

    pub fn with_field_named(&mut self, id: Id, field: &str) -> Id {
        let mut node = self.node(id);
        node.field = self.grammar.fields.iter().position(|name| *name == field).unwrap_or(0) as u16;
        self.push(node)
    }

    pub fn without_field(&mut self, id: Id) -> Id {
        self.with_field_named(id, "")
    }

    pub fn kind_name(&self, kind: u16) -> &'static str {
        self.grammar.kinds[kind as usize]
    }

    pub fn kind_number(&self, name: &str) -> Option<u16> {
        self.grammar.kinds.iter().position(|kind| *kind == name).map(|at| at as u16)
    }

    pub fn with_sym(&mut self, id: Id, sym: Sym) -> Id {
        let mut node = self.node(id);
        node.sym = sym;
        self.push(node)
    }

    /// A source without anything in it has a root all the same.
    fn root_if_empty(&mut self) {
        if self.nodes.is_empty() {
            self.root =
                self.push(Node { kind: 0, field: 0, sym: Sym::NONE, start: 0, end: 0, kids_at: 0, kids: 0 });
        }
    }

    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        (self.nodes.len() - 1) as Id
    }

    /// All nodes below, the node itself first, in source order.
    pub fn walk(&self, id: Id) -> Walk<'_> {
        Walk { tree: self, stack: vec![id] }
    }
}

pub(crate) struct Walk<'a> {
    tree: &'a Tree,
    stack: Vec<Id>,
}

impl Iterator for Walk<'_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        let id = self.stack.pop()?;
        self.stack.extend(self.tree.kids(id).iter().rev());
        Some(id)
    }
}
