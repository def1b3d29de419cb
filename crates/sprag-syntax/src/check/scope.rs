//! Which name is whose: every identifier of a tree is a local of some function, or free. Free names are compared by
//! their text, locals by what they are bound to, so that a renamed local is no difference and a captured name is.
//!
//! Where the meaning of an identifier is not known for sure, it is `Named`: bound, and its text counts too.

mod go;
mod java;
mod python;
mod rust;
mod script;

use crate::lang::Lang;
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{Id, Tree};

/// What an identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Not an identifier in a place where names are looked up.
    Text,
    /// Looked up, and found in no function.
    Free,
    Local(u32),
    /// A local whose text counts here.
    Named(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub name: Sym,
    /// Its text counts wherever it is used.
    pub is_pinned: bool,
    /// The identifier that declares it.
    pub at: Id,
}

/// The answer for a whole tree.
pub(crate) struct Scopes {
    uses: Vec<Use>,
    pub bindings: Vec<Binding>,
    /// Where the outermost function or block with names of its own begins.
    regions: QuickSet<Id>,
}

impl Scopes {
    pub fn of(tree: &Tree, symbols: &Symbols) -> Scopes {
        let mut walk = Walk {
            tree,
            symbols,
            uses: vec![Use::Text; tree.len()],
            bindings: Vec::new(),
            scopes: Vec::new(),
            regions: QuickSet::default(),
            alternatives: None,
        };
        walk.visit(tree.root);
        Scopes { uses: walk.uses, bindings: walk.bindings, regions: walk.regions }
    }

    pub fn of_leaf(&self, id: Id) -> Use {
        self.uses[id as usize]
    }

    pub fn is_region(&self, id: Id) -> bool {
        self.regions.contains(&id)
    }
}

struct Walk<'a> {
    tree: &'a Tree,
    symbols: &'a Symbols,
    uses: Vec<Use>,
    bindings: Vec<Binding>,
    scopes: Vec<Scope>,
    regions: QuickSet<Id>,
    /// Where the bindings of the alternatives of a Rust pattern begin.
    alternatives: Option<usize>,
}

#[derive(Default)]
struct Scope {
    kind: ScopeKind,
    names: Vec<(Sym, u32)>,
    /// Names that are looked up further out, or that belong to a class: never locals.
    outside: Vec<Sym>,
    /// Something here reads names as texts.
    is_dynamic: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScopeKind {
    #[default]
    Block,
    /// `var` and `def` stop here.
    Function,
    /// Nothing further out is seen.
    Item,
    /// Names are attributes: seen in the body itself, not in its functions.
    Class,
    /// What is inherited may hide what is further out.
    Heir,
}

impl Walk<'_> {
    fn visit(&mut self, id: Id) {
        if self.tree.is_leaf(id) {
            return self.leaf(id);
        }
        match self.tree.lang {
            Lang::Rust => self.rust(id),
            Lang::Go => self.go(id),
            Lang::Java => self.java(id),
            Lang::Python => self.python(id),
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => self.script(id),
        }
    }

    fn kids(&mut self, id: Id) {
        for at in 0..self.tree.kids(id).len() {
            self.visit(self.tree.kids(id)[at]);
        }
    }

    fn fields(&mut self, id: Id, fields: &[&str]) {
        for at in 0..self.tree.kids(id).len() {
            let kid = self.tree.kids(id)[at];
            if fields.contains(&self.tree.field(kid)) {
                self.visit(kid);
            }
        }
    }

    fn leaf(&mut self, id: Id) {
        match self.tree.kind(id) {
            "identifier" => self.reference(id),
            "shorthand_property_identifier" | "shorthand_field_identifier" => self.named_reference(id),
            // An assignment to a pattern; a declaration has bound it already.
            "shorthand_property_identifier_pattern" if self.uses[id as usize] == Use::Text => {
                self.named_reference(id);
            }
            _ => {}
        }
    }

    fn reference(&mut self, id: Id) {
        let sym = self.tree.sym(id);
        self.uses[id as usize] = match self.lookup(sym) {
            Some((binding, false)) => Use::Local(binding),
            Some((binding, true)) => Use::Named(binding),
            None => Use::Free,
        };
        if self.uses[id as usize] == Use::Free && self.is_dynamic(sym) {
            for scope in &mut self.scopes {
                scope.is_dynamic = true;
            }
        }
    }

    /// A use of which the text counts.
    fn named_reference(&mut self, id: Id) {
        self.uses[id as usize] = match self.lookup(self.tree.sym(id)) {
            Some((binding, _)) => Use::Named(binding),
            None => Use::Free,
        };
    }

    fn is_dynamic(&self, sym: Sym) -> bool {
        let text = self.symbols.text(sym);
        match self.tree.lang {
            Lang::Python => matches!(text, "locals" | "vars" | "eval" | "exec" | "dir" | "globals"),
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => matches!(text, "eval" | "Function"),
            _ => false,
        }
    }

    /// The binding a name stands for, and whether its text counts.
    fn lookup(&self, sym: Sym) -> Option<(u32, bool)> {
        let mut crossed_function = false;
        let mut crossed_heir = false;
        for scope in self.scopes.iter().rev() {
            let is_seen = scope.kind != ScopeKind::Class || !crossed_function;
            if is_seen && let Some((_, binding)) = scope.names.iter().rev().find(|(name, _)| *name == sym) {
                return Some((*binding, crossed_heir));
            }
            if is_seen && scope.outside.contains(&sym) {
                return None;
            }
            match scope.kind {
                ScopeKind::Item => return None,
                ScopeKind::Function => crossed_function = true,
                ScopeKind::Heir => crossed_heir = true,
                ScopeKind::Block | ScopeKind::Class => {}
            }
        }
        None
    }

    fn push(&mut self, kind: ScopeKind, at: Id) {
        if self.scopes.is_empty() {
            self.regions.insert(at);
        }
        let is_dynamic = self.scopes.last().is_some_and(|scope| scope.is_dynamic);
        self.scopes.push(Scope { kind, is_dynamic, ..Scope::default() });
    }

    fn pop(&mut self) {
        let scope = self.scopes.pop().expect("every pop has its push");
        if scope.is_dynamic {
            for (_, binding) in scope.names {
                self.bindings[binding as usize].is_pinned = true;
            }
        }
    }

    /// A new local in the innermost scope; outside of functions there are none.
    fn bind(&mut self, id: Id) -> Option<u32> {
        let depth = self.scopes.len().checked_sub(1)?;
        Some(self.bind_in(depth, id))
    }

    fn bind_in(&mut self, depth: usize, id: Id) -> u32 {
        let name = self.tree.sym(id);
        let binding = self.bindings.len() as u32;
        self.bindings.push(Binding { name, is_pinned: false, at: id });
        self.scopes[depth].names.push((name, binding));
        self.uses[id as usize] = Use::Local(binding);
        binding
    }

    fn bind_pinned(&mut self, id: Id) {
        if let Some(binding) = self.bind(id) {
            self.bindings[binding as usize].is_pinned = true;
        }
    }
}
