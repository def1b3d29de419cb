//! Sprag's own syntax tree, built once from that of tree-sitter. It drops comments and sugar, keeps every
//! token that can matter, and stores literals as single leaves. Nodes never change: an edit creates new ones,
//! so that sides and attempts share common parts.

mod lines;
mod source;
pub(crate) mod sugar;

use crate::lang::{Grammar, Lang};
use crate::symbol::Sym;
pub(crate) use source::{build, parse, read};

pub(crate) type NodeId = u32;

/// Maximum depth; deeper trees are refused, so that walks may recurse.
pub(crate) const MAX_DEPTH: usize = 400;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SyntaxNode {
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
pub(crate) struct SyntaxTree {
    pub lang: Lang,
    pub root: NodeId,
    /// Hash of the tree without comments, with all its sugar.
    pub plain: [u8; 32],
    grammar: &'static Grammar,
    nodes: Vec<SyntaxNode>,
    lists: Vec<NodeId>,
}

impl SyntaxTree {
    pub(crate) fn node(&self, id: NodeId) -> SyntaxNode {
        self.nodes[id as usize]
    }

    pub(crate) fn kind(&self, id: NodeId) -> &'static str {
        self.grammar.kinds[self.nodes[id as usize].kind as usize]
    }

    pub(crate) fn is_named(&self, id: NodeId) -> bool {
        self.grammar.named[self.nodes[id as usize].kind as usize]
    }

    pub(crate) fn field(&self, id: NodeId) -> &'static str {
        self.grammar.fields[self.nodes[id as usize].field as usize]
    }

    pub(crate) fn sym(&self, id: NodeId) -> Sym {
        self.nodes[id as usize].sym
    }

    pub(crate) fn is_leaf(&self, id: NodeId) -> bool {
        self.nodes[id as usize].sym != Sym::NONE
    }

    pub(crate) fn kids(&self, id: NodeId) -> &[NodeId] {
        let node = &self.nodes[id as usize];
        &self.lists[node.kids_at as usize..(node.kids_at + node.kids) as usize]
    }

    pub(crate) fn named_kids(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.kids(id).iter().copied().filter(|kid| self.is_named(*kid))
    }

    pub(crate) fn child(&self, id: NodeId, field: &str) -> Option<NodeId> {
        self.kids(id).iter().copied().find(|kid| self.field(*kid) == field)
    }

    pub(crate) fn has_token(&self, id: NodeId, token: &str) -> bool {
        self.kids(id).iter().any(|kid| !self.is_named(*kid) && self.kind(*kid) == token)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a copy of the node with other children.
    pub(crate) fn with_kids(&mut self, id: NodeId, kids: &[NodeId]) -> NodeId {
        let mut node = self.node(id);
        node.kids_at = self.lists.len() as u32;
        node.kids = kids.len() as u32;
        self.lists.extend_from_slice(kids);
        self.push(node)
    }

    /// Returns a copy of the node with the field of another node.
    pub(crate) fn with_field_of(&mut self, id: NodeId, place: NodeId) -> NodeId {
        let mut node = self.node(id);
        node.field = self.node(place).field;
        self.push(node)
    }

    pub(crate) fn with_kind(&mut self, id: NodeId, kind: &str) -> NodeId {
        let Some(kind) = self.grammar.kinds.iter().position(|name| *name == kind) else { return id };
        let mut node = self.node(id);
        node.kind = kind as u16;
        self.push(node)
    }

    pub(crate) fn with_field_named(&mut self, id: NodeId, field: &str) -> NodeId {
        let mut node = self.node(id);
        node.field = self.grammar.fields.iter().position(|name| *name == field).unwrap_or(0) as u16;
        self.push(node)
    }

    pub(crate) fn without_field(&mut self, id: NodeId) -> NodeId {
        self.with_field_named(id, "")
    }

    pub(crate) fn kind_name(&self, kind: u16) -> &'static str {
        self.grammar.kinds[kind as usize]
    }

    pub(crate) fn kind_number(&self, name: &str) -> Option<u16> {
        self.grammar.kinds.iter().position(|kind| *kind == name).map(|at| at as u16)
    }

    pub(crate) fn with_sym(&mut self, id: NodeId, sym: Sym) -> NodeId {
        let mut node = self.node(id);
        node.sym = sym;
        self.push(node)
    }

    /// Creates a root for an empty source.
    fn root_if_empty(&mut self) {
        if self.nodes.is_empty() {
            self.root = self.push(SyntaxNode {
                kind: 0,
                field: 0,
                sym: Sym::NONE,
                start: 0,
                end: 0,
                kids_at: 0,
                kids: 0,
            });
        }
    }

    fn push(&mut self, node: SyntaxNode) -> NodeId {
        self.nodes.push(node);
        (self.nodes.len() - 1) as NodeId
    }

    /// Walks the node and all nodes below it in source order.
    pub(crate) fn walk(&self, id: NodeId) -> TreeWalk<'_> {
        TreeWalk { tree: self, stack: vec![id] }
    }
}

pub(crate) struct TreeWalk<'a> {
    tree: &'a SyntaxTree,
    stack: Vec<NodeId>,
}

impl Iterator for TreeWalk<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let id = self.stack.pop()?;
        self.stack.extend(self.tree.kids(id).iter().rev());
        Some(id)
    }
}
